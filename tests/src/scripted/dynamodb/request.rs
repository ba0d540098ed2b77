//! Requests to DynamoDB as they come.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::op::Op;
use super::super::text::Text;
use super::super::wire::Refusal;
use super::value::{Item, Value};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Put<'a> {
    #[serde(borrow)]
    pub(crate) table_name: Text<'a>,
    #[serde(borrow)]
    pub(crate) item: &'a RawValue,
    #[serde(borrow, default)]
    pub(crate) condition_expression: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) expression_attribute_names: BTreeMap<Text<'a>, Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) expression_attribute_values: BTreeMap<Text<'a>, Value<'a>>,
    #[serde(borrow, default)]
    pub(crate) return_values_on_condition_check_failure: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Get<'a> {
    #[serde(borrow)]
    pub(crate) table_name: Text<'a>,
    #[serde(borrow)]
    pub(crate) key: Item<'a>,
    #[serde(borrow, default)]
    pub(crate) projection_expression: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) expression_attribute_names: BTreeMap<Text<'a>, Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct BatchWrite<'a> {
    #[serde(borrow, default)]
    pub(crate) request_items: BTreeMap<Text<'a>, Vec<&'a RawValue>>,
}

/// A single write: a put, or a delete by key.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Write<'a> {
    #[serde(borrow, default)]
    pub(crate) put_request: Option<PutRequest<'a>>,
    #[serde(borrow, default)]
    pub(crate) delete_request: Option<DeleteRequest<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct PutRequest<'a> {
    #[serde(borrow)]
    pub(crate) item: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct DeleteRequest<'a> {
    #[serde(borrow)]
    pub(crate) key: Item<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Query<'a> {
    #[serde(borrow)]
    pub(crate) table_name: Text<'a>,
    #[serde(borrow)]
    pub(crate) key_condition_expression: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) filter_expression: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) projection_expression: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) expression_attribute_names: BTreeMap<Text<'a>, Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) expression_attribute_values: BTreeMap<Text<'a>, Value<'a>>,
    #[serde(default)]
    pub(crate) scan_index_forward: Option<bool>,
    #[serde(default)]
    pub(crate) limit: Option<i64>,
    #[serde(borrow, default)]
    pub(crate) exclusive_start_key: Option<Item<'a>>,
}

/// A request to DynamoDB.
pub(crate) enum Request<'a> {
    Put(Put<'a>, Item<'a>),
    Get(Get<'a>),
    BatchWrite(Vec<(Text<'a>, Vec<Planned<'a>>)>),
    Query(Query<'a>),
}

/// A write of a batch: its text, and what it holds.
pub(crate) struct Planned<'a> {
    pub(crate) raw: &'a RawValue,
    /// The item's text, and the item; or the key to delete.
    pub(crate) item: Option<&'a RawValue>,
    pub(crate) attributes: Item<'a>,
}

impl<'a> Request<'a> {
    pub(crate) fn read(op: Op, body: &'a [u8]) -> Result<Self, Refusal> {
        Ok(match op {
            Op::PutItem => {
                let put: Put<'a> = parsed(body)?;
                let item = parsed(put.item.get().as_bytes())?;
                Self::Put(put, item)
            }
            Op::GetItem => Self::Get(parsed(body)?),
            Op::BatchWriteItem => {
                let batch: BatchWrite<'a> = parsed(body)?;
                let tables = batch.request_items.into_iter().map(|(table, writes)| {
                    let writes: Result<Vec<_>, _> = writes.into_iter().map(planned).collect();
                    Ok((table, writes?))
                });
                Self::BatchWrite(tables.collect::<Result<_, Refusal>>()?)
            }
            _ => Self::Query(parsed(body)?),
        })
    }

    /// The table it is about; of a batch the first.
    pub(crate) fn table_name(&self) -> &str {
        match self {
            Self::Put(put, _) => &put.table_name,
            Self::Get(get) => &get.table_name,
            Self::BatchWrite(tables) => tables.first().map_or("", |(table, _)| table),
            Self::Query(query) => &query.table_name,
        }
    }
}

fn planned(raw: &RawValue) -> Result<Planned<'_>, Refusal> {
    let write: Write<'_> = parsed(raw.get().as_bytes())?;
    match (write.put_request, write.delete_request) {
        (Some(put), None) => Ok(Planned { raw, item: Some(put.item), attributes: parsed(put.item.get().as_bytes())? }),
        (None, Some(delete)) => Ok(Planned { raw, item: None, attributes: delete.key }),
        _ => Err(super::limits::invalid(
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes",
        )),
    }
}

fn parsed<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body)
        .map_err(|error| Refusal::violation("com.amazon.coral.service#SerializationException", error.to_string()))
}

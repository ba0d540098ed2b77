//! DynamoDB: tables with a partition and a sort key, conditional puts, batches of writes and queries.

mod expression;
mod limits;
mod query;
mod request;
mod table;
mod value;
mod view;

use std::collections::{BTreeMap, HashMap};

use expression::{Condition, Placeholders};
pub(crate) use limits::check;
pub(crate) use request::Request;
use request::{Planned, Put};
use table::Table;
pub use table::TableSpec;
use value::Item;
pub use view::Row;
pub(crate) use view::{row_count, rows};

use super::fault::{Fault, gone};
use super::op::Op;
use super::shared::{Shared, lock};
use super::text::Text;
use super::wire::{Refusal, Reply};

/// Every table by name.
#[derive(Default)]
pub(crate) struct DynamoDb {
    tables: HashMap<String, Table>,
}

impl DynamoDb {
    pub(crate) fn create(&mut self, spec: TableSpec) {
        self.tables.insert(spec.name.clone(), Table::new(spec));
    }

    pub(crate) fn delete(&mut self, name: &str) {
        self.tables.remove(name);
    }

    fn table(&mut self, name: &str, op: Op) -> Result<&mut Table, Refusal> {
        // A table may be named by its ARN.
        let name = name.rsplit('/').next().unwrap_or_default();
        self.tables.get_mut(name).ok_or_else(|| gone(op, false))
    }
}

/// An item that nobody sent.
const STRANGER: &str = r#"{"PutRequest":{"Item":{"tenant_id":{"S":"nobody"},"message_id":{"S":"nothing"}}}}"#;

/// Answers a request.
pub(crate) fn execute(shared: &Shared, op: Op, request: &Request<'_>, fault: Option<&Fault>) -> Result<Reply, Refusal> {
    let mut tables = lock(&shared.dynamodb);
    match request {
        Request::Put(put, item) => put_item(tables.table(&put.table_name, op)?, put, item),
        Request::Get(get) => {
            let table = tables.table(&get.table_name, op)?;
            let key = limits::key(&table.spec, &get.key)?;
            let shown = shown(get.projection_expression.as_ref(), &get.expression_attribute_names)?;
            let item = table.get(&key).map(|row| format!("{{\"Item\":{}}}", shown(&row.json)));
            Ok(Reply::json(item.unwrap_or_else(|| "{}".to_owned())))
        }
        Request::BatchWrite(batch) => {
            let mut unprocessed = Vec::new();
            // All is checked before anything is written.
            let mut keys = Vec::with_capacity(batch.len());
            for (name, writes) in batch {
                let table = tables.table(name, op)?;
                let found: Vec<_> =
                    writes.iter().map(|write| limits::key(&table.spec, &write.attributes)).collect::<Result<_, _>>()?;
                limits::distinct(found.iter())?;
                keys.push(found);
            }
            for ((name, writes), keys) in batch.iter().zip(keys) {
                let table = tables.table(name, op)?;
                let left = if fault == Some(&Fault::UnprocessedStrangers) {
                    writes.iter().map(|_| STRANGER).collect()
                } else {
                    write_all(table, writes, keys, fault)
                };
                if !left.is_empty() {
                    unprocessed.push(format!("{}:[{}]", serde_json::Value::from(&**name), left.join(",")));
                }
            }
            Ok(Reply::json(format!("{{\"UnprocessedItems\":{{{}}}}}", unprocessed.join(","))))
        }
        Request::Query(query) => query::answer(tables.table(&query.table_name, op)?, query),
    }
}

/// What of an item an answer shows: all of it, or what a projection lists.
fn shown(
    projection: Option<&Text<'_>>,
    names: &BTreeMap<Text<'_>, Text<'_>>,
) -> Result<impl Fn(&str) -> String + use<>, Refusal> {
    let listed = projection.map(|text| expression::projection(text, names)).transpose();
    let listed = listed.map_err(|problem| limits::invalid(format!("Invalid ProjectionExpression: {problem}")))?;
    Ok(move |json: &str| match &listed {
        None => json.to_owned(),
        Some(listed) => {
            let mut item: BTreeMap<String, serde_json::Value> = serde_json::from_str(json).unwrap_or_default();
            item.retain(|name, _| listed.contains(name));
            serde_json::to_string(&item).unwrap_or_default()
        }
    })
}

/// Writes what the fault lets through; the texts of the rest.
fn write_all<'a>(
    table: &mut Table,
    writes: &[Planned<'a>],
    keys: Vec<(Box<str>, Box<str>)>,
    fault: Option<&Fault>,
) -> Vec<&'a str> {
    let mut left = Vec::new();
    for (at, (write, key)) in writes.iter().zip(keys).enumerate() {
        match (fault, write.item) {
            (Some(Fault::Unprocessed(which)), _) if which.picks(at, write.raw.get()) => left.push(write.raw.get()),
            (_, Some(item)) => table.put(key, item.get()),
            (_, None) => table.delete(&key),
        }
    }
    left
}

fn put_item(table: &mut Table, put: &Put<'_>, item: &Item<'_>) -> Result<Reply, Refusal> {
    let key = limits::key(&table.spec, item)?;
    if let Some(text) = &put.condition_expression {
        let placeholders =
            Placeholders { names: &put.expression_attribute_names, values: &put.expression_attribute_values };
        let condition = Condition::parse(text, placeholders)
            .map_err(|problem| limits::invalid(format!("Invalid ConditionExpression: {problem}")))?;
        let row = table.get(&key);
        let found: Item<'_> = row.map(|row| serde_json::from_str(&row.json).unwrap_or_default()).unwrap_or_default();
        if !condition.met_by(&found) {
            let mut refusal = Refusal::new(
                400,
                "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
                "The conditional request failed",
            );
            if put.return_values_on_condition_check_failure.as_deref() == Some("ALL_OLD") {
                refusal.item = row.map(|row| row.json.to_string());
            }
            return Err(refusal);
        }
    }
    table.put(key, put.item.get());
    Ok(Reply::json("{}"))
}

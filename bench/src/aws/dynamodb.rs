//! DynamoDB, as far as records are written: a set of keys for each table, with the time of each first write. What else an item
//! holds is read, since a real table reads it too, and not kept.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::cloud::{Cloud, Failure, Outcome};

/// Items in one batch.
const MOST_ITEMS: usize = 25;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Batch<'a> {
    #[serde(borrow)]
    request_items: HashMap<Cow<'a, str>, Vec<Write<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Write<'a> {
    #[serde(borrow)]
    put_request: ItemOf<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ItemOf<'a> {
    #[serde(borrow)]
    item: Item<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Put<'a> {
    #[serde(borrow)]
    table_name: Cow<'a, str>,
    #[serde(borrow)]
    item: Item<'a>,
}

/// The key: what is not named here is read and dropped.
#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    tenant_id: Text<'a>,
    #[serde(borrow)]
    message_id: Text<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Text<'a> {
    #[serde(borrow)]
    s: Cow<'a, str>,
}

impl Item<'_> {
    fn key(&self) -> Box<str> {
        format!("{}\t{}", self.tenant_id.s, self.message_id.s).into()
    }
}

impl Cloud {
    pub(super) fn put_item(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Outcome, Failure> {
        let put: Put<'_> = serde_json::from_slice(body)?;
        let key = put.item.key();
        self.record(&put.table_name, key);
        out.extend_from_slice(b"{}");
        Ok(Outcome::done(1))
    }

    pub(super) fn batch_write(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Outcome, Failure> {
        const VALIDATION: &str = "com.amazon.coral.validate#ValidationException";
        let batch: Batch<'_> = serde_json::from_slice(body)?;
        let count = batch.request_items.values().map(Vec::len).sum();
        if !(1..=MOST_ITEMS).contains(&count) {
            return Err(Failure::refused(VALIDATION, "A batch has 1 to 25 items."));
        }
        for (table, writes) in &batch.request_items {
            let keys: HashSet<_> = writes.iter().map(|write| write.put_request.item.key()).collect();
            if keys.len() < writes.len() {
                return Err(Failure::refused(VALIDATION, "Provided list of item keys contains duplicates"));
            }
            keys.into_iter().for_each(|key| self.record(table, key));
        }
        out.extend_from_slice(b"{\"UnprocessedItems\":{}}");
        Ok(Outcome::done(count))
    }

    pub(super) fn describe_table(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Outcome, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Describe {
            table_name: String,
        }
        let Describe { table_name } = serde_json::from_slice(body)?;
        let key = |name, kind| serde_json::json!({"AttributeName": name, "KeyType": kind});
        let attribute = |name| serde_json::json!({"AttributeName": name, "AttributeType": "S"});
        let table = serde_json::json!({"Table": {
            "TableName": table_name,
            "TableStatus": "ACTIVE",
            "TableArn": super::arn("dynamodb", &format!("table/{table_name}")),
            "KeySchema": [key("tenant_id", "HASH"), key("message_id", "RANGE")],
            "AttributeDefinitions": [attribute("tenant_id"), attribute("message_id")],
        }});
        out.extend_from_slice(table.to_string().as_bytes());
        Ok(Outcome::done(1))
    }
}

//! Records as they land in a table, for whoever watches.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::broadcast;

/// How many landings a slow watcher may be behind before it misses some.
const BACKLOG: usize = 1024;

/// A record that a table has taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    /// The table's name.
    pub table: String,
    /// The record's partition key.
    pub tenant_id: String,
    /// The record's sort key.
    pub message_id: String,
    /// When SQS took the message, RFC 3339.
    pub sent_at: String,
}

/// The source of [`Landing`]s. It reads requests only while somebody watches.
#[derive(Debug, Clone)]
pub(super) struct Landings(broadcast::Sender<Landing>);

impl Default for Landings {
    fn default() -> Self {
        Self(broadcast::Sender::new(BACKLOG))
    }
}

impl Landings {
    pub(super) fn watch(&self) -> broadcast::Receiver<Landing> {
        self.0.subscribe()
    }

    /// The records that a request writes; none when nobody watches.
    pub(super) fn expected(&self, action: &str, body: &Bytes) -> Vec<Landing> {
        if self.0.receiver_count() == 0 {
            return Vec::new();
        }
        match action {
            "PutItem" => serde_json::from_slice(body)
                .map(|put: Put| landing(&put.table_name, &put.item))
                .into_iter()
                .flatten()
                .collect(),
            "BatchWriteItem" => serde_json::from_slice(body).map(BatchWrite::landings).unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// Tells watchers that the records have been written.
    pub(super) fn written(&self, landings: Vec<Landing>) {
        // An error means that the last watcher has gone meanwhile.
        landings.into_iter().for_each(|landing| drop(self.0.send(landing)));
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Put {
    table_name: String,
    item: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BatchWrite {
    request_items: std::collections::HashMap<String, Vec<WriteRequest>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct WriteRequest {
    put_request: Option<PutRequest>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PutRequest {
    item: Map<String, Value>,
}

impl BatchWrite {
    fn landings(self) -> Vec<Landing> {
        let tables = self.request_items.iter();
        let puts =
            tables.flat_map(|(table, requests)| requests.iter().map(move |request| (table, &request.put_request)));
        puts.filter_map(|(table, put)| landing(table, &put.as_ref()?.item)).collect()
    }
}

/// `None` for an item that is no record, such as a payment's claim: it was not sent through a queue.
fn landing(table: &str, item: &Map<String, Value>) -> Option<Landing> {
    let text = |name: &str| Some(item.get(name)?.get("S")?.as_str()?.to_owned());
    Some(Landing {
        table: table.rsplit('/').next()?.to_owned(),
        tenant_id: text("tenant_id")?,
        message_id: text("message_id")?,
        sent_at: text("sent_at")?,
    })
}

//! A table: items as their text, by partition and sort key.

use std::collections::{BTreeMap, HashMap};

/// The names of a table and its keys, both of them strings.
#[derive(Clone, Debug)]
pub struct TableSpec {
    pub(crate) name: String,
    pub(crate) partition_key: String,
    pub(crate) sort_key: String,
}

impl TableSpec {
    /// A table with the keys `tenant_id` and `message_id`.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), partition_key: "tenant_id".into(), sort_key: "message_id".into() }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// An item as it was written, and how often.
pub(crate) struct Row {
    pub(crate) json: Box<str>,
    pub(crate) writes: u32,
}

pub(crate) struct Table {
    pub(crate) spec: TableSpec,
    pub(crate) partitions: HashMap<Box<str>, BTreeMap<Box<str>, Row>>,
    pub(crate) rows: usize,
}

impl Table {
    pub(crate) fn new(spec: TableSpec) -> Self {
        Self { spec, partitions: HashMap::new(), rows: 0 }
    }

    pub(crate) fn get(&self, key: &(Box<str>, Box<str>)) -> Option<&Row> {
        self.partitions.get(&key.0)?.get(&key.1)
    }

    pub(crate) fn put(&mut self, (partition, sort): (Box<str>, Box<str>), json: &str) {
        let row = self.partitions.entry(partition).or_default().entry(sort).or_insert_with(|| {
            self.rows += 1;
            Row { json: Box::default(), writes: 0 }
        });
        row.json = json.into();
        row.writes += 1;
    }

    pub(crate) fn delete(&mut self, key: &(Box<str>, Box<str>)) {
        if self.partitions.get_mut(&key.0).is_some_and(|partition| partition.remove(&key.1).is_some()) {
            self.rows -= 1;
        }
    }
}

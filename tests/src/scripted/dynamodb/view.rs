//! What a test sees of a table: [`Row`].

use std::collections::BTreeMap;

use super::super::shared::{Shared, lock};

/// An item as a test sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The partition key.
    pub partition: String,
    /// The sort key.
    pub sort: String,
    /// String and number attributes by name, the keys among them.
    pub attributes: BTreeMap<String, String>,
    /// How often this key was written.
    pub writes: u32,
}

impl Row {
    /// An attribute; the empty string when the item has none of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }
}

/// All items of a table by key. Panics if there is no such table.
pub(crate) fn rows(shared: &Shared, name: &str) -> Vec<Row> {
    let tables = lock(&shared.dynamodb);
    let table = tables.tables.get(name).unwrap_or_else(|| panic!("there is no table {name}"));
    let mut rows = Vec::with_capacity(table.rows);
    for (partition, items) in &table.partitions {
        for (sort, row) in items {
            let item: BTreeMap<String, serde_json::Value> = serde_json::from_str(&row.json).unwrap_or_default();
            let text = |value: &serde_json::Value| value["S"].as_str().or(value["N"].as_str()).map(str::to_owned);
            rows.push(Row {
                partition: partition.to_string(),
                sort: sort.to_string(),
                attributes: item.iter().filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect(),
                writes: row.writes,
            });
        }
    }
    rows.sort_by(|one, two| (&one.partition, &one.sort).cmp(&(&two.partition, &two.sort)));
    rows
}

/// How many items a table has. Panics if there is no such table.
pub(crate) fn row_count(shared: &Shared, name: &str) -> usize {
    lock(&shared.dynamodb).tables.get(name).unwrap_or_else(|| panic!("there is no table {name}")).rows
}

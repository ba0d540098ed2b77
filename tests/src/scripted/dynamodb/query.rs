//! `Query` by partition key, in either direction, page by page.

use std::ops::Bound;

use super::super::wire::{Refusal, Reply};
use super::expression::{Comparator, Condition, Operand, Placeholders};
use super::limits::{self, invalid};
use super::request::Query;
use super::table::{Row, Table};
use super::value::{Item, Value};

/// A page ends after as many bytes.
const MAX_PAGE_BYTES: usize = 1024 * 1024;

pub(crate) fn answer(table: &Table, query: &Query<'_>) -> Result<Reply, Refusal> {
    let placeholders =
        Placeholders { names: &query.expression_attribute_names, values: &query.expression_attribute_values };
    let parse = |text: &str, what: &str| {
        Condition::parse(text, placeholders).map_err(|problem| invalid(format!("Invalid {what}: {problem}")))
    };
    let (partition, rest) = split(table, parse(&query.key_condition_expression, "KeyConditionExpression")?)?;
    let filter = query.filter_expression.as_ref().map(|text| parse(text, "FilterExpression")).transpose()?;
    let start = query.exclusive_start_key.as_ref().map(|key| limits::key(&table.spec, key)).transpose()?;
    let forward = query.scan_index_forward.unwrap_or(true);
    let after = start.as_ref().map(|(_, sort)| &**sort);
    let most = query.limit.map_or(usize::MAX, |limit| limit.unsigned_abs() as usize);

    let shown = super::shown(query.projection_expression.as_ref(), &query.expression_attribute_names)?;

    let (mut items, mut seen, mut bytes, mut last) = (Vec::new(), 0, 0, None);
    for (sort, row) in rows(table, &partition, forward, after) {
        let item: Item<'_> = serde_json::from_str(&row.json).unwrap_or_default();
        if !rest.iter().all(|condition| condition.met_by(&item)) {
            continue;
        }
        if seen == most || bytes > MAX_PAGE_BYTES {
            // There is more; the last one looked at is where the next page starts.
            return Ok(page(&items, seen, last.map(|sort: &str| start_key(table, &partition, sort))));
        }
        seen += 1;
        bytes += row.json.len();
        last = Some(&**sort);
        if filter.as_ref().is_none_or(|filter| filter.met_by(&item)) {
            items.push(shown(&row.json));
        }
    }
    // A full page names its end even when nothing follows, as DynamoDB does.
    let full = seen == most && seen > 0;
    Ok(page(&items, seen, last.filter(|_| full).map(|sort| start_key(table, &partition, sort))))
}

/// The partition, and the conditions on the sort key.
fn split<'a>(table: &Table, condition: Condition<'a>) -> Result<(String, Vec<Condition<'a>>), Refusal> {
    let (mut partition, mut rest) = (None, Vec::new());
    for condition in condition.conjuncts() {
        match condition {
            Condition::Compare(Operand::Name(name), Comparator::Equal, Operand::Value(Value::S(text)))
                if name == table.spec.partition_key =>
            {
                partition = Some(text.to_string());
            }
            Condition::Compare(Operand::Name(ref name), comparator, Operand::Value(_))
                if *name == table.spec.sort_key && comparator != Comparator::Unequal =>
            {
                rest.push(condition);
            }
            Condition::BeginsWith(Operand::Name(ref name), _) | Condition::Between(Operand::Name(ref name), ..)
                if *name == table.spec.sort_key =>
            {
                rest.push(condition);
            }
            _ => return Err(invalid("Query key condition not supported")),
        }
    }
    let partition = partition.ok_or_else(|| invalid("Query condition missed key schema element: the partition key"))?;
    if rest.len() > 1 {
        return Err(invalid("KeyConditionExpressions must only contain one condition per key"));
    }
    Ok((partition, rest))
}

/// The rows of a partition from `after` on, in the direction asked for.
fn rows<'t>(
    table: &'t Table,
    partition: &str,
    forward: bool,
    after: Option<&str>,
) -> Box<dyn Iterator<Item = (&'t Box<str>, &'t Row)> + 't> {
    let Some(rows) = table.partitions.get(partition) else { return Box::new(std::iter::empty()) };
    let after = after.map_or(Bound::Unbounded, Bound::Excluded);
    if forward {
        Box::new(rows.range::<str, _>((after, Bound::Unbounded)))
    } else {
        Box::new(rows.range::<str, _>((Bound::Unbounded, after)).rev())
    }
}

fn start_key(table: &Table, partition: &str, sort: &str) -> String {
    serde_json::json!({&table.spec.partition_key: {"S": partition}, &table.spec.sort_key: {"S": sort}}).to_string()
}

fn page(items: &[String], seen: usize, last: Option<String>) -> Reply {
    let last = last.map(|key| format!(",\"LastEvaluatedKey\":{key}")).unwrap_or_default();
    Reply::json(format!("{{\"Items\":[{}],\"Count\":{},\"ScannedCount\":{seen}{last}}}", items.join(","), items.len()))
}

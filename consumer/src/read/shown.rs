//! A record as JSON: its attributes as they are stored.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Map, Value};

/// All attributes of `item`, also such that an older consumer left. What JSON has no form for is left out.
pub(super) fn record(item: HashMap<String, AttributeValue>) -> Value {
    Value::Object(object(item))
}

fn object(item: HashMap<String, AttributeValue>) -> Map<String, Value> {
    item.into_iter().filter_map(|(name, value)| Some((name, shown(value)?))).collect()
}

fn shown(value: AttributeValue) -> Option<Value> {
    Some(match value {
        AttributeValue::S(text) => Value::String(text),
        // A number that would change in a JSON reader's float stays text.
        AttributeValue::N(number) => number.parse::<i64>().map_or(Value::String(number), Value::from),
        AttributeValue::Bool(yes) => Value::Bool(yes),
        AttributeValue::Null(_) => Value::Null,
        AttributeValue::M(map) => Value::Object(object(map)),
        AttributeValue::L(list) => Value::Array(list.into_iter().filter_map(shown).collect()),
        AttributeValue::Ss(texts) | AttributeValue::Ns(texts) => {
            Value::Array(texts.into_iter().map(Value::String).collect())
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::primitives::Blob;
    use serde_json::json;

    #[test]
    fn attributes_are_shown_as_they_are_stored() {
        let item = [
            ("tenant_id", AttributeValue::S("acme".to_owned())),
            ("body", AttributeValue::S("{\"n\":1e400}".to_owned())),
            ("expires_at", AttributeValue::N("1798644061".to_owned())),
        ];
        let item = item.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        assert_eq!(record(item), json!({"tenant_id": "acme", "body": "{\"n\":1e400}", "expires_at": 1_798_644_061}));
    }

    #[test]
    fn what_others_left_in_the_table_is_shown_as_far_as_json_can() {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let item = [
            ("exact", AttributeValue::N("0.10000000000000000000000000000000001".to_owned())),
            ("yes", AttributeValue::Bool(true)),
            ("nothing", AttributeValue::Null(true)),
            ("map", AttributeValue::M([("a".to_owned(), text("b"))].into())),
            ("list", AttributeValue::L(vec![text("a"), AttributeValue::N("1".to_owned())])),
            ("set", AttributeValue::Ss(vec!["a".to_owned()])),
            ("binary", AttributeValue::B(Blob::new([0xff]))),
        ];
        let item = item.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let exact = "0.10000000000000000000000000000000001";
        assert_eq!(
            record(item),
            json!({"exact": exact, "yes": true, "nothing": null, "map": {"a": "b"}, "list": ["a", 1], "set": ["a"]})
        );
    }
}

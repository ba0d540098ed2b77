//! Any message that a queue may bring: stored if it is the tenant's, a dead letter if it is nobody's, never both and never stuck.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use tests::scripted::{Aws, QueueSpec, TableSpec};
use tests::service::Kind;

use super::super::{DEAD, QUEUE, TABLE, launch};
use super::{RUNTIME, runner};

/// A message as a stranger may have put it there.
#[derive(Clone, Debug)]
struct Strange {
    body: String,
    attributes: Value,
}

fn any_attribute() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        4 => Just("acme".to_owned()),
        1 => "[ -~]{1,12}",
        1 => any::<String>().prop_map(|text| format!("{text}.")),
        1 => "[a-z]{1,3}".prop_map(|piece| piece.repeat(900)),
    ];
    let kind = prop::sample::select(vec!["String", "String.label", "String", "Number", "StringX", "string"]);
    (kind, text).prop_map(|(kind, text)| json!({"DataType": kind, "StringValue": text}))
}

fn any_message() -> impl Strategy<Value = Strange> {
    let names = prop::sample::select(vec![
        "tenant_id",
        "message_id",
        "producer_environment",
        "content_type",
        "traceparent",
        "other",
    ]);
    let body = prop_oneof![3 => "[ -~]{1,40}", 1 => any::<String>().prop_map(|text| format!("{text}\u{0}x")), 1 => Just("{}".to_owned())];
    let owned = prop::option::weighted(0.7, Just(json!({"DataType": "String", "StringValue": "acme"})));
    (body, prop::collection::btree_map(names, any_attribute(), 0..5), owned).prop_map(|(body, attributes, owned)| {
        let mut attributes: serde_json::Map<String, Value> =
            attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        if let Some(owned) = owned {
            attributes.insert("tenant_id".to_owned(), owned);
        }
        Strange { body, attributes: Value::Object(attributes) }
    })
}

/// What the contract says: whose a message is, and the attribute that it is stored under if that can be a key.
fn text<'a>(attributes: &'a Value, name: &str) -> Option<&'a str> {
    let attribute = attributes.get(name)?;
    let kind = attribute["DataType"].as_str()?;
    (kind == "String" || kind.starts_with("String.")).then(|| attribute["StringValue"].as_str()).flatten()
}

fn belongs_here(message: &Strange) -> bool {
    text(&message.attributes, "tenant_id") == Some("acme")
}

fn own_id(message: &Strange) -> Option<&str> {
    text(&message.attributes, "message_id").filter(|id| (1..=1_024).contains(&id.len()) && !id.starts_with("payment#"))
}

#[test]
fn any_message_is_stored_or_a_dead_letter_and_leaves_the_queue() {
    let messages = prop::collection::vec(any_message(), 100..200);
    let tried = runner(3).run(&messages, |messages| {
        // A queue that gives up after one receive: what cannot be stored is a dead letter when it would come again.
        let aws = Aws::start();
        aws.create_queue(QueueSpec::named(DEAD));
        aws.set_parameter("/acme/consumer_sqs", &aws.create_queue(QueueSpec::named(QUEUE).redrive(DEAD, 1)));
        aws.set_parameter("/acme/consumer_ddb", &aws.create_table(TableSpec::named(TABLE)));
        for message in &messages {
            aws.put_raw_message(QUEUE, &message.body, &message.attributes.to_string());
        }
        let (good, bad): (Vec<&Strange>, Vec<&Strange>) = messages.iter().partition(|message| belongs_here(message));
        RUNTIME.block_on(async {
            let _consumer = launch(Kind::Consumer, &aws).start().await;
            aws.wait_until("an empty queue", |aws| aws.queue(QUEUE).is_empty()).await;
        });
        let mut dead: Vec<String> = aws.messages(DEAD).into_iter().map(|message| message.body).collect();
        let mut refused: Vec<String> = bad.iter().map(|message| message.body.clone()).collect();
        dead.sort();
        refused.sort();
        prop_assert_eq!(dead, refused);
        // Several may have one id; then one of them remains.
        let mut bodies: BTreeMap<Option<&str>, Vec<&str>> = BTreeMap::new();
        for message in &good {
            bodies.entry(own_id(message)).or_default().push(&message.body);
        }
        let rows = aws.rows(TABLE);
        let unnamed = bodies.get(&None).map_or(0, Vec::len);
        prop_assert_eq!(rows.len(), bodies.len() - usize::from(unnamed > 0) + unnamed);
        for row in &rows {
            prop_assert_eq!(row.partition.as_str(), "acme");
            let under = if bodies.contains_key(&Some(row.sort.as_str())) { Some(row.sort.as_str()) } else { None };
            prop_assert!(bodies[&under].contains(&row.get("body")), "{:?}", row);
        }
        Ok(())
    });
    tried.unwrap_or_else(|failed| panic!("{failed}"));
}

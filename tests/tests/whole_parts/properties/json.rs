//! Any JSON, through producer, queue and consumer into the table.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tests::service::{Kind, Service};

use super::super::{DEAD, QUEUE, acme, launch, stored};
use super::{RUNTIME, runner};

/// JSON as text, with all that parsers like to lose: numbers of any length, escapes of any spelling, half surrogate pairs, spaces.
fn any_json() -> impl Strategy<Value = String> {
    let space = "[ \t\r\n]{0,2}";
    let number = "-?(0|[1-9][0-9]{0,40})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?";
    let character = prop_oneof![
        8 => any::<char>().prop_filter("plain", |c| !matches!(c, '"' | '\\') && *c >= ' ').prop_map(String::from),
        1 => prop::sample::select(vec!["\u{FFFE}", "\u{FFFF}", "\u{7F}", "\u{85}", "\u{2028}", "\u{1FFFE}", "\u{10FFFF}"])
            .prop_map(str::to_owned),
        1 => "\\\\[\"\\\\/bfnrt]",
        1 => "\\\\u[0-9a-fA-F]{4}",
    ];
    let string = prop::collection::vec(character, 0..12).prop_map(|all| format!("\"{}\"", all.concat()));
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        number,
        string.clone(),
    ];
    let value = leaf.prop_recursive(4, 40, 6, move |inner| {
        let spaced = (space, inner, space).prop_map(|(before, value, after)| format!("{before}{value}{after}"));
        let pair = (string.clone(), spaced.clone()).prop_map(|(key, value)| format!("{key}:{value}"));
        prop_oneof![
            prop::collection::vec(spaced, 0..6).prop_map(|all| format!("[{}]", all.join(","))),
            prop::collection::vec(pair, 0..6).prop_map(|all| format!("{{{}}}", all.join(","))),
        ]
    });
    (space, value, space).prop_map(|(before, value, after)| format!("{before}{value}{after}"))
}

/// What the contract says becomes of it: SQS takes the characters of XML 1.0, and of those it refuses only two can stand in JSON.
fn as_sent(json: &str) -> String {
    json.replace('\u{FFFE}', "\\ufffe").replace('\u{FFFF}', "\\uffff")
}

/// Half of them one by one, half as a batch; the ids that were told, with what should be stored under them.
async fn post(producer: &Service, events: &[String]) -> BTreeMap<String, String> {
    let mut expected = BTreeMap::new();
    let (alone, together) = events.split_at(events.len() / 2);
    for event in alone {
        let answer = producer.event("acme", event).await;
        assert_eq!(answer.status, 200, "{event}: {}", answer.text());
        expected.insert(answer.json()["message_id"].as_str().expect("an id").to_owned(), as_sent(event));
    }
    let body = format!("[{}]", together.join(","));
    let answer = producer.http.post(&format!("{}/producer/batch", producer.url), &[("tenantID", "acme")], body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let results = answer.json()["results"].as_array().cloned().unwrap_or_default();
    assert_eq!(results.len(), together.len());
    for (event, result) in together.iter().zip(results) {
        let id = result["message_id"].as_str().unwrap_or_else(|| panic!("{event}: {result}")).to_owned();
        // In an array, the spaces around an event are the array's.
        expected.insert(id, as_sent(event.trim_matches([' ', '\t', '\r', '\n'])));
    }
    expected
}

#[test]
fn any_json_comes_out_of_the_table_byte_for_byte_but_for_what_sqs_refuses() {
    let aws = acme();
    let [producer, _consumer] = RUNTIME
        .block_on(async { [launch(Kind::Producer, &aws).start().await, launch(Kind::Consumer, &aws).start().await] });
    let events = prop::collection::vec(any_json(), 2..40);
    let tried = runner(12).run(&events, |events| {
        let (expected, found) = RUNTIME.block_on(async {
            let before = stored(&aws);
            let expected = post(&producer, &events).await;
            aws.wait_until("the records", |aws| {
                aws.queue(QUEUE).is_empty() && aws.row_count("consumer-acme") >= before.len() + expected.len()
            })
            .await;
            let mut found = stored(&aws);
            found.retain(|id, _| !before.contains_key(id));
            (expected, found)
        });
        prop_assert_eq!(found, expected);
        Ok(())
    });
    tried.unwrap_or_else(|failed| panic!("{failed}"));
    assert!(aws.queue(DEAD).is_empty());
}

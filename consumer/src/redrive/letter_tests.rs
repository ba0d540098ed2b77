use super::*;
use aws_sdk_sqs::primitives::Blob;

fn attribute(kind: &str, value: &str) -> MessageAttributeValue {
    MessageAttributeValue::builder().data_type(kind).string_value(value).build().unwrap()
}

fn message(body: &str, attributes: &[(&str, MessageAttributeValue)]) -> Message {
    let mut message = Message::builder().message_id("sqs-1").receipt_handle("handle").body(body);
    for (name, value) in attributes {
        message = message.message_attributes(*name, value.clone());
    }
    message
        .attributes(MessageSystemAttributeName::SentTimestamp, "1796052000007")
        .attributes(MessageSystemAttributeName::ApproximateReceiveCount, "3")
        .build()
}

fn read(message: Message, environment: &str) -> Letter {
    Letter::read(message, &environment.parse().unwrap(), &Stamps::new(environment, None))
}

fn strings<'a>(pairs: &[(&'a str, &str)]) -> Vec<(&'a str, MessageAttributeValue)> {
    pairs.iter().map(|(name, value)| (*name, attribute("String", value))).collect()
}

#[test]
fn a_letter_without_a_key_of_its_own_is_sent_under_the_id_it_had() {
    for (own, sent) in [
        (None, "sqs-1"),
        (Some(attribute("String", "m-1")), "m-1"),
        (Some(attribute("String.uuid", "m-1")), "m-1"),
        (Some(attribute("Number", "7")), "sqs-1"),
        (Some(attribute("String", "payment#1")), "sqs-1"),
        (Some(attribute("String", &"x".repeat(1_025))), "sqs-1"),
    ] {
        let mut attributes = strings(&[("tenant_id", "acme")]);
        attributes.extend(own.clone().map(|value| ("message_id", value)));
        let letter = read(message("{}", &attributes), "acme");
        assert_eq!((letter.key.as_str(), letter.reason), (sent, None), "{own:?}");
        let entry = letter.entry(4).unwrap();
        let attributes = entry.message_attributes().unwrap();
        assert_eq!((entry.id(), attributes["message_id"].string_value()), ("4", Some(sent)), "{own:?}");
        assert_eq!(attributes.len(), 2);
    }
}

#[test]
fn all_else_is_sent_as_it_was() {
    let binary =
        MessageAttributeValue::builder().data_type("Binary.png").binary_value(Blob::new([0, 255, 10])).build().unwrap();
    let body = "{'event': 'caf\u{e9} \u{1f600}',\r\n\t\"n\": 1e400}";
    let mut all = strings(&[("tenant_id", "acme"), ("message_id", "m-1"), ("traceparent", "00-1-2-01"), ("x", "y")]);
    all.extend([("count", attribute("Number.int", "0.10")), ("picture", binary)]);
    let mut message = message(body, &all);
    let system = message.attributes.as_mut().unwrap();
    system.insert(MessageSystemAttributeName::MessageGroupId, "acme".to_owned());
    system.insert(MessageSystemAttributeName::AwsTraceHeader, "Root=1-5759e988-bd862e3fe1be46a994272793".to_owned());
    let entry = read(message, "pool-1").entry(0).unwrap();
    assert_eq!((entry.message_body(), entry.message_group_id()), (body, Some("acme")));
    let sent = entry.message_attributes().unwrap();
    assert_eq!(sent.len(), all.len());
    for (name, value) in &all {
        assert_eq!(&sent[*name], value, "{name}");
    }
    let trace = &entry.message_system_attributes().unwrap()[&MessageSystemAttributeNameForSends::AwsTraceHeader];
    assert_eq!(trace.string_value(), Some("Root=1-5759e988-bd862e3fe1be46a994272793"));
}

#[test]
fn ten_attributes_leave_no_room_for_a_key() {
    let names: Vec<String> = (0..9).map(|n| format!("a{n}")).collect();
    let mut attributes: Vec<_> = names.iter().map(|name| (name.as_str(), attribute("String", "x"))).collect();
    attributes.extend(strings(&[("tenant_id", "acme")]));
    let why = read(message("{}", &attributes), "acme").entry(0).unwrap_err();
    assert!(why.starts_with("it has 10 attributes and no usable message_id"), "{why}");
    attributes[0] = ("message_id", attribute("String", "m-1"));
    assert!(read(message("{}", &attributes), "acme").entry(0).is_ok());
}

#[test]
fn the_consumer_s_own_rules_say_why_a_letter_is_dead() {
    for (environment, attributes, body, reason) in [
        ("acme", strings(&[("tenant_id", "acme")]), "{}".to_owned(), None),
        ("pool-1", strings(&[("tenant_id", "other")]), "{}".to_owned(), None),
        ("acme", strings(&[]), "{}".to_owned(), Some("no_tenant")),
        ("acme", strings(&[("tenant_id", "Acme")]), "{}".to_owned(), Some("malformed_tenant")),
        ("acme", strings(&[("tenant_id", "other")]), "{}".to_owned(), Some("foreign_tenant")),
        ("acme", strings(&[("tenant_id", "acme")]), "x".repeat(409_600), Some("too_large")),
    ] {
        let letter = read(message(&body, &attributes), environment);
        assert_eq!(letter.reason.map(Reason::as_str), reason);
        let json = letter.json(false);
        assert_eq!((json["storable"].as_bool(), json["reason"].as_str()), (Some(reason.is_none()), reason));
    }
}

#[test]
fn a_line_shows_no_body_unless_asked_and_never_drives_a_terminal() {
    let letter = read(message("{\"secret\":\u{1b}1}", &strings(&[("tenant_id", "ac\u{1b}[2Jme")])), "pool-1");
    assert_eq!(
        letter.line(false),
        "sqs-1  tenant ac\\u{1b}[2Jme  reason malformed_tenant  key sqs-1  receives 3  sent 2026-11-30T15:20:00.007Z  bytes 36"
    );
    assert_eq!(letter.line(true).lines().nth(1), Some("    {\"secret\":\\u{1b}1}"));
    assert_eq!(letter.json(false).get("body"), None);
    assert_eq!(letter.json(true)["body"], "{\"secret\":\u{1b}1}");
    assert_eq!(letter.json(false).to_string().lines().count(), 1, "one line, whatever is in it");
}

#[test]
fn letters_are_chosen_by_tenant_and_by_either_id() {
    let which = |tenant: Option<&str>, ids: &[&str]| Which {
        environment: "pool-1".parse().unwrap(),
        dead_letter_queue: None,
        tenant: tenant.map(|tenant| tenant.parse().unwrap()),
        message_ids: ids.iter().map(|id| (*id).to_owned()).collect(),
    };
    let letter = read(message("{}", &strings(&[("tenant_id", "acme"), ("message_id", "m-1")])), "pool-1");
    let nobody_s = read(message("{}", &[]), "pool-1");
    assert!(letter.is_wanted(&which(None, &[])) && nobody_s.is_wanted(&which(None, &[])));
    assert!(letter.is_wanted(&which(Some("acme"), &["m-1"])) && letter.is_wanted(&which(None, &["x", "sqs-1"])));
    assert!(!letter.is_wanted(&which(Some("acm"), &[])) && !letter.is_wanted(&which(Some("acme"), &["m-2"])));
    assert!(!nobody_s.is_wanted(&which(Some("acme"), &[])));
}

#[test]
fn a_letter_that_came_without_a_part_of_it_cannot_be_sent() {
    let whole = || {
        let mut message = message("{}", &strings(&[("tenant_id", "acme")]));
        message.md5_of_message_attributes = Some("acd2a2b2e4f5a0b4b4c1f0b3f3b1f1a7".to_owned());
        message
    };
    assert!(read(whole(), "acme").entry(0).is_ok());
    type Take = fn(&mut Message);
    let cases: [(Take, &str); 3] = [
        (|message| message.body = None, "it came without its body"),
        (|message| message.body = Some(String::new()), "it came without its body"),
        (|message| message.message_attributes = None, "it came without its attributes"),
    ];
    for (take, lack) in cases {
        let mut part = whole();
        take(&mut part);
        let letter = read(part, "acme");
        assert_eq!((letter.lack, letter.entry(0).err().as_deref()), (Some(lack), Some(lack)));
    }
    // Nobody's from the start, and whole.
    assert!(read(message("{}", &[]), "acme").entry(0).is_ok());
}

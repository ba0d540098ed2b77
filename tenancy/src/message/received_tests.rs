use super::*;
use aws_sdk_sqs::primitives::Blob;
use proptest::prelude::*;

fn attribute(kind: &str, value: &str) -> MessageAttributeValue {
    MessageAttributeValue::builder().data_type(kind).string_value(value).build().unwrap()
}

fn message(attributes: &[(&str, MessageAttributeValue)]) -> Message {
    let mut message = Message::builder().message_id("sqs-1").receipt_handle("handle-1").body("{\"n\":1}");
    for (name, value) in attributes {
        message = message.message_attributes(*name, value.clone());
    }
    message
        .attributes(MessageSystemAttributeName::SentTimestamp, "1796052000123")
        .attributes(MessageSystemAttributeName::ApproximateReceiveCount, "3")
        .build()
}

fn read_at(environment: &str, attributes: &[(&str, MessageAttributeValue)]) -> Received {
    Received::read(message(attributes), &environment.parse().unwrap())
}

fn tenant(id: &str) -> (&'static str, MessageAttributeValue) {
    (TENANT_ID, attribute("String", id))
}

#[test]
fn a_message_of_ours_is_read_as_it_was_sent() {
    let received = read_at(
        "pool-1",
        &[
            tenant("acme"),
            (PRODUCER_ENVIRONMENT, attribute("String", "pool-1")),
            (MESSAGE_ID, attribute("String", "0198c0de")),
            (CONTENT_TYPE, attribute("String", "application/json")),
            (TRACEPARENT, attribute("String", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")),
        ],
    );
    let event = received.event.unwrap();
    assert_eq!(event.tenant.as_str(), "acme");
    assert_eq!(event.message_id, "0198c0de");
    assert_eq!(event.producer_environment.as_deref(), Some("pool-1"));
    assert_eq!(event.content_type.as_deref(), Some("application/json"));
    assert_eq!(event.body, "{\"n\":1}");
    assert_eq!((received.sqs_id.as_str(), received.receipt_handle.as_str()), ("sqs-1", "handle-1"));
    assert_eq!((received.receives, received.sent_at), (3, Some(1_796_052_000_123)));
    assert_eq!(received.traceparent.as_deref(), Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
}

#[test]
fn a_message_of_an_older_producer_is_stored_under_sqs_s_own_id() {
    let received = read_at("pool-1", &[tenant("acme"), (PRODUCER_ENVIRONMENT, attribute("String", "pool-1"))]);
    let event = received.event.unwrap();
    assert_eq!(event.message_id, "sqs-1");
    assert_eq!(event.content_type, None);
}

#[test]
fn a_message_id_that_cannot_be_a_key_gives_way_to_sqs_s_own() {
    for unusable in [
        attribute("String", ""),
        attribute("String", &"x".repeat(1_025)),
        attribute("String", "payment#0198c0de"),
        attribute("Number", "17"),
        attribute("Stringent", "id"),
        MessageAttributeValue::builder().data_type("Binary").binary_value(Blob::new([0xff])).build().unwrap(),
    ] {
        let event = read_at("acme", &[tenant("acme"), (MESSAGE_ID, unusable.clone())]).event.unwrap();
        assert_eq!(event.message_id, "sqs-1", "{unusable:?}");
    }
    let longest = "x".repeat(1_024);
    let event = read_at("acme", &[tenant("acme"), (MESSAGE_ID, attribute("String.uuid", &longest))]).event.unwrap();
    assert_eq!(event.message_id, longest);
}

#[test]
fn a_message_that_is_nobody_s_is_rejected() {
    assert_eq!(read_at("acme", &[]).event, Err(Rejection::NoTenant));
}

#[test]
fn a_tenant_that_is_none_is_rejected() {
    let binary = MessageAttributeValue::builder().data_type("Binary").binary_value(Blob::new("acme")).build().unwrap();
    let missing = MessageAttributeValue::builder().data_type("String").build().unwrap();
    for bad in [
        attribute("String", ""),
        attribute("String", "Acme"),
        attribute("String", "acme "),
        attribute("String", "../acme"),
        attribute("String", "pool-1"),
        attribute("Number", "12"),
        binary,
        missing,
    ] {
        assert_eq!(read_at("pool-1", &[(TENANT_ID, bad.clone())]).event, Err(Rejection::MalformedTenant), "{bad:?}");
    }
}

#[test]
fn a_silo_refuses_another_tenant_s_message_and_a_pool_does_not() {
    assert_eq!(read_at("acme", &[tenant("globex")]).event, Err(Rejection::ForeignTenant));
    assert!(read_at("acme", &[tenant("acme")]).event.is_ok());
    assert!(read_at("pool-1", &[tenant("globex")]).event.is_ok());
}

#[test]
fn optional_attributes_that_are_empty_or_of_another_type_are_left_out() {
    let event = read_at(
        "acme",
        &[tenant("acme"), (PRODUCER_ENVIRONMENT, attribute("String", "")), (CONTENT_TYPE, attribute("Number", "1"))],
    );
    let event = event.event.unwrap();
    assert_eq!((event.producer_environment, event.content_type), (None, None));
}

#[test]
fn a_message_with_nothing_in_it_is_rejected_and_not_a_panic() {
    let received = Received::read(Message::builder().build(), &"acme".parse().unwrap());
    assert_eq!(received.event, Err(Rejection::NoTenant));
    assert_eq!((received.receives, received.sent_at), (1, None));
    let only_tenant = Message::builder().message_attributes(TENANT_ID, attribute("String", "acme")).build();
    assert_eq!(Received::read(only_tenant, &"acme".parse().unwrap()).event, Err(Rejection::NoId));
}

#[test]
fn a_message_that_comes_without_its_body_is_rejected_and_an_empty_one_is_not() {
    for (body, event) in [(None, Err(Rejection::NoBody)), (Some(String::new()), Ok(String::new()))] {
        let mut odd = message(&[tenant("acme")]);
        odd.body = body;
        let read = Received::read(odd, &"acme".parse().unwrap());
        assert_eq!(read.event.map(|event| event.body), event);
    }
}

#[test]
fn times_and_counts_that_are_no_numbers_are_left_out() {
    let mut odd = message(&[tenant("acme")]);
    odd.attributes = Some(
        [
            (MessageSystemAttributeName::SentTimestamp, "yesterday".to_owned()),
            (MessageSystemAttributeName::ApproximateReceiveCount, "-4".to_owned()),
        ]
        .into(),
    );
    let received = Received::read(odd, &"acme".parse().unwrap());
    assert_eq!((received.receives, received.sent_at), (1, None));
}

proptest! {
    #[test]
    fn no_attribute_and_no_body_makes_reading_panic(
        names in proptest::collection::vec(prop_oneof![proptest::sample::select(ATTRIBUTES.to_vec()).prop_map(String::from), any::<String>()], 0..8),
        kind in prop_oneof![Just("String".to_owned()), Just("Number".to_owned()), Just("Binary".to_owned()), any::<String>()],
        value in any::<Option<String>>(),
        body in any::<Option<String>>(),
        number in any::<String>(),
    ) {
        let mut message = Message::builder().set_body(body.clone());
        for name in names {
            let value = MessageAttributeValue::builder().data_type(&kind).set_string_value(value.clone()).build().unwrap();
            message = message.message_attributes(name, value);
        }
        let message = message.attributes(MessageSystemAttributeName::SentTimestamp, number).build();
        let received = Received::read(message, &"pool-1".parse().unwrap());
        if let Ok(event) = received.event {
            prop_assert_eq!(event.body, body.unwrap_or_default());
            prop_assert!(id::is_usable(&event.message_id));
        }
    }
}

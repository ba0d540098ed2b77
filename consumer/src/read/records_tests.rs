use super::*;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// A partition in memory that answers as DynamoDB does, `page` items a query at most.
struct Partition {
    ids: BTreeSet<String>,
    page: usize,
    body: usize,
    asked: Mutex<Vec<Ask>>,
}

impl Partition {
    fn of(ids: &[&str]) -> Self {
        let ids = ids.iter().map(|id| (*id).to_owned()).collect();
        Self { ids, page: usize::MAX, body: 1, asked: Mutex::default() }
    }

    fn item(&self, id: &str) -> Item {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        [(MESSAGE_ID.to_owned(), text(id)), (BODY.to_owned(), text(&"x".repeat(self.body)))].into()
    }
}

impl Queries for Partition {
    async fn query(&self, _: &TenantId, ask: Ask) -> Result<Answer, Problem> {
        self.asked.lock().unwrap().push(ask.clone());
        let within = |id: &&String| match ask.stretch {
            Stretch::BehindClaims => id.as_str() >= "payment$",
            Stretch::BeforeClaims => id.as_str() < "payment#",
        };
        let left = |id: &&String| ask.after.as_ref().is_none_or(|after| *id < after);
        let most = ask.most.min(self.page);
        let found: Vec<&String> = self.ids.iter().rev().filter(within).filter(left).take(most).collect();
        let stopped_at = if found.len() == most { found.last().map(|id| (*id).clone()) } else { None };
        Ok(Answer { items: found.into_iter().map(|id| self.item(id)).collect(), stopped_at })
    }
}

async fn ids(partition: &Partition, after: Option<&str>, limit: usize) -> (Vec<String>, Option<String>) {
    let page = page(partition, &"acme".parse().unwrap(), after.map(str::to_owned), limit).await.unwrap();
    (page.records.iter().filter_map(id_of).collect(), page.last)
}

#[tokio::test]
async fn records_come_newest_first_page_by_page() {
    let partition = Partition::of(&["01", "02", "03", "04", "05"]);
    assert_eq!(ids(&partition, None, 2).await, (vec!["05".into(), "04".into()], Some("04".into())));
    assert_eq!(ids(&partition, Some("04"), 2).await, (vec!["03".into(), "02".into()], Some("02".into())));
    assert_eq!(ids(&partition, Some("02"), 2).await, (vec!["01".into()], None));
}

#[tokio::test]
async fn a_last_page_that_is_full_says_that_it_is_the_last() {
    let partition = Partition::of(&["01", "02"]);
    assert_eq!(ids(&partition, None, 2).await, (vec!["02".into(), "01".into()], None));
}

#[tokio::test]
async fn claims_are_never_listed_and_pages_are_full_all_the_same() {
    let claims: Vec<String> = (0..500).map(|n| format!("payment#{n:04}")).collect();
    let mut all: Vec<&str> = claims.iter().map(String::as_str).collect();
    all.extend(["01", "02", "payment", "payment$", "q"]);
    let partition = Partition::of(&all);
    let (first, cursor) = ids(&partition, None, 3).await;
    assert_eq!(first, ["q", "payment$", "payment"]);
    assert_eq!(ids(&partition, cursor.as_deref(), 3).await, (vec!["02".into(), "01".into()], None));
    assert!(partition.asked.lock().unwrap().len() <= 4, "and no query is spent on them");
}

#[tokio::test]
async fn short_answers_of_the_table_are_put_together() {
    let names: Vec<String> = (0..50).map(|n| format!("{n:02}")).collect();
    let mut partition = Partition::of(&names.iter().map(String::as_str).collect::<Vec<_>>());
    partition.page = 7;
    let (found, cursor) = ids(&partition, None, 20).await;
    assert_eq!(found.len(), 20);
    assert_eq!((found[0].as_str(), found[19].as_str()), ("49", "30"));
    assert_eq!(cursor.as_deref(), Some("30"));
}

#[tokio::test]
async fn a_page_of_large_records_ends_early_and_goes_on() {
    let mut partition = Partition::of(&["01", "02", "03", "04"]);
    partition.body = 300_000;
    let (found, cursor) = ids(&partition, None, 20).await;
    assert_eq!(found, ["04", "03"]);
    assert_eq!(ids(&partition, cursor.as_deref(), 20).await.0, ["02", "01"]);
    // However large a record is, a page has one.
    partition.body = 3 * 1_048_576;
    assert_eq!(ids(&partition, None, 20).await, (vec!["04".into()], Some("04".into())));
}

/// A table that says that there is more, from the same key on, for ever.
struct Stuck(Mutex<usize>);

impl Queries for Stuck {
    async fn query(&self, _: &TenantId, _: Ask) -> Result<Answer, Problem> {
        *self.0.lock().unwrap() += 1;
        Ok(Answer { items: Vec::new(), stopped_at: Some("03".to_owned()) })
    }
}

#[tokio::test]
async fn a_table_whose_answers_lead_nowhere_is_asked_twice_and_not_for_ever() {
    let table = Stuck(Mutex::new(0));
    let read = page(&table, &"acme".parse().unwrap(), None, 20).await;
    assert_eq!((read, *table.0.lock().unwrap()), (Err(Problem::UNAVAILABLE), 2));
}

#[test]
fn an_answer_that_does_not_say_what_is_stored_is_no_empty_page() {
    let item = || Partition::of(&[]).item("01");
    let answer = || QueryOutput::builder().set_items(Some(vec![item()])).count(1);
    assert_eq!(answered(answer().build()).map(|answer| answer.items), Some(vec![item()]));
    let none = QueryOutput::builder().set_items(Some(vec![])).count(0);
    assert_eq!(answered(none.build()).map(|answer| answer.items), Some(vec![]));
    for (what, bad) in [
        ("nothing", QueryOutput::builder()),
        ("a number without items", QueryOutput::builder().count(1)),
        ("fewer items than their number", answer().count(2)),
        ("a place to go on that has no key", answer().last_evaluated_key(TENANT_ID, AttributeValue::S("acme".into()))),
    ] {
        assert!(answered(bad.build()).is_none(), "{what}");
    }
}

#[tokio::test]
async fn an_empty_partition_is_an_empty_page() {
    assert_eq!(ids(&Partition::of(&[]), None, 20).await, (vec![], None));
}

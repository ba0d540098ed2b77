//! One tenant's partition: reading its keys, and deleting by them.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use aws_sdk_dynamodb::operation::query::QueryOutput;
use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, ReturnConsumedCapacity, WriteRequest};
use tenancy::arn::TableArn;
use tenancy::aws::Clients;
use tenancy::message::{MESSAGE_ID, TENANT_ID, id};
use tenancy::tenant::TenantId;
use tokio_util::sync::CancellationToken;

use crate::drain::backoff::Backoff;
use crate::drain::calls::{failure, unbuilt};
use crate::drain::seam::Failure;
use crate::operator::calls::persist;
use crate::operator::pace::Pacer;
use crate::operator::pause;
use crate::operator::stop::Stop;
use crate::read::{id_of, items_of};

/// The most keys of a `BatchWriteItem`.
pub(super) const BATCH: usize = 25;

/// Keys of a page. Few enough that a person who stops it waits a moment; a query reads whole items to give their keys.
const PAGE: i32 = 200;

/// So often what the table did not process is sent again.
const TRIES: u32 = 10;

/// The pauses before that.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));

/// Where the next page starts.
type Start = HashMap<String, AttributeValue>;

/// Sort keys, and where the next ones are.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) keys: Vec<String>,
    pub(super) next: Option<Start>,
}

/// How much was found or deleted.
#[derive(Debug, Default)]
pub(super) struct Counts {
    records: u64,
    claims: u64,
    /// Write units that DynamoDB said it took.
    pub(super) units: f64,
}

impl Counts {
    /// Counts a key.
    pub(super) fn add(&mut self, key: &str) {
        if key.starts_with(id::CLAIM_PREFIX) { self.claims += 1 } else { self.records += 1 }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = |count: u64| if count == 1 { "" } else { "s" };
        let (records, claims) = (self.records, self.claims);
        write!(f, "{records} record{} and {claims} payment claim{}", s(records), s(claims))
    }
}

/// A tenant's partition of a table.
#[derive(Debug)]
pub(super) struct Partition<'a> {
    pub(super) clients: &'a Clients,
    pub(super) table: &'a TableArn,
    pub(super) tenant: &'a TenantId,
    pub(super) stopping: &'a CancellationToken,
}

impl Partition<'_> {
    fn partition_key(&self) -> AttributeValue {
        AttributeValue::S(self.tenant.as_str().to_owned())
    }

    /// The sort keys of some items, from `start` on.
    pub(super) async fn page(&self, start: Option<Start>) -> Result<Page, Stop> {
        let call = || async {
            let query = self.clients.dynamodb_batch.query().table_name(self.table.name()).consistent_read(true);
            let query = query
                .key_condition_expression("#tenant = :tenant")
                .projection_expression("#id")
                .expression_attribute_names("#tenant", TENANT_ID)
                .expression_attribute_names("#id", MESSAGE_ID)
                .expression_attribute_values(":tenant", self.partition_key())
                .limit(PAGE)
                .set_exclusive_start_key(start.clone());
            let answer = query.send().await.map_err(|error| failure(&error))?;
            page_of(answer, start.as_ref()).ok_or_else(Failure::unreadable)
        };
        let answer = persist(self.stopping, call).await;
        answer.map_err(|error| Stop::call("dynamodb:Query", self.table.as_str(), &error))
    }

    /// Deletes items of this tenant by their sort keys, at most [`BATCH`].
    pub(super) async fn delete(&self, keys: &[String], pacer: &mut Pacer, counts: &mut Counts) -> Result<(), Stop> {
        let failed = |failure: &Failure| Stop::call("dynamodb:BatchWriteItem", self.table.as_str(), failure);
        let requests: Result<Vec<_>, _> = keys.iter().map(|key| self.request(key)).collect();
        let mut left = requests.map_err(|error| failed(&unbuilt(error)))?;
        let mut backoff = BACKOFF;
        for _ in 0..TRIES {
            let call = || async {
                let call = self.clients.dynamodb_batch.batch_write_item();
                let call = call.request_items(self.table.name(), left.clone());
                let call = call.return_consumed_capacity(ReturnConsumedCapacity::Total);
                let answer = call.send().await.map_err(|error| failure(&error))?;
                // What is left over is always said, if that nothing is.
                if answer.unprocessed_items.is_some() { Ok(answer) } else { Err(Failure::unreadable()) }
            };
            let answer = persist(self.stopping, call).await.map_err(|error| failed(&error))?;
            let again: Vec<WriteRequest> =
                answer.unprocessed_items.unwrap_or_default().into_values().flatten().collect();
            // Where DynamoDB does not say what it took, at least one for each.
            let said: f64 = answer.consumed_capacity.iter().flatten().filter_map(|taken| taken.capacity_units()).sum();
            let units = said.max((left.len() - again.len().min(left.len())) as f64);
            pacer.did(units);
            counts.units += units;
            let still = |request: &WriteRequest| again.contains(request);
            left.iter().filter(|request| !still(request)).filter_map(key_of).for_each(|key| counts.add(key));
            left.retain(still);
            if left.is_empty() {
                return Ok(());
            }
            if pause(backoff.half_jitter(), self.stopping).await {
                // What is left is the next run's.
                return Ok(());
            }
        }
        Err(failed(&Failure::no_capacity()))
    }

    /// The request that deletes one item. Its partition is never read from anywhere.
    fn request(&self, key: &str) -> Result<WriteRequest, aws_sdk_dynamodb::error::BuildError> {
        let request = DeleteRequest::builder()
            .key(TENANT_ID, self.partition_key())
            .key(MESSAGE_ID, AttributeValue::S(key.to_owned()))
            .build()?;
        Ok(WriteRequest::builder().delete_request(request).build())
    }
}

/// The keys that a query from `start` on brought; `None` when its answer does not say what is stored, or leads nowhere: believed,
/// it would make a partition look empty, or never end.
fn page_of(mut answer: QueryOutput, start: Option<&Start>) -> Option<Page> {
    let keys = items_of(&mut answer)?.iter().map(id_of).collect::<Option<Vec<_>>>()?;
    let next = answer.last_evaluated_key.filter(|key| !key.is_empty());
    if let Some(next) = &next {
        let at = id_of(next)?;
        if start.and_then(id_of).is_some_and(|before| at <= before) {
            return None;
        }
    }
    Some(Page { keys, next })
}

fn key_of(request: &WriteRequest) -> Option<&str> {
    request.delete_request()?.key().get(MESSAGE_ID)?.as_s().ok().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: &str) -> Start {
        [(MESSAGE_ID.to_owned(), AttributeValue::S(id.to_owned()))].into()
    }

    #[test]
    fn an_answer_that_does_not_say_what_is_stored_or_leads_nowhere_is_no_page() {
        let answer = |ids: &[&str], next: Option<&str>| {
            let (items, count) = (ids.iter().map(|id| key(id)).collect(), i32::try_from(ids.len()).unwrap());
            QueryOutput::builder().set_items(Some(items)).count(count).set_last_evaluated_key(next.map(key)).build()
        };
        let page = page_of(answer(&["a", "b"], Some("b")), Some(&key("0"))).unwrap();
        assert_eq!((page.keys, page.next), (vec!["a".to_owned(), "b".to_owned()], Some(key("b"))));
        assert!(page_of(answer(&[], None), Some(&key("b"))).is_some_and(|page| page.keys.is_empty()));
        assert!(page_of(answer(&[], Some("b")), Some(&key("b"))).is_none());
        assert!(page_of(QueryOutput::builder().build(), None).is_none());
        let nameless = QueryOutput::builder().items(Start::new()).count(1);
        assert!(page_of(nameless.build(), None).is_none());
    }

    #[test]
    fn records_and_claims_are_told_apart() {
        let mut counts = Counts::default();
        assert_eq!(counts.to_string(), "0 records and 0 payment claims");
        ["0198c0de", "payment#0198c0de", "payments"].iter().for_each(|key| counts.add(key));
        assert_eq!(counts.to_string(), "2 records and 1 payment claim");
    }
}

//! Reading a tenant's partition backwards, past what is not a record.
//!
//! Payments' claims lie in the same partition, all of them between `payment#` and `payment$`. A page is read from above that
//! stretch first and then from below it, so that claims are neither shown nor paid for, however many there are.

use std::collections::HashMap;

use aws_sdk_dynamodb::operation::query::QueryOutput;
use aws_sdk_dynamodb::types::AttributeValue;
use tenancy::aws::{Fault, describe, fault_of};
use tenancy::directory::Directory;
use tenancy::message::id::CLAIM_PREFIX;
use tenancy::message::{MESSAGE_ID, TENANT_ID};
use tenancy::problem::Problem;
use tenancy::tenant::{Environment, TenantId};

use crate::events;
use crate::record::BODY;

/// The first key behind the claims: `#` is followed by `$`.
const BEHIND_CLAIMS: &str = "payment$";

/// A page ends early when its bodies have so many bytes: it is held in memory as a whole. With the record that passes it, that
/// is less than what one query brings, 1 MB.
const PAGE_BYTES: usize = 512 * 1_024;

/// An item of the table.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// A page of records.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Page {
    pub(super) records: Vec<Item>,
    /// The id of the last one, when there are more.
    pub(super) last: Option<String>,
    /// The bytes of the records' bodies.
    pub(super) bytes: usize,
}

/// A stretch of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stretch {
    BehindClaims,
    BeforeClaims,
}

/// What a query asks for: items of a tenant in a stretch, backwards, after that id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) stretch: Stretch,
    pub(super) after: Option<String>,
    pub(super) most: usize,
}

/// What it brought, and where it stopped short of the stretch's end.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) items: Vec<Item>,
    pub(super) stopped_at: Option<String>,
}

/// The seam: one query.
pub(super) trait Queries {
    fn query(&self, tenant: &TenantId, ask: Ask) -> impl Future<Output = Result<Answer, Problem>> + Send;
}

/// The records of `tenant` after the id `after` (from the greatest id when there is none), at most `limit`.
pub(super) async fn page(
    table: &impl Queries,
    tenant: &TenantId,
    after: Option<String>,
    limit: usize,
) -> Result<Page, Problem> {
    let mut page = Page::default();
    let below = after.as_deref().is_some_and(|after| after < CLAIM_PREFIX);
    let mut stretch = if below { Stretch::BeforeClaims } else { Stretch::BehindClaims };
    let mut after = after;
    loop {
        // One more than fits says whether there is a next page.
        let most = limit + 1 - page.records.len();
        let answer = table.query(tenant, Ask { stretch, after: after.clone(), most }).await?;
        if let (Some(at), Some(before)) = (&answer.stopped_at, &after)
            && at >= before
        {
            // It would be asked for the same again and again.
            events::read_failed(Fault::Transient, &"the answer stops where its query began");
            return Err(Problem::UNAVAILABLE);
        }
        for item in answer.items {
            if page.records.len() == limit || page.bytes >= PAGE_BYTES {
                page.last = page.records.last().and_then(id_of);
                return Ok(page);
            }
            page.bytes += item.get(BODY).and_then(|body| body.as_s().ok()).map_or(0, String::len);
            page.records.push(item);
        }
        (stretch, after) = match (answer.stopped_at, stretch) {
            (Some(at), _) => (stretch, Some(at)),
            (None, Stretch::BehindClaims) => (Stretch::BeforeClaims, None),
            (None, Stretch::BeforeClaims) => return Ok(page),
        };
    }
}

pub(crate) fn id_of(item: &Item) -> Option<String> {
    item.get(MESSAGE_ID).and_then(|id| id.as_s().ok()).cloned()
}

/// The table of a deployment.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    client: aws_sdk_dynamodb::Client,
    directory: Directory,
    environment: Environment,
}

impl Table {
    pub(crate) fn new(client: aws_sdk_dynamodb::Client, directory: Directory, environment: Environment) -> Self {
        Self { client, directory, environment }
    }
}

impl Queries for Table {
    async fn query(&self, tenant: &TenantId, ask: Ask) -> Result<Answer, Problem> {
        // A deployment's own parameter that is not there is not the client's mistake.
        let table = self.directory.table(&self.environment).await.map_err(|_| Problem::UNAVAILABLE)?;
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let (condition, bound) = match ask.stretch {
            Stretch::BehindClaims => ("#t = :t AND #m >= :m", BEHIND_CLAIMS),
            Stretch::BeforeClaims => ("#t = :t AND #m < :m", CLAIM_PREFIX),
        };
        let start = ask
            .after
            .map(|id| Item::from([(TENANT_ID.to_owned(), text(tenant.as_str())), (MESSAGE_ID.to_owned(), text(&id))]));
        let answer = self
            .client
            .query()
            .table_name(table.name())
            .key_condition_expression(condition)
            .expression_attribute_names("#t", TENANT_ID)
            .expression_attribute_names("#m", MESSAGE_ID)
            .expression_attribute_values(":t", text(tenant.as_str()))
            .expression_attribute_values(":m", text(bound))
            .scan_index_forward(false)
            .set_exclusive_start_key(start)
            .limit(i32::try_from(ask.most).unwrap_or(i32::MAX))
            .send()
            .await;
        let answer = answer.map_err(|error| {
            let fault = fault_of(&error);
            events::read_failed(fault, &describe(&error));
            if fault == Fault::Gone {
                self.directory.table_is_gone(&self.environment, &table);
            }
            Problem::UNAVAILABLE
        })?;
        answered(answer).ok_or_else(|| {
            events::read_failed(Fault::Transient, &"the answer does not say what is stored");
            Problem::UNAVAILABLE
        })
    }
}

/// What a query brought; `None` when its answer does not say it.
fn answered(mut answer: QueryOutput) -> Option<Answer> {
    let items = items_of(&mut answer)?;
    let stopped_at = match answer.last_evaluated_key.filter(|key| !key.is_empty()) {
        Some(key) => Some(id_of(&key)?),
        None => None,
    };
    Some(Answer { items, stopped_at })
}

/// Takes the items out of a query's answer. `None` when it does not say what is stored: DynamoDB names the items, if none, and a
/// number that is theirs. What has no items is somebody else's answer, and to believe it would make records seem gone.
pub(crate) fn items_of(answer: &mut QueryOutput) -> Option<Vec<Item>> {
    // The SDK reads a number that is not there as 0; the items themselves say enough then.
    let count = usize::try_from(answer.count).ok()?;
    answer.items.take().filter(|items| count == 0 || items.len() == count)
}

#[cfg(test)]
#[path = "records_tests.rs"]
mod tests;

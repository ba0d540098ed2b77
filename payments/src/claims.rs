//! The claim: a payment's own item beside its record, at `message_id` = `payment#ID`.
//!
//! It is put on the condition that it does not exist, before the event is sent. So one key has one payment, whoever comes
//! first of two at once, and a retry finds what it retries. The consumer never touches it; the record that the consumer makes
//! of the event, at `message_id` = `ID`, is what says that the payment has arrived.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use jiff::{SignedDuration, Timestamp};
use tenancy::arn::TableArn;
use tenancy::aws::{Confirmed, Fault, describe, fault_of};
use tenancy::directory::Directory;
use tenancy::message::id::CLAIM_PREFIX;
use tenancy::problem::Problem;
use tenancy::tenant::{Environment, TenantId};
use tenancy::trace::{Call, Span, Tracer};
use uuid::Uuid;

use crate::events;
use crate::payment::Payment;

/// Attributes of a claim.
mod name {
    pub(super) const TENANT_ID: &str = "tenant_id";
    pub(super) const MESSAGE_ID: &str = "message_id";
    pub(super) const STATE: &str = "state";
    pub(super) const DIGEST: &str = "digest";
    pub(super) const AMOUNT: &str = "amount";
    pub(super) const CURRENCY: &str = "currency";
    pub(super) const REFERENCE: &str = "reference";
    pub(super) const CREATED_AT: &str = "created_at";
    pub(super) const EXPIRES_AT: &str = "expires_at";
}

/// The only state that is stored: whether there is a record is asked of the record.
const REQUESTED: &str = "requested";

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The payment is new, and now this request's.
    New,
    /// The key was claimed before, for the same payment.
    Again,
    /// The key was claimed before, for another amount, currency or reference.
    Other,
}

/// A payment as its claim says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) amount: String,
    pub(crate) currency: String,
    pub(crate) reference: String,
    pub(crate) created_at: String,
}

/// The claims of the tenants that one table has.
#[derive(Debug, Clone)]
pub(crate) struct Claims {
    dynamodb: Client,
    directory: Directory,
    environment: Environment,
    keep_days: Option<u32>,
    tracer: Tracer,
}

type Item = HashMap<String, AttributeValue>;

/// The payment that a request is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    pub(crate) tenant: &'a TenantId,
    pub(crate) id: Uuid,
    /// The request's span, if its trace is taken.
    pub(crate) traceparent: Option<&'a str>,
}

impl Claims {
    pub(crate) fn new(
        dynamodb: Client,
        directory: Directory,
        environment: Environment,
        keep_days: Option<u32>,
    ) -> Self {
        Self { dynamodb, directory, environment, keep_days, tracer: Tracer::of_process() }
    }

    /// Claims the id for `payment`, unless it is claimed already.
    pub(crate) async fn claim(&self, about: About<'_>, payment: &Payment) -> Result<Claim, Problem> {
        let digest = payment.digest();
        let item = self.item(about, payment, &digest);
        let before = match self.on_table("PutItem", |table| self.put(table, about, item.clone())).await? {
            Put::Done => return Ok(Claim::New),
            Put::Before(Some(before)) if before.contains_key(name::DIGEST) => before,
            // Some stand-ins for DynamoDB do not hand out the item that a condition failed on, or not all of it.
            Put::Before(_) => {
                match self.on_table("GetItem", |table| self.get(table, about, claim_key(about.id), None)).await? {
                    Some(before) => before,
                    // Gone between the two calls, by its time to live: as if it had never been, to be tried again.
                    None => return Err(Problem::UNAVAILABLE),
                }
            }
        };
        match text(&before, name::DIGEST) {
            // Also when the put was our own, whose answer was lost on the way: then the digest is the same, and sending goes on.
            Some(claimed) if claimed == digest => Ok(Claim::Again),
            Some(_) => Ok(Claim::Other),
            // Whether it is the same payment is not known; a client that was told 422 would take a new key, and pay twice.
            None => {
                events::unreadable_claim(about.id);
                Err(Problem::UNAVAILABLE)
            }
        }
    }

    /// The payment that was claimed under the id.
    pub(crate) async fn find(&self, about: About<'_>) -> Result<Option<Stored>, Problem> {
        let item = self.on_table("GetItem", |table| self.get(table, about, claim_key(about.id), None)).await?;
        let Some(item) = item else { return Ok(None) };
        let stored = || {
            Some(Stored {
                amount: text(&item, name::AMOUNT)?.to_owned(),
                currency: text(&item, name::CURRENCY)?.to_owned(),
                reference: text(&item, name::REFERENCE)?.to_owned(),
                created_at: text(&item, name::CREATED_AT)?.to_owned(),
            })
        };
        stored().map(Some).ok_or_else(|| {
            events::unreadable_claim(about.id);
            Problem::Internal
        })
    }

    /// Whether the consumer has stored the payment's event.
    pub(crate) async fn is_recorded(&self, about: About<'_>) -> Result<bool, Problem> {
        // The key alone: a record's body may have 390,000 bytes and is not needed.
        let only = Some(name::MESSAGE_ID);
        let record = self.on_table("GetItem", |table| self.get(table, about, about.id.to_string(), only)).await?;
        Ok(record.is_some())
    }

    fn item(&self, about: About<'_>, payment: &Payment, digest: &str) -> Item {
        let now = Timestamp::now();
        let text = |value: &str| AttributeValue::S(value.to_owned());
        let mut item = HashMap::from([
            (name::TENANT_ID.to_owned(), text(about.tenant.as_str())),
            (name::MESSAGE_ID.to_owned(), AttributeValue::S(claim_key(about.id))),
            (name::STATE.to_owned(), text(REQUESTED)),
            (name::DIGEST.to_owned(), text(digest)),
            (name::AMOUNT.to_owned(), text(payment.amount())),
            (name::CURRENCY.to_owned(), text(payment.currency())),
            (name::REFERENCE.to_owned(), text(payment.reference())),
            (name::CREATED_AT.to_owned(), AttributeValue::S(format!("{now:.3}"))),
        ]);
        if let Some(days) = self.keep_days {
            let expires_at = now.as_second() + SignedDuration::from_hours(24 * i64::from(days)).as_secs();
            item.insert(name::EXPIRES_AT.to_owned(), AttributeValue::N(expires_at.to_string()));
        }
        item
    }

    async fn put(&self, table: Arc<TableArn>, about: About<'_>, item: Item) -> Result<Put, Failure> {
        let put = self.dynamodb.put_item().table_name(table.name()).set_item(Some(item));
        let put = put
            .condition_expression("attribute_not_exists(message_id)")
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let span = self.span("PutItem", &table, about);
        let outcome = match put.customize().interceptor(Confirmed).send().await {
            Ok(_) => Ok(Put::Done),
            Err(error) => match error.as_service_error() {
                Some(refused) if refused.is_conditional_check_failed_exception() => {
                    Ok(Put::Before(condition_failed_on(error)))
                }
                _ => Err(Failure::new(&error)),
            },
        };
        ended(span, &outcome);
        outcome
    }

    async fn get(
        &self,
        table: Arc<TableArn>,
        about: About<'_>,
        key: String,
        only: Option<&str>,
    ) -> Result<Option<Item>, Failure> {
        let get = self.dynamodb.get_item().table_name(table.name()).consistent_read(true);
        let get = get
            .key(name::TENANT_ID, AttributeValue::S(about.tenant.as_str().to_owned()))
            .key(name::MESSAGE_ID, AttributeValue::S(key))
            .set_projection_expression(only.map(str::to_owned));
        let span = self.span("GetItem", &table, about);
        // That there is no item is believed only of an answer that is DynamoDB's.
        let reply = get.customize().interceptor(Confirmed).send().await;
        let outcome = reply.map(|reply| reply.item).map_err(|error| Failure::new(&error));
        ended(span, &outcome);
        outcome
    }

    /// The span of a call, if the request is traced.
    fn span(&self, operation: &'static str, table: &TableArn, about: About<'_>) -> Option<Span> {
        let call = Call { operation, target: table.name(), count: 1, began: None };
        let mut span = self.tracer.table_call_below(call, about.traceparent)?;
        span.set("tenant_plane.tenant_id", about.tenant.as_str().to_owned());
        span.set("tenant_plane.message_id", about.id.to_string());
        Some(span)
    }

    /// Makes a call to the table of this environment; once more if the parameter now names another one.
    async fn on_table<T, F>(&self, operation: &'static str, call: impl Fn(Arc<TableArn>) -> F) -> Result<T, Problem>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let table = self.table().await?;
        let failure = match call(table.clone()).await {
            Ok(done) => return Ok(done),
            Err(failure) => failure,
        };
        if failure.fault != Fault::Gone {
            return Err(failure.report(operation));
        }
        self.directory.table_is_gone(&self.environment, &table);
        let next = self.table().await?;
        if next == table {
            return Err(failure.report(operation));
        }
        call(next).await.map_err(|failure| failure.report(operation))
    }

    /// Our own parameter may not exist yet, when pods start before Terraform is done; that is not the tenant's error.
    async fn table(&self) -> Result<Arc<TableArn>, Problem> {
        self.directory.table(&self.environment).await.map_err(|_| Problem::UNAVAILABLE)
    }
}

/// What a conditional put came to: done, or there was an item before.
enum Put {
    Done,
    Before(Option<Item>),
}

/// A call to DynamoDB that failed.
struct Failure {
    fault: Fault,
    cause: String,
}

impl Failure {
    fn new<E>(error: &SdkError<E, HttpResponse>) -> Self
    where
        E: std::error::Error + ProvideErrorMetadata + 'static,
    {
        Self { fault: fault_of(error), cause: describe(error) }
    }

    /// Logs and counts the failure, and says what the client is told: when to come back.
    fn report(self, operation: &'static str) -> Problem {
        events::table_call_failed(operation, self.fault, &self.cause);
        match self.fault {
            // All that a claim holds was checked before: what DynamoDB refuses is the table's doing, such as another key.
            Fault::Denied | Fault::Gone | Fault::Refused => Problem::Unavailable(Duration::from_secs(5)),
            Fault::Throttled | Fault::Transient | Fault::NoCredentials => Problem::UNAVAILABLE,
        }
    }
}

/// A claim that was there before is an answer like another.
fn ended<T>(span: Option<Span>, outcome: &Result<T, Failure>) {
    if let (Some(mut span), Err(failure)) = (span, outcome) {
        span.fail(failure.fault.as_str());
    }
}

fn condition_failed_on(error: SdkError<PutItemError, HttpResponse>) -> Option<Item> {
    match error.into_service_error() {
        PutItemError::ConditionalCheckFailedException(refused) => refused.item,
        _ => None,
    }
}

fn claim_key(id: Uuid) -> String {
    format!("{CLAIM_PREFIX}{id}")
}

fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}

//! `GET /consumer/messages`: a tenant's records, newest first for ids of ours, a page at a time.
//!
//! - [`cursor`]: where the next page starts, as clients carry it
//! - [`memory`]: room for pages, from before they are read until clients have taken them
//! - [`records`]: reading the table, past what is not a record
//! - [`shown`]: a record as JSON

mod cursor;
mod memory;
mod records;
mod shown;

use std::sync::Arc;
use std::time::Duration;

#[cfg(test)]
use ::tests::openapi::parameters::ForTenant;
use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRef, Query, State};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::{Deserialize, Serialize};
use tenancy::problem::Problem;
use tenancy::registry::Registry;
use tenancy::server::Served;
use tenancy::tenant::TenantId;

#[cfg(test)]
use crate::openapi::{ListProblems, Record};
pub(crate) use memory::Memory;
use records::{Page, page};
pub(crate) use records::{Table, id_of, items_of};

/// Records in a page when the client does not say how many.
const DEFAULT_LIMIT: usize = 20;

/// The most records of a page.
const MOST: usize = 100;

/// What the route needs.
#[derive(Clone)]
pub(crate) struct Reads(Arc<Parts>);

pub(crate) struct Parts {
    pub(crate) registry: Registry,
    pub(crate) table: Table,
    pub(crate) memory: Memory,
    pub(crate) request_timeout: Duration,
}

impl FromRef<Reads> for Registry {
    fn from_ref(reads: &Reads) -> Self {
        reads.0.registry.clone()
    }
}

/// The route, ready to serve. Where reading is off it is not there at all, and answers as any path that is not.
pub(crate) fn router(parts: Parts, can_be_read: bool) -> Router {
    if !can_be_read {
        return Router::new();
    }
    Router::new().route("/consumer/messages", get(get_messages)).with_state(Reads(Arc::new(parts)))
}

#[derive(Debug, Deserialize)]
pub(crate) struct Wanted {
    limit: Option<String>,
    cursor: Option<String>,
}

impl Wanted {
    fn limit(&self) -> Result<usize, Problem> {
        let Some(text) = &self.limit else { return Ok(DEFAULT_LIMIT) };
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let limit = text.parse().ok().filter(|limit| digits && (1..=MOST).contains(limit));
        limit.ok_or_else(|| Problem::Parameter(format!("limit is a number from 1 to {MOST}")))
    }
}

#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct Listed {
    #[cfg_attr(test, schema(value_type = Vec<Record>))]
    messages: Vec<serde_json::Value>,
    /// Where the next page starts; null on the last one.
    cursor: Option<String>,
}

#[cfg_attr(test, utoipa::path(
    get,
    path = "/consumer/messages",
    operation_id = "listMessages",
    summary = "List a tenant's records",
    description = "By descending `message_id`: newest first for ids that were made without a key. Claims of payments are not listed. \
                   Only where reading is switched on (`RECORD_READS=on`); elsewhere there is no such route.",
    params(
        ForTenant,
        ("limit" = Option<u8>, Query, minimum = 1, maximum = 100, description = "Records of a page; 20 unless given."),
        ("cursor" = Option<String>, Query, description = "Where an earlier page ended, as it was given out to this tenant."),
    ),
    responses((status = 200, description = "A page of records.", body = Listed), ListProblems),
))]
pub(crate) async fn get_messages(
    State(Reads(own)): State<Reads>,
    Served(route): Served,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(wanted) = wanted.map_err(|_| Problem::Parameter("limit and cursor may each be given once".to_owned()))?;
    let limit = wanted.limit()?;
    let after = match &wanted.cursor {
        None => None,
        Some(text) => Some(cursor::read(text, &route.tenant).ok_or_else(|| {
            Problem::Parameter(
                "cursor is not one that this route gave out for this tenant; leave it out to start anew".to_owned(),
            )
        })?),
    };
    let reading = async {
        let room = own.memory.room(&route.tenant).await?;
        let page = page(&own.table, &route.tenant, after, limit).await?;
        let body = room.hold(text(page, &route.tenant)?);
        Ok(([(CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response())
    };
    tokio::time::timeout(own.request_timeout, reading).await.map_err(|_| Problem::UNAVAILABLE)?
}

/// A page as a client gets it.
fn text(page: Page, tenant: &TenantId) -> Result<Vec<u8>, Problem> {
    // Room for the bodies as they are escaped and for what is around them, so that it grows seldom and to little more than it takes.
    let mut text = Vec::with_capacity(page.bytes + page.bytes / 8 + 512 * (page.records.len() + 1));
    let cursor = page.last.map(|id| cursor::write(&id, tenant));
    let messages = page.records.into_iter().map(shown::record).collect();
    serde_json::to_writer(&mut text, &Listed { messages, cursor }).map_err(|_| Problem::Internal)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(text: Option<&str>) -> Result<usize, Problem> {
        Wanted { limit: text.map(str::to_owned), cursor: None }.limit()
    }

    #[test]
    fn a_page_has_1_to_100_records_and_20_unless_said_otherwise() {
        assert_eq!(limit(None), Ok(20));
        assert_eq!(limit(Some("1")), Ok(1));
        assert_eq!(limit(Some("100")), Ok(100));
        for bad in ["", "0", "101", "-1", "+1", "1.0", "ten", "99999999999999999999"] {
            assert_eq!(
                limit(Some(bad)),
                Err(Problem::Parameter("limit is a number from 1 to 100".to_owned())),
                "{bad}"
            );
        }
    }
}

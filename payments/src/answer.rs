//! What a client is told.

use serde::Serialize;
use tenancy::message::id::hyphenated;
use uuid::Uuid;

/// The answer to a payment: it is claimed and its event is in the queue. The same however often it is asked for.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Accepted<'a> {
    pub(crate) tenant_id: &'a str,
    pub(crate) environment: &'a str,
    pub(crate) version: &'a str,
    pub(crate) microservice: &'a str,
    #[cfg_attr(test, schema(value_type = String, format = "uuid"))]
    #[serde(serialize_with = "hyphenated")]
    pub(crate) payment_id: Uuid,
}

/// A payment as stored.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Shown<'a> {
    pub(crate) tenant_id: &'a str,
    #[cfg_attr(test, schema(value_type = String, format = "uuid"))]
    #[serde(serialize_with = "hyphenated")]
    pub(crate) payment_id: Uuid,
    pub(crate) state: State,
    pub(crate) amount: &'a str,
    pub(crate) currency: &'a str,
    pub(crate) reference: &'a str,
    /// RFC 3339, UTC.
    #[cfg_attr(test, schema(format = DateTime))]
    pub(crate) created_at: &'a str,
}

/// How far a payment has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// It is claimed; the consumer has not stored its event yet.
    Requested,
    /// The record of its event exists.
    Recorded,
}

//! The routes of payments: to ask for one, and to look one up.

use std::sync::Arc;
use std::time::Duration;

#[cfg(test)]
use ::tests::openapi::parameters::{ForTenant, NeedsKey, Traced};
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRef, Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::StatusCode;
use tenancy::message::id;
use tenancy::message::outgoing::{ContentType, Outgoing};
use tenancy::problem::Problem;
use tenancy::publisher::Publisher;
use tenancy::registry::Registry;
use tenancy::server::{Intake, Served, headers};
use tokio::time::{timeout, timeout_at};
use uuid::Uuid;

use crate::answer::{Accepted, Shown, State as PaymentState};
use crate::claims::{About, Claim, Claims};
#[cfg(test)]
use crate::openapi::{GetProblems, PaymentRequest, PostProblems};
use crate::payment::{MOST_BYTES, Payment};
use crate::{NAME, events};

/// What the routes need.
#[derive(Clone)]
pub(crate) struct Payments(Arc<Parts>);

pub(crate) struct Parts {
    pub(crate) registry: Registry,
    pub(crate) publisher: Publisher,
    pub(crate) claims: Claims,
    pub(crate) intake: Intake,
    pub(crate) version: String,
    pub(crate) request_timeout: Duration,
}

impl FromRef<Payments> for Registry {
    fn from_ref(payments: &Payments) -> Self {
        payments.0.registry.clone()
    }
}

/// The routes, ready to serve.
pub(crate) fn router(parts: Parts, can_be_read: bool) -> Router {
    let routes = Router::new().route("/payments", post(post_payment));
    // Otherwise it is not there at all, so that it answers as any path that is not there.
    let routes = if can_be_read { routes.route("/payments/{payment_id}", get(get_payment)) } else { routes };
    routes.with_state(Payments(Arc::new(parts)))
}

/// `POST /payments`: the claim first, then the event; answered when SQS has it.
///
/// A repeat is answered as the first was. If the first failed between claim and event, the repeat sends the event; if it did
/// not, the event may be sent a second time, under the same id: the consumer's record is the same one.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/payments",
    operation_id = "postPayment",
    summary = "Take a payment, once",
    description = "One key, one payment, however often it is sent; the same key with another amount, currency or reference is 422. \
                   After a 503, a timeout or a lost connection, send the same request again.",
    params(ForTenant, NeedsKey, Traced),
    request_body(content = PaymentRequest, description = "At most 16,384 bytes."),
    responses((status = 202, description = "It is claimed under its key and its event is in the queue.", body = Accepted), PostProblems),
))]
pub(crate) async fn post_payment(
    State(Payments(own)): State<Payments>,
    Served(route): Served,
    request: Request,
) -> Result<Response, Problem> {
    let key = headers::idempotency_key(request.headers())?.ok_or_else(key_missing)?;
    let traceparent = headers::traceparent(request.headers());
    let payload = own.intake.read(request, MOST_BYTES, "a payment", None).await?;
    let payment = Payment::from_client(&payload.bytes)?;
    let payment_id = id::of_key(NAME, &route.tenant, &key, 0);
    let body = payment.event(payment_id).map_err(|_| Problem::Internal)?;
    let tenant = route.tenant.clone();

    let about = About { tenant: &route.tenant, id: payment_id, traceparent: traceparent.as_deref() };
    let claiming = claim(&own.claims, about, &payment);
    let has_record = timeout_at(payload.deadline, claiming).await.map_err(|_| Problem::UNAVAILABLE)??;
    if !has_record {
        let content_type = ContentType::default();
        let message = Outgoing { tenant, message_id: payment_id, body, content_type, traceparent };
        own.publisher.send(&route, message, payload.deadline).await?;
    }
    let accepted = Accepted {
        tenant_id: route.tenant.as_str(),
        environment: own.registry.environment().as_str(),
        version: &own.version,
        microservice: NAME,
        payment_id,
    };
    Ok((StatusCode::ACCEPTED, Json(accepted)).into_response())
}

/// Claims the payment; says whether its record exists already, so that nothing has to be sent.
async fn claim(claims: &Claims, about: About<'_>, payment: &Payment) -> Result<bool, Problem> {
    let claim = claims.claim(about, payment).await?;
    events::claimed(claim);
    match claim {
        Claim::New => Ok(false),
        Claim::Other => Err(Problem::Unprocessable(
            "this Idempotency-Key was used for another amount, currency or reference; a new payment needs a new key"
                .to_owned(),
        )),
        Claim::Again => {
            let has_record = claims.is_recorded(about).await?;
            if !has_record {
                events::completing(about.id);
            }
            Ok(has_record)
        }
    }
}

/// `GET /payments/{payment_id}`: the tenant's own payment. Another's, none and what is no id look alike.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/payments/{payment_id}",
    operation_id = "getPayment",
    summary = "Show a payment",
    description = "Another tenant's payment, one that never was and what is no id look alike. Only where reading is switched on \
                   (`RECORD_READS=on`); elsewhere there is no such route.",
    params(ForTenant, ("payment_id" = String, Path, format = "uuid", description = "As it was given out.")),
    responses((status = 200, description = "The payment as stored.", body = Shown), GetProblems),
))]
pub(crate) async fn get_payment(
    State(Payments(own)): State<Payments>,
    Served(route): Served,
    path: Result<Path<String>, PathRejection>,
    request: Request,
) -> Result<Response, Problem> {
    let Path(text) = path.map_err(|_| Problem::NotFound)?;
    let payment_id = as_written_by_us(&text).ok_or(Problem::NotFound)?;
    let traceparent = headers::traceparent(request.headers());
    let about = About { tenant: &route.tenant, id: payment_id, traceparent: traceparent.as_deref() };
    let reading = async { tokio::try_join!(own.claims.find(about), own.claims.is_recorded(about)) };
    let (stored, has_record) = timeout(own.request_timeout, reading).await.map_err(|_| Problem::UNAVAILABLE)??;
    let stored = stored.ok_or(Problem::NotFound)?;
    let shown = Shown {
        tenant_id: route.tenant.as_str(),
        payment_id,
        state: if has_record { PaymentState::Recorded } else { PaymentState::Requested },
        amount: &stored.amount,
        currency: &stored.currency,
        reference: &stored.reference,
        created_at: &stored.created_at,
    };
    Ok(Json(shown).into_response())
}

/// An id in the one spelling that we hand out; UUIDs have several.
fn as_written_by_us(text: &str) -> Option<Uuid> {
    let id = Uuid::try_parse(text).ok()?;
    (id.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == text).then_some(id)
}

fn key_missing() -> Problem {
    Problem::Parameter(
        "the Idempotency-Key header is missing; send 1 to 255 visible ASCII characters of your own, and the same again when you retry"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_spelling() {
        let id = "fd4c5c23-75ea-5812-b888-93e8bf1770c3";
        assert_eq!(as_written_by_us(id).map(|id| id.to_string()).as_deref(), Some(id));
        for other in [
            "",
            "FD4C5C23-75EA-5812-B888-93E8BF1770C3",
            "fd4c5c2375ea5812b88893e8bf1770c3",
            "{fd4c5c23-75ea-5812-b888-93e8bf1770c3}",
            "urn:uuid:fd4c5c23-75ea-5812-b888-93e8bf1770c3",
            "fd4c5c23-75ea-5812-b888-93e8bf1770c3 ",
            "payment#fd4c5c23-75ea-5812-b888-93e8bf1770c3",
            "../fd4c5c23",
        ] {
            assert_eq!(as_written_by_us(other), None, "{other:?}");
        }
    }
}

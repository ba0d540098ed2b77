//! What happens to every request on the tenants' port, in this order: count, shed, headers, identity, time, panics.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::HttpBody as _;
use axum::extract::{FromRef, FromRequestParts, MatchedPath, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Version, header};
use tokio::sync::Semaphore;

use crate::auth::Verifier;
use crate::config::Common;
use crate::problem::Problem;
use crate::registry::{Caller, Registry, Route};
use crate::share::{FairShare, Meter};
use crate::trace::Tracer;

use super::headers;
use super::health::Health;
use super::seen::Seen;

struct Edge {
    service: &'static str,
    health: Arc<Health>,
    readiness: String,
    seen: Seen,
    /// `GET` there without a tenant needs no token: the load balancer's health check, and the service's own description.
    open: [String; 2],
    auth: Option<Verifier>,
    share: Option<FairShare>,
    places: Semaphore,
    shed: metrics::Counter,
    tracer: Tracer,
    /// REQUEST_TIMEOUT.
    time: Duration,
    longest: Duration,
}

/// Who may come in, and how often.
pub(super) struct Access {
    pub(super) auth: Option<Verifier>,
    pub(super) share: Option<FairShare>,
}

/// Puts the rules around a service's routes.
pub(super) fn wrap(
    routes: Router,
    service: &'static str,
    common: &Common,
    health: Arc<Health>,
    access: Access,
) -> Router {
    let edge = Arc::new(Edge {
        service,
        health,
        readiness: super::identity::readiness_path(service),
        seen: Seen::new(service),
        open: [super::identity::path(service), super::document::path(service)],
        auth: access.auth,
        share: access.share,
        places: Semaphore::new(common.max_requests),
        shed: metrics::counter!("http_shed_total", "because" => "requests"),
        tracer: Tracer::of_process(),
        time: common.request_timeout.get(),
        // A body may take REQUEST_TIMEOUT to arrive and the answer as long again; whatever takes longer than both is stuck.
        longest: common.request_timeout.get() * 2 + Duration::from_secs(1),
    });
    routes
        .fallback(|| async { Problem::NotFound })
        .method_not_allowed_fallback(|| async { Problem::Method })
        .layer(middleware::from_fn_with_state(edge, rules))
}

async fn rules(State(edge): State<Arc<Edge>>, mut request: Request, next: Next) -> Response {
    // The probe answers whatever headers a request has, also when everything else is shed.
    if request.uri().path() == edge.readiness {
        return next.run(request).await;
    }
    let began = Instant::now();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = request.method().clone();
    let http1 = request.version() < Version::HTTP_2;
    let span = edge.tracer.serve(request.headers_mut(), &method, route.as_ref().map(MatchedPath::as_str));
    let mut response = admit(&edge, request, next).await;
    if let Some(span) = span {
        span.answer(response.status(), response.headers_mut());
    }
    if http1 && edge.health.is_stopping() {
        // Whoever keeps connections open takes another one now, while there is time, and is not cut off by the end.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    edge.seen.one(route.as_ref().map_or("other", MatchedPath::as_str), &method, &response, began.elapsed());
    response
}

async fn admit(edge: &Edge, mut request: Request, next: Next) -> Response {
    let Ok(_place) = edge.places.try_acquire() else {
        edge.shed.increment(1);
        return Problem::UNAVAILABLE.into_response();
    };
    let caller = match &edge.auth {
        None => headers::caller(request.headers()),
        Some(auth) => identified(auth, request.headers(), is_open(edge, &request), edge.time).await,
    };
    match caller {
        Ok(caller) => {
            request.extensions_mut().insert(Named(caller));
        }
        Err(problem) => return problem.into_response(),
    }
    let has_body = !request.body().is_end_stream();
    let meter = edge.share.as_ref().map(|share| share.meter(has_body));
    if let Some(meter) = &meter {
        request.extensions_mut().insert(meter.clone());
    }
    let mut response = guarded(edge, request, next).await;
    if let Some(meter) = meter {
        meter.tell(response.headers_mut());
    }
    response
}

/// The handler's answer, or what stands for it when it panics or does not end.
async fn guarded(edge: &Edge, request: Request, next: Next) -> Response {
    let answer = AssertUnwindSafe(next.run(request)).catch_unwind();
    match tokio::time::timeout(edge.longest, answer).await {
        Ok(Ok(response)) => response,
        Ok(Err(_panic)) => {
            // What it said went to standard error by the panic hook; the client learns nothing of it.
            tracing::error!(service = edge.service, "a request handler panicked");
            Problem::Internal.into_response()
        }
        Err(_) => Problem::UNAVAILABLE.into_response(),
    }
}

/// Whether a request asks for what everybody may know, and says nothing about a tenant.
fn is_open(edge: &Edge, request: &Request) -> bool {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let says = [headers::TENANT_ID, header::AUTHORIZATION.as_str()];
    reads
        && edge.open.iter().any(|path| path == request.uri().path())
        && !says.iter().any(|name| request.headers().contains_key(*name))
}

/// Whom a request speaks for by its token; a `tenantID` header may say the same once more.
async fn identified(
    auth: &Verifier,
    headers: &HeaderMap,
    needs_none: bool,
    time: Duration,
) -> Result<Option<Caller>, Problem> {
    let tier = headers::tier(headers)?;
    let named = headers::tenant(headers)?;
    if needs_none {
        return Ok(None);
    }
    let tenant = auth.tenant(headers, named, time).await?;
    Ok(Some(Caller { tenant, tier }))
}

/// Who a request names, if anyone; left by the rules for extractors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named(pub Option<Caller>);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or(Problem::Internal)
    }
}

/// A tenant that is served here. A handler that has it in its signature is not called for anyone else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served(pub Route);

impl<S> FromRequestParts<S> for Served
where
    S: Send + Sync,
    Registry: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Named(caller) = Named::from_request_parts(parts, state).await?;
        let missing = || Problem::Tenant("send the tenant's id in a tenantID header".to_owned());
        let caller = caller.ok_or_else(missing)?;
        let route = Registry::from_ref(state).route(&caller).await?;
        Meter::of(&parts.extensions).tenant(&route.tenant)?;
        Ok(Self(route))
    }
}

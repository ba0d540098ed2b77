//! The metrics of requests.

use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use axum::response::Response;
use http::{Method, StatusCode};
use metrics::{Counter, Histogram, counter, histogram};

use crate::problem::ProblemKind;

/// Counts and times requests by kind. A kind that was seen before is found again by comparing: no label is allocated and no
/// name is looked up in the recorder, which at full load would cost more than routing the request.
pub(super) struct Seen {
    service: &'static str,
    /// In the order of their first request, so the usual one is found at once. Bounded by routes, methods and problems.
    kinds: RwLock<Vec<Kind>>,
}

struct Kind {
    route: Box<str>,
    method: &'static str,
    status: StatusCode,
    problem: &'static str,
    requests: Counter,
    durations: Histogram,
}

impl Seen {
    pub(super) fn new(service: &'static str) -> Self {
        Self { service, kinds: RwLock::default() }
    }

    /// A request to `route` (its pattern, or `other`) was answered.
    pub(super) fn one(&self, route: &str, method: &Method, response: &Response, took: Duration) {
        let method = match *method {
            Method::GET => "GET",
            Method::POST => "POST",
            // Clients can make up methods; they must not make up series.
            _ => "other",
        };
        let problem = response.extensions().get::<ProblemKind>().map_or("none", |kind| kind.0);
        let is_it = |kind: &Kind| {
            kind.status == response.status()
                && kind.method == method
                && kind.problem == problem
                && *kind.route == *route
        };
        if let Some(kind) = self.kinds.read().unwrap_or_else(PoisonError::into_inner).iter().find(|kind| is_it(kind)) {
            kind.count(took);
            return;
        }
        let mut kinds = self.kinds.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(kind) = kinds.iter().find(|kind| is_it(kind)) {
            kind.count(took);
            return;
        }
        let kind = Kind::new(self.service, route, method, response.status(), problem);
        kind.count(took);
        kinds.push(kind);
    }
}

impl Kind {
    fn new(
        service: &'static str,
        route: &str,
        method: &'static str,
        status: StatusCode,
        problem: &'static str,
    ) -> Self {
        let durations = histogram!(
            "http_request_duration_seconds", "service" => service, "route" => route.to_owned(), "method" => method
        );
        let requests = counter!(
            "http_requests_total", "service" => service, "route" => route.to_owned(), "method" => method,
            "status" => status.as_str().to_owned(), "problem" => problem
        );
        Self { route: route.into(), method, status, problem, requests, durations }
    }

    fn count(&self, took: Duration) {
        self.durations.record(took.as_secs_f64());
        self.requests.increment(1);
    }
}

//! The console: a page at the front door that shows the plane at work, for a person in front of this machine.
//!
//! | file | what it holds |
//! |---|---|
//! | `guard` | who may ask: this machine's own pages, and nobody who merely got a browser here to ask |
//! | `page` | the page and its parts, all of them in the binary |
//! | `plane` | what does not change: tenants, queues, tables, where services listen |
//! | `live` | what changes, twice a second, to every tab: depths, rates, records as they land |
//! | `stages` | an answer that comes in lines, as things happen |
//! | `travel` | an event posted as a tenant, on its way to its record |
//! | `letters` | dead letters: listed, read, sent back; and one made to be looked at |
//!
//! A request without `TenantID` for `/` or below `/console` is the console's; every other is the load balancer's
//! ([`crate::front_door`]).

mod guard;
mod letters;
mod live;
mod page;
mod plane;
mod stages;
mod travel;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn;
use axum::routing::{get, post};
use http::StatusCode;
use tenancy::aws::Clients;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::aws::look::Look;
use crate::issuer::Issuer;
use crate::plane::deploy::Running;
use crate::plane::layout::{Layout, Resources};
use crate::plane::roster::Tenant;
use live::Live;

/// Events and letters that are followed at a time.
const JOURNEYS: usize = 32;

/// What the console looks at.
pub(crate) struct Parts<'a> {
    pub(crate) layout: Layout,
    pub(crate) services: &'a [Running],
    pub(crate) look: Look,
    pub(crate) clients: Clients,
    pub(crate) front_door: SocketAddr,
    /// Gives out tokens, where the services need one.
    pub(crate) issuer: Option<Issuer>,
    /// The endpoint of the embedded AWS.
    pub(crate) aws: String,
    pub(crate) region: String,
    pub(crate) stopping: CancellationToken,
}

/// What its handlers share.
#[derive(Clone)]
struct Console(Arc<Inner>);

struct Inner {
    layout: Layout,
    look: Look,
    clients: Clients,
    front_door: SocketAddr,
    issuer: Option<Issuer>,
    aws: String,
    /// The plane as JSON.
    plane: String,
    live: Live,
    journeys: Arc<Semaphore>,
    stopping: CancellationToken,
}

/// The console's routes. What it shows is kept up to date until `stopping`.
pub(crate) fn router(parts: Parts<'_>) -> Router {
    let plane = plane::json(&parts);
    let live = Live::start(&parts.layout, parts.look.clone(), parts.stopping.clone());
    let console = Console(Arc::new(Inner {
        layout: parts.layout,
        look: parts.look,
        clients: parts.clients,
        front_door: parts.front_door,
        issuer: parts.issuer,
        aws: parts.aws,
        plane,
        live,
        journeys: Arc::new(Semaphore::new(JOURNEYS)),
        stopping: parts.stopping,
    }));
    Router::new()
        .route("/", get(page::index))
        .route("/console", get(page::index))
        .route("/console/plane.json", get(page::plane))
        .route("/console/live", get(live::stream))
        .route("/console/events", post(travel::post_event))
        .route("/console/letters", get(letters::list))
        .route("/console/letters/{queue}/{id}", get(letters::show))
        .route("/console/letters/{queue}/{id}/send-back", post(letters::send_back))
        .route("/console/unstorable", post(letters::post_unstorable))
        .route("/console/{file}", get(page::file))
        .fallback(|| async { refusal(StatusCode::NOT_FOUND, "the console has nothing here") })
        .layer(from_fn(guard::guard))
        .with_state(console)
}

impl Console {
    /// The tenant of that id, or what to say to a page that asks for another.
    fn tenant(&self, id: &str) -> Result<&Tenant, Refusal> {
        let known = self.0.layout.roster().tenants.iter().find(|tenant| tenant.id.as_str() == id);
        known.ok_or_else(|| refusal(StatusCode::NOT_FOUND, "there is no such tenant on this plane"))
    }

    /// The queue and table whose dead-letter queue has that name.
    fn resources_of_letters(&self, dead_letter_queue: &str) -> Result<Resources, Refusal> {
        let mut all = self.0.layout.resources().into_iter();
        let found = all.find(|resources| resources.dead_letter_queue() == dead_letter_queue);
        found.ok_or_else(|| refusal(StatusCode::NOT_FOUND, "there is no such dead-letter queue on this plane"))
    }

    /// A place among what is followed.
    fn journey(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let place = self.0.journeys.clone().try_acquire_owned();
        place.map_err(|_| refusal(StatusCode::TOO_MANY_REQUESTS, "too much is under way; wait for some of it to end"))
    }
}

/// A plain text for the page to show.
type Refusal = (StatusCode, Cow<'static, str>);

fn refusal(status: StatusCode, text: &'static str) -> Refusal {
    (status, Cow::Borrowed(text))
}

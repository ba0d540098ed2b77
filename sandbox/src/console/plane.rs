//! What does not change while the sandbox runs, as the page reads it.

use serde::Serialize;

use super::Parts;
use crate::plane::layout::Service;

#[derive(Serialize)]
struct Plane<'a> {
    region: &'a str,
    front_door: String,
    aws: &'a str,
    queues: Vec<Queue>,
    tenants: Vec<Tenant>,
    services: Vec<Deployed>,
}

#[derive(Serialize)]
struct Queue {
    name: String,
    dead_letter_queue: String,
    table: String,
    environment: String,
}

/// A tenant, and the environment that answers it for each service.
#[derive(Serialize)]
struct Tenant {
    id: String,
    tier: String,
    queue: String,
    table: String,
    producer: String,
    consumer: String,
    payments: String,
}

#[derive(Serialize)]
struct Deployed {
    service: &'static str,
    environment: String,
    /// Where tenants' requests are answered without the front door.
    address: String,
    /// Where probes and metrics are.
    admin: String,
}

pub(super) fn json(parts: &Parts<'_>) -> String {
    let layout = &parts.layout;
    let queues = layout.resources().into_iter().map(|resources| Queue {
        name: resources.queue(),
        dead_letter_queue: resources.dead_letter_queue(),
        table: resources.table(),
        environment: resources.environment.to_string(),
    });
    let tenants = layout.roster().tenants.iter().map(|tenant| {
        let resources = layout.resources_of(&tenant.id);
        let [producer, consumer, payments] =
            Service::ALL.map(|service| layout.deployment_for(&tenant.id, service).environment.to_string());
        Tenant {
            id: tenant.id.to_string(),
            tier: tenant.tier.to_string(),
            queue: resources.queue(),
            table: resources.table(),
            producer,
            consumer,
            payments,
        }
    });
    let services = parts.services.iter().map(|running| Deployed {
        service: running.deployment.service.name(),
        environment: running.deployment.environment.to_string(),
        address: running.public.to_string(),
        admin: running.admin.to_string(),
    });
    let plane = Plane {
        region: &parts.region,
        front_door: parts.front_door.to_string(),
        aws: &parts.aws,
        queues: queues.collect(),
        tenants: tenants.collect(),
        services: services.collect(),
    };
    // Strings and lists alone, which JSON has a form for.
    serde_json::to_string(&plane).unwrap_or_default()
}

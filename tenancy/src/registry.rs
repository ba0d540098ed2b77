//! Which queue serves a caller: the tenant rules.
//!
//! Silo: the deployment serves the one tenant it is named after, whatever tier the request claims. Pool: the tenant's
//! registration decides, the parameter `/TENANT/consumer_sqs`: it holds the pool's own queue for a basic tenant and a
//! dedicated one for the others. A `tier` header never chooses a queue; it is held against what is registered.

use std::sync::Arc;

use crate::arn::QueueArn;
use crate::config::{Common, TenantRegistration};
use crate::directory::{Directory, LookupError};
use crate::problem::Problem;
use crate::tenant::{Environment, PoolId, TenantId, Tier};

/// Who a request says it speaks for, by its headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The `tenantID` header.
    pub tenant: TenantId,
    /// The `tier` header.
    pub tier: Option<Tier>,
}

/// A tenant that is served here, and its queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The tenant.
    pub tenant: TenantId,
    /// Whose parameter named the queue: to look it up again when it is gone.
    pub registered_at: Environment,
    /// Where the tenant's messages go.
    pub queue: Arc<QueueArn>,
    /// Whether others share that queue.
    pub pooled: bool,
}

/// What a pooled deployment is for. A silo serves its one tenant either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serves {
    /// Tenants whose queue is the pool's own: a consumer, payments.
    OwnQueue,
    /// Tenants with a dedicated queue too: a producer.
    AnyQueue,
}

/// The rules, for one deployment. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Registry(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    directory: Directory,
    environment: Environment,
    registration: TenantRegistration,
    serves: Serves,
}

impl Registry {
    /// The rules of a deployment with these settings.
    #[must_use]
    pub fn new(directory: Directory, common: &Common, serves: Serves) -> Self {
        let (environment, registration) = (common.environment.clone(), common.tenant_registration);
        if registration == TenantRegistration::Open && matches!(environment, Environment::Pool(_)) {
            tracing::warn!(
                "TENANT_REGISTRATION=open: any valid tenant id is served by the pool's queue, registered or not"
            );
        }
        Self(Arc::new(Inner { directory, environment, registration, serves }))
    }

    /// Where this deployment lives.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.0.environment
    }

    /// Where queues and tables are looked up.
    #[must_use]
    pub fn directory(&self) -> &Directory {
        &self.0.directory
    }

    /// The queue of a caller.
    ///
    /// # Errors
    /// 403 a tenant that is not served here, 404 an unknown one, 409 a tier that contradicts the registration, 503 when it cannot
    /// be found out now.
    pub async fn route(&self, caller: &Caller) -> Result<Route, Problem> {
        match &self.0.environment {
            Environment::Tenant(own) if *own == caller.tenant => self.own_route(caller, false).await,
            Environment::Tenant(_) => Err(Problem::NotServed),
            Environment::Pool(pool) => match (self.0.registration, caller.tier) {
                (TenantRegistration::Open, None | Some(Tier::Basic)) => self.own_route(caller, true).await,
                _ => self.pooled_route(pool, caller).await,
            },
        }
    }

    async fn own_route(&self, caller: &Caller, pooled: bool) -> Result<Route, Problem> {
        let registered_at = self.0.environment.clone();
        let queue = self.own_queue().await?;
        Ok(Route { tenant: caller.tenant.clone(), registered_at, queue, pooled })
    }

    /// Our own parameter may not exist yet, when pods start before Terraform is done; that is not the tenant's error.
    async fn own_queue(&self) -> Result<Arc<QueueArn>, Problem> {
        self.0.directory.queue(&self.0.environment).await.map_err(own_problem)
    }

    async fn pooled_route(&self, pool: &PoolId, caller: &Caller) -> Result<Route, Problem> {
        let own = self.own_queue().await?;
        let registered_at = Environment::Tenant(caller.tenant.clone());
        let queue = self.0.directory.queue(&registered_at).await?;
        let (queue, pooled) = match self.admit(pool, caller, &own, &queue) {
            Ok(pooled) => (queue, pooled),
            // Where a queue was replaced or a tenant has moved, one of both may be known from before that.
            Err(_) => {
                let (own, queue) = Box::pin(self.confirmed(&registered_at)).await?;
                let pooled = self.admit(pool, caller, &own, &queue)?;
                (queue, pooled)
            }
        };
        Ok(Route { tenant: caller.tenant.clone(), registered_at, queue, pooled })
    }

    /// Our own queue and the one of a tenant, as they are now.
    async fn confirmed(&self, registered_at: &Environment) -> Result<(Arc<QueueArn>, Arc<QueueArn>), Problem> {
        let directory = &self.0.directory;
        let (own, queue) =
            tokio::join!(directory.queue_confirmed(&self.0.environment), directory.queue_confirmed(registered_at));
        Ok((own.map_err(own_problem)?, queue?))
    }

    /// Whether a tenant with this queue shares ours, if it is served here at all and the caller says what is registered.
    fn admit(&self, pool: &PoolId, caller: &Caller, own: &QueueArn, queue: &QueueArn) -> Result<bool, Problem> {
        let pooled = queue == own;
        if !pooled && (self.0.serves == Serves::OwnQueue || is_of_another_pool(queue.name(), pool, &caller.tenant)) {
            return Err(Problem::NotServed);
        }
        let fits = match caller.tier {
            None => true,
            Some(Tier::Basic) => pooled,
            Some(Tier::Advanced | Tier::Premium) => !pooled,
        };
        if fits { Ok(pooled) } else { Err(Problem::TierConflict) }
    }
}

/// What it means for a caller that our own queue cannot be had.
fn own_problem(error: LookupError) -> Problem {
    match error {
        LookupError::NotFound => Problem::UNAVAILABLE,
        other => other.into(),
    }
}

/// Whether a queue's name says that it belongs to another pool: it has a part `pool-N` that is not ours, such as
/// `consumer-pool-2`. A queue that has the tenant's own id in its name is the tenant's, whatever that id is made of.
fn is_of_another_pool(queue: &str, own: &PoolId, tenant: &TenantId) -> bool {
    let ends_part = |rest: &str| rest.is_empty() || rest.starts_with(['-', '_']);
    let starts_part = |before: &str| before.is_empty() || before.ends_with(['-', '_']);
    let has = |part: &str| {
        queue.match_indices(part).any(|(at, _)| starts_part(&queue[..at]) && ends_part(&queue[at + part.len()..]))
    };
    if has(tenant.as_str()) {
        return false;
    }
    queue.match_indices("pool-").any(|(at, prefix)| {
        let digits = queue[at + prefix.len()..].bytes().take_while(u8::is_ascii_digit).count();
        let end = at + prefix.len() + digits;
        let pool = queue[at..end].parse::<PoolId>();
        starts_part(&queue[..at]) && ends_part(&queue[end..]) && pool.is_ok_and(|pool| pool != *own)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_pool_s_queue_is_known_by_its_name() {
        let own = "pool-1".parse().unwrap();
        let of_another = |queue, tenant: &str| is_of_another_pool(queue, &own, &tenant.parse().unwrap());
        for queue in ["consumer-pool-2", "pool-2", "consumer-pool-12-x7f3", "pool-2_consumer_sqs"] {
            assert!(of_another(queue, "acme"), "{queue}");
        }
        for queue in [
            "consumer-pool-1",
            "consumer-acme",
            "consumer-pool-1-x7f3",
            "carpool-2",
            "consumer-pool-0",
            "pool-22222",
            "pool-2x",
        ] {
            assert!(!of_another(queue, "acme"), "{queue}");
        }
        assert!(!of_another("consumer-acme-pool-2", "acme-pool-2"));
        assert!(of_another("consumer-pool-2", "acme-pool-2"));
    }
}

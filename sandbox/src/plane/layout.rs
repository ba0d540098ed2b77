//! What each tier means: which resources, parameters and deployments there are, and where a tenant's requests go. Nothing here
//! does I/O.

use std::fmt;

use tenancy::tenant::{Environment, TenantId, Tier};

use super::roster::Roster;
use crate::aws::ACCOUNT;

/// The services that every environment can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Service {
    /// Takes events in.
    Producer,
    /// Drains the queue to the table.
    Consumer,
    /// Takes payments in.
    Payments,
}

impl Service {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Producer, Self::Consumer, Self::Payments];

    /// The name, which is also the first segment of its paths.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Producer => "producer",
            Self::Consumer => "consumer",
            Self::Payments => "payments",
        }
    }

    /// Whether a tenant of that tier has this service to itself. Payments go with the consumer: both write the tenant's table.
    #[must_use]
    pub fn is_dedicated(self, tier: Tier) -> bool {
        match tier {
            Tier::Basic => false,
            Tier::Advanced => self != Self::Producer,
            Tier::Premium => true,
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One service in one environment: what a cluster would run as a Deployment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Deployment {
    /// What runs.
    pub service: Service,
    /// Where.
    pub environment: Environment,
}

impl fmt::Display for Deployment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.environment, self.service)
    }
}

/// A queue with its dead-letter queue, and a table: those of one environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resources {
    /// Whose they are.
    pub environment: Environment,
    /// The region they are in.
    pub region: String,
}

impl Resources {
    /// The queue's name.
    #[must_use]
    pub fn queue(&self) -> String {
        format!("consumer-{}", self.environment)
    }

    /// The dead-letter queue's name.
    #[must_use]
    pub fn dead_letter_queue(&self) -> String {
        format!("{}-dlq", self.queue())
    }

    /// The table's name.
    #[must_use]
    pub fn table(&self) -> String {
        format!("consumer-{}", self.environment)
    }

    /// The queue's ARN.
    #[must_use]
    pub fn queue_arn(&self) -> String {
        self.arn("sqs", &self.queue())
    }

    /// The dead-letter queue's ARN.
    #[must_use]
    pub fn dead_letter_queue_arn(&self) -> String {
        self.arn("sqs", &self.dead_letter_queue())
    }

    /// The table's ARN: ours to make, since the embedded DynamoDB's own names no real region.
    #[must_use]
    pub fn table_arn(&self) -> String {
        self.arn("dynamodb", &format!("table/{}", self.table()))
    }

    fn arn(&self, service: &str, resource: &str) -> String {
        format!("arn:aws:{service}:{}:{ACCOUNT}:{resource}", self.region)
    }
}

/// Everything that the tiers of a roster call for.
#[derive(Debug, Clone)]
pub struct Layout {
    roster: Roster,
    region: String,
}

impl Layout {
    /// For a roster in a region.
    #[must_use]
    pub fn new(roster: Roster, region: &str) -> Self {
        Self { roster, region: region.to_owned() }
    }

    /// Who it is for.
    #[must_use]
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// The environments that something of their own runs in: the pool, and each tenant that is not basic.
    fn environments(&self) -> Vec<(Environment, Tier)> {
        let own = self.roster.tenants.iter().filter(|tenant| tenant.tier != Tier::Basic);
        let own = own.map(|tenant| (Environment::Tenant(tenant.id.clone()), tenant.tier));
        // A pool has everything, as a premium tenant has.
        std::iter::once((Environment::Pool(self.roster.pool.clone()), Tier::Premium)).chain(own).collect()
    }

    /// Queues and tables to make.
    #[must_use]
    pub fn resources(&self) -> Vec<Resources> {
        let own = |(environment, _)| Resources { environment, region: self.region.clone() };
        self.environments().into_iter().map(own).collect()
    }

    /// The queue and table that a tenant's events and records are in: its own, or the pool's.
    #[must_use]
    pub fn resources_of(&self, tenant: &TenantId) -> Resources {
        Resources { environment: self.environment_of(tenant, Service::Consumer), region: self.region.clone() }
    }

    /// SSM parameters to make, name and value. Every environment and every tenant has two, also one with nothing of its own:
    /// that it has them is what makes a tenant known.
    #[must_use]
    pub fn parameters(&self) -> Vec<(String, String)> {
        let own = self.resources().into_iter().map(|resources| (resources.environment.to_string(), resources));
        let basic = self.roster.tenants.iter().filter(|tenant| tenant.tier == Tier::Basic);
        let basic = basic.map(|tenant| (tenant.id.to_string(), self.resources_of(&tenant.id)));
        let both = own.chain(basic).flat_map(|(name, resources)| {
            [
                (format!("/{name}/consumer_sqs"), resources.queue_arn()),
                (format!("/{name}/consumer_ddb"), resources.table_arn()),
            ]
        });
        both.collect()
    }

    /// What a cluster would run.
    #[must_use]
    pub fn deployments(&self) -> Vec<Deployment> {
        let all = self.environments().into_iter().flat_map(|(environment, tier)| {
            let here = Service::ALL.into_iter().filter(move |service| service.is_dedicated(tier));
            here.map(move |service| Deployment { service, environment: environment.clone() })
        });
        all.collect()
    }

    /// The deployment that answers a tenant's requests for a service.
    #[must_use]
    pub fn deployment_for(&self, tenant: &TenantId, service: Service) -> Deployment {
        Deployment { service, environment: self.environment_of(tenant, service) }
    }

    fn environment_of(&self, tenant: &TenantId, service: Service) -> Environment {
        let known = self.roster.tenants.iter().find(|known| known.id == *tenant);
        match known {
            Some(known) if service.is_dedicated(known.tier) => Environment::Tenant(known.id.clone()),
            _ => Environment::Pool(self.roster.pool.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(more: &[&str]) -> Layout {
        let more: Vec<_> = more.iter().map(|tenant| tenant.parse().unwrap()).collect();
        Layout::new(Roster::new(&more).unwrap(), "eu-west-1")
    }

    fn shown(items: impl IntoIterator<Item = impl fmt::Display>) -> Vec<String> {
        items.into_iter().map(|item| item.to_string()).collect()
    }

    #[test]
    fn a_pool_runs_everything_an_advanced_tenant_no_producer_and_a_basic_one_nothing() {
        assert_eq!(
            shown(layout(&[]).deployments()),
            [
                "pool-1/producer",
                "pool-1/consumer",
                "pool-1/payments",
                "tenant-2/consumer",
                "tenant-2/payments",
                "tenant-3/producer",
                "tenant-3/consumer",
                "tenant-3/payments",
            ]
        );
        assert_eq!(layout(&["more-1=basic"]).deployments().len(), 8);
        assert_eq!(layout(&["more-2=advanced"]).deployments().len(), 10);
        assert_eq!(layout(&["more-3=premium"]).deployments().len(), 11);
    }

    #[test]
    fn queues_and_tables_belong_to_the_pool_and_to_advanced_and_premium_tenants() {
        let queues = |layout: Layout| layout.resources().iter().map(Resources::queue).collect::<Vec<_>>();
        assert_eq!(queues(layout(&[])), ["consumer-pool-1", "consumer-tenant-2", "consumer-tenant-3"]);
        assert_eq!(queues(layout(&["acme=basic"])).len(), 3);
        assert_eq!(queues(layout(&["acme=advanced"]))[3], "consumer-acme");
    }

    #[test]
    fn every_tenant_is_registered_and_a_basic_one_with_the_arns_of_the_pool() {
        let parameters = layout(&[]).parameters();
        let of = |name: &str| parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        assert_eq!(parameters.len(), 8);
        assert_eq!(of("/pool-1/consumer_sqs"), Some("arn:aws:sqs:eu-west-1:123456789012:consumer-pool-1"));
        assert_eq!(of("/tenant-1/consumer_sqs"), Some("arn:aws:sqs:eu-west-1:123456789012:consumer-pool-1"));
        assert_eq!(of("/tenant-1/consumer_ddb"), Some("arn:aws:dynamodb:eu-west-1:123456789012:table/consumer-pool-1"));
        assert_eq!(of("/tenant-2/consumer_sqs"), Some("arn:aws:sqs:eu-west-1:123456789012:consumer-tenant-2"));
        assert_eq!(
            of("/tenant-3/consumer_ddb"),
            Some("arn:aws:dynamodb:eu-west-1:123456789012:table/consumer-tenant-3")
        );
    }

    #[test]
    fn the_producer_of_an_advanced_tenant_is_the_pool_s_and_the_rest_its_own() {
        let layout = layout(&[]);
        let goes_to = |tenant: &str| {
            let tenant = tenant.parse().unwrap();
            Service::ALL.map(|service| layout.deployment_for(&tenant, service).environment.to_string())
        };
        assert_eq!(goes_to("tenant-1"), ["pool-1", "pool-1", "pool-1"]);
        assert_eq!(goes_to("tenant-2"), ["pool-1", "tenant-2", "tenant-2"]);
        assert_eq!(goes_to("tenant-3"), ["tenant-3", "tenant-3", "tenant-3"]);
    }
}

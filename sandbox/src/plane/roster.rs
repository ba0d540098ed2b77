//! Who is on the plane: a pool and its tenants, each with a tier.

use std::str::FromStr;

use tenancy::tenant::{PoolId, TenantId, Tier};
use thiserror::Error;

/// A tenant and what it pays for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    /// Its id.
    pub id: TenantId,
    /// Its tier.
    pub tier: Tier,
}

/// A text that is not `ID=TIER`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TenantError {
    /// Without `=`.
    #[error("a tenant is written ID=TIER, such as acme=advanced")]
    Form,
    /// With an id that no tenant can have.
    #[error("{0}")]
    Id(#[from] tenancy::tenant::TenantIdError),
    /// With something else than a tier.
    #[error("{0}")]
    Tier(#[from] tenancy::tenant::TierError),
}

impl FromStr for Tenant {
    type Err = TenantError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (id, tier) = text.split_once('=').ok_or(TenantError::Form)?;
        Ok(Self { id: id.parse()?, tier: tier.parse()? })
    }
}

/// The pool and the tenants, in the order in which they were named.
#[derive(Debug, Clone)]
pub struct Roster {
    /// The pool that basic tenants live in and that produces for advanced ones.
    pub pool: PoolId,
    /// Distinct tenants.
    pub tenants: Vec<Tenant>,
}

/// One id with two tiers.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("tenant {id} cannot be {first} and {second}; leave one of them out")]
pub struct TwoTiers {
    id: TenantId,
    first: Tier,
    second: Tier,
}

impl Roster {
    /// `pool-1` with one tenant of each tier (`tenant-1` basic, `tenant-2` advanced, `tenant-3` premium) and then `more`.
    /// Naming one of the three again with its own tier changes nothing.
    ///
    /// # Errors
    /// A tenant with two tiers.
    pub fn new(more: &[Tenant]) -> Result<Self, TwoTiers> {
        let standard = [("tenant-1", Tier::Basic), ("tenant-2", Tier::Advanced), ("tenant-3", Tier::Premium)];
        let standard = standard.into_iter().filter_map(|(id, tier)| Some(Tenant { id: id.parse().ok()?, tier }));
        let mut tenants: Vec<Tenant> = Vec::new();
        for tenant in standard.chain(more.iter().cloned()) {
            match tenants.iter().find(|known| known.id == tenant.id) {
                None => tenants.push(tenant),
                Some(known) if known.tier == tenant.tier => {}
                Some(known) => return Err(TwoTiers { id: tenant.id, first: known.tier, second: tenant.tier }),
            }
        }
        Ok(Self { pool: standard_pool(), tenants })
    }
}

fn standard_pool() -> PoolId {
    match "pool-1".parse() {
        Ok(pool) => pool,
        Err(tenancy::tenant::PoolIdError) => unreachable!("pool-1 is a pool's id"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plane_has_a_tenant_of_each_tier_and_those_that_were_added() {
        let roster = Roster::new(&["acme=advanced".parse().unwrap(), "tenant-3=premium".parse().unwrap()]).unwrap();
        let shown: Vec<String> = roster.tenants.iter().map(|tenant| format!("{}={}", tenant.id, tenant.tier)).collect();
        assert_eq!(shown, ["tenant-1=basic", "tenant-2=advanced", "tenant-3=premium", "acme=advanced"]);
        assert_eq!(roster.pool.as_str(), "pool-1");
    }

    #[test]
    fn one_tenant_cannot_have_two_tiers() {
        let error = Roster::new(&["tenant-1=premium".parse().unwrap()]).unwrap_err();
        assert_eq!(error.to_string(), "tenant tenant-1 cannot be basic and premium; leave one of them out");
    }

    #[test]
    fn what_is_wrong_with_a_tenant_is_said() {
        let error = |text: &str| text.parse::<Tenant>().unwrap_err().to_string();
        assert_eq!(error("acme"), "a tenant is written ID=TIER, such as acme=advanced");
        assert_eq!(error("acme=gold"), "a tier is basic, advanced or premium");
        assert_eq!(
            error("pool-7=basic"),
            "a tenant id is not 'default' and does not start with aws, ssm, kube-, flux- or pool-"
        );
        assert_eq!(
            error("Acme=basic"),
            "a tenant id matches ^[a-z]([a-z0-9-]*[a-z0-9])?$ without two hyphens in a row"
        );
    }
}

//! Counters by tenant, for a bounded number of tenants.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use metrics::{Counter, counter};

use crate::tenant::TenantId;

/// The label's value for tenants without a series of their own. No tenant's id has an underscore.
pub const OTHERS: &str = "_other";

/// A counter with the label `tenant_id`. The first tenants that it counts have a series of their own, the others share
/// [`OTHERS`]: every series costs memory here and in Prometheus, and a pool may have tens of thousands of tenants. Only who
/// is known to be served is to be counted.
#[derive(Debug)]
pub struct ByTenant {
    name: &'static str,
    most: usize,
    own: RwLock<HashMap<TenantId, Counter>>,
    others: Counter,
}

impl ByTenant {
    /// The counter `name` with series of their own for at most `most` tenants (`METRICS_TENANTS`).
    #[must_use]
    pub fn new(name: &'static str, most: usize) -> Self {
        Self { name, most, own: RwLock::default(), others: counter!(name, "tenant_id" => OTHERS) }
    }

    /// Counts so many for this tenant.
    pub fn count(&self, tenant: &TenantId, many: u64) {
        if let Some(own) = self.own.read().unwrap_or_else(PoisonError::into_inner).get(tenant) {
            return own.increment(many);
        }
        self.first(tenant).increment(many);
    }

    #[cold]
    fn first(&self, tenant: &TenantId) -> Counter {
        // Full for good: those who come late do not wait for a lock that is theirs alone.
        if self.own.read().unwrap_or_else(PoisonError::into_inner).len() >= self.most {
            return self.others.clone();
        }
        let mut own = self.own.write().unwrap_or_else(PoisonError::into_inner);
        if own.len() >= self.most && !own.contains_key(tenant) {
            return self.others.clone();
        }
        own.entry(tenant.clone())
            .or_insert_with(|| counter!(self.name, "tenant_id" => tenant.as_str().to_owned()))
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_tenants_have_series_of_their_own_and_the_others_share_one() {
        let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, || {
            let counted = ByTenant::new("things_total", 2);
            for (tenant, many) in [("acme", 1), ("globex", 2), ("initech", 3), ("acme", 4), ("hooli", 5)] {
                counted.count(&tenant.parse().unwrap(), many);
            }
            let none = ByTenant::new("others_total", 0);
            none.count(&"acme".parse().unwrap(), 7);
        });
        let shown = recorder.handle().render();
        let mut lines: Vec<_> = shown.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        lines.sort_unstable();
        assert_eq!(
            lines,
            [
                "others_total{tenant_id=\"_other\"} 7",
                "things_total{tenant_id=\"_other\"} 8",
                "things_total{tenant_id=\"acme\"} 5",
                "things_total{tenant_id=\"globex\"} 2",
            ]
        );
    }

    #[test]
    fn no_tenant_can_be_taken_for_the_others() {
        assert!(OTHERS.parse::<TenantId>().is_err());
    }
}

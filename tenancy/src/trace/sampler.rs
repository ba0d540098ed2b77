//! Which traces are taken. Decided before a span is made, so that a request whose trace is not taken costs a comparison.

use crate::config::{Ratio, SamplerName, Traces};

use super::Parent;

#[derive(Debug, Clone, Copy)]
pub(super) struct Sampler {
    follows_parent: bool,
    share: f64,
}

impl Sampler {
    pub(super) fn new(settings: &Traces) -> Self {
        let share = settings.otel_traces_sampler_arg.unwrap_or(Ratio::ALL).get();
        let (follows_parent, share) = match settings.otel_traces_sampler {
            SamplerName::AlwaysOn => (false, 1.0),
            SamplerName::AlwaysOff => (false, 0.0),
            SamplerName::TraceIdRatio => (false, share),
            SamplerName::ParentBasedAlwaysOn => (true, 1.0),
            SamplerName::ParentBasedAlwaysOff => (true, 0.0),
            SamplerName::ParentBasedTraceIdRatio => (true, share),
        };
        Self { follows_parent, share }
    }

    /// Whether a trace that begins here is taken.
    pub(super) fn begins(self) -> bool {
        self.share >= 1.0 || (self.share > 0.0 && fastrand::f64() < self.share)
    }

    /// Whether spans below `parent` are taken. By the trace's id where it is a share, so that all who see it agree.
    pub(super) fn joins(self, parent: Parent) -> bool {
        if self.follows_parent {
            return parent.sampled;
        }
        let [.., a, b, c, d, e, f, g, h] = parent.trace.to_bytes();
        let place = u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 1;
        self.share >= 1.0 || place < (self.share * (1u64 << 63) as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(name: SamplerName, share: &str) -> Sampler {
        Sampler::new(&Traces {
            otel_exporter_otlp_endpoint: None,
            otel_traces_sampler: name,
            otel_traces_sampler_arg: share.parse().ok(),
        })
    }

    fn parent(end_of_id: &str, flags: &str) -> Parent {
        Parent::read(&format!("00-4bf92f3577b34da6{end_of_id}-00f067aa0ba902b7-{flags}")).unwrap()
    }

    #[test]
    fn a_parent_based_sampler_does_what_the_parent_says() {
        for name in [SamplerName::ParentBasedAlwaysOn, SamplerName::ParentBasedAlwaysOff] {
            assert!(sampler(name, "").joins(parent("ffffffffffffffff", "01")));
            assert!(!sampler(name, "").joins(parent("0000000000000000", "00")));
        }
        assert!(sampler(SamplerName::ParentBasedAlwaysOn, "").begins());
        assert!(!sampler(SamplerName::ParentBasedAlwaysOff, "").begins());
    }

    #[test]
    fn a_share_is_decided_by_the_trace_s_id_whatever_the_parent_says() {
        let half = sampler(SamplerName::TraceIdRatio, "0.5");
        for flags in ["00", "01"] {
            assert!(half.joins(parent("0000000000000000", flags)));
            assert!(half.joins(parent("7fffffffffffffff", flags)));
            assert!(!half.joins(parent("8000000000000000", flags)));
            assert!(!sampler(SamplerName::AlwaysOff, "").joins(parent("0000000000000000", flags)));
            assert!(sampler(SamplerName::AlwaysOn, "").joins(parent("ffffffffffffffff", flags)));
        }
    }

    #[test]
    fn of_traces_that_begin_here_about_the_share_is_taken() {
        let quarter = sampler(SamplerName::ParentBasedTraceIdRatio, "0.25");
        let taken = (0..10_000).filter(|_| quarter.begins()).count();
        assert!((2_000..3_000).contains(&taken), "{taken}");
    }
}

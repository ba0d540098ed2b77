//! What a metric is called and means: tables that the code registers, `docs/metrics.md` prints and a test holds against what a
//! running service shows.

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, histogram};

/// How a metric behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, from 0 at the start of the process.
    Counter,
    /// It goes up and down.
    Gauge,
    /// It counts values by size.
    Histogram,
}

impl Kind {
    /// As Prometheus writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A label.
#[derive(Debug, Clone, Copy)]
pub struct Label {
    /// Its name.
    pub name: &'static str,
    /// All values that it may have; empty when that is not known beforehand. No value ever comes from a client.
    pub values: &'static [&'static str],
}

/// A metric.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Its name, by the conventions of Prometheus.
    pub name: &'static str,
    /// How it behaves.
    pub kind: Kind,
    /// What it is counted in, such as `seconds` or `messages`.
    pub unit: &'static str,
    /// Its labels.
    pub labels: &'static [Label],
    /// What it says, in one sentence.
    pub meaning: &'static str,
}

impl Metric {
    /// A counter without labels.
    #[must_use]
    pub const fn counter(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self { name, kind: Kind::Counter, unit, labels: &[], meaning }
    }

    /// A gauge without labels.
    #[must_use]
    pub const fn gauge(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self { name, kind: Kind::Gauge, unit, labels: &[], meaning }
    }

    /// A histogram without labels.
    #[must_use]
    pub const fn histogram(name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        Self { name, kind: Kind::Histogram, unit, labels: &[], meaning }
    }

    /// With these labels.
    #[must_use]
    pub const fn by(self, labels: &'static [Label]) -> Self {
        Self { labels, ..self }
    }
}

/// A label and all its values.
#[must_use]
pub const fn label(name: &'static str, values: &'static [&'static str]) -> Label {
    Label { name, values }
}

/// Says what each metric means, and shows every counter whose labels are known as 0 from the start: what first appears with
/// a 1 has not increased, for all that Prometheus can see. Said twice, it is the same as once.
pub fn describe(metrics: &[Metric]) {
    for metric in metrics {
        let unit = match metric.unit {
            "seconds" => Unit::Seconds,
            "bytes" => Unit::Bytes,
            _ => Unit::Count,
        };
        match metric.kind {
            Kind::Counter => describe_counter!(metric.name, unit, metric.meaning),
            Kind::Gauge => describe_gauge!(metric.name, unit, metric.meaning),
            Kind::Histogram => describe_histogram!(metric.name, unit, metric.meaning),
        }
        if metric.labels.iter().any(|label| label.values.is_empty()) {
            continue;
        }
        for labels in combinations(metric.labels) {
            match metric.kind {
                Kind::Counter => drop(counter!(metric.name, labels)),
                Kind::Histogram => drop(histogram!(metric.name, labels)),
                // 0 would be a claim.
                Kind::Gauge => {}
            }
        }
    }
}

/// Every way to give each label a value.
fn combinations(labels: &[Label]) -> Vec<Vec<metrics::Label>> {
    let mut all = vec![Vec::new()];
    for label in labels {
        let with = |before: &Vec<metrics::Label>| {
            let before = before.clone();
            label
                .values
                .iter()
                .map(move |value| [before.as_slice(), &[metrics::Label::from_static_parts(label.name, value)]].concat())
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_give_two_labels_a_value_is_shown() {
        let labels = [label("operation", &["read", "write"]), label("result", &["ok", "failed"])];
        let shown: Vec<String> = combinations(&labels)
            .iter()
            .map(|labels| labels.iter().map(|label| format!("{}={} ", label.key(), label.value())).collect())
            .collect();
        assert_eq!(
            shown,
            [
                "operation=read result=ok ",
                "operation=read result=failed ",
                "operation=write result=ok ",
                "operation=write result=failed "
            ]
        );
        assert_eq!(combinations(&[]).len(), 1);
    }
}

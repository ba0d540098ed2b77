//! `docs/metrics.md`, written from the tables that the services register.

use std::fmt::Write as _;

use tenancy::telemetry::metric::{Label, Metric};
use tests::service::Kind;

use super::tables;

const BEGIN: &str = "<!-- metrics: begin (written by `make docs`) -->\n";
const END: &str = "<!-- metrics: end -->";

/// Values that are listed in the document; a longer list is in the code.
const LISTED: usize = 13;

fn services(metric: &Metric) -> String {
    let has = |of: &Kind| tables(*of).into_iter().flatten().any(|known| known.name == metric.name);
    let all = [Kind::Producer, Kind::Consumer, Kind::Payments];
    let these: Vec<&str> = all.iter().filter(|of| has(of)).map(|of| of.name()).collect();
    if these.len() == all.len() { "all".to_owned() } else { these.join(", ") }
}

fn labels(metric: &Metric) -> String {
    let one = |label: &Label| match label.values {
        [] => format!("`{}`", label.name),
        values if values.len() <= LISTED => format!("`{}`: {}", label.name, values.join(", ")),
        values => format!("`{}`: one of {}", label.name, values.len()),
    };
    metric.labels.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn table() -> String {
    let mut all: Vec<&Metric> = Vec::new();
    for metric in [Kind::Producer, Kind::Consumer, Kind::Payments].into_iter().flat_map(tables).flatten() {
        if !all.iter().any(|known| known.name == metric.name) {
            all.push(metric);
        }
    }
    let mut table = "\n| metric | type | unit | of | labels | meaning |\n|---|---|---|---|---|---|\n".to_owned();
    for metric in all {
        let (name, kind, unit) = (metric.name, metric.kind.as_str(), metric.unit);
        let (of, labels) = (services(metric), labels(metric));
        writeln!(table, "| `{name}` | {kind} | {unit} | {of} | {labels} | {} |", metric.meaning).unwrap();
    }
    table + "\n"
}

#[test]
fn the_document_lists_every_metric_as_the_code_explains_it() {
    tests::document::hold_part("docs/metrics.md", BEGIN, END, &table());
}

#[test]
fn names_follow_the_conventions_of_prometheus() {
    for metric in [Kind::Producer, Kind::Consumer, Kind::Payments].into_iter().flat_map(tables).flatten() {
        let name = metric.name;
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        assert_eq!(name.ends_with("_total"), metric.kind.as_str() == "counter", "{name}: counters end in _total");
        let base = name.trim_end_matches("_total");
        for unit in ["seconds", "bytes"] {
            assert_eq!(base.ends_with(unit), metric.unit == unit, "{name}: its unit is {}", metric.unit);
        }
        assert!(metric.meaning.ends_with('.') && metric.meaning.len() > 7, "{name}: {}", metric.meaning);
    }
}

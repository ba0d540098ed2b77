//! One part's table: a row a case, the median of its runs, and where it matters how far the runs lay apart.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::run::{Part, Row, Spread};

/// A column: what was found, its heading, its decimals, whether the spread is shown.
type Column = (&'static str, &'static str, usize, bool);

/// What a part is called.
pub(super) fn title(part: Part) -> &'static str {
    match part {
        Part::Producer => "Producer, as many requests as it takes",
        Part::Latency => "Producer at fixed rates, latency from when a request was due",
        Part::Consumer => "Consumer, a full queue drained",
        Part::EndToEnd => "End to end: from when a POST was due to its record",
        Part::Tenants => "Tenants with queues of their own behind one producer",
        Part::Unknown => "Tenant ids that nobody has",
        Part::SlowTenant => "One tenant's queue in trouble, and the others",
        Part::Flood => "One tenant over its limit, and the others",
        Part::Identity => "Identity: a token that was seen before",
        Part::PeersProducer => "Producers beside each other",
        Part::PeersConsumer => "Consumers beside each other",
        Part::Sandbox => "The embedded AWS of the sandbox",
    }
}

fn columns(part: Part) -> &'static [Column] {
    match part {
        Part::Producer | Part::PeersProducer | Part::Identity => &[
            ("per_second", "requests a second", 0, true),
            ("failed", "failed", 0, false),
            ("cpu_us", "CPU µs a request", 1, true),
            ("sqs_calls", "SQS calls an event", 3, false),
            ("ssm_calls", "SSM calls an event", 3, false),
            ("p50_ms", "p50 ms", 2, false),
            ("p99_ms", "p99 ms", 2, true),
            ("peak_mib", "peak MiB", 1, false),
        ],
        Part::Latency => &[
            ("per_second", "answered a second", 0, false),
            ("failed", "failed", 0, false),
            ("p50_ms", "p50 ms", 2, true),
            ("p99_ms", "p99 ms", 2, true),
            ("p999_ms", "p99.9 ms", 2, true),
            ("cpu_us", "CPU µs a request", 1, false),
            ("sqs_calls", "SQS calls an event", 3, false),
        ],
        Part::Consumer | Part::PeersConsumer => &[
            ("per_second", "messages a second", 0, true),
            ("messages", "messages", 0, false),
            ("cpu_us", "CPU µs a message", 1, true),
            ("receives", "receives a message", 3, false),
            ("writes", "writes a message", 3, false),
            ("deletes", "deletes a message", 3, false),
            ("idle_mib", "idle MiB", 1, false),
            ("peak_mib", "peak MiB", 1, false),
        ],
        Part::EndToEnd => &[
            ("per_second", "events a second", 0, false),
            ("missing_records", "missing", 0, false),
            ("p50_ms", "p50 ms", 2, true),
            ("p99_ms", "p99 ms", 2, true),
            ("p999_ms", "p99.9 ms", 2, false),
            ("aws_calls", "AWS calls an event", 3, false),
            ("producer_cpu_us", "producer CPU µs", 1, false),
            ("consumer_cpu_us", "consumer CPU µs", 1, false),
            ("producer_peak_mib", "producer MiB", 1, false),
            ("consumer_peak_mib", "consumer MiB", 1, false),
        ],
        Part::Tenants => &[
            ("per_second", "requests a second", 0, true),
            ("failed", "failed", 0, false),
            ("cpu_us", "CPU µs a request", 1, true),
            ("sqs_calls", "SQS calls an event", 3, false),
            ("ssm_calls", "SSM calls", 0, false),
            ("p99_ms", "p99 ms", 2, true),
            ("peak_mib", "peak MiB", 1, false),
        ],
        Part::Unknown => &[
            ("answers_per_second", "answers a second", 0, true),
            ("answered_404", "404", 0, false),
            ("answered_503", "503", 0, false),
            ("lost", "lost", 0, false),
            ("cpu_us", "CPU µs an answer", 1, false),
            ("ssm_calls", "SSM calls", 0, false),
            ("known_failed", "known tenant: failed", 0, false),
            ("known_p99_ms", "known tenant: p99 ms", 2, true),
            ("peak_mib", "peak MiB", 1, false),
        ],
        Part::SlowTenant => &[
            ("others_p50_ms", "others: p50 ms", 2, true),
            ("others_p99_ms", "others: p99 ms", 2, true),
            ("others_failed", "others: failed", 0, false),
            ("its_failed", "its own: failed", 0, false),
            ("peak_mib", "peak MiB", 1, false),
        ],
        Part::Flood => &[
            ("others_p50_ms", "others: p50 ms", 2, true),
            ("others_p99_ms", "others: p99 ms", 2, true),
            ("others_failed", "others: failed", 0, false),
            ("its_200", "its own: 200", 0, false),
            ("its_200_per_second", "its own: 200 a second", 0, false),
            ("its_429", "its own: 429", 0, false),
            ("its_failed_otherwise", "its own: failed otherwise", 0, false),
            ("cpu_us", "CPU µs an answer", 1, false),
            ("peak_mib", "peak MiB", 1, false),
        ],
        Part::Sandbox => &[
            ("per_second", "requests a second", 0, true),
            ("failed", "failed", 0, false),
            ("sandbox_cpu_us", "sandbox CPU µs a request", 1, false),
            ("p50_ms", "p50 ms", 2, false),
            ("p99_ms", "p99 ms", 2, true),
            ("sandbox_peak_mib", "sandbox MiB", 1, false),
        ],
    }
}

/// Subject and case, in the order they were first measured.
fn cases<'a>(rows: &[&'a Row]) -> Vec<(&'a str, &'a str)> {
    let mut cases = Vec::new();
    for row in rows {
        let case = (row.case.as_str(), row.subject.as_str());
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    cases
}

/// What the runs of a case found of one thing.
pub(super) fn spread(rows: &[&Row], subject: &str, case: &str, name: &str) -> Option<Spread> {
    let of_case = rows.iter().filter(|row| row.subject == subject && row.case == case);
    Spread::of(of_case.filter_map(|row| row.found.get(name).copied()).collect())
}

/// The table of a part.
pub(super) fn of(part: Part, rows: &[&Row]) -> String {
    let columns = columns(part);
    let mut text = String::from("| case | subject | runs |");
    for (_, heading, ..) in columns {
        let _ = write!(text, " {heading} |");
    }
    text.push_str("\n|---|---|---|");
    text.push_str(&"---|".repeat(columns.len()));
    for (case, subject) in cases(rows) {
        let runs = rows.iter().filter(|row| row.subject == subject && row.case == case).count();
        let _ = write!(text, "\n| {case} | {subject} | {runs} |");
        for (name, _, decimals, with_spread) in columns {
            let cell = spread(rows, subject, case, name).map(|spread| cell(spread, *decimals, *with_spread));
            let _ = write!(text, " {} |", cell.unwrap_or_default());
        }
    }
    text
}

fn cell(spread: Spread, decimals: usize, with_spread: bool) -> String {
    let Spread { median, least, most, runs } = spread;
    if with_spread && runs > 1 {
        format!("**{median:.decimals$}** ({least:.decimals$} to {most:.decimals$})")
    } else {
        format!("{median:.decimals$}")
    }
}

/// Ours against each peer: the ratio of each round, the median of those.
pub(super) fn ratios(part: Part, rows: &[&Row]) -> Option<String> {
    let ours = match part {
        Part::PeersProducer => "producer",
        Part::PeersConsumer => "consumer",
        _ => return None,
    };
    let mut text = String::from(
        "| case | ours against | throughput, times | CPU, part of theirs | p50, part of theirs |\n|---|---|---|---|---|",
    );
    for (case, peer) in cases(rows).into_iter().filter(|(_, subject)| *subject != ours) {
        let ratio = |name: &str| ratio(rows, case, ours, peer, name).map(|spread| cell(spread, 2, true));
        let (throughput, cpu, p50) = (ratio("per_second"), ratio("cpu_us"), ratio("p50_ms"));
        let [throughput, cpu, p50] = [throughput, cpu, p50].map(Option::unwrap_or_default);
        let _ = write!(text, "\n| {case} | {peer} | {throughput} | {cpu} | {p50} |");
    }
    Some(text)
}

/// What one subject found divided by what another found in the same round, over the rounds that have both.
pub(super) fn ratio(rows: &[&Row], case: &str, one: &str, other: &str, name: &str) -> Option<Spread> {
    let of = |subject: &str| -> BTreeMap<u32, f64> {
        let rows = rows.iter().filter(|row| row.subject == subject && row.case == case);
        rows.filter_map(|row| Some((row.run, *row.found.get(name)?))).collect()
    };
    let (one, other) = (of(one), of(other));
    let ratios = one.iter().filter_map(|(run, found)| other.get(run).map(|base| found / base));
    Spread::of(ratios.filter(|ratio| ratio.is_finite()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Origin;

    fn row(subject: &str, run: u32, per_second: f64) -> Row {
        let origin = Origin { command: "c".to_owned(), machine: "m".to_owned(), date: "d".to_owned() };
        let found = BTreeMap::from([("per_second".to_owned(), per_second)]);
        let (part, subject) = ("peers-producer".to_owned(), subject.to_owned());
        Row { part, subject, case: "one".to_owned(), run, found, of: origin }
    }

    #[test]
    fn a_ratio_compares_the_runs_of_one_round() {
        let rows = [
            row("producer", 1, 100.0),
            row("peer", 1, 50.0),
            row("producer", 2, 300.0),
            row("peer", 2, 100.0),
            row("producer", 3, 900.0),
        ];
        let rows: Vec<&Row> = rows.iter().collect();
        let ratio = ratio(&rows, "one", "producer", "peer", "per_second").unwrap();
        assert_eq!((ratio.median, ratio.least, ratio.most, ratio.runs), (2.5, 2.0, 3.0, 2));
    }

    #[test]
    fn a_table_shows_medians_and_how_far_the_runs_lay_apart() {
        let rows = [row("producer", 1, 100.0), row("producer", 2, 300.0), row("producer", 3, 200.0)];
        let table = of(Part::PeersProducer, &rows.iter().collect::<Vec<_>>());
        assert!(table.contains("| one | producer | 3 | **200** (100 to 300) |"), "{table}");
    }
}

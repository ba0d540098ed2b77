//! The bars that are reached for, and what was found against each.

use std::fmt::Write as _;

use super::table::{ratio, spread};
use crate::run::{Row, Spread};

/// One bar.
struct Bar {
    what: &'static str,
    bar: Wanted,
    found: Option<Spread>,
    decimals: usize,
}

#[derive(Clone, Copy)]
enum Wanted {
    AtLeast(f64),
    AtMost(f64),
}

impl Wanted {
    fn holds(self, found: f64) -> bool {
        match self {
            Self::AtLeast(bar) => found >= bar,
            Self::AtMost(bar) => found <= bar,
        }
    }
}

/// The table of bars.
pub(super) fn text(rows: &[Row]) -> String {
    let mut text = String::from("| what | bar | found (median, least to most) | |\n|---|---|---|---|\n");
    for Bar { what, bar, found, decimals } in bars(rows) {
        let wanted = match bar {
            Wanted::AtLeast(bar) => format!("at least {bar}"),
            Wanted::AtMost(bar) => format!("at most {bar}"),
        };
        let (found, holds) = match found {
            None => ("NOT RUN".to_owned(), ""),
            Some(Spread { median, least, most, .. }) => {
                let found = format!("{median:.decimals$} ({least:.decimals$} to {most:.decimals$})");
                (found, if bar.holds(median) { "reached" } else { "MISSED" })
            }
        };
        let _ = writeln!(text, "| {what} | {wanted} | {found} | {holds} |");
    }
    text
}

fn bars(rows: &[Row]) -> Vec<Bar> {
    let part = |name: &str| rows.iter().filter(|row| row.part == name).collect::<Vec<&Row>>();
    let of = |name: &str, subject: &str, case: &str, what: &str| spread(&part(name), subject, case, what);
    let posts = |case: &str, what: &str| of("producer", "producer", case, what);
    let drains = |case: &str, what: &str| of("consumer", "consumer", case, what);
    let producers = |case: &str, peer: &str, what: &str| ratio(&part("peers-producer"), case, "producer", peer, what);
    let at_64 = "64 connections, 100 B, single, 0 ms";
    let at_256 = "256 connections, 100 B, single, 0 ms";
    let far = "256 connections, 100 B, single, 20 ms";
    let bar = |what, bar, found, decimals| Bar { what, bar, found, decimals };
    use Wanted::{AtLeast, AtMost};
    vec![
        bar(
            "producer, 64 connections: times the reference's throughput",
            AtLeast(90.0),
            producers(at_64, "reference producer (Python)", "per_second"),
            1,
        ),
        bar("producer, 64 connections: CPU µs a request", AtMost(45.0), posts(at_64, "cpu_us"), 1),
        bar("producer, 64 connections: SQS calls an event", AtMost(0.13), posts(at_64, "sqs_calls"), 4),
        bar("producer, 256 connections: SQS calls an event", AtMost(0.105), posts(at_256, "sqs_calls"), 4),
        bar("producer, 64 connections: SSM calls an event", AtMost(0.0), posts(at_64, "ssm_calls"), 4),
        bar(
            "producer, 1 connection: time of a request, times that of the SDK behind axum",
            AtMost(1.05),
            producers("1 connections, 100 B, single, 0 ms", "bare SDK behind axum", "p50_ms"),
            3,
        ),
        bar("producer, 256 connections, 20 ms: requests a second", AtLeast(9_000.0), posts(far, "per_second"), 0),
        bar("producer, 256 connections, 20 ms: p99 ms", AtMost(70.0), posts(far, "p99_ms"), 1),
        bar("consumer: CPU µs a message", AtMost(45.0), drains("100 B, 0 ms", "cpu_us"), 1),
        bar("consumer: receives a message", AtMost(0.105), drains("100 B, 0 ms", "receives"), 4),
        bar("consumer: batch writes a message", AtMost(0.045), drains("100 B, 0 ms", "writes"), 4),
        bar("consumer: batch deletes a message", AtMost(0.105), drains("100 B, 0 ms", "deletes"), 4),
        bar("consumer: times Node's best throughput", AtLeast(3.5), against_node(rows, "100 B, 0 ms"), 2),
        bar("consumer, 20 ms: times Node's best throughput", AtLeast(3.0), against_node(rows, "100 B, 20 ms"), 2),
        bar(
            "end to end, 20 ms, 1,000 a second: p99 ms",
            AtMost(150.0),
            of("end-to-end", "producer and consumer", "1000/s, 20 ms", "p99_ms"),
            1,
        ),
        bar("idle MiB, the larger of producer and consumer", AtMost(20.0), largest(rows, "idle_mib", false), 1),
        bar("peak MiB, every run but those of 256 KiB", AtMost(64.0), largest(rows, "peak_mib", true), 1),
        bar(
            "one slow tenant: the others' p99, times",
            AtMost(1.1),
            others(rows, "slow-tenant", "one tenant's queue answers in 5 s", "all alike"),
            3,
        ),
        bar(
            "one throttled tenant: the others' p99, times",
            AtMost(1.1),
            others(rows, "slow-tenant", "one tenant's queue throttles every call", "all alike"),
            3,
        ),
        bar(
            "one tenant at ten times its limit: the others' p99, times",
            AtMost(1.1),
            others(rows, "flood", "one tenant at ten times its limit", "nobody floods"),
            3,
        ),
    ]
}

/// Against whichever number of pollers suits Node best.
fn against_node(rows: &[Row], case: &str) -> Option<Spread> {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.part == "peers-consumer").collect();
    let mut best: Option<Spread> = None;
    for peer in rows.iter().map(|row| row.subject.as_str()).filter(|subject| subject.starts_with("sqs-consumer")) {
        let found = ratio(&rows, case, "consumer", peer, "per_second");
        best = match (best, found) {
            (Some(best), Some(found)) if best.median <= found.median => Some(best),
            (best, found) => found.or(best),
        };
    }
    best
}

/// The most memory of ours in any run; the 256 KiB case is bounded by a setting of its own.
fn largest(rows: &[Row], name: &str, peak: bool) -> Option<Spread> {
    // What the sandbox's part measures is the sandbox.
    let rows = rows.iter().filter(|row| row.part != "sandbox");
    let ours = rows.filter(|row| row.subject.starts_with("producer") || row.subject == "consumer");
    let small = ours.filter(|row| !(peak && row.part == "consumer" && row.case.starts_with("26")));
    let most = small
        .flat_map(|row| row.found.iter().filter(|(found, _)| found.ends_with(name)).map(|(_, value)| *value))
        .fold(f64::NAN, f64::max);
    Spread::of(vec![most]).filter(|spread| spread.median.is_finite())
}

/// The others' p99 in one case of a part against that of the same round in another, in which nobody was in trouble or made any.
fn others(rows: &[Row], part: &str, case: &str, quiet: &str) -> Option<Spread> {
    let of = |case: &str, run: u32| {
        let mut rows = rows.iter().filter(|row| row.part == part && row.case == case && row.run == run);
        rows.next().and_then(|row| row.found.get("others_p99_ms").copied())
    };
    let runs = rows.iter().filter(|row| row.part == part).map(|row| row.run).max()?;
    Spread::of((1..=runs).filter_map(|run| Some(of(case, run)? / of(quiet, run)?)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Origin;

    fn row(part: &str, subject: &str, case: &str, found: (&str, f64)) -> Row {
        let of = Origin { command: String::new(), machine: String::new(), date: String::new() };
        let found = [(found.0.to_owned(), found.1)].into();
        Row { part: part.to_owned(), subject: subject.to_owned(), case: case.to_owned(), run: 1, found, of }
    }

    #[test]
    fn a_bar_is_reached_missed_or_not_run() {
        let rows = [
            row("producer", "producer", "64 connections, 100 B, single, 0 ms", ("cpu_us", 44.0)),
            row("consumer", "consumer", "100 B, 0 ms", ("cpu_us", 46.0)),
        ];
        let text = text(&rows);
        assert!(
            text.contains(
                "| producer, 64 connections: CPU µs a request | at most 45 | 44.0 (44.0 to 44.0) | reached |"
            )
        );
        assert!(text.contains("| consumer: CPU µs a message | at most 45 | 46.0 (46.0 to 46.0) | MISSED |"));
        assert!(text.contains("| consumer: receives a message | at most 0.105 | NOT RUN |  |"));
    }

    #[test]
    fn node_is_met_where_it_is_at_its_best() {
        let at = |subject, per_second| row("peers-consumer", subject, "100 B, 0 ms", ("per_second", per_second));
        let rows = [
            at("consumer", 12_000.0),
            at("sqs-consumer (Node), 1 pollers", 2_000.0),
            at("sqs-consumer (Node), 8 pollers", 4_000.0),
        ];
        assert_eq!(against_node(&rows, "100 B, 0 ms").unwrap().median, 3.0);
    }

    #[test]
    fn the_others_p99_is_held_against_that_of_the_same_round() {
        let at = |part, case, p99| row(part, "producer", case, ("others_p99_ms", p99));
        let rows = [
            at("slow-tenant", "all alike", 10.0),
            at("slow-tenant", "one tenant's queue answers in 5 s", 10.5),
            at("flood", "nobody floods", 20.0),
            at("flood", "one tenant at ten times its limit", 25.0),
        ];
        let text = text(&rows);
        assert!(
            text.contains(
                "| one slow tenant: the others' p99, times | at most 1.1 | 1.050 (1.050 to 1.050) | reached |"
            )
        );
        assert!(text.contains("| one throttled tenant: the others' p99, times | at most 1.1 | NOT RUN |  |"));
        assert!(text.contains(
            "| one tenant at ten times its limit: the others' p99, times | at most 1.1 | 1.250 (1.250 to 1.250) | MISSED |"
        ));
    }
}

//! The parts of the benchmark and their cases.

use std::io;
use std::time::Duration;

use clap::ValueEnum;

use super::drain::Drain;
use super::post::Post;
use super::scale::Trouble;
use super::{Bench, Subject, end_to_end, flood, identity, peers, scale};

/// Tenants of a pool's producer, each with a queue of its own.
const TENANTS: [u64; 3] = [1, 100, 10_000];

/// A part of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Producer, as many requests as it takes: connections, bodies, routes, latencies of AWS.
    Producer,
    /// Producer at fixed rates: latency without coordinated omission.
    Latency,
    /// Consumer: draining a queue at depth.
    Consumer,
    /// From POST to record at fixed rates.
    EndToEnd,
    /// Many tenants.
    Tenants,
    /// A million ids that nobody has.
    Unknown,
    /// One tenant whose queue is slow or throttled.
    SlowTenant,
    /// One tenant that sends ten times what it may.
    Flood,
    /// Bearer tokens, beside none.
    Identity,
    /// Producers that a team would run instead.
    PeersProducer,
    /// Consumers that a team would run instead.
    PeersConsumer,
    /// The embedded AWS of the sandbox.
    Sandbox,
}

impl Part {
    /// All, in the order of a full run.
    pub(crate) const ALL: [Self; 12] = [
        Self::Producer,
        Self::Latency,
        Self::Consumer,
        Self::EndToEnd,
        Self::PeersProducer,
        Self::PeersConsumer,
        Self::SlowTenant,
        Self::Flood,
        Self::Identity,
        Self::Unknown,
        Self::Sandbox,
        Self::Tenants,
    ];

    /// Its name in results and on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Producer => "producer",
            Self::Latency => "latency",
            Self::Consumer => "consumer",
            Self::EndToEnd => "end-to-end",
            Self::Tenants => "tenants",
            Self::Unknown => "unknown",
            Self::SlowTenant => "slow-tenant",
            Self::Flood => "flood",
            Self::Identity => "identity",
            Self::PeersProducer => "peers-producer",
            Self::PeersConsumer => "peers-consumer",
            Self::Sandbox => "sandbox",
        }
    }

    /// Measures its cases.
    pub(super) fn run(self, bench: &Bench) -> io::Result<()> {
        match self {
            Self::Producer => self.posts(bench, &producer_cases(bench.quick)),
            Self::Latency => self.posts(bench, &latency_cases(bench.quick)),
            Self::Consumer => self.drains(bench),
            Self::EndToEnd => {
                for latency_ms in if bench.quick { &[20][..] } else { &[0, 20] } {
                    for rate in if bench.quick { &[1_000.0][..] } else { &[100.0, 1_000.0, 5_000.0] } {
                        self.each_round(bench, "producer and consumer", &end_to_end::name(*rate, *latency_ms), || {
                            end_to_end::measure(bench, *rate, *latency_ms)
                        })?;
                    }
                }
                Ok(())
            }
            Self::Tenants => {
                // Ten thousand new tenants are looked up at twenty a second: more than a quick look has time for.
                let counts = if bench.quick { &TENANTS[..2] } else { &TENANTS[..] };
                for count in counts {
                    let case = format!("{count} tenants, each with its own queue");
                    scale::tenants(bench, *count, |run, found| bench.keep(self, "producer", &case, run, found))?;
                }
                Ok(())
            }
            Self::Unknown => {
                let ids = if bench.quick { 100_000 } else { 1_000_000 };
                self.each_round(bench, "producer", &format!("{ids} unknown ids"), || scale::unknown(bench, ids))
            }
            Self::SlowTenant => {
                for run in 1..=bench.rounds {
                    for trouble in Trouble::ALL {
                        bench.keep(self, "producer", trouble.name(), run, scale::slow(bench, trouble)?)?;
                    }
                }
                Ok(())
            }
            Self::Flood => {
                for run in 1..=bench.rounds {
                    for manner in flood::Manner::ALL {
                        bench.keep(self, "producer", manner.name(), run, flood::measure(bench, manner)?)?;
                    }
                }
                Ok(())
            }
            Self::Identity => {
                let issuer = identity::Issuer::start()?;
                for run in 1..=bench.rounds {
                    for asked in identity::Asked::ALL {
                        bench.keep(self, "producer", asked.name(), run, identity::measure(bench, &issuer, asked)?)?;
                    }
                }
                Ok(())
            }
            Self::PeersProducer => peers::producers(bench),
            Self::PeersConsumer => peers::consumers(bench),
            Self::Sandbox => super::sandbox::run(bench),
        }
    }

    fn each_round(
        self,
        bench: &Bench,
        subject: &str,
        case: &str,
        mut measure: impl FnMut() -> io::Result<super::Found>,
    ) -> io::Result<()> {
        for run in 1..=bench.rounds {
            bench.keep(self, subject, case, run, measure()?)?;
        }
        Ok(())
    }

    fn posts(self, bench: &Bench, cases: &[Post]) -> io::Result<()> {
        for case in cases {
            let subject = Subject::Producer;
            self.each_round(bench, &subject.name(), &case.name(), || case.measure(bench, subject))?;
        }
        Ok(())
    }

    fn drains(self, bench: &Bench) -> io::Result<()> {
        for case in drain_cases(bench.quick) {
            let subject = Subject::Consumer;
            self.each_round(bench, &subject.name(), &case.name(), || case.measure(bench, subject))?;
        }
        Ok(())
    }
}

fn producer_cases(quick: bool) -> Vec<Post> {
    if quick {
        return vec![Post::small(1, 0), Post::small(64, 0), Post::small(256, 20)];
    }
    let mut cases = Vec::new();
    for batch in [0, 10] {
        for body_bytes in [100, 4 << 10, 64 << 10] {
            for connections in [1, 16, 64, 256] {
                cases.push(Post { body_bytes, batch, ..Post::small(connections, 0) });
            }
        }
    }
    for latency_ms in [5, 20] {
        cases.extend([64, 256].map(|connections| Post::small(connections, latency_ms)));
    }
    cases
}

/// Rates well below and near what the producer takes.
fn latency_cases(quick: bool) -> Vec<Post> {
    let at = |rate, latency_ms| Post { rate: Some(rate), ..Post::small(512, latency_ms) };
    if quick {
        return vec![at(1_000.0, 0)];
    }
    let mut cases = Vec::new();
    for latency_ms in [0, 5, 20] {
        cases.extend([1_000.0, 5_000.0, 9_000.0].map(|rate| at(rate, latency_ms)));
    }
    cases
}

fn drain_cases(quick: bool) -> Vec<Drain> {
    let drain = |messages, body_bytes, latency_ms| {
        let most = Duration::from_secs(120);
        Drain { messages, body_bytes, latency_ms, most }
    };
    if quick {
        return vec![drain(50_000, 100, 0), drain(50_000, 100, 20)];
    }
    vec![
        drain(100_000, 100, 0),
        drain(100_000, 100, 20),
        drain(100_000, 4 << 10, 0),
        // As many bytes as a hundred thousand of 10 KiB.
        drain(4_000, (256 << 10) - 512, 0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_producer_s_cases_are_every_connection_body_and_route_and_the_latencies() {
        let cases = producer_cases(false);
        assert_eq!(cases.len(), 4 * 3 * 2 + 2 * 2);
        let names: std::collections::BTreeSet<_> = cases.iter().map(Post::name).collect();
        assert_eq!(names.len(), cases.len(), "each is told from the others by its name");
        assert!(names.contains("256 connections, 64 KiB, batches of 10, 0 ms"));
    }

    #[test]
    fn a_part_is_called_as_it_is_named() {
        for part in Part::value_variants() {
            assert_eq!(Part::from_str(part.name(), false), Ok(*part));
            assert!(Part::ALL.contains(part), "a full run has {part:?}");
        }
    }
}

//! A tenant that sends ten times what it may, and the others of its pool.
//!
//! All are basic tenants: one producer, one queue, one lane. What keeps them apart is the limit alone.

use std::io;
use std::time::Duration;

use super::post::{mib, micros};
use super::scale::{self, POOL};
use super::subject::Subject;
use super::{Bench, Found};
use crate::load::{self, Plan, Target};

/// The prefix of tenants that share the pool's queue.
const BASIC: &str = "basic";

/// The one that floods: none of the others.
const ONE: &str = "basic-9999999";

/// Tenants beside it, and what they post a second together.
const OTHERS: (u64, f64) = (100, 1_000.0);

/// Requests a second that each may send: as the template of a pool has it.
const LIMIT: f64 = 100.0;

/// What the one tenant does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// Stays at half its limit.
    Modest,
    /// Sends ten times its limit, whatever it is answered.
    Floods,
}

impl Manner {
    pub(super) const ALL: [Self; 2] = [Self::Modest, Self::Floods];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Modest => "nobody floods",
            Self::Floods => "one tenant at ten times its limit",
        }
    }

    fn rate(self) -> f64 {
        match self {
            Self::Modest => LIMIT / 2.0,
            Self::Floods => LIMIT * 10.0,
        }
    }
}

/// A hundred tenants post at a fixed rate, each a tenth of what it may, while another one posts in its manner.
pub(super) fn measure(bench: &Bench, manner: Manner) -> io::Result<Found> {
    bench.aws.begin(5)?;
    let settings = [("LIMIT_REQUESTS", LIMIT.to_string())];
    let producer = Subject::Producer.start_with(&bench.places, POOL, &bench.aws.url(), &settings)?;
    let event = load::event(100);
    scale::introduce_all(&producer, BASIC, OTHERS.0)?;
    let time = Duration::from_secs_f64(bench.seconds * 4.0);
    let others = Target::for_each_tenant("/producer", BASIC, OTHERS.0, &event);
    let others = Plan { rate: Some(OTHERS.1), ..scale::plan(&producer, others, 128, time) };
    let one = Target::post("/producer", ONE, &event);
    let one = Plan { rate: Some(manner.rate()), ..scale::plan(&producer, one, 128, time) };
    load::run(&Plan { most: Some(1), ..one.clone() })?;
    load::run(&Plan { time: Duration::from_secs(1), ..others.clone() })?;
    let before = producer.usage()?;
    let (others, one) = scale::both(others, one)?;
    let after = producer.usage()?;
    let quantiles = others.latencies.quantiles();
    let answered = |status| one.statuses.get(&status).copied().unwrap_or_default();
    let answers = (others.statuses.values().sum::<u64>() + one.statuses.values().sum::<u64>()).max(1);
    let mut found = Found::new();
    let mut set = |name: &str, value: f64| found.insert(name.to_owned(), value);
    set("others_p50_ms", quantiles.p50);
    set("others_p99_ms", quantiles.p99);
    set("others_failed", others.failed() as f64);
    set("its_200", answered(200) as f64);
    set("its_429", answered(429) as f64);
    set("its_failed_otherwise", (one.failed() - answered(429)) as f64);
    set("its_200_per_second", one.per_second());
    set("cpu_us", micros(before, after) / answers as f64);
    set("peak_mib", mib(after.peak_kib));
    Ok(found)
}

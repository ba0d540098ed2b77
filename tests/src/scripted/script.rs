//! The script: which calls meet which fault. `aws.on(Op::SendMessageBatch).nth(2).fail(Fault::Throttled)`.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::fault::Fault;
use super::op::{Op, Service};
use super::pace::Pace;
use super::shared::{Shared, lock};

/// What a condition of [`On::when`] sees of a call.
pub struct Asked<'a> {
    /// The operation.
    pub op: Op,
    /// The queue, table or first parameter it names; empty if none.
    pub target: &'a str,
    /// The body as it came.
    pub body: &'a [u8],
    /// The access key it was signed with; empty if none.
    pub access_key: &'a str,
}

type Condition = Box<dyn Fn(&Asked<'_>) -> bool + Send + Sync>;

struct Rule {
    ops: Vec<Op>,
    target: Option<String>,
    condition: Option<Condition>,
    /// Which of the calls that match, from 1.
    first: u64,
    last: u64,
    seen: u64,
    fault: Fault,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    lifted: AtomicBool,
    hits: AtomicU64,
}

/// A rule that was set: it can be counted and lifted.
#[derive(Clone)]
pub struct Scripted(Arc<State>);

impl Scripted {
    /// Ends the fault: later calls are answered as ever.
    pub fn lift(&self) {
        self.0.lifted.store(true, Ordering::SeqCst);
    }

    /// How many calls it has met.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.0.hits.load(Ordering::SeqCst)
    }
}

/// Faults that strike at random: a probability for each pair of operation and fault, and a seed.
#[derive(Clone, Debug)]
pub struct Chaos {
    seed: u64,
    odds: Vec<(Op, Fault, f64)>,
}

impl Chaos {
    /// No faults yet. Print the seed where the test can fail: the same seed draws the same numbers again.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { seed, odds: Vec::new() }
    }

    /// `fault` strikes `op` with this probability (0 to 1). Odds of one operation add up.
    #[must_use]
    pub fn with(mut self, op: Op, fault: Fault, probability: f64) -> Self {
        self.odds.push((op, fault, probability));
        self
    }
}

/// All rules, and what strikes at random.
#[derive(Default)]
pub(crate) struct Script {
    rules: Vec<Rule>,
    chaos: Option<(Chaos, fastrand::Rng)>,
    paces: Vec<Pace>,
}

impl Script {
    /// The fault that `asked` meets. The first rule that matches decides; each counts what it sees.
    pub(crate) fn fault(&mut self, asked: &Asked<'_>) -> Option<Fault> {
        let mut met = None;
        for rule in &mut self.rules {
            let about = rule.ops.contains(&asked.op)
                && rule.target.as_deref().is_none_or(|target| target == asked.target)
                && !rule.state.lifted.load(Ordering::SeqCst)
                && rule.condition.as_ref().is_none_or(|condition| condition(asked));
            if !about {
                continue;
            }
            rule.seen += 1;
            if met.is_none() && (rule.first..=rule.last).contains(&rule.seen) {
                rule.state.hits.fetch_add(1, Ordering::SeqCst);
                met = Some(rule.fault.clone());
            }
        }
        met.or_else(|| self.chance(asked.op)).or_else(|| self.pace(asked.op))
    }

    fn pace(&mut self, op: Op) -> Option<Fault> {
        let pace = self.paces.iter_mut().find(|pace| pace.is_for(op.service()))?;
        pace.exceeded(Instant::now()).then_some(Fault::Throttled)
    }

    pub(crate) fn set_pace(&mut self, service: Service, per_second: u32) {
        self.paces.retain(|pace| !pace.is_for(service));
        self.paces.push(Pace::new(service, per_second));
    }

    fn chance(&mut self, op: Op) -> Option<Fault> {
        let (chaos, random) = self.chaos.as_mut()?;
        let mut odds = chaos.odds.iter().filter(|(struck, ..)| *struck == op).peekable();
        odds.peek()?;
        let mut drawn = random.f64();
        odds.find(|(.., probability)| {
            drawn -= probability;
            drawn < 0.0
        })
        .map(|(_, fault, _)| fault.clone())
    }

    pub(crate) fn set_chaos(&mut self, chaos: Option<Chaos>) {
        self.chaos = chaos.map(|chaos| {
            let random = fastrand::Rng::with_seed(chaos.seed);
            (chaos, random)
        });
    }

    pub(crate) fn clear(&mut self) {
        self.rules.clear();
        self.chaos = None;
        self.paces.clear();
    }
}

/// A rule in the making: see [`Aws::on`](super::Aws::on). Without [`On::nth`] and the like it meets every call.
#[must_use = "a rule counts from `fail` on"]
pub struct On<'a> {
    shared: &'a Shared,
    ops: Vec<Op>,
    target: Option<String>,
    condition: Option<Condition>,
    first: u64,
    last: u64,
}

impl<'a> On<'a> {
    pub(crate) fn new(shared: &'a Shared, ops: Vec<Op>) -> Self {
        Self { shared, ops, target: None, condition: None, first: 1, last: u64::MAX }
    }

    pub(crate) fn service(shared: &'a Shared, service: Service) -> Self {
        Self::new(shared, Op::ALL.iter().copied().filter(|op| op.service() == service).collect())
    }

    /// Only calls to this queue.
    pub fn for_queue(self, name: &str) -> Self {
        self.for_target(name)
    }

    /// Only calls to this table.
    pub fn for_table(self, name: &str) -> Self {
        self.for_target(name)
    }

    /// Only calls whose first parameter is this one.
    pub fn for_parameter(self, name: &str) -> Self {
        self.for_target(name)
    }

    fn for_target(mut self, name: &str) -> Self {
        self.target = Some(name.to_owned());
        self
    }

    /// Only calls that this says yes to.
    pub fn when(mut self, condition: impl Fn(&Asked<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.condition = Some(Box::new(condition));
        self
    }

    /// Only the `number`th call (from 1) that matches, counted from now.
    pub fn nth(self, number: u64) -> Self {
        self.between(number..=number)
    }

    /// The first `count` calls that match.
    pub fn times(self, count: u64) -> Self {
        self.between(1..=count)
    }

    /// Every call that matches, from the `number`th on.
    pub fn from(self, number: u64) -> Self {
        self.between(number..)
    }

    /// The calls with these numbers (from 1).
    pub fn between(mut self, numbers: impl RangeBounds<u64>) -> Self {
        self.first = match numbers.start_bound() {
            Bound::Included(&first) => first,
            Bound::Excluded(&before) => before + 1,
            Bound::Unbounded => 1,
        };
        self.last = match numbers.end_bound() {
            Bound::Included(&last) => last,
            Bound::Excluded(&after) => after - 1,
            Bound::Unbounded => u64::MAX,
        };
        self
    }

    /// Every call that matches. The default, for tests that want to say so.
    pub fn always(self) -> Self {
        self.between(1..)
    }

    /// Sets the rule.
    pub fn fail(self, fault: Fault) -> Scripted {
        let state = Arc::new(State::default());
        let Self { shared, ops, target, condition, first, last } = self;
        lock(&shared.script).rules.push(Rule {
            ops,
            target,
            condition,
            first,
            last,
            seen: 0,
            fault,
            state: Arc::clone(&state),
        });
        Scripted(state)
    }

    /// Sets the rule to this answer (status 200), with the work left undone.
    pub fn answer(self, body: &str) -> Scripted {
        self.fail(Fault::Reply(200, body.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(op: Op, target: &'static str) -> Asked<'static> {
        Asked { op, target, body: b"", access_key: "" }
    }

    #[test]
    fn rules_meet_the_calls_they_name() {
        let shared = Shared::for_tests();
        let second = On::new(&shared, vec![Op::SendMessage]).for_queue("a").nth(2).fail(Fault::Throttled);
        let from_third = On::service(&shared, Service::Sqs).from(3).fail(Fault::Stall);
        let mut script = lock(&shared.script);
        assert_eq!(script.fault(&asked(Op::SendMessage, "a")), None);
        assert_eq!(script.fault(&asked(Op::SendMessage, "a")), Some(Fault::Throttled));
        assert_eq!(script.fault(&asked(Op::SendMessage, "b")), Some(Fault::Stall));
        from_third.lift();
        assert_eq!(script.fault(&asked(Op::SendMessage, "a")), None);
        assert_eq!((second.hits(), from_third.hits()), (1, 1));
    }

    #[test]
    fn chance_follows_the_seed_and_the_odds() {
        let draw = |seed| {
            let mut script = Script::default();
            script.set_chaos(Some(Chaos::seeded(seed).with(Op::PutItem, Fault::Throttled, 0.2).with(
                Op::PutItem,
                Fault::Stall,
                0.1,
            )));
            (0..10_000).map(|_| script.fault(&asked(Op::PutItem, ""))).collect::<Vec<_>>()
        };
        let drawn = draw(7);
        assert_eq!(drawn, draw(7));
        let throttled = drawn.iter().filter(|fault| **fault == Some(Fault::Throttled)).count();
        let stalled = drawn.iter().filter(|fault| **fault == Some(Fault::Stall)).count();
        assert!((1_800..2_200).contains(&throttled) && (800..1_200).contains(&stalled), "{throttled} {stalled}");
    }
}

//! What makes a call slow or refused: a latency for all, and for single queues and operations a latency and a rate of
//! their own.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde::Deserialize;

/// How one queue, or one operation that is not of a queue, behaves.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    /// How long each call takes, in milliseconds, instead of the latency for all.
    latency_ms: Option<u64>,
    /// Calls that are carried out a second; more are throttled. 0 throttles all.
    calls_per_second: Option<u32>,
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) after: Duration,
    pub(crate) throttled: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Limits {
    latency: Duration,
    rules: HashMap<String, Ruled>,
}

#[derive(Debug)]
struct Ruled {
    rule: Rule,
    /// The second that is running, and the calls carried out in it.
    window: (Instant, u32),
}

impl Limits {
    pub(crate) fn set_latency(&mut self, latency: Duration) {
        self.latency = latency;
    }

    pub(crate) fn set_rule(&mut self, name: &str, rule: Rule, now: Instant) {
        self.rules.insert(name.to_owned(), Ruled { rule, window: (now, 0) });
    }

    pub(crate) fn forget_rules(&mut self) {
        self.rules.clear();
    }

    /// What becomes of a call; `name` finds out which rule is for it, where there are any.
    pub(crate) fn fate<'a>(&mut self, name: impl FnOnce() -> Option<&'a str>, now: Instant) -> Fate {
        let usual = Fate { after: self.latency, throttled: false };
        if self.rules.is_empty() {
            return usual;
        }
        let Some(ruled) = name().and_then(|name| self.rules.get_mut(name)) else { return usual };
        let after = ruled.rule.latency_ms.map_or(self.latency, Duration::from_millis);
        let throttled = ruled.rule.calls_per_second.is_some_and(|most| !ruled.takes(most, now));
        Fate { after, throttled }
    }
}

impl Ruled {
    fn takes(&mut self, most: u32, now: Instant) -> bool {
        let (began, calls) = &mut self.window;
        if now.duration_since(*began) >= Duration::from_secs(1) {
            (*began, *calls) = (now, 0);
        }
        *calls += 1;
        *calls <= most
    }
}

/// The name of the queue in a request's body, without reading the whole of it.
pub(crate) fn queue_in(body: &[u8]) -> Option<&str> {
    let at = memchr::memmem::find(body, b"\"QueueUrl\"")? + "\"QueueUrl\"".len();
    let mut parts = body.get(at..)?.splitn(3, |byte| *byte == b'"');
    let url = parts.nth(1)?;
    std::str::from_utf8(url).ok()?.rsplit('/').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn limits(rule: &str, now: Instant) -> Limits {
        let mut limits = Limits::default();
        limits.set_latency(Duration::from_millis(20));
        limits.set_rule("slow", serde_json::from_str(rule).unwrap(), now);
        limits
    }

    #[test]
    fn a_queue_with_a_latency_of_its_own_leaves_the_others_alone() {
        let now = Instant::now();
        let mut limits = limits(r#"{"latency_ms":5000}"#, now);
        assert_eq!(limits.fate(|| Some("slow"), now), Fate { after: 5 * SECOND, throttled: false });
        assert_eq!(limits.fate(|| Some("other"), now), Fate { after: SECOND / 50, throttled: false });
        assert_eq!(limits.fate(|| None, now).after, SECOND / 50);
    }

    #[test]
    fn calls_beyond_the_rate_are_throttled_until_the_next_second() {
        let now = Instant::now();
        let mut limits = limits(r#"{"calls_per_second":2}"#, now);
        let mut throttled = |at| limits.fate(|| Some("slow"), at).throttled;
        assert_eq!([throttled(now), throttled(now), throttled(now)], [false, false, true]);
        assert!(!throttled(now + SECOND));
    }

    #[test]
    fn the_queue_of_a_request_is_the_last_part_of_its_url() {
        let body = br#"{"QueueUrl":"http://127.0.0.1:1/123456789012/consumer-acme","Entries":[]}"#;
        assert_eq!(queue_in(body), Some("consumer-acme"));
        assert_eq!(queue_in(br#"{ "QueueUrl" : "q" }"#), Some("q"));
        assert_eq!(queue_in(b"{}"), None);
    }
}

//! Pace: throttling above a rate, as accounts have it.

use std::time::Instant;

use super::op::Service;

/// A bucket that fills at a rate and holds a second's worth.
pub(crate) struct Pace {
    service: Service,
    per_second: f64,
    left: f64,
    filled: Instant,
}

impl Pace {
    pub(crate) fn new(service: Service, per_second: u32) -> Self {
        let per_second = f64::from(per_second);
        Self { service, per_second, left: per_second, filled: Instant::now() }
    }

    pub(crate) fn is_for(&self, service: Service) -> bool {
        self.service == service
    }

    /// Whether a call at this moment is one too many.
    pub(crate) fn exceeded(&mut self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.filled).as_secs_f64();
        self.left = (self.left + since * self.per_second).min(self.per_second);
        self.filled = now;
        if self.left < 1.0 {
            return true;
        }
        self.left -= 1.0;
        false
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_second_holds_as_many_calls_as_the_rate_says() {
        let mut pace = Pace::new(Service::Ssm, 40);
        let start = Instant::now();
        assert_eq!((0..100).filter(|_| !pace.exceeded(start)).count(), 40);
        let later = start + Duration::from_millis(500);
        assert_eq!((0..100).filter(|_| !pace.exceeded(later)).count(), 20);
    }
}

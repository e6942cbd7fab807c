//! Exponential backoff with jitter and a cap (KIP-580).
//!
//! Randomness is an argument of [`Backoff::delay`]'s caller only through `fastrand`; the state is
//! a counter, so the same type serves request retries and per-broker reconnects.

use std::time::Duration;

/// Growth from `initial` to `max`, doubling on each failure, each delay spread by ±20 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BackoffPolicy {
    pub(crate) initial: Duration,
    pub(crate) max: Duration,
}

/// Failures in a row of one thing that is tried again.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    policy: BackoffPolicy,
    failures: u32,
}

impl Backoff {
    pub(crate) fn new(policy: BackoffPolicy) -> Self {
        Self { policy, failures: 0 }
    }

    /// Counts a failure and returns how long to wait before the next attempt.
    pub(crate) fn next_delay(&mut self) -> Duration {
        let delay = self.policy.delay(self.failures, fastrand::f64());
        self.failures = self.failures.saturating_add(1);
        delay
    }

    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}

impl BackoffPolicy {
    /// Delay after `failures` earlier failures; `random` in 0..1 chooses a point in the spread.
    fn delay(&self, failures: u32, random: f64) -> Duration {
        let factor = 2f64.powi(failures.min(31) as i32);
        let base = self.initial.as_secs_f64() * factor;
        let spread = 0.8 + 0.4 * random;
        Duration::from_secs_f64((base * spread).min(self.max.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: BackoffPolicy =
        BackoffPolicy { initial: Duration::from_millis(100), max: Duration::from_secs(1) };

    #[test]
    fn delays_double_until_the_cap() {
        let delays: Vec<_> = (0..6).map(|n| POLICY.delay(n, 0.5).as_millis()).collect();
        assert_eq!(delays, [100, 200, 400, 800, 1000, 1000]);
    }

    #[test]
    fn jitter_spreads_by_a_fifth_and_never_exceeds_the_cap() {
        assert_eq!(POLICY.delay(0, 0.0), Duration::from_millis(80));
        assert!(POLICY.delay(0, 0.999) <= Duration::from_millis(120));
        assert_eq!(POLICY.delay(u32::MAX, 1.0), Duration::from_secs(1));
    }

    #[test]
    fn success_starts_over() {
        let mut backoff = Backoff::new(POLICY);
        for _ in 0..10 {
            backoff.next_delay();
        }
        backoff.reset();
        assert!(backoff.next_delay() <= Duration::from_millis(120));
    }
}

//! What happens to a record whose handler failed.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use llingr_nexus::Message;

/// A failed run of a handler, as the retry hook sees it.
#[non_exhaustive]
pub struct Failure<'a> {
    /// The record.
    pub message: &'a Message<'a>,
    /// What the handler returned. A panic appears as an error whose text is
    /// the panic's message.
    pub error: &'a (dyn Error + 'a),
    /// Whether the handler panicked.
    pub panicked: bool,
    /// How often the record has been run, this run included: 1 for the first.
    pub attempt: u32,
}

impl fmt::Debug for Failure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("message", self.message)
            .field("error", &self.error.to_string())
            .field("panicked", &self.panicked)
            .field("attempt", &self.attempt)
            .finish()
    }
}

/// What to do with a failed record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryDecision {
    /// Run it again after the policy's backoff, as long as the policy has
    /// attempts left; then dead-letter it.
    Backoff,
    /// Run it again after this time, whatever the number of attempts.
    RetryAfter(Duration),
    /// Hand it to the dead-letter handler now.
    DeadLetter,
    /// Emergency stop: neither this record nor a later one is committed.
    Stop,
}

type Hook = dyn Fn(&Failure<'_>) -> RetryDecision + Send + Sync;

/// How often and when a failed record runs again.
///
/// While a record waits for its next run, later records of its key wait behind
/// it and all other keys go on. Waiting takes neither a thread nor one of the
/// `concurrent_keys`.
///
/// ```
/// use std::time::Duration;
/// use llingr_kafka::{RetryDecision, RetryPolicy};
///
/// let policy = RetryPolicy::attempts(5)
///     .backoff(Duration::from_millis(200), Duration::from_secs(10))
///     .decide(|failure| {
///         if failure.panicked { RetryDecision::DeadLetter } else { RetryDecision::Backoff }
///     });
/// # let _ = policy;
/// ```
#[derive(Clone)]
pub struct RetryPolicy {
    pub(crate) attempts: u32,
    pub(crate) first: Duration,
    pub(crate) cap: Duration,
    pub(crate) jitter: f64,
    hook: Option<Arc<Hook>>,
}

/// The default: no retry, dead letter at once.
impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy::attempts(1)
    }
}

impl fmt::Debug for RetryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryPolicy")
            .field("attempts", &self.attempts)
            .field("first", &self.first)
            .field("cap", &self.cap)
            .field("jitter", &self.jitter)
            .field("decide", &self.hook.is_some())
            .finish()
    }
}

/// No wait is longer: a record that waits holds its partition's commit.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

impl RetryPolicy {
    /// Runs a record at most `attempts` times in all (at least 1), waiting 1 s
    /// after the first failure, doubling up to 30 s, with 20 % jitter.
    pub fn attempts(attempts: u32) -> RetryPolicy {
        RetryPolicy {
            attempts,
            first: Duration::from_secs(1),
            cap: Duration::from_secs(30),
            jitter: 0.2,
            hook: None,
        }
    }

    /// Waits `first` after the first failure and twice as long after each
    /// further one, at most `cap`.
    pub fn backoff(mut self, first: Duration, cap: Duration) -> RetryPolicy {
        (self.first, self.cap) = (first, cap);
        self
    }

    /// Spreads each wait at random by this share of it, 0.0 to 1.0.
    pub fn jitter(mut self, share: f64) -> RetryPolicy {
        self.jitter = share;
        self
    }

    /// Asks `hook` after each failure. It runs where the handler ran and
    /// should not block; if it panics, the record is dead-lettered.
    pub fn decide(
        mut self,
        hook: impl Fn(&Failure<'_>) -> RetryDecision + Send + Sync + 'static,
    ) -> RetryPolicy {
        self.hook = Some(Arc::new(hook));
        self
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        if self.attempts == 0 {
            return Err(
                "retry: attempts is 0; a record is run at least once, so give 1 for no retry"
                    .into(),
            );
        }
        if self.first > self.cap {
            return Err(format!(
                "retry: the first backoff {:?} is above the cap {:?}",
                self.first, self.cap
            ));
        }
        if self.cap > LONGEST {
            return Err(format!("retry: the backoff cap {:?} is above {LONGEST:?}", self.cap));
        }
        if !(0.0..=1.0).contains(&self.jitter) {
            return Err(format!(
                "retry: jitter is {}; it must be between 0.0 and 1.0",
                self.jitter
            ));
        }
        Ok(())
    }

    /// What follows a failure; a retry comes with its wait.
    pub(crate) fn after(&self, failure: &Failure<'_>) -> Verdict {
        let decision = match &self.hook {
            None => RetryDecision::Backoff,
            Some(hook) => {
                super::guard::contained(|| hook(failure)).unwrap_or(RetryDecision::DeadLetter)
            }
        };
        match decision {
            RetryDecision::Backoff if failure.attempt < self.attempts => {
                Verdict::Retry(self.wait(failure.attempt, fastrand::f64()))
            }
            RetryDecision::Backoff | RetryDecision::DeadLetter => Verdict::DeadLetter,
            RetryDecision::RetryAfter(wait) => Verdict::Retry(wait.min(LONGEST)),
            RetryDecision::Stop => Verdict::Stop,
        }
    }

    /// The wait after run number `attempt`; `random` is in [0, 1).
    fn wait(&self, attempt: u32, random: f64) -> Duration {
        let doubled = self.first.saturating_mul(1u32.checked_shl(attempt - 1).unwrap_or(u32::MAX));
        let base = doubled.min(self.cap);
        let spread = 1.0 + self.jitter * (2.0 * random - 1.0);
        base.mul_f64(spread).min(self.cap)
    }
}

/// A decision with its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Retry(Duration),
    DeadLetter,
    Stop,
}

#[cfg(test)]
mod tests {
    use super::*;
    use llingr_nexus::{Headers, Timestamp};

    fn verdict(policy: &RetryPolicy, attempt: u32, panicked: bool) -> Verdict {
        let message =
            Message::new(None, None, "t", 0, 7, Timestamp::NotAvailable, Headers::from_slice(&[]));
        let error: Box<dyn Error> = "broken".into();
        policy.after(&Failure { message: &message, error: &*error, panicked, attempt })
    }

    #[test]
    fn by_default_the_first_failure_is_a_dead_letter() {
        assert_eq!(verdict(&RetryPolicy::default(), 1, false), Verdict::DeadLetter);
    }

    #[test]
    fn waits_double_up_to_the_cap_and_end_with_the_attempts() {
        let p = RetryPolicy::attempts(6)
            .backoff(Duration::from_millis(100), Duration::from_millis(500))
            .jitter(0.0);
        let waits: Vec<_> = (1..6).map(|n| verdict(&p, n, false)).collect();
        let ms = |n| Verdict::Retry(Duration::from_millis(n));
        assert_eq!(waits, [ms(100), ms(200), ms(400), ms(500), ms(500)]);
        assert_eq!(verdict(&p, 6, false), Verdict::DeadLetter);
        assert_eq!(p.wait(u32::MAX, 0.5), Duration::from_millis(500));
    }

    #[test]
    fn jitter_stays_inside_its_share_and_below_the_cap() {
        let p = RetryPolicy::attempts(9).backoff(Duration::from_secs(1), Duration::from_secs(1));
        assert_eq!(p.wait(1, 0.0), Duration::from_millis(800));
        assert_eq!(p.wait(1, 0.999_999), Duration::from_secs(1));
    }

    #[test]
    fn the_hook_decides_per_error_and_its_panic_is_a_dead_letter() {
        let p = RetryPolicy::attempts(1).decide(|f| match (f.panicked, f.attempt) {
            (true, _) => RetryDecision::Stop,
            (_, 1) => RetryDecision::RetryAfter(Duration::from_secs(7)),
            (_, 2) => RetryDecision::Backoff,
            _ => panic!("in the hook"),
        });
        assert_eq!(verdict(&p, 1, true), Verdict::Stop);
        assert_eq!(verdict(&p, 1, false), Verdict::Retry(Duration::from_secs(7)));
        assert_eq!(verdict(&p, 2, false), Verdict::DeadLetter);
        assert_eq!(verdict(&p, 3, false), Verdict::DeadLetter);
    }

    #[test]
    fn senseless_policies_are_refused_with_the_remedy() {
        let s = Duration::from_secs;
        assert!(RetryPolicy::attempts(0).check().unwrap_err().contains("give 1"));
        assert!(RetryPolicy::attempts(2).backoff(s(2), s(1)).check().is_err());
        assert!(RetryPolicy::attempts(2).backoff(s(1), s(100_000)).check().is_err());
        assert!(RetryPolicy::attempts(2).jitter(f64::NAN).check().is_err());
        assert!(RetryPolicy::attempts(2).jitter(1.5).check().is_err());
        assert!(RetryPolicy::attempts(2).check().is_ok());
    }
}

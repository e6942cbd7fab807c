//! What both executors do with the outcome of a handler.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use llingr_nexus::{DeadLetterHandler, Message, Traits};

use super::guard::{InHandler, bounded, contained};
use super::retry::{Failure, RetryPolicy, Verdict};
use super::stats::Counts;
use super::timer::Timer;
use super::work::{Assignment, Dispatch, Single, Work};

/// Everything an executor needs besides its handler.
pub(crate) struct Runner {
    pub(crate) dispatch: Arc<Dispatch>,
    pub(crate) timer: Arc<Timer>,
    pub(crate) dead_letter: Arc<dyn DeadLetterHandler>,
    pub(crate) retry: RetryPolicy,
}

/// How a run of the process handler ended.
pub(crate) enum Outcome {
    Done(Traits),
    Failed { verdict: Verdict, text: String, panicked: bool },
}

/// What becomes of a record after a run.
pub(crate) enum Fate {
    /// It is done with; its lane may go on.
    Ended,
    /// It runs again later; its lane waits.
    Waits,
    /// The engine stops; nothing more of it runs.
    Fatal,
}

/// A panic, as the retry hook sees it.
struct Panicked<'a>(&'a str);

impl fmt::Debug for Panicked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Panicked({:?})", self.0)
    }
}
impl fmt::Display for Panicked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "panic: {}", self.0)
    }
}
impl Error for Panicked<'_> {}

impl Runner {
    /// Turns what the handler returned into an outcome; asks the retry hook.
    pub(crate) fn judge<'e>(
        &self,
        result: Result<Result<Traits, Box<dyn Error + 'e>>, String>,
        message: &Message<'_>,
        attempt: u32,
    ) -> Outcome {
        match result {
            Ok(Ok(traits)) => Outcome::Done(traits),
            Ok(Err(error)) => {
                let failure = Failure { message, error: &*error, panicked: false, attempt };
                let verdict = self.retry.after(&failure);
                // Display is the application's code as well.
                let text = contained(|| error.to_string())
                    .unwrap_or_else(|panic| format!("the error's Display panicked: {panic}"));
                Outcome::Failed { verdict, text: bounded(text), panicked: false }
            }
            Err(panic) => {
                let error = Panicked(&panic);
                let failure = Failure { message, error: &error, panicked: true, attempt };
                let verdict = self.retry.after(&failure);
                Outcome::Failed { verdict, text: error.to_string(), panicked: true }
            }
        }
    }

    /// Calls the dead-letter handler. An error is the reason to stop.
    pub(crate) fn dead_letter(
        &self,
        message: &Message<'_>,
        text: &str,
        attempt: u32,
    ) -> Result<(), String> {
        let _scope = InHandler::enter(attempt);
        match contained(|| self.dead_letter.handle(message, text).map_err(|e| e.to_string())) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(e)) => Err(format!("failed: {}", bounded(e))),
            Err(panic) => Err(format!("panicked: {panic}")),
        }
    }

    /// Stops everything: nothing starts any more, the engine hears why.
    pub(crate) fn fatal(&self, assignment: &Assignment, offset: i64, what: &str) {
        let reason = format!(
            "topic {} partition {} offset {}: {}",
            self.dispatch.topic, assignment.partition, offset, what
        );
        self.dispatch.die();
        self.dispatch.events.fatal(reason);
    }

    /// Carries out a verdict that is not a dead letter.
    pub(crate) fn settle(&self, verdict: Verdict, text: &str, single: Single, offset: i64) -> Fate {
        match verdict {
            Verdict::Retry(wait) => {
                self.timer.retry(single, wait);
                Fate::Waits
            }
            Verdict::Stop => {
                self.fatal(
                    &single.assignment,
                    offset,
                    &format!("the retry policy asked to stop after: {text}"),
                );
                Fate::Fatal
            }
            Verdict::DeadLetter => Fate::Ended,
        }
    }

    /// Puts a lane's next record back into the queue.
    pub(crate) fn requeue(&self, single: Single) {
        self.dispatch.push(Work::Single(single));
    }
}

/// Counts one failed run.
pub(crate) fn count_failure(counts: &mut Counts, verdict: Verdict, panicked: bool) {
    if panicked {
        counts.panicked += 1;
    } else {
        counts.errored += 1;
    }
    if matches!(verdict, Verdict::Retry(_)) {
        counts.retries += 1;
    }
}

//! What becomes of a record that fails: handlers, and the records of a dead-letter topic.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::streams::error::Place;
use crate::streams::record::Headers;

/// What the task does about a failed record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorDecision {
    /// Stop with the error.
    Fail,
    /// Leave the record out, count it as dropped, go on.
    Continue,
}

/// What a handler says: a decision, and records for a dead-letter topic.
#[derive(Debug, Clone)]
pub struct ErrorAnswer {
    decision: ErrorDecision,
    dead_letters: Vec<DeadLetter>,
}

impl ErrorAnswer {
    /// Stop with the error.
    pub fn fail() -> Self {
        Self { decision: ErrorDecision::Fail, dead_letters: Vec::new() }
    }

    /// Leave the record out and go on.
    pub fn resume() -> Self {
        Self { decision: ErrorDecision::Continue, dead_letters: Vec::new() }
    }

    /// Sends a record to a dead-letter topic, in the task's transaction if it has one.
    #[must_use]
    pub fn with_dead_letter(mut self, record: impl Into<Option<DeadLetter>>) -> Self {
        self.dead_letters.extend(record.into());
        self
    }

    pub(crate) fn into_parts(self) -> (ErrorDecision, Vec<DeadLetter>) {
        (self.decision, self.dead_letters)
    }
}

/// A record for a dead-letter topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// Topic.
    pub topic: Arc<str>,
    /// Key, `None` for null.
    pub key: Option<Bytes>,
    /// Value, `None` for null.
    pub value: Option<Bytes>,
    /// Headers.
    pub headers: Headers,
    /// Milliseconds since 1970.
    pub timestamp: i64,
}

/// Where in a record's way it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorStage {
    /// It could not be read.
    Deserialization,
    /// A processor or punctuator failed.
    Processing,
    /// It could not be written.
    Production,
}

impl fmt::Display for ErrorStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deserialization => "DeserializationError",
            Self::Processing => "ProcessingError",
            Self::Production => "ProductionError",
        })
    }
}

/// What a handler is told.
#[derive(Debug)]
#[non_exhaustive]
pub struct ErrorContext<'a> {
    /// Where in its way.
    pub stage: ErrorStage,
    /// Task, node, and the source record's topic, partition and offset.
    pub place: &'a Place,
    /// The source record's key, as it was fetched.
    pub source_key: Option<&'a Bytes>,
    /// The source record's value, as it was fetched.
    pub source_value: Option<&'a Bytes>,
    /// The source record's headers.
    pub headers: &'a Headers,
    /// The source record's timestamp in milliseconds; a punctuator's time.
    pub timestamp: i64,
    /// `errors.dead.letter.queue.topic.name`.
    pub(crate) dead_letter_topic: Option<&'a Arc<str>>,
}

/// Prefix of the headers of a dead letter (KIP-1034).
const PREFIX: &str = "__streams.errors.";

impl ErrorContext<'_> {
    /// The dead letter of KIP-1034 for the topic that the application has for them: the source
    /// record as it was fetched, with headers that say what happened. `None` if it has no such
    /// topic.
    pub fn dead_letter(&self, error: &(dyn Error + 'static)) -> Option<DeadLetter> {
        self.dead_letter_topic.map(|topic| self.dead_letter_for(topic.clone(), error))
    }

    /// As [`dead_letter`](Self::dead_letter), for another topic.
    pub fn dead_letter_for(&self, topic: Arc<str>, error: &(dyn Error + 'static)) -> DeadLetter {
        let mut headers = self.headers.clone();
        let mut add = |name: &str, value: Option<String>| {
            headers.add(format!("{PREFIX}{name}"), value.map(Bytes::from));
        };
        add("exception", Some(self.stage.to_string()));
        add("message", Some(error.to_string()));
        add("stacktrace", Some(chain(error)));
        add("topic", self.place.topic.as_ref().map(|topic| topic.to_string()));
        add("partition", Some(self.place.partition.to_string()));
        add("offset", Some(self.place.offset.to_string()));
        DeadLetter {
            topic,
            key: self.source_key.cloned(),
            value: self.source_value.cloned(),
            headers,
            timestamp: self.timestamp,
        }
    }
}

/// The error and its causes, a line each.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str("\ncaused by: ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

/// Decides about failed records: one for what cannot be read, one for processors, one for what
/// cannot be written. Closures of this shape are handlers.
///
/// It runs on the thread that processes, and must not block.
pub trait ErrorHandler: Send + Sync + 'static {
    /// What to do about `error`.
    fn handle(&self, cx: &ErrorContext<'_>, error: &(dyn Error + 'static)) -> ErrorAnswer;
}

impl<F> ErrorHandler for F
where
    F: Fn(&ErrorContext<'_>, &(dyn Error + 'static)) -> ErrorAnswer + Send + Sync + 'static,
{
    fn handle(&self, cx: &ErrorContext<'_>, error: &(dyn Error + 'static)) -> ErrorAnswer {
        self(cx, error)
    }
}

/// Logs the error and stops the task; sends the record to the dead-letter topic first if there is
/// one. The default.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogAndFail;

impl ErrorHandler for LogAndFail {
    fn handle(&self, cx: &ErrorContext<'_>, error: &(dyn Error + 'static)) -> ErrorAnswer {
        log::error!(target: crate::LOG_TARGET, "{}: {}: {error}", cx.place, cx.stage);
        ErrorAnswer::fail().with_dead_letter(cx.dead_letter(error))
    }
}

/// Logs the error and leaves the record out; sends it to the dead-letter topic if there is one.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogAndContinue;

impl ErrorHandler for LogAndContinue {
    fn handle(&self, cx: &ErrorContext<'_>, error: &(dyn Error + 'static)) -> ErrorAnswer {
        log::warn!(target: crate::LOG_TARGET, "{}: {}: {error}", cx.place, cx.stage);
        ErrorAnswer::resume().with_dead_letter(cx.dead_letter(error))
    }
}

//! Dead letters to a topic.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant, SystemTime};

use llingr_nexus::{DeadLetterHandler, Message, Timestamp};

use super::block::{POISON, encode_record};
use super::events::Letter;
use super::guard::current_attempt;
use super::work::Dispatch;

/// Header names of a record in a dead-letter topic.
pub mod dead_letter_headers {
    /// The last error's text.
    pub const ERROR: &str = "llingr.dead-letter.error";
    /// How often the record was run, as decimal text.
    pub const ATTEMPTS: &str = "llingr.dead-letter.attempts";
    /// The topic the record came from.
    pub const TOPIC: &str = "llingr.dead-letter.topic";
    /// Its partition, as decimal text.
    pub const PARTITION: &str = "llingr.dead-letter.partition";
    /// Its offset, as decimal text.
    pub const OFFSET: &str = "llingr.dead-letter.offset";
    /// Its timestamp, as decimal text of milliseconds since the Unix epoch;
    /// absent when it had none.
    pub const TIMESTAMP: &str = "llingr.dead-letter.timestamp";
    /// When it was given up, as decimal text of milliseconds since the Unix
    /// epoch.
    pub const TIME: &str = "llingr.dead-letter.time";
}

/// A [`DeadLetterHandler`] that produces the record to a topic.
///
/// The letter keeps key, value and headers, and gets those of
/// [`dead_letter_headers`]. Its timestamp is the time of the letter, so that
/// the topic's retention counts from there; the record's own is among the
/// headers. `handle` returns only when the broker has
/// acknowledged the letter (all in-sync replicas, idempotent); if that fails
/// for good, the engine stops and the record is not committed. That the topic
/// exists and may be written to is checked by `build()`.
///
/// Give it to the builder as the dead-letter handler. To use it from inside a
/// handler of your own, keep a clone there and tell the builder with
/// [`Builder::dead_letter_topic`](crate::Builder::dead_letter_topic).
///
/// ```
/// use llingr_kafka::DeadLetterTopic;
///
/// let letters = DeadLetterTopic::new("orders.dead");
/// assert_eq!(letters.topic(), "orders.dead");
/// ```
#[derive(Clone)]
pub struct DeadLetterTopic {
    inner: Arc<Inner>,
}

struct Inner {
    topic: String,
    bound: Mutex<Option<(Weak<LetterBox>, u32)>>,
}

impl fmt::Debug for DeadLetterTopic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeadLetterTopic").field("topic", &self.inner.topic).finish()
    }
}

impl DeadLetterTopic {
    /// Letters for `topic`.
    pub fn new(topic: impl Into<String>) -> DeadLetterTopic {
        DeadLetterTopic { inner: Arc::new(Inner { topic: topic.into(), bound: Mutex::new(None) }) }
    }

    /// The topic's name.
    pub fn topic(&self) -> &str {
        &self.inner.topic
    }

    /// Ties the handler to the engine that is being built.
    pub(crate) fn bind(&self, letters: &Arc<LetterBox>, index: u32) {
        *self.inner.bound.lock().expect(POISON) = Some((Arc::downgrade(letters), index));
    }
}

impl DeadLetterHandler for DeadLetterTopic {
    fn handle(&self, message: &Message<'_>, error: &str) -> Result<(), Box<dyn Error>> {
        let bound = self.inner.bound.lock().expect(POISON).clone();
        let unbound = || {
            format!(
                "the dead-letter topic {} belongs to no running engine; give it to the builder",
                self.inner.topic
            )
        };
        let (letters, index) = bound.ok_or_else(unbound)?;
        let letters = letters.upgrade().ok_or_else(unbound)?;
        let record = encode_record(message, &headers(message, error))
            .map_err(|e| format!("the record cannot become a dead letter: {}", e.0))?;
        Ok(letters
            .send(index, record)
            .map_err(|e| format!("dead-letter topic {}: {e}", self.inner.topic))?)
    }
}

fn headers(message: &Message<'_>, error: &str) -> Vec<(&'static str, Vec<u8>)> {
    use dead_letter_headers::*;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut headers = vec![
        (ERROR, error.as_bytes().to_vec()),
        (ATTEMPTS, current_attempt().unwrap_or(1).to_string().into_bytes()),
        (TOPIC, message.topic().as_bytes().to_vec()),
        (PARTITION, message.partition().to_string().into_bytes()),
        (OFFSET, message.offset().to_string().into_bytes()),
        (TIME, now.as_millis().to_string().into_bytes()),
    ];
    if let Timestamp::CreateTime { millis } | Timestamp::LogAppendTime { millis } =
        message.timestamp()
    {
        headers.push((TIMESTAMP, millis.to_string().into_bytes()));
    }
    headers
}

/// Letters on their way: whoever sent one waits for its token.
pub(crate) struct LetterBox {
    dispatch: OnceLock<Weak<Dispatch>>,
    next: AtomicU64,
    answers: Mutex<Answers>,
    arrived: Condvar,
}

#[derive(Default)]
struct Answers {
    closed: bool,
    by_token: HashMap<u64, Option<Result<(), String>>>,
}

/// The producer gives up before: this only guards against a lost answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

impl LetterBox {
    pub(crate) fn new() -> Arc<LetterBox> {
        Arc::new(LetterBox {
            dispatch: OnceLock::new(),
            next: AtomicU64::new(1),
            answers: Mutex::default(),
            arrived: Condvar::new(),
        })
    }

    pub(crate) fn attach(&self, dispatch: &Arc<Dispatch>) {
        let _ = self.dispatch.set(Arc::downgrade(dispatch));
    }

    /// Hands a letter to the engine and waits for the broker's word on it.
    fn send(&self, topic: u32, record: Vec<u8>) -> Result<(), String> {
        let dispatch = self.dispatch.get().and_then(Weak::upgrade).ok_or("the engine has ended")?;
        let token = self.next.fetch_add(1, Ordering::Relaxed);
        {
            let mut answers = self.answers.lock().expect(POISON);
            if answers.closed {
                return Err("the engine has ended".into());
            }
            answers.by_token.insert(token, None);
        }
        dispatch.events.letter(Letter { token, topic, record });
        drop(dispatch);
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        let mut answers = self.answers.lock().expect(POISON);
        loop {
            if answers.by_token.get(&token).is_some_and(Option::is_some) {
                return answers.by_token.remove(&token).flatten().unwrap_or(Ok(()));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if answers.closed || left.is_zero() {
                let why = if answers.closed { "the engine ended meanwhile" } else { "no answer" };
                answers.by_token.remove(&token);
                return Err(why.into());
            }
            answers = self.arrived.wait_timeout(answers, left).expect(POISON).0;
        }
    }

    /// The engine's answer to a letter.
    pub(crate) fn answer(&self, token: u64, result: Result<(), String>) {
        if let Some(slot) = self.answers.lock().expect(POISON).by_token.get_mut(&token) {
            *slot = Some(result);
        }
        self.arrived.notify_all();
    }

    /// No further answer comes.
    pub(crate) fn close(&self) {
        self.answers.lock().expect(POISON).closed = true;
        self.arrived.notify_all();
    }
}

//! An engine in a process of its own, driven by a test: [`Member`] is the
//! test's end, `run` the child's. What the handlers do is told by a [`Spec`];
//! what they did is in a [`Journal`].
//!
//! A test binary that uses it has a test `member` which calls [`child`].

#![allow(dead_code, reason = "each test binary uses a part of it")]

mod engine;
mod journal;

pub(crate) use engine::child;
#[allow(unused_imports, reason = "each test binary uses a part of it")]
pub(crate) use journal::{Journal, Kind, Line, Order, finished_map};

use std::collections::BTreeMap;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::support::{Child, Event, SOON, unique, wait_for, wait_until};

/// What an engine is built from and what its handlers do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) name: String,
    pub(crate) brokers: String,
    pub(crate) topic: String,
    pub(crate) group: String,
    pub(crate) journal: String,
    pub(crate) asynchronous: bool,
    pub(crate) options: BTreeMap<String, String>,
    pub(crate) concurrent: usize,
    pub(crate) threads: Option<usize>,
    pub(crate) commit_ms: u64,
    pub(crate) drain_ms: u64,
    pub(crate) metadata: bool,
    pub(crate) held_records: Option<u64>,
    pub(crate) held_bytes: Option<u64>,
    pub(crate) partition_records: Option<u64>,
    pub(crate) run_ahead: Option<u64>,
    pub(crate) keyless_unordered: bool,
    pub(crate) attempts: u32,
    pub(crate) backoff_ms: (u64, u64),
    /// By key; a record without one has the key `-`.
    pub(crate) acts: BTreeMap<String, Act>,
    /// For all other keys.
    pub(crate) load: Load,
    pub(crate) letters: Letters,
    /// Emit every message with all its fields as the event `message`.
    pub(crate) echo: bool,
    /// Start `run` only when asked to.
    pub(crate) hold: bool,
}

/// What a handler does with the records of a key.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) enum Act {
    /// Waits until the key is opened.
    Block,
    Fail,
    Panic,
    /// Fails that many times.
    FailTimes(u32),
    /// Calls `stop` and succeeds.
    Stop,
    /// Calls `emergency_stop` and succeeds.
    Emergency(String),
}

/// Latencies, failures and panics by chance: by the record's place, so that a
/// test can tell beforehand what happens.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) seed: u64,
    pub(crate) max_micros: u64,
    pub(crate) fail_percent: u64,
    pub(crate) panic_percent: u64,
}

/// What a run of a record comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Done,
    Failed,
    Panicked,
}

impl Load {
    fn dice(&self, partition: i32, offset: i64, attempt: u32) -> u64 {
        // splitmix64 over the record's place.
        let mut z = self
            .seed
            .wrapping_add((offset as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .wrapping_add((partition as u64) << 48)
            .wrapping_add(u64::from(attempt) << 56);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn fate(&self, partition: i32, offset: i64, attempt: u32) -> Fate {
        let percent = self.dice(partition, offset, attempt) % 100;
        if percent < self.fail_percent {
            Fate::Failed
        } else if percent < self.fail_percent + self.panic_percent {
            Fate::Panicked
        } else {
            Fate::Done
        }
    }

    pub(crate) fn latency(&self, partition: i32, offset: i64, attempt: u32) -> Duration {
        let dice = self.dice(partition, offset, attempt) >> 32;
        Duration::from_micros(if self.max_micros == 0 { 0 } else { dice % self.max_micros })
    }
}

/// What the dead-letter handler does.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) enum Letters {
    /// Notes the record in the journal.
    Keep,
    Fail,
    Panic,
    /// Waits until `letter` is opened, then notes it.
    Block,
    /// Produces to this topic and notes it.
    Topic(String),
}

impl Spec {
    pub(crate) fn new(brokers: &str, topic: &str, group: &str, journal: &Journal) -> Spec {
        Spec {
            name: "a".to_owned(),
            brokers: brokers.to_owned(),
            topic: topic.to_owned(),
            group: group.to_owned(),
            journal: journal.path().display().to_string(),
            asynchronous: false,
            options: BTreeMap::from([("auto.offset.reset".to_owned(), "earliest".to_owned())]),
            concurrent: 64,
            threads: None,
            commit_ms: 200,
            drain_ms: 20_000,
            metadata: true,
            held_records: None,
            held_bytes: None,
            partition_records: None,
            run_ahead: None,
            keyless_unordered: false,
            attempts: 1,
            backoff_ms: (5, 20),
            acts: BTreeMap::new(),
            load: Load::default(),
            letters: Letters::Keep,
            echo: false,
            hold: false,
        }
    }

    pub(crate) fn name(mut self, name: &str) -> Spec {
        self.name = name.to_owned();
        self
    }

    pub(crate) fn asynchronous(mut self, on: bool) -> Spec {
        self.asynchronous = on;
        self
    }

    pub(crate) fn option(mut self, key: &str, value: &str) -> Spec {
        self.options.insert(key.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn act(mut self, key: &str, act: Act) -> Spec {
        self.acts.insert(key.to_owned(), act);
        self
    }

    pub(crate) fn load(mut self, load: Load) -> Spec {
        self.load = load;
        self
    }

    pub(crate) fn letters(mut self, letters: Letters) -> Spec {
        self.letters = letters;
        self
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Spec)) -> Spec {
        change(&mut self);
        self
    }

    /// A session as short as the test's own broker permits; a broker of the
    /// user's has Kafka's own minimum.
    pub(crate) fn short_session(self) -> Spec {
        let foreign = std::env::var("KAFKA_BOOTSTRAP").is_ok_and(|b| !b.is_empty());
        let session = if foreign { "6000" } else { "2000" };
        self.option("session.timeout.ms", session).option("heartbeat.interval.ms", "300")
    }
}

/// What a test asks of a member.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Ask {
    /// Calls `run`, for a spec with `hold`.
    Run,
    /// Calls `stop` in a thread of its own; event `stopped` when it returns.
    Stop,
    Emergency(String),
    /// Lets the handlers blocked at this key go on; `*`: all keys.
    Open(String),
    Pause(Option<i32>),
    Resume(Option<i32>),
    Concurrent(usize),
    Snapshot,
    Health,
    Ready,
    /// The most handlers that ran at once since this was asked last, and how
    /// many run now.
    Peak,
}

/// How an engine ended.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Ended {
    /// 0 after a stop as asked.
    pub(crate) code: i32,
    pub(crate) text: String,
}

/// What `health` said.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct HealthNow {
    pub(crate) state: String,
    pub(crate) cause: Option<String>,
    pub(crate) progressed: bool,
    /// Partition, offset and key of the oldest blocked record.
    pub(crate) oldest: Option<(i32, i64, Option<String>)>,
    pub(crate) oldest_age_ms: u64,
}

/// What `ready` said.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct ReadyNow {
    pub(crate) ready: bool,
    pub(crate) state: String,
    pub(crate) partitions: usize,
}

/// A record as the handler saw it.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) topic: String,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<(String, Option<Vec<u8>>)>,
    /// `none`, `create` or `append`.
    pub(crate) timestamp_kind: String,
    pub(crate) timestamp_ms: i64,
}

#[derive(Serialize, Deserialize)]
struct Question {
    id: u64,
    ask: Ask,
}

#[derive(Serialize, Deserialize)]
struct Reply {
    id: u64,
    value: Value,
}

/// An engine in a child process. Killed when dropped.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) child: Child,
    next: AtomicU64,
}

impl Member {
    /// Starts a process and builds the engine in it; `run` has been called
    /// unless the spec holds it back.
    #[track_caller]
    pub(crate) fn start(spec: &Spec) -> Member {
        let member = Member::spawn(spec);
        let built = member.child.wait_event("built", SOON);
        let error: Option<String> = built.data();
        assert_eq!(error, None, "member {} was not built", spec.name);
        member
    }

    /// The same without looking at how `build` ended.
    #[track_caller]
    pub(crate) fn spawn(spec: &Spec) -> Member {
        let child = Child::spawn("member", spec);
        Member { name: spec.name.clone(), child, next: AtomicU64::new(1) }
    }

    #[track_caller]
    pub(crate) fn ask(&self, ask: Ask) -> Value {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let what = format!("the answer to {ask:?}");
        self.child.send(&Question { id, ask });
        self.child.wait_events(&what, SOON, |events| {
            events.iter().rev().filter(|e| e.name == "reply").find_map(|e| {
                let reply: Reply = e.data();
                (reply.id == id).then_some(reply.value)
            })
        })
    }

    #[track_caller]
    fn ask_for<T: serde::de::DeserializeOwned>(&self, ask: Ask) -> T {
        serde_json::from_value(self.ask(ask)).unwrap_or_else(|e| panic!("member's answer: {e}"))
    }

    #[track_caller]
    pub(crate) fn snapshot(&self) -> llingr_kafka::snapshot::Snapshot {
        self.ask_for(Ask::Snapshot)
    }

    #[track_caller]
    pub(crate) fn health(&self) -> HealthNow {
        self.ask_for(Ask::Health)
    }

    #[track_caller]
    pub(crate) fn ready(&self) -> ReadyNow {
        self.ask_for(Ask::Ready)
    }

    /// The peak since the last question, and the number now.
    #[track_caller]
    pub(crate) fn peak(&self) -> (usize, usize) {
        self.ask_for(Ask::Peak)
    }

    /// For questions that are answered by an error text or nothing.
    #[track_caller]
    pub(crate) fn tell(&self, ask: Ask) -> Option<String> {
        self.ask_for(ask)
    }

    #[track_caller]
    pub(crate) fn open(&self, key: &str) {
        self.ask(Ask::Open(key.to_owned()));
    }

    /// Waits until `run` has returned.
    #[track_caller]
    pub(crate) fn ended(&self) -> Ended {
        self.child.wait_event("ended", SOON).data()
    }

    /// Stops in order and waits for the end of the process.
    #[track_caller]
    pub(crate) fn stop(mut self) {
        self.ask(Ask::Stop);
        let end = self.ended();
        assert_eq!(end.code, 0, "member {}: {}", self.name, end.text);
        self.finish();
    }

    /// Ends the process of an engine that has ended.
    #[track_caller]
    pub(crate) fn finish(&mut self) {
        self.child.close_input();
        self.child.wait_success(SOON);
    }

    pub(crate) fn kill9(mut self) -> ExitStatus {
        self.child.kill9()
    }

    /// So many messages, of a spec with `echo`. They come by another way than the journal's
    /// lines, which say nothing of them.
    #[track_caller]
    pub(crate) fn wait_seen(&self, messages: usize) -> Vec<Seen> {
        wait_for(&format!("{messages} messages seen by {}", self.name), SOON, || {
            let events = self.child.events();
            let seen: Vec<Seen> =
                events.iter().filter(|e| e.name == "message").map(Event::data).collect();
            (seen.len() >= messages).then_some(seen)
        })
    }

    #[track_caller]
    pub(crate) fn wait_assigned(&self, partitions: usize) {
        wait_until(&format!("{partitions} partitions of {}", self.name), SOON, || {
            self.ready().partitions == partitions
        });
    }
}

/// A topic and a group of the test's own.
pub(crate) fn names() -> (String, String) {
    (unique("t"), unique("g"))
}

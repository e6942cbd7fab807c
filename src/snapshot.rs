//! What an engine is doing: state, health, and a snapshot as types and as JSON.

mod text;

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

/// Where an engine is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum State {
    /// Built, not started.
    Built,
    /// Started, no assignment yet.
    Joining,
    /// Member of the group with an assignment.
    Running,
    /// Running, but paused by the program.
    Paused,
    /// A stop was asked for; running handlers are waited for.
    Draining,
    /// Ended as asked.
    Stopped,
    /// Ended by an error.
    Failed,
}

impl State {
    pub(crate) const ALL: [State; 7] = [
        State::Built,
        State::Joining,
        State::Running,
        State::Paused,
        State::Draining,
        State::Stopped,
        State::Failed,
    ];

    /// The state's name in lower case, as in metrics and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Built => "built",
            State::Joining => "joining",
            State::Running => "running",
            State::Paused => "paused",
            State::Draining => "draining",
            State::Stopped => "stopped",
            State::Failed => "failed",
        }
    }

    /// Whether the engine has ended and will not change any more.
    pub fn has_ended(self) -> bool {
        matches!(self, State::Stopped | State::Failed)
    }

    /// The state of a number of the boundary (`LLINGR_STATE_*`); `None` for one that this version
    /// does not know.
    pub(crate) fn from_code(code: i32) -> Option<State> {
        State::ALL.get(usize::try_from(code).ok()?).copied()
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How an engine is, for a liveness probe.
///
/// An engine that is stuck is alive by its state alone, so look at
/// [`is_stalled`](Health::is_stalled) too.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// Where the engine is in its life.
    pub state: State,
    /// Why it is in this state, where there is a reason to give: the error after
    /// a failure, the last trouble while joining.
    pub cause: Option<String>,
    /// When a record was finished or a commit was made last; `None` before the first.
    pub last_progress: Option<SystemTime>,
    /// The unfinished record that has been held longest; `None` when nothing is held.
    pub oldest_blocked: Option<Blocked>,
}

impl Health {
    pub(crate) fn new(state: State) -> Health {
        Health { state, cause: None, last_progress: None, oldest_blocked: None }
    }

    /// Whether some record has been unfinished for longer than `limit`. While
    /// paused nothing is expected to finish, so the answer is no.
    ///
    /// ```
    /// # fn probe(health: llingr_kafka::snapshot::Health) -> bool {
    /// use std::time::Duration;
    /// use llingr_kafka::snapshot::State;
    ///
    /// health.state != State::Failed && !health.is_stalled(Duration::from_secs(300))
    /// # }
    /// ```
    pub fn is_stalled(&self, limit: Duration) -> bool {
        self.state != State::Paused
            && self.oldest_blocked.as_ref().is_some_and(|blocked| blocked.age > limit)
    }
}

/// An unfinished record that holds up its key and the commit of its partition.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Blocked {
    /// Its topic, where a program reads several (share groups); the engine has one.
    pub topic: Option<String>,
    /// Its partition.
    pub partition: i32,
    /// Its offset.
    pub offset: i64,
    /// Its key; `None` for a record without one. Not shown by `Debug`, as keys
    /// often tell of persons.
    pub key: Option<Vec<u8>>,
    /// Time since it was fetched.
    pub age: Duration,
}

impl Blocked {
    pub(crate) fn new(partition: i32, offset: i64, key: Option<Vec<u8>>, age: Duration) -> Blocked {
        Blocked { topic: None, partition, offset, key, age }
    }
}

impl fmt::Debug for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.as_ref().map(|key| format!("{} bytes, hidden", key.len()));
        f.debug_struct("Blocked")
            .field("topic", &self.topic)
            .field("partition", &self.partition)
            .field("offset", &self.offset)
            .field("key", &key)
            .field("age", &self.age)
            .finish()
    }
}

/// Whether an engine takes part in its group, for a readiness probe.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ready {
    /// Whether it is a member of the group with a known assignment, which may be
    /// empty when there are more members than partitions. A paused engine is ready.
    pub ready: bool,
    /// Where the engine is in its life.
    pub state: State,
    /// Partitions assigned now.
    pub assigned_partitions: usize,
    /// Why it is not ready, where that is known.
    pub cause: Option<String>,
}

impl Ready {
    pub(crate) fn new(state: State, assigned_partitions: usize, cause: Option<String>) -> Ready {
        Ready {
            ready: matches!(state, State::Running | State::Paused),
            state,
            assigned_partitions,
            cause,
        }
    }
}

/// Everything worth knowing of an engine at one moment.
///
/// The JSON form has the same names in camelCase, times as RFC 3339 in UTC with
/// milliseconds, and durations as text like `1.5s`. Fields that this version does not
/// know are ignored when reading; -1 stands for an unknown offset.
///
/// ```
/// use llingr_kafka::snapshot::{Snapshot, State};
///
/// let mut snapshot = Snapshot::default();
/// snapshot.summary.topic_name = "orders".to_owned();
/// let json = serde_json::to_string(&snapshot)?;
/// assert!(json.contains(r#""topicName":"orders""#));
/// let again: Snapshot = serde_json::from_str(&json)?;
/// assert_eq!(again, snapshot);
/// assert_eq!(again.summary.state, State::Built);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Snapshot {
    /// The engine as a whole.
    pub summary: Summary,
    /// The last seconds.
    pub throughput: Throughput,
    /// Offsets by partition.
    pub pre_commits: PreCommits,
    /// Slots for keys and bounds of memory.
    pub concurrency: Concurrency,
    /// The unfinished record that has been held longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_blocked: Option<OldestBlocked>,
}

/// The engine as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Summary {
    /// The topic.
    pub topic_name: String,
    /// Partitions assigned now.
    pub assigned_partition_count: u32,
    /// Records finished since the start.
    pub total_processed: u64,
    /// When the assignment changed last; `None` before the first one.
    #[serde(default, with = "text::optional_time")]
    pub last_rebalance_time: Option<SystemTime>,
    /// Where the engine is in its life.
    pub state: State,
    /// Why it is there, where there is a reason to give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

impl Default for Summary {
    fn default() -> Summary {
        Summary {
            topic_name: String::new(),
            assigned_partition_count: 0,
            total_processed: 0,
            last_rebalance_time: None,
            state: State::Built,
            cause: None,
        }
    }
}

/// Counts and durations of the last seconds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Throughput {
    /// Windows of one second, at most 15, oldest first.
    pub windows: Vec<Window>,
    /// Records finished within the windows.
    pub total_processed: u64,
    /// Of these, dead-lettered ones.
    pub total_dead_lettered: u64,
    /// Mean duration of a handler's attempt within the windows.
    #[serde(with = "text::duration")]
    pub avg_process_duration: Duration,
    /// Longest duration of a handler's attempt within the windows.
    #[serde(with = "text::duration")]
    pub max_process_duration: Duration,
    /// Mean time from fetch to the end of handling within the windows.
    #[serde(with = "text::duration")]
    pub avg_end_to_end_duration: Duration,
    /// Longest time from fetch to the end of handling within the windows.
    #[serde(with = "text::duration")]
    pub max_end_to_end_duration: Duration,
    /// Shortest time from fetch to the end of handling within the windows.
    #[serde(with = "text::duration")]
    pub min_end_to_end_duration: Duration,
}

/// One second of throughput.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Window {
    /// Its start.
    #[serde(with = "text::time")]
    pub from_time: SystemTime,
    /// Its end, not included.
    #[serde(with = "text::time")]
    pub to_time: SystemTime,
    /// Records finished.
    pub processed_count: u64,
    /// Of these, dead-lettered ones.
    pub dead_letter_count: u64,
}

impl Window {
    pub(crate) fn new(
        from_time: SystemTime,
        to_time: SystemTime,
        processed_count: u64,
        dead_letter_count: u64,
    ) -> Window {
        Window { from_time, to_time, processed_count, dead_letter_count }
    }
}

/// Offsets by partition.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PreCommits {
    /// Sorted by partition.
    pub partitions: Vec<Partition>,
}

/// One partition. Offsets are -1 while unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Partition {
    /// Its number.
    pub partition: i32,
    /// Committed offset: everything before it is finished.
    pub committed_offset: i64,
    /// Offset that the next commit will have.
    pub highest_ready_offset: i64,
    /// Highest offset fetched.
    pub max_offset_seen: i64,
    /// Finished records above the first unfinished one.
    pub gap_buffer_depth: u64,
    /// Whether the partition is assigned now.
    pub assigned: bool,
    /// Offset after the last record that the broker hands out.
    #[serde(default = "unknown")]
    pub high_watermark: i64,
    /// Offsets between committed offset and high watermark.
    #[serde(default = "unknown")]
    pub lag: i64,
    /// Records in a handler.
    #[serde(default)]
    pub in_flight: u64,
    /// Fetched and unfinished records in memory.
    #[serde(default)]
    pub held_records: u64,
    /// Their bytes.
    #[serde(default)]
    pub held_bytes: u64,
    /// Whether fetching is paused, by the program or at a bound.
    #[serde(default)]
    pub paused: bool,
}

impl Partition {
    pub(crate) fn new(partition: i32) -> Partition {
        Partition {
            partition,
            committed_offset: unknown(),
            highest_ready_offset: unknown(),
            max_offset_seen: unknown(),
            gap_buffer_depth: 0,
            assigned: false,
            high_watermark: unknown(),
            lag: unknown(),
            in_flight: 0,
            held_records: 0,
            held_bytes: 0,
            paused: false,
        }
    }
}

fn unknown() -> i64 {
    -1
}

/// Slots for keys and bounds of memory, in use and in all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Concurrency {
    /// Keys handled now.
    pub guard_active: u64,
    /// Most keys handled at once.
    pub guard_capacity: u64,
    /// Fetched and unfinished records in memory.
    #[serde(default)]
    pub held_records: u64,
    /// Their bytes.
    #[serde(default)]
    pub held_bytes: u64,
}

/// The unfinished record that has been held longest, without its key: snapshots are
/// often logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OldestBlocked {
    /// Its partition.
    pub partition: i32,
    /// Its offset.
    pub offset: i64,
    /// Time since it was fetched.
    #[serde(with = "text::duration")]
    pub age: Duration,
}

impl From<&Blocked> for OldestBlocked {
    fn from(blocked: &Blocked) -> OldestBlocked {
        OldestBlocked { partition: blocked.partition, offset: blocked.offset, age: blocked.age }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Snapshot {
        let start = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
        let mut partition = Partition::new(3);
        partition.committed_offset = 41;
        partition.assigned = true;
        Snapshot {
            summary: Summary {
                topic_name: "orders".to_owned(),
                assigned_partition_count: 1,
                total_processed: 41,
                last_rebalance_time: Some(start),
                state: State::Failed,
                cause: Some("dead letter handler failed".to_owned()),
            },
            throughput: Throughput {
                windows: vec![Window::new(start, start + Duration::from_secs(1), 7, 1)],
                total_processed: 7,
                total_dead_lettered: 1,
                avg_process_duration: Duration::from_micros(1500),
                max_process_duration: Duration::from_secs(61),
                ..Throughput::default()
            },
            pre_commits: PreCommits { partitions: vec![partition] },
            concurrency: Concurrency {
                guard_active: 2,
                guard_capacity: 250,
                ..Concurrency::default()
            },
            oldest_blocked: Some(OldestBlocked {
                partition: 3,
                offset: 42,
                age: Duration::from_millis(250),
            }),
        }
    }

    #[test]
    fn json_has_the_documented_names_and_comes_back() {
        let json = serde_json::to_value(sample()).expect("json");
        assert_eq!(json["summary"]["topicName"], "orders");
        assert_eq!(json["summary"]["assignedPartitionCount"], 1);
        assert_eq!(json["summary"]["lastRebalanceTime"], "2023-11-14T22:13:20.123Z");
        assert_eq!(json["summary"]["state"], "failed");
        assert_eq!(json["throughput"]["windows"][0]["toTime"], "2023-11-14T22:13:21.123Z");
        assert_eq!(json["throughput"]["windows"][0]["deadLetterCount"], 1);
        assert_eq!(json["throughput"]["avgProcessDuration"], "1.5ms");
        assert_eq!(json["throughput"]["maxProcessDuration"], "1m1s");
        assert_eq!(json["throughput"]["minEndToEndDuration"], "0s");
        let partition = &json["preCommits"]["partitions"][0];
        assert_eq!(partition["committedOffset"], 41);
        assert_eq!(partition["highestReadyOffset"], -1);
        assert_eq!(partition["gapBufferDepth"], 0);
        assert_eq!(json["concurrency"]["guardCapacity"], 250);
        assert_eq!(json["oldestBlocked"]["age"], "250ms");
        let back: Snapshot = serde_json::from_value(json).expect("snapshot");
        assert_eq!(back, sample());
    }

    #[test]
    fn unknown_fields_are_ignored_and_missing_ones_are_errors() {
        let mut json = serde_json::to_value(sample()).expect("json");
        json["shards"] = serde_json::json!([{"shard": 0}]);
        json["summary"]["more"] = serde_json::json!(1);
        serde_json::from_value::<Snapshot>(json.clone()).expect("tolerated");
        json["summary"].as_object_mut().expect("object").remove("topicName");
        let error = serde_json::from_value::<Snapshot>(json).expect_err("missing");
        assert!(error.to_string().contains("topicName"), "{error}");
    }

    #[test]
    fn states_have_the_numbers_of_the_header() {
        let header = include_str!("../include/llingr.h");
        for (code, state) in State::ALL.into_iter().enumerate() {
            let name = state.as_str().to_uppercase();
            let line = format!("#define LLINGR_STATE_{name} {code}");
            assert!(
                header.lines().any(|found| found.split(" /*").next().map(str::trim) == Some(&line)),
                "{line}"
            );
            assert_eq!(State::from_code(code as i32), Some(state));
            assert_eq!(serde_json::to_value(state).expect("json"), state.as_str());
        }
        assert_eq!(State::from_code(7), None);
        assert_eq!(State::from_code(-1), None);
    }

    #[test]
    fn a_blocked_key_is_not_shown() {
        let blocked =
            Blocked::new(1, 2, Some(b"alice@example.com".to_vec()), Duration::from_secs(3));
        let mut health = Health::new(State::Running);
        health.oldest_blocked = Some(blocked.clone());
        let debug = format!("{health:?}");
        assert!(debug.contains("17 bytes") && !debug.contains("alice"), "{debug}");
        assert!(!debug.contains("97, 108"), "{debug}");
        let json = serde_json::to_string(&OldestBlocked::from(&blocked)).expect("json");
        assert!(!json.contains("key"), "{json}");
    }

    #[test]
    fn stalled_means_a_record_older_than_the_limit_unless_paused() {
        let mut health = Health::new(State::Running);
        assert!(!health.is_stalled(Duration::ZERO));
        health.oldest_blocked = Some(Blocked::new(0, 0, None, Duration::from_secs(3)));
        assert!(health.is_stalled(Duration::from_secs(2)));
        assert!(!health.is_stalled(Duration::from_secs(3)));
        health.state = State::Paused;
        assert!(!health.is_stalled(Duration::from_secs(2)));
    }

    #[test]
    fn ready_are_members_paused_or_not() {
        for state in State::ALL {
            let expected = matches!(state, State::Running | State::Paused);
            assert_eq!(Ready::new(state, 0, None).ready, expected, "{state}");
        }
    }
}

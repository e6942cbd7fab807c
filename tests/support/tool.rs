//! [`Tool`]: what a test has done to a cluster by somebody other than the
//! library under test.

use std::fmt;
use std::marker::PhantomData;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::conn::Conn;
use super::tool_process::{ToolProcess, receive};
use super::tool_types::*;

/// Why an operation failed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct ToolError {
    /// Kafka's name of the error, such as `UNKNOWN_TOPIC_OR_PARTITION`; empty
    /// when no broker answered with an error.
    #[serde(default)]
    pub(crate) kafka: String,
    /// Kafka's number of it; 0 like above.
    pub(crate) code: i16,
    pub(crate) text: String,
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for ToolError {}

pub(crate) type ToolResult<T> = Result<T, ToolError>;

/// A way into one cluster. Cheap to make; all of a process share one program,
/// and any number of threads may use it at once.
#[derive(Clone)]
pub(crate) struct Tool {
    conn: Conn,
    limit: Duration,
}

impl Tool {
    /// A tool with a limit of a minute for each operation.
    pub(crate) fn new(conn: Conn) -> Self {
        Self { conn, limit: Duration::from_secs(60) }
    }

    /// The same with another limit.
    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    pub(crate) fn brokers(&self) -> ToolResult<Brokers> {
        self.call("brokers", json!({}))
    }

    /// Returns when every partition has a leader.
    pub(crate) fn create_topic(&self, topic: &NewTopic) -> ToolResult<TopicState> {
        self.call("create_topic", json!(topic))
    }

    /// A topic with one replica and no settings.
    pub(crate) fn create(&self, topic: &str, partitions: i32) -> ToolResult<TopicState> {
        self.create_topic(&NewTopic::new(topic, partitions))
    }

    /// Returns when the topic is gone from the metadata.
    pub(crate) fn delete_topic(&self, topic: &str) -> ToolResult<()> {
        self.call_done("delete_topic", json!({ "topic": topic }))
    }

    pub(crate) fn topic(&self, topic: &str) -> ToolResult<TopicState> {
        self.call("topic", json!({ "topic": topic }))
    }

    /// One offset for each partition, by partition.
    pub(crate) fn offsets(&self, topic: &str, at: At) -> ToolResult<Vec<i64>> {
        let at = match at {
            At::Start => "start",
            At::End => "end",
            At::CommittedEnd => "committed",
        };
        self.call("offsets", json!({ "topic": topic, "at": at }))
    }

    /// The high watermark of each partition.
    pub(crate) fn end_offsets(&self, topic: &str) -> ToolResult<Vec<i64>> {
        self.offsets(topic, At::End)
    }

    /// Deletes the records of a partition before an offset.
    pub(crate) fn delete_records(
        &self,
        topic: &str,
        partition: i32,
        before: i64,
    ) -> ToolResult<()> {
        self.call_done(
            "delete_records",
            json!({ "topic": topic, "partition": partition, "before": before }),
        )
    }

    /// Changes settings; `None` takes one back to its default.
    pub(crate) fn alter_configs(
        &self,
        kind: ConfigKind,
        name: &str,
        values: &[(&str, Option<&str>)],
    ) -> ToolResult<()> {
        let values: serde_json::Map<_, _> =
            values.iter().map(|(k, v)| ((*k).to_owned(), json!(v))).collect();
        self.call_done("alter_configs", json!({ "kind": kind, "name": name, "values": values }))
    }

    pub(crate) fn add_acl(&self, acl: &Acl) -> ToolResult<()> {
        self.call_done("add_acl", json!(acl))
    }

    /// An error if there is no such ACL.
    pub(crate) fn remove_acl(&self, acl: &Acl) -> ToolResult<()> {
        self.call_done("remove_acl", json!(acl))
    }

    /// Makes a broker the leader; it becomes a replica if it was none.
    pub(crate) fn move_leader(
        &self,
        topic: &str,
        partition: i32,
        to: i32,
    ) -> ToolResult<PartitionState> {
        self.call("move_leader", json!({ "topic": topic, "partition": partition, "to": to }))
    }

    /// Gives each partition back to its first replica.
    pub(crate) fn elect_preferred(&self, topic: &str) -> ToolResult<TopicState> {
        self.call("elect_preferred", json!({ "topic": topic }))
    }

    /// Produces records, idempotent and acknowledged by all replicas in sync;
    /// says where each one went.
    pub(crate) fn produce(&self, topic: &str, records: &[NewRecord]) -> ToolResult<Vec<Acked>> {
        self.call("produce", json!({ "topic": topic, "records": records }))
    }

    /// Produces many records; an error if none was acknowledged. Look at
    /// `failed` where brokers break meanwhile.
    pub(crate) fn produce_bulk(&self, bulk: &Bulk) -> ToolResult<BulkAcked> {
        self.start_bulk(bulk).wait()
    }

    /// The same in the background.
    pub(crate) fn start_bulk(&self, bulk: &Bulk) -> Pending<BulkAcked> {
        self.start("produce_bulk", json!(bulk))
    }

    /// All committed records, up to the last stable offset that holds at the
    /// call, by partition and offset.
    pub(crate) fn read(&self, topic: &str) -> ToolResult<Vec<StoredRecord>> {
        self.call("read", json!({ "topic": topic }))
    }

    /// All records, those of open and aborted transactions included.
    pub(crate) fn read_uncommitted(&self, topic: &str) -> ToolResult<Vec<StoredRecord>> {
        self.call("read", json!({ "topic": topic, "uncommitted": true }))
    }

    /// Opens a transaction that the broker ends by itself after `timeout`.
    pub(crate) fn begin(
        &self,
        transactional_id: &str,
        timeout: Duration,
    ) -> ToolResult<Transaction> {
        let args = json!({ "transactional_id": transactional_id, "timeout_ms": timeout.as_millis() as u64 });
        let begun: Begun = self.call("txn_begin", args)?;
        Ok(Transaction { tool: self.clone(), handle: begun.handle })
    }

    /// All committed offsets of a group.
    pub(crate) fn committed(&self, group: &str) -> ToolResult<Vec<Committed>> {
        self.call("committed", json!({ "group": group }))
    }

    /// The committed offset of one partition.
    pub(crate) fn committed_at(
        &self,
        group: &str,
        topic: &str,
        partition: i32,
    ) -> ToolResult<Option<Committed>> {
        let all = self.committed(group)?;
        Ok(all.into_iter().find(|c| c.topic == topic && c.partition == partition))
    }

    /// Commits for a group without members.
    pub(crate) fn commit(&self, group: &str, offsets: &[Committed]) -> ToolResult<()> {
        self.call_done("commit", json!({ "group": group, "offsets": offsets }))
    }

    pub(crate) fn group(&self, group: &str) -> ToolResult<GroupState> {
        self.call("describe_group", json!({ "group": group }))
    }

    pub(crate) fn delete_group(&self, group: &str) -> ToolResult<()> {
        self.call_done("delete_group", json!({ "group": group }))
    }

    /// Makes a group one of another kind, `share` or `connect`, by a member that
    /// stays for its session timeout.
    pub(crate) fn occupy(&self, group: &str, topic: &str, kind: &str) -> ToolResult<()> {
        self.call_done("occupy", json!({ "group": group, "topic": topic, "kind": kind }))
    }

    /// A share group's start offset for each partition of a topic; -1 where
    /// it has none.
    pub(crate) fn share_offsets(&self, group: &str, topic: &str) -> ToolResult<Vec<i64>> {
        self.call("share_offsets", json!({ "group": group, "topic": topic }))
    }

    fn start<T>(&self, op: &'static str, args: Value) -> Pending<T> {
        let receiver = ToolProcess::get().send(op, &self.conn, &args, self.limit);
        Pending { op, receiver, limit: self.limit, result: PhantomData }
    }

    fn call<T: DeserializeOwned>(&self, op: &'static str, args: Value) -> ToolResult<T> {
        self.start(op, args).wait()
    }

    /// For operations that answer nothing.
    fn call_done(&self, op: &'static str, args: Value) -> ToolResult<()> {
        self.call::<Value>(op, args).map(drop)
    }
}

#[derive(Deserialize)]
struct Begun {
    handle: u64,
}

/// An operation under way. Dropping it does not stop it.
#[must_use = "an operation whose result nobody looks at may have failed"]
pub(crate) struct Pending<T> {
    op: &'static str,
    receiver: Receiver<ToolResult<Value>>,
    limit: Duration,
    result: PhantomData<T>,
}

impl<T: DeserializeOwned> Pending<T> {
    pub(crate) fn wait(self) -> ToolResult<T> {
        let value = receive(self.op, &self.receiver, self.limit)?;
        let shown = format!("{value:.200}");
        let result = serde_json::from_value(value);
        Ok(result.unwrap_or_else(|e| {
            panic!("kafkatool's answer to {} has another form ({e}): {shown}", self.op)
        }))
    }
}

/// An open transaction.
#[must_use = "a transaction that is dropped stays open until its timeout"]
pub(crate) struct Transaction {
    tool: Tool,
    handle: u64,
}

impl Transaction {
    pub(crate) fn produce(&self, topic: &str, records: &[NewRecord]) -> ToolResult<Vec<Acked>> {
        let args = json!({ "handle": self.handle, "topic": topic, "records": records });
        self.tool.call("txn_produce", args)
    }

    pub(crate) fn commit(self) -> ToolResult<()> {
        self.end(true)
    }

    pub(crate) fn abort(self) -> ToolResult<()> {
        self.end(false)
    }

    /// Leaves it open, as a killed producer does.
    pub(crate) fn abandon(self) -> ToolResult<()> {
        self.tool.call_done("txn_abandon", json!({ "handle": self.handle }))
    }

    fn end(self, commit: bool) -> ToolResult<()> {
        self.tool.call_done("txn_end", json!({ "handle": self.handle, "commit": commit }))
    }
}

//! Fetch (API key 1).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use bytes::Bytes;

use crate::wire::codec::{Codec, Reader, Result, Uuid, Writer};
use crate::wire::message::{Message, Request, Response};

/// FetchRequest, versions 4 to 18.
#[derive(Clone, PartialEq, Debug)]
pub struct FetchRequest {
    /// `ClusterId`, versions 12 to 18 (left out of others), may be null, tag 0, default null.
    pub cluster_id: Option<String>,
    /// `ReplicaId`, versions 4 to 14, default -1.
    pub replica_id: i32,
    /// `ReplicaState`, versions 15 to 18, tag 1.
    pub replica_state: ReplicaState,
    /// `MaxWaitMs`.
    pub max_wait_ms: i32,
    /// `MinBytes`.
    pub min_bytes: i32,
    /// `MaxBytes`, default 0x7fffffff.
    pub max_bytes: i32,
    /// `IsolationLevel`.
    pub isolation_level: i8,
    /// `SessionId`, versions 7 to 18 (left out of others).
    pub session_id: i32,
    /// `SessionEpoch`, versions 7 to 18 (left out of others), default -1.
    pub session_epoch: i32,
    /// `Topics`.
    pub topics: Vec<FetchTopic>,
    /// `ForgottenTopicsData`, versions 7 to 18.
    pub forgotten_topics_data: Vec<ForgottenTopic>,
    /// `RackId`, versions 11 to 18 (left out of others).
    pub rack_id: String,
}

impl Default for FetchRequest {
    fn default() -> Self {
        Self {
            cluster_id: None,
            replica_id: -1,
            replica_state: ReplicaState::default(),
            max_wait_ms: 0,
            min_bytes: 0,
            max_bytes: i32::MAX,
            isolation_level: 0,
            session_id: 0,
            session_epoch: -1,
            topics: Vec::new(),
            forgotten_topics_data: Vec::new(),
            rack_id: String::new(),
        }
    }
}

impl Codec for FetchRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let mut this = Self {
            cluster_id: None,
            replica_id: if v <= 14 { r.get()? } else { -1 },
            replica_state: ReplicaState::default(),
            max_wait_ms: r.get()?,
            min_bytes: r.get()?,
            max_bytes: r.get()?,
            isolation_level: r.get()?,
            session_id: if v >= 7 { r.get()? } else { 0 },
            session_epoch: if v >= 7 { r.get()? } else { -1 },
            topics: r.get()?,
            forgotten_topics_data: if v >= 7 { r.get()? } else { Vec::new() },
            rack_id: if v >= 11 { r.get()? } else { String::new() },
        };
        r.tags(|tag, r| {
            match tag {
                0 => this.cluster_id = r.get()?,
                1 if v >= 15 => this.replica_state = r.get()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v <= 14 {
            w.put(&self.replica_id)?;
        } else {
            w.absent(self.replica_id != -1, "FetchRequest.replica_id")?;
        }
        if v < 15 {
            w.absent(self.replica_state != ReplicaState::default(), "FetchRequest.replica_state")?;
        }
        w.put(&self.max_wait_ms)?;
        w.put(&self.min_bytes)?;
        w.put(&self.max_bytes)?;
        w.put(&self.isolation_level)?;
        if v >= 7 {
            w.put(&self.session_id)?;
        }
        if v >= 7 {
            w.put(&self.session_epoch)?;
        }
        w.put(&self.topics)?;
        if v >= 7 {
            w.put(&self.forgotten_topics_data)?;
        } else {
            w.absent(!self.forgotten_topics_data.is_empty(), "FetchRequest.forgotten_topics_data")?;
        }
        if v >= 11 {
            w.put(&self.rack_id)?;
        }
        if w.flexible() {
            let tag0 = self.cluster_id.is_some();
            let tag1 = v >= 15 && self.replica_state != ReplicaState::default();
            w.tag_count(u32::from(tag0) + u32::from(tag1));
            if tag0 {
                w.tag(0, &self.cluster_id)?;
            }
            if tag1 {
                w.tag(1, &self.replica_state)?;
            }
        }
        Ok(())
    }
}

impl Message for FetchRequest {
    const NAME: &'static str = "FetchRequest";
    const MIN_VERSION: i16 = 4;
    const MAX_VERSION: i16 = 18;
    const FIRST_FLEXIBLE: i16 = 12;
}

impl Request for FetchRequest {
    const API_KEY: i16 = 1;
    type Response = FetchResponse;
}

/// Part of [`FetchRequest`] in versions 15 to 18.
#[derive(Clone, PartialEq, Debug)]
pub struct ReplicaState {
    /// `ReplicaId`, default -1.
    pub replica_id: i32,
    /// `ReplicaEpoch`, default -1.
    pub replica_epoch: i64,
}

impl Default for ReplicaState {
    fn default() -> Self {
        Self { replica_id: -1, replica_epoch: -1 }
    }
}

impl Codec for ReplicaState {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { replica_id: r.get()?, replica_epoch: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.replica_id)?;
        w.put(&self.replica_epoch)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`FetchRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FetchTopic {
    /// `Topic`, versions 4 to 12 (left out of others).
    pub topic: String,
    /// `TopicId`, versions 13 to 18 (left out of others).
    pub topic_id: Uuid,
    /// `Partitions`.
    pub partitions: Vec<FetchPartition>,
}

impl Codec for FetchTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            topic: if v <= 12 { r.get()? } else { String::new() },
            topic_id: if v >= 13 { r.get()? } else { Uuid::ZERO },
            partitions: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v <= 12 {
            w.put(&self.topic)?;
        }
        if v >= 13 {
            w.put(&self.topic_id)?;
        }
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`FetchRequest`].
#[derive(Clone, PartialEq, Debug)]
pub struct FetchPartition {
    /// `Partition`.
    pub partition: i32,
    /// `CurrentLeaderEpoch`, versions 9 to 18 (left out of others), default -1.
    pub current_leader_epoch: i32,
    /// `FetchOffset`.
    pub fetch_offset: i64,
    /// `LastFetchedEpoch`, versions 12 to 18, default -1.
    pub last_fetched_epoch: i32,
    /// `LogStartOffset`, versions 5 to 18 (left out of others), default -1.
    pub log_start_offset: i64,
    /// `PartitionMaxBytes`.
    pub partition_max_bytes: i32,
    /// `ReplicaDirectoryId`, versions 17 to 18 (left out of others), tag 0.
    pub replica_directory_id: Uuid,
    /// `HighWatermark`, version 18 (left out of others), tag 1, default 9223372036854775807.
    pub high_watermark: i64,
}

impl Default for FetchPartition {
    fn default() -> Self {
        Self {
            partition: 0,
            current_leader_epoch: -1,
            fetch_offset: 0,
            last_fetched_epoch: -1,
            log_start_offset: -1,
            partition_max_bytes: 0,
            replica_directory_id: Uuid::ZERO,
            high_watermark: i64::MAX,
        }
    }
}

impl Codec for FetchPartition {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let mut this = Self {
            partition: r.get()?,
            current_leader_epoch: if v >= 9 { r.get()? } else { -1 },
            fetch_offset: r.get()?,
            last_fetched_epoch: if v >= 12 { r.get()? } else { -1 },
            log_start_offset: if v >= 5 { r.get()? } else { -1 },
            partition_max_bytes: r.get()?,
            replica_directory_id: Uuid::ZERO,
            high_watermark: i64::MAX,
        };
        r.tags(|tag, r| {
            match tag {
                0 if v >= 17 => this.replica_directory_id = r.get()?,
                1 if v == 18 => this.high_watermark = r.get()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.partition)?;
        if v >= 9 {
            w.put(&self.current_leader_epoch)?;
        }
        w.put(&self.fetch_offset)?;
        if v >= 12 {
            w.put(&self.last_fetched_epoch)?;
        } else {
            w.absent(self.last_fetched_epoch != -1, "FetchPartition.last_fetched_epoch")?;
        }
        if v >= 5 {
            w.put(&self.log_start_offset)?;
        }
        w.put(&self.partition_max_bytes)?;
        if w.flexible() {
            let tag0 = v >= 17 && self.replica_directory_id != Uuid::ZERO;
            let tag1 = v == 18 && self.high_watermark != i64::MAX;
            w.tag_count(u32::from(tag0) + u32::from(tag1));
            if tag0 {
                w.tag(0, &self.replica_directory_id)?;
            }
            if tag1 {
                w.tag(1, &self.high_watermark)?;
            }
        }
        Ok(())
    }
}

/// Part of [`FetchRequest`] in versions 7 to 18.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ForgottenTopic {
    /// `Topic`, versions 7 to 12 (left out of others).
    pub topic: String,
    /// `TopicId`, versions 13 to 18 (left out of others).
    pub topic_id: Uuid,
    /// `Partitions`.
    pub partitions: Vec<i32>,
}

impl Codec for ForgottenTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            topic: if v <= 12 { r.get()? } else { String::new() },
            topic_id: if v >= 13 { r.get()? } else { Uuid::ZERO },
            partitions: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v <= 12 {
            w.put(&self.topic)?;
        }
        if v >= 13 {
            w.put(&self.topic_id)?;
        }
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// FetchResponse, versions 4 to 18.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FetchResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `ErrorCode`, versions 7 to 18 (left out of others).
    pub error_code: i16,
    /// `SessionId`, versions 7 to 18.
    pub session_id: i32,
    /// `Responses`.
    pub responses: Vec<FetchableTopicResponse>,
    /// `NodeEndpoints`, versions 16 to 18, tag 0.
    pub node_endpoints: Vec<NodeEndpoint>,
}

impl Codec for FetchResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let mut this = Self {
            throttle_time_ms: r.get()?,
            error_code: if v >= 7 { r.get()? } else { 0 },
            session_id: if v >= 7 { r.get()? } else { 0 },
            responses: r.get()?,
            node_endpoints: Vec::new(),
        };
        r.tags(|tag, r| {
            match tag {
                0 if v >= 16 => this.node_endpoints = r.get()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.throttle_time_ms)?;
        if v >= 7 {
            w.put(&self.error_code)?;
        }
        if v >= 7 {
            w.put(&self.session_id)?;
        } else {
            w.absent(self.session_id != 0, "FetchResponse.session_id")?;
        }
        w.put(&self.responses)?;
        if v < 16 {
            w.absent(!self.node_endpoints.is_empty(), "FetchResponse.node_endpoints")?;
        }
        if w.flexible() {
            let tag0 = v >= 16 && !self.node_endpoints.is_empty();
            w.tag_count(u32::from(tag0));
            if tag0 {
                w.tag(0, &self.node_endpoints)?;
            }
        }
        Ok(())
    }
}

impl Message for FetchResponse {
    const NAME: &'static str = "FetchResponse";
    const MIN_VERSION: i16 = 4;
    const MAX_VERSION: i16 = 18;
    const FIRST_FLEXIBLE: i16 = 12;
}

impl Response for FetchResponse {}

/// Part of [`FetchResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FetchableTopicResponse {
    /// `Topic`, versions 4 to 12 (left out of others).
    pub topic: String,
    /// `TopicId`, versions 13 to 18 (left out of others).
    pub topic_id: Uuid,
    /// `Partitions`.
    pub partitions: Vec<PartitionData>,
}

impl Codec for FetchableTopicResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            topic: if v <= 12 { r.get()? } else { String::new() },
            topic_id: if v >= 13 { r.get()? } else { Uuid::ZERO },
            partitions: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v <= 12 {
            w.put(&self.topic)?;
        }
        if v >= 13 {
            w.put(&self.topic_id)?;
        }
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`FetchResponse`].
#[derive(Clone, PartialEq)]
pub struct PartitionData {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `HighWatermark`.
    pub high_watermark: i64,
    /// `LastStableOffset`, default -1.
    pub last_stable_offset: i64,
    /// `LogStartOffset`, versions 5 to 18 (left out of others), default -1.
    pub log_start_offset: i64,
    /// `DivergingEpoch`, versions 12 to 18, tag 0.
    pub diverging_epoch: EpochEndOffset,
    /// `CurrentLeader`, versions 12 to 18, tag 1.
    pub current_leader: LeaderIdAndEpoch,
    /// `SnapshotId`, versions 12 to 18, tag 2.
    pub snapshot_id: SnapshotId,
    /// `AbortedTransactions`, may be null, default empty, not null.
    pub aborted_transactions: Option<Vec<AbortedTransaction>>,
    /// `PreferredReadReplica`, versions 11 to 18, default -1.
    pub preferred_read_replica: i32,
    /// `Records`, may be null.
    pub records: Option<Bytes>,
}

impl Default for PartitionData {
    fn default() -> Self {
        Self {
            partition_index: 0,
            error_code: 0,
            high_watermark: 0,
            last_stable_offset: -1,
            log_start_offset: -1,
            diverging_epoch: EpochEndOffset::default(),
            current_leader: LeaderIdAndEpoch::default(),
            snapshot_id: SnapshotId::default(),
            aborted_transactions: Some(Vec::<AbortedTransaction>::default()),
            preferred_read_replica: -1,
            records: None,
        }
    }
}

/// Leaves out what may be secret: credentials, configuration values, records.
impl std::fmt::Debug for PartitionData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartitionData")
            .field("partition_index", &self.partition_index)
            .field("error_code", &self.error_code)
            .field("high_watermark", &self.high_watermark)
            .field("last_stable_offset", &self.last_stable_offset)
            .field("log_start_offset", &self.log_start_offset)
            .field("diverging_epoch", &self.diverging_epoch)
            .field("current_leader", &self.current_leader)
            .field("snapshot_id", &self.snapshot_id)
            .field("aborted_transactions", &self.aborted_transactions)
            .field("preferred_read_replica", &self.preferred_read_replica)
            .finish_non_exhaustive()
    }
}

impl Codec for PartitionData {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let mut this = Self {
            partition_index: r.get()?,
            error_code: r.get()?,
            high_watermark: r.get()?,
            last_stable_offset: r.get()?,
            log_start_offset: if v >= 5 { r.get()? } else { -1 },
            diverging_epoch: EpochEndOffset::default(),
            current_leader: LeaderIdAndEpoch::default(),
            snapshot_id: SnapshotId::default(),
            aborted_transactions: r.get()?,
            preferred_read_replica: if v >= 11 { r.get()? } else { -1 },
            records: r.get()?,
        };
        r.tags(|tag, r| {
            match tag {
                0 => this.diverging_epoch = r.get()?,
                1 => this.current_leader = r.get()?,
                2 => this.snapshot_id = r.get()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.partition_index)?;
        w.put(&self.error_code)?;
        w.put(&self.high_watermark)?;
        w.put(&self.last_stable_offset)?;
        if v >= 5 {
            w.put(&self.log_start_offset)?;
        }
        if v < 12 {
            w.absent(
                self.diverging_epoch != EpochEndOffset::default(),
                "PartitionData.diverging_epoch",
            )?;
        }
        if v < 12 {
            w.absent(
                self.current_leader != LeaderIdAndEpoch::default(),
                "PartitionData.current_leader",
            )?;
        }
        if v < 12 {
            w.absent(self.snapshot_id != SnapshotId::default(), "PartitionData.snapshot_id")?;
        }
        w.put(&self.aborted_transactions)?;
        if v >= 11 {
            w.put(&self.preferred_read_replica)?;
        } else {
            w.absent(self.preferred_read_replica != -1, "PartitionData.preferred_read_replica")?;
        }
        w.put(&self.records)?;
        if w.flexible() {
            let tag0 = self.diverging_epoch != EpochEndOffset::default();
            let tag1 = self.current_leader != LeaderIdAndEpoch::default();
            let tag2 = self.snapshot_id != SnapshotId::default();
            w.tag_count(u32::from(tag0) + u32::from(tag1) + u32::from(tag2));
            if tag0 {
                w.tag(0, &self.diverging_epoch)?;
            }
            if tag1 {
                w.tag(1, &self.current_leader)?;
            }
            if tag2 {
                w.tag(2, &self.snapshot_id)?;
            }
        }
        Ok(())
    }
}

/// Part of [`FetchResponse`] in versions 12 to 18.
#[derive(Clone, PartialEq, Debug)]
pub struct EpochEndOffset {
    /// `Epoch`, default -1.
    pub epoch: i32,
    /// `EndOffset`, default -1.
    pub end_offset: i64,
}

impl Default for EpochEndOffset {
    fn default() -> Self {
        Self { epoch: -1, end_offset: -1 }
    }
}

impl Codec for EpochEndOffset {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { epoch: r.get()?, end_offset: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.epoch)?;
        w.put(&self.end_offset)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`FetchResponse`] in versions 12 to 18.
#[derive(Clone, PartialEq, Debug)]
pub struct LeaderIdAndEpoch {
    /// `LeaderId`, default -1.
    pub leader_id: i32,
    /// `LeaderEpoch`, default -1.
    pub leader_epoch: i32,
}

impl Default for LeaderIdAndEpoch {
    fn default() -> Self {
        Self { leader_id: -1, leader_epoch: -1 }
    }
}

impl Codec for LeaderIdAndEpoch {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { leader_id: r.get()?, leader_epoch: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.leader_id)?;
        w.put(&self.leader_epoch)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`FetchResponse`] in versions 12 to 18.
#[derive(Clone, PartialEq, Debug)]
pub struct SnapshotId {
    /// `EndOffset`, default -1.
    pub end_offset: i64,
    /// `Epoch`, default -1.
    pub epoch: i32,
}

impl Default for SnapshotId {
    fn default() -> Self {
        Self { end_offset: -1, epoch: -1 }
    }
}

impl Codec for SnapshotId {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { end_offset: r.get()?, epoch: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.end_offset)?;
        w.put(&self.epoch)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`FetchResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AbortedTransaction {
    /// `ProducerId`.
    pub producer_id: i64,
    /// `FirstOffset`.
    pub first_offset: i64,
}

impl Codec for AbortedTransaction {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { producer_id: r.get()?, first_offset: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.producer_id)?;
        w.put(&self.first_offset)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`FetchResponse`] in versions 16 to 18.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NodeEndpoint {
    /// `NodeId`.
    pub node_id: i32,
    /// `Host`.
    pub host: String,
    /// `Port`.
    pub port: i32,
    /// `Rack`, may be null, default null.
    pub rack: Option<String>,
}

impl Codec for NodeEndpoint {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { node_id: r.get()?, host: r.get()?, port: r.get()?, rack: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.node_id)?;
        w.put(&self.host)?;
        w.put(&self.port)?;
        w.put(&self.rack)?;
        w.no_tags();
        Ok(())
    }
}

//! StreamsGroupHeartbeat (API key 88).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// StreamsGroupHeartbeatRequest, versions 0 to 1.
#[derive(Clone, PartialEq, Debug)]
pub struct StreamsGroupHeartbeatRequest {
    /// `GroupId`.
    pub group_id: String,
    /// `MemberId`.
    pub member_id: String,
    /// `MemberEpoch`.
    pub member_epoch: i32,
    /// `EndpointInformationEpoch`.
    pub endpoint_information_epoch: i32,
    /// `InstanceId`, may be null, default null.
    pub instance_id: Option<String>,
    /// `RackId`, may be null, default null.
    pub rack_id: Option<String>,
    /// `RebalanceTimeoutMs`, default -1.
    pub rebalance_timeout_ms: i32,
    /// `Topology`, may be null, default null.
    pub topology: Option<Topology>,
    /// `ActiveTasks`, may be null, default null.
    pub active_tasks: Option<Vec<RequestTaskIds>>,
    /// `StandbyTasks`, may be null, default null.
    pub standby_tasks: Option<Vec<RequestTaskIds>>,
    /// `WarmupTasks`, may be null, default null.
    pub warmup_tasks: Option<Vec<RequestTaskIds>>,
    /// `ProcessId`, may be null, default null.
    pub process_id: Option<String>,
    /// `UserEndpoint`, may be null, default null.
    pub user_endpoint: Option<RequestEndpoint>,
    /// `ClientTags`, may be null, default null.
    pub client_tags: Option<Vec<KeyValue>>,
    /// `TaskOffsets`, may be null, default null.
    pub task_offsets: Option<Vec<TaskOffset>>,
    /// `TaskEndOffsets`, may be null, default null.
    pub task_end_offsets: Option<Vec<TaskOffset>>,
    /// `ShutdownApplication`.
    pub shutdown_application: bool,
}

impl Default for StreamsGroupHeartbeatRequest {
    fn default() -> Self {
        Self {
            group_id: String::new(),
            member_id: String::new(),
            member_epoch: 0,
            endpoint_information_epoch: 0,
            instance_id: None,
            rack_id: None,
            rebalance_timeout_ms: -1,
            topology: None,
            active_tasks: None,
            standby_tasks: None,
            warmup_tasks: None,
            process_id: None,
            user_endpoint: None,
            client_tags: None,
            task_offsets: None,
            task_end_offsets: None,
            shutdown_application: false,
        }
    }
}

impl Codec for StreamsGroupHeartbeatRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            group_id: r.get()?,
            member_id: r.get()?,
            member_epoch: r.get()?,
            endpoint_information_epoch: r.get()?,
            instance_id: r.get()?,
            rack_id: r.get()?,
            rebalance_timeout_ms: r.get()?,
            topology: r.get_struct()?,
            active_tasks: r.get()?,
            standby_tasks: r.get()?,
            warmup_tasks: r.get()?,
            process_id: r.get()?,
            user_endpoint: r.get_struct()?,
            client_tags: r.get()?,
            task_offsets: r.get()?,
            task_end_offsets: r.get()?,
            shutdown_application: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.group_id)?;
        w.put(&self.member_id)?;
        w.put(&self.member_epoch)?;
        w.put(&self.endpoint_information_epoch)?;
        w.put(&self.instance_id)?;
        w.put(&self.rack_id)?;
        w.put(&self.rebalance_timeout_ms)?;
        w.put_struct(&self.topology)?;
        w.put(&self.active_tasks)?;
        w.put(&self.standby_tasks)?;
        w.put(&self.warmup_tasks)?;
        w.put(&self.process_id)?;
        w.put_struct(&self.user_endpoint)?;
        w.put(&self.client_tags)?;
        w.put(&self.task_offsets)?;
        w.put(&self.task_end_offsets)?;
        w.put(&self.shutdown_application)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for StreamsGroupHeartbeatRequest {
    const NAME: &'static str = "StreamsGroupHeartbeatRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
    const FIRST_FLEXIBLE: i16 = 0;
}

impl Request for StreamsGroupHeartbeatRequest {
    const API_KEY: i16 = 88;
    type Response = StreamsGroupHeartbeatResponse;
}

/// Part of [`StreamsGroupHeartbeatRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Topology {
    /// `Epoch`.
    pub epoch: i32,
    /// `Subtopologies`.
    pub subtopologies: Vec<Subtopology>,
}

impl Codec for Topology {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { epoch: r.get()?, subtopologies: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.epoch)?;
        w.put(&self.subtopologies)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`StreamsGroupHeartbeatRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Subtopology {
    /// `SubtopologyId`.
    pub subtopology_id: String,
    /// `SourceTopics`.
    pub source_topics: Vec<String>,
    /// `SourceTopicRegex`.
    pub source_topic_regex: Vec<String>,
    /// `StateChangelogTopics`.
    pub state_changelog_topics: Vec<TopicInfo>,
    /// `RepartitionSinkTopics`.
    pub repartition_sink_topics: Vec<String>,
    /// `RepartitionSourceTopics`.
    pub repartition_source_topics: Vec<TopicInfo>,
    /// `CopartitionGroups`.
    pub copartition_groups: Vec<CopartitionGroup>,
}

impl Codec for Subtopology {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            subtopology_id: r.get()?,
            source_topics: r.get()?,
            source_topic_regex: r.get()?,
            state_changelog_topics: r.get()?,
            repartition_sink_topics: r.get()?,
            repartition_source_topics: r.get()?,
            copartition_groups: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.subtopology_id)?;
        w.put(&self.source_topics)?;
        w.put(&self.source_topic_regex)?;
        w.put(&self.state_changelog_topics)?;
        w.put(&self.repartition_sink_topics)?;
        w.put(&self.repartition_source_topics)?;
        w.put(&self.copartition_groups)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`StreamsGroupHeartbeatRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CopartitionGroup {
    /// `SourceTopics`.
    pub source_topics: Vec<i16>,
    /// `SourceTopicRegex`.
    pub source_topic_regex: Vec<i16>,
    /// `RepartitionSourceTopics`.
    pub repartition_source_topics: Vec<i16>,
}

impl Codec for CopartitionGroup {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            source_topics: r.get()?,
            source_topic_regex: r.get()?,
            repartition_source_topics: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.source_topics)?;
        w.put(&self.source_topic_regex)?;
        w.put(&self.repartition_source_topics)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`StreamsGroupHeartbeatRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct KeyValue {
    /// `Key`.
    pub key: String,
    /// `Value`.
    pub value: String,
}

impl Codec for KeyValue {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { key: r.get()?, value: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.key)?;
        w.put(&self.value)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`StreamsGroupHeartbeatRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicInfo {
    /// `Name`.
    pub name: String,
    /// `Partitions`.
    pub partitions: i32,
    /// `ReplicationFactor`.
    pub replication_factor: i16,
    /// `TopicConfigs`.
    pub topic_configs: Vec<KeyValue>,
}

impl Codec for TopicInfo {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            name: r.get()?,
            partitions: r.get()?,
            replication_factor: r.get()?,
            topic_configs: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.partitions)?;
        w.put(&self.replication_factor)?;
        w.put(&self.topic_configs)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`StreamsGroupHeartbeatRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RequestEndpoint {
    /// `Host`.
    pub host: String,
    /// `Port`.
    pub port: u16,
}

impl Codec for RequestEndpoint {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { host: r.get()?, port: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.host)?;
        w.put(&self.port)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`StreamsGroupHeartbeatRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TaskOffset {
    /// `SubtopologyId`.
    pub subtopology_id: String,
    /// `Partition`.
    pub partition: i32,
    /// `Offset`.
    pub offset: i64,
}

impl Codec for TaskOffset {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { subtopology_id: r.get()?, partition: r.get()?, offset: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.subtopology_id)?;
        w.put(&self.partition)?;
        w.put(&self.offset)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`StreamsGroupHeartbeatRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RequestTaskIds {
    /// `SubtopologyId`.
    pub subtopology_id: String,
    /// `Partitions`.
    pub partitions: Vec<i32>,
}

impl Codec for RequestTaskIds {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { subtopology_id: r.get()?, partitions: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.subtopology_id)?;
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// StreamsGroupHeartbeatResponse, versions 0 to 1.
#[derive(Clone, PartialEq, Debug)]
pub struct StreamsGroupHeartbeatResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default null.
    pub error_message: Option<String>,
    /// `MemberId`.
    pub member_id: String,
    /// `MemberEpoch`.
    pub member_epoch: i32,
    /// `HeartbeatIntervalMs`.
    pub heartbeat_interval_ms: i32,
    /// `AcceptableRecoveryLagLegacy`, version 0.
    pub acceptable_recovery_lag_legacy: i32,
    /// `TaskOffsetIntervalMs`.
    pub task_offset_interval_ms: i32,
    /// `AcceptableRecoveryLag`, version 1 (left out of others), default -1.
    pub acceptable_recovery_lag: i64,
    /// `Status`, may be null, default empty, not null.
    pub status: Option<Vec<Status>>,
    /// `ActiveTasks`, may be null, default null.
    pub active_tasks: Option<Vec<ResponseTaskIds>>,
    /// `StandbyTasks`, may be null, default null.
    pub standby_tasks: Option<Vec<ResponseTaskIds>>,
    /// `WarmupTasks`, may be null, default null.
    pub warmup_tasks: Option<Vec<ResponseTaskIds>>,
    /// `TopologyDescriptionRequired`, version 1.
    pub topology_description_required: bool,
    /// `EndpointInformationEpoch`.
    pub endpoint_information_epoch: i32,
    /// `PartitionsByUserEndpoint`, may be null, default null.
    pub partitions_by_user_endpoint: Option<Vec<EndpointToPartitions>>,
}

impl Default for StreamsGroupHeartbeatResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: 0,
            error_message: None,
            member_id: String::new(),
            member_epoch: 0,
            heartbeat_interval_ms: 0,
            acceptable_recovery_lag_legacy: 0,
            task_offset_interval_ms: 0,
            acceptable_recovery_lag: -1,
            status: Some(Vec::<Status>::default()),
            active_tasks: None,
            standby_tasks: None,
            warmup_tasks: None,
            topology_description_required: false,
            endpoint_information_epoch: 0,
            partitions_by_user_endpoint: None,
        }
    }
}

impl Codec for StreamsGroupHeartbeatResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            throttle_time_ms: r.get()?,
            error_code: r.get()?,
            error_message: r.get()?,
            member_id: r.get()?,
            member_epoch: r.get()?,
            heartbeat_interval_ms: r.get()?,
            acceptable_recovery_lag_legacy: if v == 0 { r.get()? } else { 0 },
            task_offset_interval_ms: r.get()?,
            acceptable_recovery_lag: if v == 1 { r.get()? } else { -1 },
            status: r.get()?,
            active_tasks: r.get()?,
            standby_tasks: r.get()?,
            warmup_tasks: r.get()?,
            topology_description_required: if v == 1 { r.get()? } else { false },
            endpoint_information_epoch: r.get()?,
            partitions_by_user_endpoint: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.throttle_time_ms)?;
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        w.put(&self.member_id)?;
        w.put(&self.member_epoch)?;
        w.put(&self.heartbeat_interval_ms)?;
        if v == 0 {
            w.put(&self.acceptable_recovery_lag_legacy)?;
        } else {
            w.absent(
                self.acceptable_recovery_lag_legacy != 0,
                "StreamsGroupHeartbeatResponse.acceptable_recovery_lag_legacy",
            )?;
        }
        w.put(&self.task_offset_interval_ms)?;
        if v == 1 {
            w.put(&self.acceptable_recovery_lag)?;
        }
        w.put(&self.status)?;
        w.put(&self.active_tasks)?;
        w.put(&self.standby_tasks)?;
        w.put(&self.warmup_tasks)?;
        if v == 1 {
            w.put(&self.topology_description_required)?;
        } else {
            w.absent(
                self.topology_description_required,
                "StreamsGroupHeartbeatResponse.topology_description_required",
            )?;
        }
        w.put(&self.endpoint_information_epoch)?;
        w.put(&self.partitions_by_user_endpoint)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for StreamsGroupHeartbeatResponse {
    const NAME: &'static str = "StreamsGroupHeartbeatResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
    const FIRST_FLEXIBLE: i16 = 0;
}

impl Response for StreamsGroupHeartbeatResponse {}

/// Part of [`StreamsGroupHeartbeatResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EndpointToPartitions {
    /// `UserEndpoint`.
    pub user_endpoint: ResponseEndpoint,
    /// `ActivePartitions`.
    pub active_partitions: Vec<TopicPartition>,
    /// `StandbyPartitions`.
    pub standby_partitions: Vec<TopicPartition>,
}

impl Codec for EndpointToPartitions {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            user_endpoint: r.get()?,
            active_partitions: r.get()?,
            standby_partitions: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.user_endpoint)?;
        w.put(&self.active_partitions)?;
        w.put(&self.standby_partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`StreamsGroupHeartbeatResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Status {
    /// `StatusCode`.
    pub status_code: i8,
    /// `StatusDetail`.
    pub status_detail: String,
}

impl Codec for Status {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { status_code: r.get()?, status_detail: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.status_code)?;
        w.put(&self.status_detail)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`StreamsGroupHeartbeatResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicPartition {
    /// `Topic`.
    pub topic: String,
    /// `Partitions`.
    pub partitions: Vec<i32>,
}

impl Codec for TopicPartition {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { topic: r.get()?, partitions: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.topic)?;
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`StreamsGroupHeartbeatResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ResponseTaskIds {
    /// `SubtopologyId`.
    pub subtopology_id: String,
    /// `Partitions`.
    pub partitions: Vec<i32>,
}

impl Codec for ResponseTaskIds {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { subtopology_id: r.get()?, partitions: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.subtopology_id)?;
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`StreamsGroupHeartbeatResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ResponseEndpoint {
    /// `Host`.
    pub host: String,
    /// `Port`.
    pub port: u16,
}

impl Codec for ResponseEndpoint {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { host: r.get()?, port: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.host)?;
        w.put(&self.port)?;
        w.no_tags();
        Ok(())
    }
}

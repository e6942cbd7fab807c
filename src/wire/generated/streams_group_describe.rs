//! StreamsGroupDescribe (API key 89).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// StreamsGroupDescribeRequest, versions 0 to 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StreamsGroupDescribeRequest {
    /// `GroupIds`.
    pub group_ids: Vec<String>,
    /// `IncludeAuthorizedOperations`.
    pub include_authorized_operations: bool,
    /// `IncludeTopologyDescription`, version 1.
    pub include_topology_description: bool,
}

impl Codec for StreamsGroupDescribeRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            group_ids: r.get()?,
            include_authorized_operations: r.get()?,
            include_topology_description: if v == 1 { r.get()? } else { false },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.group_ids)?;
        w.put(&self.include_authorized_operations)?;
        if v == 1 {
            w.put(&self.include_topology_description)?;
        } else {
            w.absent(
                self.include_topology_description,
                "StreamsGroupDescribeRequest.include_topology_description",
            )?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for StreamsGroupDescribeRequest {
    const NAME: &'static str = "StreamsGroupDescribeRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
    const FIRST_FLEXIBLE: i16 = 0;
}

impl Request for StreamsGroupDescribeRequest {
    const API_KEY: i16 = 89;
    type Response = StreamsGroupDescribeResponse;
}

/// StreamsGroupDescribeResponse, versions 0 to 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StreamsGroupDescribeResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `Groups`.
    pub groups: Vec<DescribedGroup>,
}

impl Codec for StreamsGroupDescribeResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { throttle_time_ms: r.get()?, groups: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.throttle_time_ms)?;
        w.put(&self.groups)?;
        w.no_tags();
        Ok(())
    }
}

impl Message for StreamsGroupDescribeResponse {
    const NAME: &'static str = "StreamsGroupDescribeResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 1;
    const FIRST_FLEXIBLE: i16 = 0;
}

impl Response for StreamsGroupDescribeResponse {}

/// Part of [`StreamsGroupDescribeResponse`].
#[derive(Clone, PartialEq, Debug)]
pub struct DescribedGroup {
    /// `ErrorCode`.
    pub error_code: i16,
    /// `ErrorMessage`, may be null, default null.
    pub error_message: Option<String>,
    /// `GroupId`.
    pub group_id: String,
    /// `GroupState`.
    pub group_state: String,
    /// `GroupEpoch`.
    pub group_epoch: i32,
    /// `AssignmentEpoch`.
    pub assignment_epoch: i32,
    /// `Topology`, may be null, default null.
    pub topology: Option<Topology>,
    /// `Members`.
    pub members: Vec<Member>,
    /// `AuthorizedOperations`, default -2147483648.
    pub authorized_operations: i32,
    /// `TopologyDescription`, version 1, may be null, default null.
    pub topology_description: Option<TopologyDescription>,
    /// `TopologyDescriptionStatus`, version 1.
    pub topology_description_status: i8,
    /// `AssignorName`, version 1 (left out of others), may be null, default null.
    pub assignor_name: Option<String>,
}

impl Default for DescribedGroup {
    fn default() -> Self {
        Self {
            error_code: 0,
            error_message: None,
            group_id: String::new(),
            group_state: String::new(),
            group_epoch: 0,
            assignment_epoch: 0,
            topology: None,
            members: Vec::new(),
            authorized_operations: i32::MIN,
            topology_description: None,
            topology_description_status: 0,
            assignor_name: None,
        }
    }
}

impl Codec for DescribedGroup {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            error_code: r.get()?,
            error_message: r.get()?,
            group_id: r.get()?,
            group_state: r.get()?,
            group_epoch: r.get()?,
            assignment_epoch: r.get()?,
            topology: r.get_struct()?,
            members: r.get()?,
            authorized_operations: r.get()?,
            topology_description: if v == 1 { r.get_struct()? } else { None },
            topology_description_status: if v == 1 { r.get()? } else { 0 },
            assignor_name: if v == 1 { r.get()? } else { None },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.error_code)?;
        w.put(&self.error_message)?;
        w.put(&self.group_id)?;
        w.put(&self.group_state)?;
        w.put(&self.group_epoch)?;
        w.put(&self.assignment_epoch)?;
        w.put_struct(&self.topology)?;
        w.put(&self.members)?;
        w.put(&self.authorized_operations)?;
        if v == 1 {
            w.put_struct(&self.topology_description)?;
        } else {
            w.absent(self.topology_description.is_some(), "DescribedGroup.topology_description")?;
        }
        if v == 1 {
            w.put(&self.topology_description_status)?;
        } else {
            w.absent(
                self.topology_description_status != 0,
                "DescribedGroup.topology_description_status",
            )?;
        }
        if v == 1 {
            w.put(&self.assignor_name)?;
        }
        w.no_tags();
        Ok(())
    }
}

/// Part of [`StreamsGroupDescribeResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Topology {
    /// `Epoch`.
    pub epoch: i32,
    /// `Subtopologies`, may be null, default null.
    pub subtopologies: Option<Vec<Subtopology>>,
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

/// Part of [`StreamsGroupDescribeResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Subtopology {
    /// `SubtopologyId`.
    pub subtopology_id: String,
    /// `SourceTopics`.
    pub source_topics: Vec<String>,
    /// `RepartitionSinkTopics`.
    pub repartition_sink_topics: Vec<String>,
    /// `StateChangelogTopics`.
    pub state_changelog_topics: Vec<TopicInfo>,
    /// `RepartitionSourceTopics`.
    pub repartition_source_topics: Vec<TopicInfo>,
}

impl Codec for Subtopology {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            subtopology_id: r.get()?,
            source_topics: r.get()?,
            repartition_sink_topics: r.get()?,
            state_changelog_topics: r.get()?,
            repartition_source_topics: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.subtopology_id)?;
        w.put(&self.source_topics)?;
        w.put(&self.repartition_sink_topics)?;
        w.put(&self.state_changelog_topics)?;
        w.put(&self.repartition_source_topics)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`StreamsGroupDescribeResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Member {
    /// `MemberId`.
    pub member_id: String,
    /// `MemberEpoch`.
    pub member_epoch: i32,
    /// `InstanceId`, may be null, default null.
    pub instance_id: Option<String>,
    /// `RackId`, may be null, default null.
    pub rack_id: Option<String>,
    /// `ClientId`.
    pub client_id: String,
    /// `ClientHost`.
    pub client_host: String,
    /// `TopologyEpoch`.
    pub topology_epoch: i32,
    /// `ProcessId`.
    pub process_id: String,
    /// `UserEndpoint`, may be null, default null.
    pub user_endpoint: Option<Endpoint>,
    /// `ClientTags`.
    pub client_tags: Vec<KeyValue>,
    /// `TaskOffsets`.
    pub task_offsets: Vec<TaskOffset>,
    /// `TaskEndOffsets`.
    pub task_end_offsets: Vec<TaskOffset>,
    /// `Assignment`.
    pub assignment: Assignment,
    /// `TargetAssignment`.
    pub target_assignment: Assignment,
    /// `IsClassic`.
    pub is_classic: bool,
}

impl Codec for Member {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            member_id: r.get()?,
            member_epoch: r.get()?,
            instance_id: r.get()?,
            rack_id: r.get()?,
            client_id: r.get()?,
            client_host: r.get()?,
            topology_epoch: r.get()?,
            process_id: r.get()?,
            user_endpoint: r.get_struct()?,
            client_tags: r.get()?,
            task_offsets: r.get()?,
            task_end_offsets: r.get()?,
            assignment: r.get()?,
            target_assignment: r.get()?,
            is_classic: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.member_id)?;
        w.put(&self.member_epoch)?;
        w.put(&self.instance_id)?;
        w.put(&self.rack_id)?;
        w.put(&self.client_id)?;
        w.put(&self.client_host)?;
        w.put(&self.topology_epoch)?;
        w.put(&self.process_id)?;
        w.put_struct(&self.user_endpoint)?;
        w.put(&self.client_tags)?;
        w.put(&self.task_offsets)?;
        w.put(&self.task_end_offsets)?;
        w.put(&self.assignment)?;
        w.put(&self.target_assignment)?;
        w.put(&self.is_classic)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`StreamsGroupDescribeResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Endpoint {
    /// `Host`.
    pub host: String,
    /// `Port`.
    pub port: u16,
}

impl Codec for Endpoint {
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

/// Part of [`StreamsGroupDescribeResponse`].
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

/// Part of [`StreamsGroupDescribeResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Assignment {
    /// `ActiveTasks`.
    pub active_tasks: Vec<TaskIds>,
    /// `StandbyTasks`.
    pub standby_tasks: Vec<TaskIds>,
    /// `WarmupTasks`.
    pub warmup_tasks: Vec<TaskIds>,
}

impl Codec for Assignment {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { active_tasks: r.get()?, standby_tasks: r.get()?, warmup_tasks: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.active_tasks)?;
        w.put(&self.standby_tasks)?;
        w.put(&self.warmup_tasks)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`StreamsGroupDescribeResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TaskIds {
    /// `SubtopologyId`.
    pub subtopology_id: String,
    /// `Partitions`.
    pub partitions: Vec<i32>,
}

impl Codec for TaskIds {
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

/// Part of [`StreamsGroupDescribeResponse`].
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

/// Part of [`StreamsGroupDescribeResponse`].
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

/// Part of [`StreamsGroupDescribeResponse`] in version 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopologyDescription {
    /// `Subtopologies`.
    pub subtopologies: Vec<TopologyDescriptionSubtopology>,
    /// `GlobalStores`.
    pub global_stores: Vec<TopologyDescriptionGlobalStore>,
}

impl Codec for TopologyDescription {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { subtopologies: r.get()?, global_stores: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.subtopologies)?;
        w.put(&self.global_stores)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`StreamsGroupDescribeResponse`] in version 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopologyDescriptionSubtopology {
    /// `SubtopologyId`.
    pub subtopology_id: String,
    /// `Nodes`.
    pub nodes: Vec<TopologyDescriptionNode>,
}

impl Codec for TopologyDescriptionSubtopology {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { subtopology_id: r.get()?, nodes: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.subtopology_id)?;
        w.put(&self.nodes)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`StreamsGroupDescribeResponse`] in version 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopologyDescriptionNode {
    /// `Name`.
    pub name: String,
    /// `NodeType`.
    pub node_type: i8,
    /// `SourceTopics`.
    pub source_topics: Vec<String>,
    /// `SinkTopic`, may be null, default null.
    pub sink_topic: Option<String>,
    /// `Stores`.
    pub stores: Vec<String>,
    /// `Successors`.
    pub successors: Vec<String>,
}

impl Codec for TopologyDescriptionNode {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            name: r.get()?,
            node_type: r.get()?,
            source_topics: r.get()?,
            sink_topic: r.get()?,
            stores: r.get()?,
            successors: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.node_type)?;
        w.put(&self.source_topics)?;
        w.put(&self.sink_topic)?;
        w.put(&self.stores)?;
        w.put(&self.successors)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`StreamsGroupDescribeResponse`] in version 1.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopologyDescriptionGlobalStore {
    /// `Source`.
    pub source: TopologyDescriptionNode,
    /// `Processor`.
    pub processor: TopologyDescriptionNode,
}

impl Codec for TopologyDescriptionGlobalStore {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { source: r.get()?, processor: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.source)?;
        w.put(&self.processor)?;
        w.no_tags();
        Ok(())
    }
}

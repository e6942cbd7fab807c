// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::streams_group_describe::*;

use crate::sample::{Gen, Sample};

impl Sample for StreamsGroupDescribeRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            group_ids: g.any(),
            include_authorized_operations: g.any(),
            include_topology_description: if (1..=1).contains(&v) {
                g.any()
            } else {
                default.include_topology_description
            },
        }
    }
}

impl Sample for StreamsGroupDescribeResponse {
    fn sample(g: &mut Gen) -> Self {
        Self { throttle_time_ms: g.any(), groups: g.any() }
    }
}

impl Sample for DescribedGroup {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            error_code: g.any(),
            error_message: g.option(),
            group_id: g.any(),
            group_state: g.any(),
            group_epoch: g.any(),
            assignment_epoch: g.any(),
            topology: g.option(),
            members: g.any(),
            authorized_operations: g.any(),
            topology_description: if (1..=1).contains(&v) {
                g.option()
            } else {
                default.topology_description
            },
            topology_description_status: if (1..=1).contains(&v) {
                g.any()
            } else {
                default.topology_description_status
            },
            assignor_name: if (1..=1).contains(&v) { g.option() } else { default.assignor_name },
        }
    }
}

impl Sample for Topology {
    fn sample(g: &mut Gen) -> Self {
        Self { epoch: g.any(), subtopologies: g.option() }
    }
}

impl Sample for Subtopology {
    fn sample(g: &mut Gen) -> Self {
        Self {
            subtopology_id: g.any(),
            source_topics: g.any(),
            repartition_sink_topics: g.any(),
            state_changelog_topics: g.any(),
            repartition_source_topics: g.any(),
        }
    }
}

impl Sample for Member {
    fn sample(g: &mut Gen) -> Self {
        Self {
            member_id: g.any(),
            member_epoch: g.any(),
            instance_id: g.option(),
            rack_id: g.option(),
            client_id: g.any(),
            client_host: g.any(),
            topology_epoch: g.any(),
            process_id: g.any(),
            user_endpoint: g.option(),
            client_tags: g.any(),
            task_offsets: g.any(),
            task_end_offsets: g.any(),
            assignment: g.any(),
            target_assignment: g.any(),
            is_classic: g.any(),
        }
    }
}

impl Sample for Endpoint {
    fn sample(g: &mut Gen) -> Self {
        Self { host: g.any(), port: g.any() }
    }
}

impl Sample for TaskOffset {
    fn sample(g: &mut Gen) -> Self {
        Self { subtopology_id: g.any(), partition: g.any(), offset: g.any() }
    }
}

impl Sample for Assignment {
    fn sample(g: &mut Gen) -> Self {
        Self { active_tasks: g.any(), standby_tasks: g.any(), warmup_tasks: g.any() }
    }
}

impl Sample for TaskIds {
    fn sample(g: &mut Gen) -> Self {
        Self { subtopology_id: g.any(), partitions: g.any() }
    }
}

impl Sample for KeyValue {
    fn sample(g: &mut Gen) -> Self {
        Self { key: g.any(), value: g.any() }
    }
}

impl Sample for TopicInfo {
    fn sample(g: &mut Gen) -> Self {
        Self {
            name: g.any(),
            partitions: g.any(),
            replication_factor: g.any(),
            topic_configs: g.any(),
        }
    }
}

impl Sample for TopologyDescription {
    fn sample(g: &mut Gen) -> Self {
        Self { subtopologies: g.any(), global_stores: g.any() }
    }
}

impl Sample for TopologyDescriptionSubtopology {
    fn sample(g: &mut Gen) -> Self {
        Self { subtopology_id: g.any(), nodes: g.any() }
    }
}

impl Sample for TopologyDescriptionNode {
    fn sample(g: &mut Gen) -> Self {
        Self {
            name: g.any(),
            node_type: g.any(),
            source_topics: g.any(),
            sink_topic: g.option(),
            stores: g.any(),
            successors: g.any(),
        }
    }
}

impl Sample for TopologyDescriptionGlobalStore {
    fn sample(g: &mut Gen) -> Self {
        Self { source: g.any(), processor: g.any() }
    }
}

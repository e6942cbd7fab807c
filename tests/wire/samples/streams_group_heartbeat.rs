// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::streams_group_heartbeat::*;

use crate::sample::{Gen, Sample};

impl Sample for StreamsGroupHeartbeatRequest {
    fn sample(g: &mut Gen) -> Self {
        Self {
            group_id: g.any(),
            member_id: g.any(),
            member_epoch: g.any(),
            endpoint_information_epoch: g.any(),
            instance_id: g.option(),
            rack_id: g.option(),
            rebalance_timeout_ms: g.any(),
            topology: g.option(),
            active_tasks: g.option(),
            standby_tasks: g.option(),
            warmup_tasks: g.option(),
            process_id: g.option(),
            user_endpoint: g.option(),
            client_tags: g.option(),
            task_offsets: g.option(),
            task_end_offsets: g.option(),
            shutdown_application: g.any(),
        }
    }
}

impl Sample for Topology {
    fn sample(g: &mut Gen) -> Self {
        Self { epoch: g.any(), subtopologies: g.any() }
    }
}

impl Sample for Subtopology {
    fn sample(g: &mut Gen) -> Self {
        Self {
            subtopology_id: g.any(),
            source_topics: g.any(),
            source_topic_regex: g.any(),
            state_changelog_topics: g.any(),
            repartition_sink_topics: g.any(),
            repartition_source_topics: g.any(),
            copartition_groups: g.any(),
        }
    }
}

impl Sample for CopartitionGroup {
    fn sample(g: &mut Gen) -> Self {
        Self {
            source_topics: g.any(),
            source_topic_regex: g.any(),
            repartition_source_topics: g.any(),
        }
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

impl Sample for RequestEndpoint {
    fn sample(g: &mut Gen) -> Self {
        Self { host: g.any(), port: g.any() }
    }
}

impl Sample for TaskOffset {
    fn sample(g: &mut Gen) -> Self {
        Self { subtopology_id: g.any(), partition: g.any(), offset: g.any() }
    }
}

impl Sample for RequestTaskIds {
    fn sample(g: &mut Gen) -> Self {
        Self { subtopology_id: g.any(), partitions: g.any() }
    }
}

impl Sample for StreamsGroupHeartbeatResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            throttle_time_ms: g.any(),
            error_code: g.any(),
            error_message: g.option(),
            member_id: g.any(),
            member_epoch: g.any(),
            heartbeat_interval_ms: g.any(),
            acceptable_recovery_lag_legacy: if (0..=0).contains(&v) {
                g.any()
            } else {
                default.acceptable_recovery_lag_legacy
            },
            task_offset_interval_ms: g.any(),
            acceptable_recovery_lag: if (1..=1).contains(&v) {
                g.any()
            } else {
                default.acceptable_recovery_lag
            },
            status: g.option(),
            active_tasks: g.option(),
            standby_tasks: g.option(),
            warmup_tasks: g.option(),
            topology_description_required: if (1..=1).contains(&v) {
                g.any()
            } else {
                default.topology_description_required
            },
            endpoint_information_epoch: g.any(),
            partitions_by_user_endpoint: g.option(),
        }
    }
}

impl Sample for EndpointToPartitions {
    fn sample(g: &mut Gen) -> Self {
        Self { user_endpoint: g.any(), active_partitions: g.any(), standby_partitions: g.any() }
    }
}

impl Sample for Status {
    fn sample(g: &mut Gen) -> Self {
        Self { status_code: g.any(), status_detail: g.any() }
    }
}

impl Sample for TopicPartition {
    fn sample(g: &mut Gen) -> Self {
        Self { topic: g.any(), partitions: g.any() }
    }
}

impl Sample for ResponseTaskIds {
    fn sample(g: &mut Gen) -> Self {
        Self { subtopology_id: g.any(), partitions: g.any() }
    }
}

impl Sample for ResponseEndpoint {
    fn sample(g: &mut Gen) -> Self {
        Self { host: g.any(), port: g.any() }
    }
}

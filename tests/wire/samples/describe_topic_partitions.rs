// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::describe_topic_partitions::*;

use crate::sample::{Gen, Sample};

impl Sample for DescribeTopicPartitionsRequest {
    fn sample(g: &mut Gen) -> Self {
        Self { topics: g.any(), response_partition_limit: g.any(), cursor: g.option() }
    }
}

impl Sample for TopicRequest {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.any() }
    }
}

impl Sample for RequestCursor {
    fn sample(g: &mut Gen) -> Self {
        Self { topic_name: g.any(), partition_index: g.any() }
    }
}

impl Sample for DescribeTopicPartitionsResponse {
    fn sample(g: &mut Gen) -> Self {
        Self { throttle_time_ms: g.any(), topics: g.any(), next_cursor: g.option() }
    }
}

impl Sample for DescribeTopicPartitionsResponseTopic {
    fn sample(g: &mut Gen) -> Self {
        Self {
            error_code: g.any(),
            name: g.option(),
            topic_id: g.any(),
            is_internal: g.any(),
            partitions: g.any(),
            topic_authorized_operations: g.any(),
        }
    }
}

impl Sample for DescribeTopicPartitionsResponsePartition {
    fn sample(g: &mut Gen) -> Self {
        Self {
            error_code: g.any(),
            partition_index: g.any(),
            leader_id: g.any(),
            leader_epoch: g.any(),
            replica_nodes: g.any(),
            isr_nodes: g.any(),
            eligible_leader_replicas: g.option(),
            last_known_elr: g.option(),
            offline_replicas: g.any(),
        }
    }
}

impl Sample for ResponseCursor {
    fn sample(g: &mut Gen) -> Self {
        Self { topic_name: g.any(), partition_index: g.any() }
    }
}

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::consumer_group_heartbeat::*;

use crate::sample::{Gen, Sample};

impl Sample for ConsumerGroupHeartbeatRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            group_id: g.any(),
            member_id: g.any(),
            member_epoch: g.any(),
            instance_id: g.option(),
            rack_id: g.option(),
            rebalance_timeout_ms: g.any(),
            subscribed_topic_names: g.option(),
            subscribed_topic_regex: if (1..=1).contains(&v) {
                g.option()
            } else {
                default.subscribed_topic_regex
            },
            server_assignor: g.option(),
            topic_partitions: g.option(),
        }
    }
}

impl Sample for RequestTopicPartitions {
    fn sample(g: &mut Gen) -> Self {
        Self { topic_id: g.any(), partitions: g.any() }
    }
}

impl Sample for ConsumerGroupHeartbeatResponse {
    fn sample(g: &mut Gen) -> Self {
        Self {
            throttle_time_ms: g.any(),
            error_code: g.any(),
            error_message: g.option(),
            member_id: g.option(),
            member_epoch: g.any(),
            heartbeat_interval_ms: g.any(),
            assignment: g.option(),
        }
    }
}

impl Sample for Assignment {
    fn sample(g: &mut Gen) -> Self {
        Self { topic_partitions: g.any() }
    }
}

impl Sample for ResponseTopicPartitions {
    fn sample(g: &mut Gen) -> Self {
        Self { topic_id: g.any(), partitions: g.any() }
    }
}

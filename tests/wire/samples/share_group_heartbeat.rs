// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::share_group_heartbeat::*;

use crate::sample::{Gen, Sample};

impl Sample for ShareGroupHeartbeatRequest {
    fn sample(g: &mut Gen) -> Self {
        Self {
            group_id: g.any(),
            member_id: g.any(),
            member_epoch: g.any(),
            rack_id: g.option(),
            subscribed_topic_names: g.option(),
        }
    }
}

impl Sample for ShareGroupHeartbeatResponse {
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

impl Sample for TopicPartitions {
    fn sample(g: &mut Gen) -> Self {
        Self { topic_id: g.any(), partitions: g.any() }
    }
}

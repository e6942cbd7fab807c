// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::share_group_describe::*;

use crate::sample::{Gen, Sample};

impl Sample for ShareGroupDescribeRequest {
    fn sample(g: &mut Gen) -> Self {
        Self { group_ids: g.any(), include_authorized_operations: g.any() }
    }
}

impl Sample for ShareGroupDescribeResponse {
    fn sample(g: &mut Gen) -> Self {
        Self { throttle_time_ms: g.any(), groups: g.any() }
    }
}

impl Sample for DescribedGroup {
    fn sample(g: &mut Gen) -> Self {
        Self {
            error_code: g.any(),
            error_message: g.option(),
            group_id: g.any(),
            group_state: g.any(),
            group_epoch: g.any(),
            assignment_epoch: g.any(),
            assignor_name: g.any(),
            members: g.any(),
            authorized_operations: g.any(),
        }
    }
}

impl Sample for Member {
    fn sample(g: &mut Gen) -> Self {
        Self {
            member_id: g.any(),
            rack_id: g.option(),
            member_epoch: g.any(),
            client_id: g.any(),
            client_host: g.any(),
            subscribed_topic_names: g.any(),
            assignment: g.any(),
        }
    }
}

impl Sample for TopicPartitions {
    fn sample(g: &mut Gen) -> Self {
        Self { topic_id: g.any(), topic_name: g.any(), partitions: g.any() }
    }
}

impl Sample for Assignment {
    fn sample(g: &mut Gen) -> Self {
        Self { topic_partitions: g.any() }
    }
}

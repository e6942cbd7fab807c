// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::consumer_group_describe::*;

use crate::sample::{Gen, Sample};

impl Sample for ConsumerGroupDescribeRequest {
    fn sample(g: &mut Gen) -> Self {
        Self { group_ids: g.any(), include_authorized_operations: g.any() }
    }
}

impl Sample for ConsumerGroupDescribeResponse {
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
        let v = g.version();
        let default = Self::default();
        Self {
            member_id: g.any(),
            instance_id: g.option(),
            rack_id: g.option(),
            member_epoch: g.any(),
            client_id: g.any(),
            client_host: g.any(),
            subscribed_topic_names: g.any(),
            subscribed_topic_regex: g.option(),
            assignment: g.any(),
            target_assignment: g.any(),
            member_type: if (1..=1).contains(&v) { g.any() } else { default.member_type },
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

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::describe_share_group_offsets::*;

use crate::sample::{Gen, Sample};

impl Sample for DescribeShareGroupOffsetsRequest {
    fn sample(g: &mut Gen) -> Self {
        Self { groups: g.any() }
    }
}

impl Sample for DescribeShareGroupOffsetsRequestGroup {
    fn sample(g: &mut Gen) -> Self {
        Self { group_id: g.any(), topics: g.option() }
    }
}

impl Sample for DescribeShareGroupOffsetsRequestTopic {
    fn sample(g: &mut Gen) -> Self {
        Self { topic_name: g.any(), partitions: g.any() }
    }
}

impl Sample for DescribeShareGroupOffsetsResponse {
    fn sample(g: &mut Gen) -> Self {
        Self { throttle_time_ms: g.any(), groups: g.any() }
    }
}

impl Sample for DescribeShareGroupOffsetsResponseGroup {
    fn sample(g: &mut Gen) -> Self {
        Self { group_id: g.any(), topics: g.any(), error_code: g.any(), error_message: g.option() }
    }
}

impl Sample for DescribeShareGroupOffsetsResponseTopic {
    fn sample(g: &mut Gen) -> Self {
        Self { topic_name: g.any(), topic_id: g.any(), partitions: g.any() }
    }
}

impl Sample for DescribeShareGroupOffsetsResponsePartition {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            partition_index: g.any(),
            start_offset: g.any(),
            leader_epoch: g.any(),
            lag: if (1..=1).contains(&v) { g.any() } else { default.lag },
            error_code: g.any(),
            error_message: g.option(),
        }
    }
}

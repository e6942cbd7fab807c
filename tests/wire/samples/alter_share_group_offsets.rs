// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::alter_share_group_offsets::*;

use crate::sample::{Gen, Sample};

impl Sample for AlterShareGroupOffsetsRequest {
    fn sample(g: &mut Gen) -> Self {
        Self { group_id: g.any(), topics: g.any() }
    }
}

impl Sample for AlterShareGroupOffsetsRequestTopic {
    fn sample(g: &mut Gen) -> Self {
        Self { topic_name: g.any(), partitions: g.any() }
    }
}

impl Sample for AlterShareGroupOffsetsRequestPartition {
    fn sample(g: &mut Gen) -> Self {
        Self { partition_index: g.any(), start_offset: g.any() }
    }
}

impl Sample for AlterShareGroupOffsetsResponse {
    fn sample(g: &mut Gen) -> Self {
        Self {
            throttle_time_ms: g.any(),
            error_code: g.any(),
            error_message: g.option(),
            responses: g.any(),
        }
    }
}

impl Sample for AlterShareGroupOffsetsResponseTopic {
    fn sample(g: &mut Gen) -> Self {
        Self { topic_name: g.any(), topic_id: g.any(), partitions: g.any() }
    }
}

impl Sample for AlterShareGroupOffsetsResponsePartition {
    fn sample(g: &mut Gen) -> Self {
        Self { partition_index: g.any(), error_code: g.any(), error_message: g.option() }
    }
}

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::offset_delete::*;

use crate::sample::{Gen, Sample};

impl Sample for OffsetDeleteRequest {
    fn sample(g: &mut Gen) -> Self {
        Self { group_id: g.any(), topics: g.any() }
    }
}

impl Sample for OffsetDeleteRequestTopic {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.any(), partitions: g.any() }
    }
}

impl Sample for OffsetDeleteRequestPartition {
    fn sample(g: &mut Gen) -> Self {
        Self { partition_index: g.any() }
    }
}

impl Sample for OffsetDeleteResponse {
    fn sample(g: &mut Gen) -> Self {
        Self { error_code: g.any(), throttle_time_ms: g.any(), topics: g.any() }
    }
}

impl Sample for OffsetDeleteResponseTopic {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.any(), partitions: g.any() }
    }
}

impl Sample for OffsetDeleteResponsePartition {
    fn sample(g: &mut Gen) -> Self {
        Self { partition_index: g.any(), error_code: g.any() }
    }
}

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::offset_for_leader_epoch::*;

use crate::sample::{Gen, Sample};

impl Sample for OffsetForLeaderEpochRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            replica_id: if (3..=4).contains(&v) { g.any() } else { default.replica_id },
            topics: g.any(),
        }
    }
}

impl Sample for OffsetForLeaderTopic {
    fn sample(g: &mut Gen) -> Self {
        Self { topic: g.any(), partitions: g.any() }
    }
}

impl Sample for OffsetForLeaderPartition {
    fn sample(g: &mut Gen) -> Self {
        Self { partition: g.any(), current_leader_epoch: g.any(), leader_epoch: g.any() }
    }
}

impl Sample for OffsetForLeaderEpochResponse {
    fn sample(g: &mut Gen) -> Self {
        Self { throttle_time_ms: g.any(), topics: g.any() }
    }
}

impl Sample for OffsetForLeaderTopicResult {
    fn sample(g: &mut Gen) -> Self {
        Self { topic: g.any(), partitions: g.any() }
    }
}

impl Sample for EpochEndOffset {
    fn sample(g: &mut Gen) -> Self {
        Self { error_code: g.any(), partition: g.any(), leader_epoch: g.any(), end_offset: g.any() }
    }
}

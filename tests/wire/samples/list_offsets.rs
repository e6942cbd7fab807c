// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::list_offsets::*;

use crate::sample::{Gen, Sample};

impl Sample for ListOffsetsRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            replica_id: g.any(),
            isolation_level: if (2..=11).contains(&v) { g.any() } else { default.isolation_level },
            topics: g.any(),
            timeout_ms: if (10..=11).contains(&v) { g.any() } else { default.timeout_ms },
        }
    }
}

impl Sample for ListOffsetsTopic {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.any(), partitions: g.any() }
    }
}

impl Sample for ListOffsetsPartition {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            partition_index: g.any(),
            current_leader_epoch: if (4..=11).contains(&v) {
                g.any()
            } else {
                default.current_leader_epoch
            },
            timestamp: g.any(),
        }
    }
}

impl Sample for ListOffsetsResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            throttle_time_ms: if (2..=11).contains(&v) {
                g.any()
            } else {
                default.throttle_time_ms
            },
            topics: g.any(),
        }
    }
}

impl Sample for ListOffsetsTopicResponse {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.any(), partitions: g.any() }
    }
}

impl Sample for ListOffsetsPartitionResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            partition_index: g.any(),
            error_code: g.any(),
            timestamp: g.any(),
            offset: g.any(),
            leader_epoch: if (4..=11).contains(&v) { g.any() } else { default.leader_epoch },
        }
    }
}

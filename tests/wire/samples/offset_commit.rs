// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::offset_commit::*;

use crate::sample::{Gen, Sample};

impl Sample for OffsetCommitRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            group_id: g.any(),
            generation_id_or_member_epoch: g.any(),
            member_id: g.any(),
            group_instance_id: if (7..=10).contains(&v) {
                g.option()
            } else {
                default.group_instance_id
            },
            retention_time_ms: if (2..=4).contains(&v) {
                g.any()
            } else {
                default.retention_time_ms
            },
            topics: g.any(),
        }
    }
}

impl Sample for OffsetCommitRequestTopic {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            name: if (2..=9).contains(&v) { g.any() } else { default.name },
            topic_id: if (10..=10).contains(&v) { g.any() } else { default.topic_id },
            partitions: g.any(),
        }
    }
}

impl Sample for OffsetCommitRequestPartition {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            partition_index: g.any(),
            committed_offset: g.any(),
            committed_leader_epoch: if (6..=10).contains(&v) {
                g.any()
            } else {
                default.committed_leader_epoch
            },
            committed_metadata: g.option(),
        }
    }
}

impl Sample for OffsetCommitResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            throttle_time_ms: if (3..=10).contains(&v) {
                g.any()
            } else {
                default.throttle_time_ms
            },
            topics: g.any(),
        }
    }
}

impl Sample for OffsetCommitResponseTopic {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            name: if (2..=9).contains(&v) { g.any() } else { default.name },
            topic_id: if (10..=10).contains(&v) { g.any() } else { default.topic_id },
            partitions: g.any(),
        }
    }
}

impl Sample for OffsetCommitResponsePartition {
    fn sample(g: &mut Gen) -> Self {
        Self { partition_index: g.any(), error_code: g.any() }
    }
}

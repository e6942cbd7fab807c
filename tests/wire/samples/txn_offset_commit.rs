// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::txn_offset_commit::*;

use crate::sample::{Gen, Sample};

impl Sample for TxnOffsetCommitRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            transactional_id: g.any(),
            group_id: g.any(),
            producer_id: g.any(),
            producer_epoch: g.any(),
            generation_id_or_member_epoch: if (3..=6).contains(&v) {
                g.any()
            } else {
                default.generation_id_or_member_epoch
            },
            member_id: if (3..=6).contains(&v) { g.any() } else { default.member_id },
            group_instance_id: if (3..=6).contains(&v) {
                g.option()
            } else {
                default.group_instance_id
            },
            topics: g.any(),
        }
    }
}

impl Sample for TxnOffsetCommitRequestTopic {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            name: if (0..=5).contains(&v) { g.any() } else { default.name },
            topic_id: if (6..=6).contains(&v) { g.any() } else { default.topic_id },
            partitions: g.any(),
        }
    }
}

impl Sample for TxnOffsetCommitRequestPartition {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            partition_index: g.any(),
            committed_offset: g.any(),
            committed_leader_epoch: if (2..=6).contains(&v) {
                g.any()
            } else {
                default.committed_leader_epoch
            },
            committed_metadata: g.option(),
        }
    }
}

impl Sample for TxnOffsetCommitResponse {
    fn sample(g: &mut Gen) -> Self {
        Self { throttle_time_ms: g.any(), topics: g.any() }
    }
}

impl Sample for TxnOffsetCommitResponseTopic {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            name: if (0..=5).contains(&v) { g.any() } else { default.name },
            topic_id: if (6..=6).contains(&v) { g.any() } else { default.topic_id },
            partitions: g.any(),
        }
    }
}

impl Sample for TxnOffsetCommitResponsePartition {
    fn sample(g: &mut Gen) -> Self {
        Self { partition_index: g.any(), error_code: g.any() }
    }
}

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::offset_fetch::*;

use crate::sample::{Gen, Sample};

impl Sample for OffsetFetchRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            group_id: if (1..=7).contains(&v) { g.any() } else { default.group_id },
            topics: if (1..=7).contains(&v) {
                if (2..=7).contains(&v) { g.option() } else { Some(g.any()) }
            } else {
                default.topics
            },
            groups: if (8..=10).contains(&v) { g.any() } else { default.groups },
            require_stable: if (7..=10).contains(&v) { g.any() } else { default.require_stable },
        }
    }
}

impl Sample for OffsetFetchRequestTopic {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.any(), partition_indexes: g.any() }
    }
}

impl Sample for OffsetFetchRequestGroup {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            group_id: g.any(),
            member_id: if (9..=10).contains(&v) { g.option() } else { default.member_id },
            member_epoch: if (9..=10).contains(&v) { g.any() } else { default.member_epoch },
            topics: g.option(),
        }
    }
}

impl Sample for OffsetFetchRequestTopics {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            name: if (8..=9).contains(&v) { g.any() } else { default.name },
            topic_id: if (10..=10).contains(&v) { g.any() } else { default.topic_id },
            partition_indexes: g.any(),
        }
    }
}

impl Sample for OffsetFetchResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            throttle_time_ms: if (3..=10).contains(&v) {
                g.any()
            } else {
                default.throttle_time_ms
            },
            topics: if (1..=7).contains(&v) { g.any() } else { default.topics },
            error_code: if (2..=7).contains(&v) { g.any() } else { default.error_code },
            groups: if (8..=10).contains(&v) { g.any() } else { default.groups },
        }
    }
}

impl Sample for OffsetFetchResponseTopic {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.any(), partitions: g.any() }
    }
}

impl Sample for OffsetFetchResponsePartition {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            partition_index: g.any(),
            committed_offset: g.any(),
            committed_leader_epoch: if (5..=7).contains(&v) {
                g.any()
            } else {
                default.committed_leader_epoch
            },
            metadata: g.option(),
            error_code: g.any(),
        }
    }
}

impl Sample for OffsetFetchResponseGroup {
    fn sample(g: &mut Gen) -> Self {
        Self { group_id: g.any(), topics: g.any(), error_code: g.any() }
    }
}

impl Sample for OffsetFetchResponseTopics {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            name: if (8..=9).contains(&v) { g.any() } else { default.name },
            topic_id: if (10..=10).contains(&v) { g.any() } else { default.topic_id },
            partitions: g.any(),
        }
    }
}

impl Sample for OffsetFetchResponsePartitions {
    fn sample(g: &mut Gen) -> Self {
        Self {
            partition_index: g.any(),
            committed_offset: g.any(),
            committed_leader_epoch: g.any(),
            metadata: g.option(),
            error_code: g.any(),
        }
    }
}

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::fetch::*;

use crate::sample::{Gen, Sample};

impl Sample for FetchRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            cluster_id: if (12..=18).contains(&v) { g.option() } else { default.cluster_id },
            replica_id: if (4..=14).contains(&v) { g.any() } else { default.replica_id },
            replica_state: if (15..=18).contains(&v) { g.any() } else { default.replica_state },
            max_wait_ms: g.any(),
            min_bytes: g.any(),
            max_bytes: g.any(),
            isolation_level: g.any(),
            session_id: if (7..=18).contains(&v) { g.any() } else { default.session_id },
            session_epoch: if (7..=18).contains(&v) { g.any() } else { default.session_epoch },
            topics: g.any(),
            forgotten_topics_data: if (7..=18).contains(&v) {
                g.any()
            } else {
                default.forgotten_topics_data
            },
            rack_id: if (11..=18).contains(&v) { g.any() } else { default.rack_id },
        }
    }
}

impl Sample for ReplicaState {
    fn sample(g: &mut Gen) -> Self {
        Self { replica_id: g.any(), replica_epoch: g.any() }
    }
}

impl Sample for FetchTopic {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            topic: if (4..=12).contains(&v) { g.any() } else { default.topic },
            topic_id: if (13..=18).contains(&v) { g.any() } else { default.topic_id },
            partitions: g.any(),
        }
    }
}

impl Sample for FetchPartition {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            partition: g.any(),
            current_leader_epoch: if (9..=18).contains(&v) {
                g.any()
            } else {
                default.current_leader_epoch
            },
            fetch_offset: g.any(),
            last_fetched_epoch: if (12..=18).contains(&v) {
                g.any()
            } else {
                default.last_fetched_epoch
            },
            log_start_offset: if (5..=18).contains(&v) {
                g.any()
            } else {
                default.log_start_offset
            },
            partition_max_bytes: g.any(),
            replica_directory_id: if (17..=18).contains(&v) {
                g.any()
            } else {
                default.replica_directory_id
            },
            high_watermark: if (18..=18).contains(&v) { g.any() } else { default.high_watermark },
        }
    }
}

impl Sample for ForgottenTopic {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            topic: if (7..=12).contains(&v) { g.any() } else { default.topic },
            topic_id: if (13..=18).contains(&v) { g.any() } else { default.topic_id },
            partitions: g.any(),
        }
    }
}

impl Sample for FetchResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            throttle_time_ms: g.any(),
            error_code: if (7..=18).contains(&v) { g.any() } else { default.error_code },
            session_id: if (7..=18).contains(&v) { g.any() } else { default.session_id },
            responses: g.any(),
            node_endpoints: if (16..=18).contains(&v) { g.any() } else { default.node_endpoints },
        }
    }
}

impl Sample for FetchableTopicResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            topic: if (4..=12).contains(&v) { g.any() } else { default.topic },
            topic_id: if (13..=18).contains(&v) { g.any() } else { default.topic_id },
            partitions: g.any(),
        }
    }
}

impl Sample for PartitionData {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            partition_index: g.any(),
            error_code: g.any(),
            high_watermark: g.any(),
            last_stable_offset: g.any(),
            log_start_offset: if (5..=18).contains(&v) {
                g.any()
            } else {
                default.log_start_offset
            },
            diverging_epoch: if (12..=18).contains(&v) { g.any() } else { default.diverging_epoch },
            current_leader: if (12..=18).contains(&v) { g.any() } else { default.current_leader },
            snapshot_id: if (12..=18).contains(&v) { g.any() } else { default.snapshot_id },
            aborted_transactions: g.option(),
            preferred_read_replica: if (11..=18).contains(&v) {
                g.any()
            } else {
                default.preferred_read_replica
            },
            records: g.option(),
        }
    }
}

impl Sample for EpochEndOffset {
    fn sample(g: &mut Gen) -> Self {
        Self { epoch: g.any(), end_offset: g.any() }
    }
}

impl Sample for LeaderIdAndEpoch {
    fn sample(g: &mut Gen) -> Self {
        Self { leader_id: g.any(), leader_epoch: g.any() }
    }
}

impl Sample for SnapshotId {
    fn sample(g: &mut Gen) -> Self {
        Self { end_offset: g.any(), epoch: g.any() }
    }
}

impl Sample for AbortedTransaction {
    fn sample(g: &mut Gen) -> Self {
        Self { producer_id: g.any(), first_offset: g.any() }
    }
}

impl Sample for NodeEndpoint {
    fn sample(g: &mut Gen) -> Self {
        Self { node_id: g.any(), host: g.any(), port: g.any(), rack: g.option() }
    }
}

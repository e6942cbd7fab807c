// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::share_acknowledge::*;

use crate::sample::{Gen, Sample};

impl Sample for ShareAcknowledgeRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            group_id: g.option(),
            member_id: g.option(),
            share_session_epoch: g.any(),
            is_renew_ack: if (2..=2).contains(&v) { g.any() } else { default.is_renew_ack },
            topics: g.any(),
        }
    }
}

impl Sample for AcknowledgeTopic {
    fn sample(g: &mut Gen) -> Self {
        Self { topic_id: g.any(), partitions: g.any() }
    }
}

impl Sample for AcknowledgePartition {
    fn sample(g: &mut Gen) -> Self {
        Self { partition_index: g.any(), acknowledgement_batches: g.any() }
    }
}

impl Sample for AcknowledgementBatch {
    fn sample(g: &mut Gen) -> Self {
        Self { first_offset: g.any(), last_offset: g.any(), acknowledge_types: g.any() }
    }
}

impl Sample for ShareAcknowledgeResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            throttle_time_ms: g.any(),
            error_code: g.any(),
            error_message: g.option(),
            acquisition_lock_timeout_ms: if (2..=2).contains(&v) {
                g.any()
            } else {
                default.acquisition_lock_timeout_ms
            },
            responses: g.any(),
            node_endpoints: g.any(),
        }
    }
}

impl Sample for ShareAcknowledgeTopicResponse {
    fn sample(g: &mut Gen) -> Self {
        Self { topic_id: g.any(), partitions: g.any() }
    }
}

impl Sample for PartitionData {
    fn sample(g: &mut Gen) -> Self {
        Self {
            partition_index: g.any(),
            error_code: g.any(),
            error_message: g.option(),
            current_leader: g.any(),
        }
    }
}

impl Sample for LeaderIdAndEpoch {
    fn sample(g: &mut Gen) -> Self {
        Self { leader_id: g.any(), leader_epoch: g.any() }
    }
}

impl Sample for NodeEndpoint {
    fn sample(g: &mut Gen) -> Self {
        Self { node_id: g.any(), host: g.any(), port: g.any(), rack: g.option() }
    }
}

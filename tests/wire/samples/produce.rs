// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::produce::*;

use crate::sample::{Gen, Sample};

impl Sample for ProduceRequest {
    fn sample(g: &mut Gen) -> Self {
        Self {
            transactional_id: g.option(),
            acks: g.any(),
            timeout_ms: g.any(),
            topic_data: g.any(),
        }
    }
}

impl Sample for TopicProduceData {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            name: if (3..=12).contains(&v) { g.any() } else { default.name },
            topic_id: if (13..=13).contains(&v) { g.any() } else { default.topic_id },
            partition_data: g.any(),
        }
    }
}

impl Sample for PartitionProduceData {
    fn sample(g: &mut Gen) -> Self {
        Self { index: g.any(), records: g.option() }
    }
}

impl Sample for ProduceResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            responses: g.any(),
            throttle_time_ms: g.any(),
            node_endpoints: if (10..=13).contains(&v) { g.any() } else { default.node_endpoints },
        }
    }
}

impl Sample for TopicProduceResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            name: if (3..=12).contains(&v) { g.any() } else { default.name },
            topic_id: if (13..=13).contains(&v) { g.any() } else { default.topic_id },
            partition_responses: g.any(),
        }
    }
}

impl Sample for PartitionProduceResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            index: g.any(),
            error_code: g.any(),
            base_offset: g.any(),
            log_append_time_ms: g.any(),
            log_start_offset: if (5..=13).contains(&v) {
                g.any()
            } else {
                default.log_start_offset
            },
            record_errors: if (8..=13).contains(&v) { g.any() } else { default.record_errors },
            error_message: if (8..=13).contains(&v) { g.option() } else { default.error_message },
            current_leader: if (10..=13).contains(&v) { g.any() } else { default.current_leader },
        }
    }
}

impl Sample for BatchIndexAndErrorMessage {
    fn sample(g: &mut Gen) -> Self {
        Self { batch_index: g.any(), batch_index_error_message: g.option() }
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

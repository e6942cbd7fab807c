// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::add_offsets_to_txn::*;

use crate::sample::{Gen, Sample};

impl Sample for AddOffsetsToTxnRequest {
    fn sample(g: &mut Gen) -> Self {
        Self {
            transactional_id: g.any(),
            producer_id: g.any(),
            producer_epoch: g.any(),
            group_id: g.any(),
        }
    }
}

impl Sample for AddOffsetsToTxnResponse {
    fn sample(g: &mut Gen) -> Self {
        Self { throttle_time_ms: g.any(), error_code: g.any() }
    }
}

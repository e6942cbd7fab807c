// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::end_txn::*;

use crate::sample::{Gen, Sample};

impl Sample for EndTxnRequest {
    fn sample(g: &mut Gen) -> Self {
        Self {
            transactional_id: g.any(),
            producer_id: g.any(),
            producer_epoch: g.any(),
            committed: g.any(),
        }
    }
}

impl Sample for EndTxnResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            throttle_time_ms: g.any(),
            error_code: g.any(),
            producer_id: if (5..=5).contains(&v) { g.any() } else { default.producer_id },
            producer_epoch: if (5..=5).contains(&v) { g.any() } else { default.producer_epoch },
        }
    }
}

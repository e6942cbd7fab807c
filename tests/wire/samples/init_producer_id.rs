// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::init_producer_id::*;

use crate::sample::{Gen, Sample};

impl Sample for InitProducerIdRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            transactional_id: g.option(),
            transaction_timeout_ms: g.any(),
            producer_id: if (3..=5).contains(&v) { g.any() } else { default.producer_id },
            producer_epoch: if (3..=5).contains(&v) { g.any() } else { default.producer_epoch },
        }
    }
}

impl Sample for InitProducerIdResponse {
    fn sample(g: &mut Gen) -> Self {
        Self {
            throttle_time_ms: g.any(),
            error_code: g.any(),
            producer_id: g.any(),
            producer_epoch: g.any(),
        }
    }
}

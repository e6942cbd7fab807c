// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::find_coordinator::*;

use crate::sample::{Gen, Sample};

impl Sample for FindCoordinatorRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            key: if (0..=3).contains(&v) { g.any() } else { default.key },
            key_type: if (1..=6).contains(&v) { g.any() } else { default.key_type },
            coordinator_keys: if (4..=6).contains(&v) { g.any() } else { default.coordinator_keys },
        }
    }
}

impl Sample for FindCoordinatorResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            throttle_time_ms: if (1..=6).contains(&v) { g.any() } else { default.throttle_time_ms },
            error_code: if (0..=3).contains(&v) { g.any() } else { default.error_code },
            error_message: if (1..=3).contains(&v) { g.option() } else { default.error_message },
            node_id: if (0..=3).contains(&v) { g.any() } else { default.node_id },
            host: if (0..=3).contains(&v) { g.any() } else { default.host },
            port: if (0..=3).contains(&v) { g.any() } else { default.port },
            coordinators: if (4..=6).contains(&v) { g.any() } else { default.coordinators },
        }
    }
}

impl Sample for Coordinator {
    fn sample(g: &mut Gen) -> Self {
        Self {
            key: g.any(),
            node_id: g.any(),
            host: g.any(),
            port: g.any(),
            error_code: g.any(),
            error_message: g.option(),
        }
    }
}

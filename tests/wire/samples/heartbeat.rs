// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::heartbeat::*;

use crate::sample::{Gen, Sample};

impl Sample for HeartbeatRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            group_id: g.any(),
            generation_id: g.any(),
            member_id: g.any(),
            group_instance_id: if (3..=4).contains(&v) {
                g.option()
            } else {
                default.group_instance_id
            },
        }
    }
}

impl Sample for HeartbeatResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            throttle_time_ms: if (1..=4).contains(&v) { g.any() } else { default.throttle_time_ms },
            error_code: g.any(),
        }
    }
}

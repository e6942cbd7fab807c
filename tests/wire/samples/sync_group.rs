// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::sync_group::*;

use crate::sample::{Gen, Sample};

impl Sample for SyncGroupRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            group_id: g.any(),
            generation_id: g.any(),
            member_id: g.any(),
            group_instance_id: if (3..=5).contains(&v) {
                g.option()
            } else {
                default.group_instance_id
            },
            protocol_type: if (5..=5).contains(&v) { g.option() } else { default.protocol_type },
            protocol_name: if (5..=5).contains(&v) { g.option() } else { default.protocol_name },
            assignments: g.any(),
        }
    }
}

impl Sample for SyncGroupRequestAssignment {
    fn sample(g: &mut Gen) -> Self {
        Self { member_id: g.any(), assignment: g.any() }
    }
}

impl Sample for SyncGroupResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            throttle_time_ms: if (1..=5).contains(&v) { g.any() } else { default.throttle_time_ms },
            error_code: g.any(),
            protocol_type: if (5..=5).contains(&v) { g.option() } else { default.protocol_type },
            protocol_name: if (5..=5).contains(&v) { g.option() } else { default.protocol_name },
            assignment: g.any(),
        }
    }
}

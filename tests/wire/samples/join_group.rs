// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::join_group::*;

use crate::sample::{Gen, Sample};

impl Sample for JoinGroupRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            group_id: g.any(),
            session_timeout_ms: g.any(),
            rebalance_timeout_ms: if (1..=9).contains(&v) {
                g.any()
            } else {
                default.rebalance_timeout_ms
            },
            member_id: g.any(),
            group_instance_id: if (5..=9).contains(&v) {
                g.option()
            } else {
                default.group_instance_id
            },
            protocol_type: g.any(),
            protocols: g.any(),
            reason: if (8..=9).contains(&v) { g.option() } else { default.reason },
        }
    }
}

impl Sample for JoinGroupRequestProtocol {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.any(), metadata: g.any() }
    }
}

impl Sample for JoinGroupResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            throttle_time_ms: if (2..=9).contains(&v) { g.any() } else { default.throttle_time_ms },
            error_code: g.any(),
            generation_id: g.any(),
            protocol_type: if (7..=9).contains(&v) { g.option() } else { default.protocol_type },
            protocol_name: if (7..=9).contains(&v) { g.option() } else { Some(g.any()) },
            leader: g.any(),
            skip_assignment: if (9..=9).contains(&v) { g.any() } else { default.skip_assignment },
            member_id: g.any(),
            members: g.any(),
        }
    }
}

impl Sample for JoinGroupResponseMember {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            member_id: g.any(),
            group_instance_id: if (5..=9).contains(&v) {
                g.option()
            } else {
                default.group_instance_id
            },
            metadata: g.any(),
        }
    }
}

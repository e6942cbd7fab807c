// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::leave_group::*;

use crate::sample::{Gen, Sample};

impl Sample for LeaveGroupRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            group_id: g.any(),
            member_id: if (0..=2).contains(&v) { g.any() } else { default.member_id },
            members: if (3..=5).contains(&v) { g.any() } else { default.members },
        }
    }
}

impl Sample for MemberIdentity {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            member_id: g.any(),
            group_instance_id: g.option(),
            reason: if (5..=5).contains(&v) { g.option() } else { default.reason },
        }
    }
}

impl Sample for LeaveGroupResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            throttle_time_ms: if (1..=5).contains(&v) { g.any() } else { default.throttle_time_ms },
            error_code: g.any(),
            members: if (3..=5).contains(&v) { g.any() } else { default.members },
        }
    }
}

impl Sample for MemberResponse {
    fn sample(g: &mut Gen) -> Self {
        Self { member_id: g.any(), group_instance_id: g.option(), error_code: g.any() }
    }
}

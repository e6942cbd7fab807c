// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::list_groups::*;

use crate::sample::{Gen, Sample};

impl Sample for ListGroupsRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            states_filter: if (4..=5).contains(&v) { g.any() } else { default.states_filter },
            types_filter: if (5..=5).contains(&v) { g.any() } else { default.types_filter },
        }
    }
}

impl Sample for ListGroupsResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            throttle_time_ms: if (1..=5).contains(&v) { g.any() } else { default.throttle_time_ms },
            error_code: g.any(),
            groups: g.any(),
        }
    }
}

impl Sample for ListedGroup {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            group_id: g.any(),
            protocol_type: g.any(),
            group_state: if (4..=5).contains(&v) { g.any() } else { default.group_state },
            group_type: if (5..=5).contains(&v) { g.any() } else { default.group_type },
        }
    }
}

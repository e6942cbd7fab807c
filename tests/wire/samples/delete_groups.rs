// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::delete_groups::*;

use crate::sample::{Gen, Sample};

impl Sample for DeleteGroupsRequest {
    fn sample(g: &mut Gen) -> Self {
        Self { groups_names: g.any() }
    }
}

impl Sample for DeleteGroupsResponse {
    fn sample(g: &mut Gen) -> Self {
        Self { throttle_time_ms: g.any(), results: g.any() }
    }
}

impl Sample for DeletableGroupResult {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            group_id: g.any(),
            error_code: g.any(),
            error_message: if (3..=3).contains(&v) { g.option() } else { default.error_message },
        }
    }
}

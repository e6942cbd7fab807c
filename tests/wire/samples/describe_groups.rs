// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::describe_groups::*;

use crate::sample::{Gen, Sample};

impl Sample for DescribeGroupsRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            groups: g.any(),
            include_authorized_operations: if (3..=6).contains(&v) {
                g.any()
            } else {
                default.include_authorized_operations
            },
        }
    }
}

impl Sample for DescribeGroupsResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            throttle_time_ms: if (1..=6).contains(&v) { g.any() } else { default.throttle_time_ms },
            groups: g.any(),
        }
    }
}

impl Sample for DescribedGroup {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            error_code: g.any(),
            error_message: if (6..=6).contains(&v) { g.option() } else { default.error_message },
            group_id: g.any(),
            group_state: g.any(),
            protocol_type: g.any(),
            protocol_data: g.any(),
            members: g.any(),
            authorized_operations: if (3..=6).contains(&v) {
                g.any()
            } else {
                default.authorized_operations
            },
        }
    }
}

impl Sample for DescribedGroupMember {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            member_id: g.any(),
            group_instance_id: if (4..=6).contains(&v) {
                g.option()
            } else {
                default.group_instance_id
            },
            client_id: g.any(),
            client_host: g.any(),
            member_metadata: g.any(),
            member_assignment: g.any(),
        }
    }
}

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::describe_cluster::*;

use crate::sample::{Gen, Sample};

impl Sample for DescribeClusterRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            include_cluster_authorized_operations: g.any(),
            endpoint_type: if (1..=2).contains(&v) { g.any() } else { default.endpoint_type },
            include_fenced_brokers: if (2..=2).contains(&v) {
                g.any()
            } else {
                default.include_fenced_brokers
            },
        }
    }
}

impl Sample for DescribeClusterResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            throttle_time_ms: g.any(),
            error_code: g.any(),
            error_message: g.option(),
            endpoint_type: if (1..=2).contains(&v) { g.any() } else { default.endpoint_type },
            cluster_id: g.any(),
            controller_id: g.any(),
            brokers: g.any(),
            cluster_authorized_operations: g.any(),
        }
    }
}

impl Sample for DescribeClusterBroker {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            broker_id: g.any(),
            host: g.any(),
            port: g.any(),
            rack: g.option(),
            is_fenced: if (2..=2).contains(&v) { g.any() } else { default.is_fenced },
        }
    }
}

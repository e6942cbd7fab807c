// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::metadata::*;

use crate::sample::{Gen, Sample};

impl Sample for MetadataRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            topics: if (1..=13).contains(&v) { g.option() } else { Some(g.any()) },
            allow_auto_topic_creation: if (4..=13).contains(&v) {
                g.any()
            } else {
                default.allow_auto_topic_creation
            },
            include_cluster_authorized_operations: if (8..=10).contains(&v) {
                g.any()
            } else {
                default.include_cluster_authorized_operations
            },
            include_topic_authorized_operations: if (8..=13).contains(&v) {
                g.any()
            } else {
                default.include_topic_authorized_operations
            },
        }
    }
}

impl Sample for MetadataRequestTopic {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            topic_id: if (10..=13).contains(&v) { g.any() } else { default.topic_id },
            name: if (10..=13).contains(&v) { g.option() } else { Some(g.any()) },
        }
    }
}

impl Sample for MetadataResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            throttle_time_ms: if (3..=13).contains(&v) {
                g.any()
            } else {
                default.throttle_time_ms
            },
            brokers: g.any(),
            cluster_id: if (2..=13).contains(&v) { g.option() } else { default.cluster_id },
            controller_id: if (1..=13).contains(&v) { g.any() } else { default.controller_id },
            topics: g.any(),
            cluster_authorized_operations: if (8..=10).contains(&v) {
                g.any()
            } else {
                default.cluster_authorized_operations
            },
            error_code: if (13..=13).contains(&v) { g.any() } else { default.error_code },
        }
    }
}

impl Sample for MetadataResponseBroker {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            node_id: g.any(),
            host: g.any(),
            port: g.any(),
            rack: if (1..=13).contains(&v) { g.option() } else { default.rack },
        }
    }
}

impl Sample for MetadataResponseTopic {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            error_code: g.any(),
            name: if (12..=13).contains(&v) { g.option() } else { Some(g.any()) },
            topic_id: if (10..=13).contains(&v) { g.any() } else { default.topic_id },
            is_internal: if (1..=13).contains(&v) { g.any() } else { default.is_internal },
            partitions: g.any(),
            topic_authorized_operations: if (8..=13).contains(&v) {
                g.any()
            } else {
                default.topic_authorized_operations
            },
        }
    }
}

impl Sample for MetadataResponsePartition {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            error_code: g.any(),
            partition_index: g.any(),
            leader_id: g.any(),
            leader_epoch: if (7..=13).contains(&v) { g.any() } else { default.leader_epoch },
            replica_nodes: g.any(),
            isr_nodes: g.any(),
            offline_replicas: if (5..=13).contains(&v) {
                g.any()
            } else {
                default.offline_replicas
            },
        }
    }
}

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::create_topics::*;

use crate::sample::{Gen, Sample};

impl Sample for CreateTopicsRequest {
    fn sample(g: &mut Gen) -> Self {
        Self { topics: g.any(), timeout_ms: g.any(), validate_only: g.any() }
    }
}

impl Sample for CreatableTopic {
    fn sample(g: &mut Gen) -> Self {
        Self {
            name: g.any(),
            num_partitions: g.any(),
            replication_factor: g.any(),
            assignments: g.any(),
            configs: g.any(),
        }
    }
}

impl Sample for CreatableReplicaAssignment {
    fn sample(g: &mut Gen) -> Self {
        Self { partition_index: g.any(), broker_ids: g.any() }
    }
}

impl Sample for CreatableTopicConfig {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.any(), value: g.option() }
    }
}

impl Sample for CreateTopicsResponse {
    fn sample(g: &mut Gen) -> Self {
        Self { throttle_time_ms: g.any(), topics: g.any() }
    }
}

impl Sample for CreatableTopicResult {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            name: g.any(),
            topic_id: if (7..=7).contains(&v) { g.any() } else { default.topic_id },
            error_code: g.any(),
            error_message: g.option(),
            topic_config_error_code: if (5..=7).contains(&v) {
                g.any()
            } else {
                default.topic_config_error_code
            },
            num_partitions: if (5..=7).contains(&v) { g.any() } else { default.num_partitions },
            replication_factor: if (5..=7).contains(&v) {
                g.any()
            } else {
                default.replication_factor
            },
            configs: if (5..=7).contains(&v) { g.option() } else { default.configs },
        }
    }
}

impl Sample for CreatableTopicConfigs {
    fn sample(g: &mut Gen) -> Self {
        Self {
            name: g.any(),
            value: g.option(),
            read_only: g.any(),
            config_source: g.any(),
            is_sensitive: g.any(),
        }
    }
}

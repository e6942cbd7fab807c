// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::create_partitions::*;

use crate::sample::{Gen, Sample};

impl Sample for CreatePartitionsRequest {
    fn sample(g: &mut Gen) -> Self {
        Self { topics: g.any(), timeout_ms: g.any(), validate_only: g.any() }
    }
}

impl Sample for CreatePartitionsTopic {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.any(), count: g.any(), assignments: g.option() }
    }
}

impl Sample for CreatePartitionsAssignment {
    fn sample(g: &mut Gen) -> Self {
        Self { broker_ids: g.any() }
    }
}

impl Sample for CreatePartitionsResponse {
    fn sample(g: &mut Gen) -> Self {
        Self { throttle_time_ms: g.any(), results: g.any() }
    }
}

impl Sample for CreatePartitionsTopicResult {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.any(), error_code: g.any(), error_message: g.option() }
    }
}

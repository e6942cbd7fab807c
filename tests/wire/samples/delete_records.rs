// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::delete_records::*;

use crate::sample::{Gen, Sample};

impl Sample for DeleteRecordsRequest {
    fn sample(g: &mut Gen) -> Self {
        Self { topics: g.any(), timeout_ms: g.any() }
    }
}

impl Sample for DeleteRecordsTopic {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.any(), partitions: g.any() }
    }
}

impl Sample for DeleteRecordsPartition {
    fn sample(g: &mut Gen) -> Self {
        Self { partition_index: g.any(), offset: g.any() }
    }
}

impl Sample for DeleteRecordsResponse {
    fn sample(g: &mut Gen) -> Self {
        Self { throttle_time_ms: g.any(), topics: g.any() }
    }
}

impl Sample for DeleteRecordsTopicResult {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.any(), partitions: g.any() }
    }
}

impl Sample for DeleteRecordsPartitionResult {
    fn sample(g: &mut Gen) -> Self {
        Self { partition_index: g.any(), low_watermark: g.any(), error_code: g.any() }
    }
}

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::delete_share_group_offsets::*;

use crate::sample::{Gen, Sample};

impl Sample for DeleteShareGroupOffsetsRequest {
    fn sample(g: &mut Gen) -> Self {
        Self { group_id: g.any(), topics: g.any() }
    }
}

impl Sample for DeleteShareGroupOffsetsRequestTopic {
    fn sample(g: &mut Gen) -> Self {
        Self { topic_name: g.any() }
    }
}

impl Sample for DeleteShareGroupOffsetsResponse {
    fn sample(g: &mut Gen) -> Self {
        Self {
            throttle_time_ms: g.any(),
            error_code: g.any(),
            error_message: g.option(),
            responses: g.any(),
        }
    }
}

impl Sample for DeleteShareGroupOffsetsResponseTopic {
    fn sample(g: &mut Gen) -> Self {
        Self {
            topic_name: g.any(),
            topic_id: g.any(),
            error_code: g.any(),
            error_message: g.option(),
        }
    }
}

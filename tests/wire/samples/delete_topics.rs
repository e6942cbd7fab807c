// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::delete_topics::*;

use crate::sample::{Gen, Sample};

impl Sample for DeleteTopicsRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            topics: if (6..=6).contains(&v) { g.any() } else { default.topics },
            topic_names: if (1..=5).contains(&v) { g.any() } else { default.topic_names },
            timeout_ms: g.any(),
        }
    }
}

impl Sample for DeleteTopicState {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.option(), topic_id: g.any() }
    }
}

impl Sample for DeleteTopicsResponse {
    fn sample(g: &mut Gen) -> Self {
        Self { throttle_time_ms: g.any(), responses: g.any() }
    }
}

impl Sample for DeletableTopicResult {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            name: if (6..=6).contains(&v) { g.option() } else { Some(g.any()) },
            topic_id: if (6..=6).contains(&v) { g.any() } else { default.topic_id },
            error_code: g.any(),
            error_message: if (5..=6).contains(&v) { g.option() } else { default.error_message },
        }
    }
}

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::header::*;

use crate::sample::{Gen, Sample};

impl Sample for RequestHeader {
    fn sample(g: &mut Gen) -> Self {
        Self {
            request_api_key: g.any(),
            request_api_version: g.any(),
            correlation_id: g.any(),
            client_id: g.option(),
        }
    }
}

impl Sample for ResponseHeader {
    fn sample(g: &mut Gen) -> Self {
        Self { correlation_id: g.any() }
    }
}

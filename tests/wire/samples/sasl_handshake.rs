// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::sasl_handshake::*;

use crate::sample::{Gen, Sample};

impl Sample for SaslHandshakeRequest {
    fn sample(g: &mut Gen) -> Self {
        Self { mechanism: g.any() }
    }
}

impl Sample for SaslHandshakeResponse {
    fn sample(g: &mut Gen) -> Self {
        Self { error_code: g.any(), mechanisms: g.any() }
    }
}

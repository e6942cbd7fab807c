// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::sasl_authenticate::*;

use crate::sample::{Gen, Sample};

impl Sample for SaslAuthenticateRequest {
    fn sample(g: &mut Gen) -> Self {
        Self { auth_bytes: g.any() }
    }
}

impl Sample for SaslAuthenticateResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            error_code: g.any(),
            error_message: g.option(),
            auth_bytes: g.any(),
            session_lifetime_ms: if (1..=2).contains(&v) {
                g.any()
            } else {
                default.session_lifetime_ms
            },
        }
    }
}

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::api_versions::*;

use crate::sample::{Gen, Sample};

impl Sample for ApiVersionsRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            client_software_name: if (3..=5).contains(&v) {
                g.any()
            } else {
                default.client_software_name
            },
            client_software_version: if (3..=5).contains(&v) {
                g.any()
            } else {
                default.client_software_version
            },
            cluster_id: if (5..=5).contains(&v) { g.option() } else { default.cluster_id },
            node_id: if (5..=5).contains(&v) { g.any() } else { default.node_id },
        }
    }
}

impl Sample for ApiVersionsResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            error_code: g.any(),
            api_keys: g.any(),
            throttle_time_ms: if (1..=5).contains(&v) { g.any() } else { default.throttle_time_ms },
            supported_features: if (3..=5).contains(&v) {
                g.any()
            } else {
                default.supported_features
            },
            finalized_features_epoch: if (3..=5).contains(&v) {
                g.any()
            } else {
                default.finalized_features_epoch
            },
            finalized_features: if (3..=5).contains(&v) {
                g.any()
            } else {
                default.finalized_features
            },
            zk_migration_ready: if (3..=5).contains(&v) {
                g.any()
            } else {
                default.zk_migration_ready
            },
        }
    }
}

impl Sample for ApiVersion {
    fn sample(g: &mut Gen) -> Self {
        Self { api_key: g.any(), min_version: g.any(), max_version: g.any() }
    }
}

impl Sample for SupportedFeatureKey {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.any(), min_version: g.any(), max_version: g.any() }
    }
}

impl Sample for FinalizedFeatureKey {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.any(), max_version_level: g.any(), min_version_level: g.any() }
    }
}

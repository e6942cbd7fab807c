// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::incremental_alter_configs::*;

use crate::sample::{Gen, Sample};

impl Sample for IncrementalAlterConfigsRequest {
    fn sample(g: &mut Gen) -> Self {
        Self { resources: g.any(), validate_only: g.any() }
    }
}

impl Sample for AlterConfigsResource {
    fn sample(g: &mut Gen) -> Self {
        Self { resource_type: g.any(), resource_name: g.any(), configs: g.any() }
    }
}

impl Sample for AlterableConfig {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.any(), config_operation: g.any(), value: g.option() }
    }
}

impl Sample for IncrementalAlterConfigsResponse {
    fn sample(g: &mut Gen) -> Self {
        Self { throttle_time_ms: g.any(), responses: g.any() }
    }
}

impl Sample for AlterConfigsResourceResponse {
    fn sample(g: &mut Gen) -> Self {
        Self {
            error_code: g.any(),
            error_message: g.option(),
            resource_type: g.any(),
            resource_name: g.any(),
        }
    }
}

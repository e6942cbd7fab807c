// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::describe_configs::*;

use crate::sample::{Gen, Sample};

impl Sample for DescribeConfigsRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            resources: g.any(),
            include_synonyms: g.any(),
            include_documentation: if (3..=4).contains(&v) {
                g.any()
            } else {
                default.include_documentation
            },
        }
    }
}

impl Sample for DescribeConfigsResource {
    fn sample(g: &mut Gen) -> Self {
        Self { resource_type: g.any(), resource_name: g.any(), configuration_keys: g.option() }
    }
}

impl Sample for DescribeConfigsResponse {
    fn sample(g: &mut Gen) -> Self {
        Self { throttle_time_ms: g.any(), results: g.any() }
    }
}

impl Sample for DescribeConfigsResult {
    fn sample(g: &mut Gen) -> Self {
        Self {
            error_code: g.any(),
            error_message: g.option(),
            resource_type: g.any(),
            resource_name: g.any(),
            configs: g.any(),
        }
    }
}

impl Sample for DescribeConfigsResourceResult {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            name: g.any(),
            value: g.option(),
            read_only: g.any(),
            config_source: g.any(),
            is_sensitive: g.any(),
            synonyms: g.any(),
            config_type: if (3..=4).contains(&v) { g.any() } else { default.config_type },
            documentation: if (3..=4).contains(&v) { g.option() } else { default.documentation },
        }
    }
}

impl Sample for DescribeConfigsSynonym {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.any(), value: g.option(), source: g.any() }
    }
}

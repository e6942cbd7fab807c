// Written by tools/wiregen from Kafka's schemas; change that, not this.

use llingr_kafka::wire::messages::add_partitions_to_txn::*;

use crate::sample::{Gen, Sample};

impl Sample for AddPartitionsToTxnRequest {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            transactions: if (4..=5).contains(&v) { g.any() } else { default.transactions },
            v3_and_below_transactional_id: if (0..=3).contains(&v) {
                g.any()
            } else {
                default.v3_and_below_transactional_id
            },
            v3_and_below_producer_id: if (0..=3).contains(&v) {
                g.any()
            } else {
                default.v3_and_below_producer_id
            },
            v3_and_below_producer_epoch: if (0..=3).contains(&v) {
                g.any()
            } else {
                default.v3_and_below_producer_epoch
            },
            v3_and_below_topics: if (0..=3).contains(&v) {
                g.any()
            } else {
                default.v3_and_below_topics
            },
        }
    }
}

impl Sample for AddPartitionsToTxnTransaction {
    fn sample(g: &mut Gen) -> Self {
        Self {
            transactional_id: g.any(),
            producer_id: g.any(),
            producer_epoch: g.any(),
            verify_only: g.any(),
            topics: g.any(),
        }
    }
}

impl Sample for AddPartitionsToTxnTopic {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.any(), partitions: g.any() }
    }
}

impl Sample for AddPartitionsToTxnResponse {
    fn sample(g: &mut Gen) -> Self {
        let v = g.version();
        let default = Self::default();
        Self {
            throttle_time_ms: g.any(),
            error_code: if (4..=5).contains(&v) { g.any() } else { default.error_code },
            results_by_transaction: if (4..=5).contains(&v) {
                g.any()
            } else {
                default.results_by_transaction
            },
            results_by_topic_v3_and_below: if (0..=3).contains(&v) {
                g.any()
            } else {
                default.results_by_topic_v3_and_below
            },
        }
    }
}

impl Sample for AddPartitionsToTxnResult {
    fn sample(g: &mut Gen) -> Self {
        Self { transactional_id: g.any(), topic_results: g.any() }
    }
}

impl Sample for AddPartitionsToTxnTopicResult {
    fn sample(g: &mut Gen) -> Self {
        Self { name: g.any(), results_by_partition: g.any() }
    }
}

impl Sample for AddPartitionsToTxnPartitionResult {
    fn sample(g: &mut Gen) -> Self {
        Self { partition_index: g.any(), partition_error_code: g.any() }
    }
}

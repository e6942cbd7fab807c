//! AddPartitionsToTxn (API key 24).

// Written by tools/wiregen from Kafka's schemas; change that, not this.

use crate::wire::codec::{Codec, Reader, Result, Writer};
use crate::wire::message::{Message, Request, Response};

/// AddPartitionsToTxnRequest, versions 0 to 5.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AddPartitionsToTxnRequest {
    /// `Transactions`, versions 4 to 5.
    pub transactions: Vec<AddPartitionsToTxnTransaction>,
    /// `V3AndBelowTransactionalId`, versions 0 to 3.
    pub v3_and_below_transactional_id: String,
    /// `V3AndBelowProducerId`, versions 0 to 3.
    pub v3_and_below_producer_id: i64,
    /// `V3AndBelowProducerEpoch`, versions 0 to 3.
    pub v3_and_below_producer_epoch: i16,
    /// `V3AndBelowTopics`, versions 0 to 3.
    pub v3_and_below_topics: Vec<AddPartitionsToTxnTopic>,
}

impl Codec for AddPartitionsToTxnRequest {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            transactions: if v >= 4 { r.get()? } else { Vec::new() },
            v3_and_below_transactional_id: if v <= 3 { r.get()? } else { String::new() },
            v3_and_below_producer_id: if v <= 3 { r.get()? } else { 0 },
            v3_and_below_producer_epoch: if v <= 3 { r.get()? } else { 0 },
            v3_and_below_topics: if v <= 3 { r.get()? } else { Vec::new() },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        if v >= 4 {
            w.put(&self.transactions)?;
        } else {
            w.absent(!self.transactions.is_empty(), "AddPartitionsToTxnRequest.transactions")?;
        }
        if v <= 3 {
            w.put(&self.v3_and_below_transactional_id)?;
        } else {
            w.absent(
                !self.v3_and_below_transactional_id.is_empty(),
                "AddPartitionsToTxnRequest.v3_and_below_transactional_id",
            )?;
        }
        if v <= 3 {
            w.put(&self.v3_and_below_producer_id)?;
        } else {
            w.absent(
                self.v3_and_below_producer_id != 0,
                "AddPartitionsToTxnRequest.v3_and_below_producer_id",
            )?;
        }
        if v <= 3 {
            w.put(&self.v3_and_below_producer_epoch)?;
        } else {
            w.absent(
                self.v3_and_below_producer_epoch != 0,
                "AddPartitionsToTxnRequest.v3_and_below_producer_epoch",
            )?;
        }
        if v <= 3 {
            w.put(&self.v3_and_below_topics)?;
        } else {
            w.absent(
                !self.v3_and_below_topics.is_empty(),
                "AddPartitionsToTxnRequest.v3_and_below_topics",
            )?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for AddPartitionsToTxnRequest {
    const NAME: &'static str = "AddPartitionsToTxnRequest";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FIRST_FLEXIBLE: i16 = 3;
}

impl Request for AddPartitionsToTxnRequest {
    const API_KEY: i16 = 24;
    type Response = AddPartitionsToTxnResponse;
}

/// Part of [`AddPartitionsToTxnRequest`] in versions 4 to 5.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AddPartitionsToTxnTransaction {
    /// `TransactionalId`.
    pub transactional_id: String,
    /// `ProducerId`.
    pub producer_id: i64,
    /// `ProducerEpoch`.
    pub producer_epoch: i16,
    /// `VerifyOnly`.
    pub verify_only: bool,
    /// `Topics`.
    pub topics: Vec<AddPartitionsToTxnTopic>,
}

impl Codec for AddPartitionsToTxnTransaction {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self {
            transactional_id: r.get()?,
            producer_id: r.get()?,
            producer_epoch: r.get()?,
            verify_only: r.get()?,
            topics: r.get()?,
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.transactional_id)?;
        w.put(&self.producer_id)?;
        w.put(&self.producer_epoch)?;
        w.put(&self.verify_only)?;
        w.put(&self.topics)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`AddPartitionsToTxnRequest`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AddPartitionsToTxnTopic {
    /// `Name`.
    pub name: String,
    /// `Partitions`.
    pub partitions: Vec<i32>,
}

impl Codec for AddPartitionsToTxnTopic {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { name: r.get()?, partitions: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.partitions)?;
        w.no_tags();
        Ok(())
    }
}

/// AddPartitionsToTxnResponse, versions 0 to 5.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AddPartitionsToTxnResponse {
    /// `ThrottleTimeMs`.
    pub throttle_time_ms: i32,
    /// `ErrorCode`, versions 4 to 5 (left out of others).
    pub error_code: i16,
    /// `ResultsByTransaction`, versions 4 to 5.
    pub results_by_transaction: Vec<AddPartitionsToTxnResult>,
    /// `ResultsByTopicV3AndBelow`, versions 0 to 3.
    pub results_by_topic_v3_and_below: Vec<AddPartitionsToTxnTopicResult>,
}

impl Codec for AddPartitionsToTxnResponse {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let v = r.version();
        let this = Self {
            throttle_time_ms: r.get()?,
            error_code: if v >= 4 { r.get()? } else { 0 },
            results_by_transaction: if v >= 4 { r.get()? } else { Vec::new() },
            results_by_topic_v3_and_below: if v <= 3 { r.get()? } else { Vec::new() },
        };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        let v = w.version();
        w.put(&self.throttle_time_ms)?;
        if v >= 4 {
            w.put(&self.error_code)?;
        }
        if v >= 4 {
            w.put(&self.results_by_transaction)?;
        } else {
            w.absent(
                !self.results_by_transaction.is_empty(),
                "AddPartitionsToTxnResponse.results_by_transaction",
            )?;
        }
        if v <= 3 {
            w.put(&self.results_by_topic_v3_and_below)?;
        } else {
            w.absent(
                !self.results_by_topic_v3_and_below.is_empty(),
                "AddPartitionsToTxnResponse.results_by_topic_v3_and_below",
            )?;
        }
        w.no_tags();
        Ok(())
    }
}

impl Message for AddPartitionsToTxnResponse {
    const NAME: &'static str = "AddPartitionsToTxnResponse";
    const MIN_VERSION: i16 = 0;
    const MAX_VERSION: i16 = 5;
    const FIRST_FLEXIBLE: i16 = 3;
}

impl Response for AddPartitionsToTxnResponse {}

/// Part of [`AddPartitionsToTxnResponse`] in versions 4 to 5.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AddPartitionsToTxnResult {
    /// `TransactionalId`.
    pub transactional_id: String,
    /// `TopicResults`.
    pub topic_results: Vec<AddPartitionsToTxnTopicResult>,
}

impl Codec for AddPartitionsToTxnResult {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { transactional_id: r.get()?, topic_results: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.transactional_id)?;
        w.put(&self.topic_results)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`AddPartitionsToTxnResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AddPartitionsToTxnTopicResult {
    /// `Name`.
    pub name: String,
    /// `ResultsByPartition`.
    pub results_by_partition: Vec<AddPartitionsToTxnPartitionResult>,
}

impl Codec for AddPartitionsToTxnTopicResult {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { name: r.get()?, results_by_partition: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.name)?;
        w.put(&self.results_by_partition)?;
        w.no_tags();
        Ok(())
    }
}

/// Part of [`AddPartitionsToTxnResponse`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AddPartitionsToTxnPartitionResult {
    /// `PartitionIndex`.
    pub partition_index: i32,
    /// `PartitionErrorCode`.
    pub partition_error_code: i16,
}

impl Codec for AddPartitionsToTxnPartitionResult {
    fn read(r: &mut Reader<'_>) -> Result<Self> {
        let this = Self { partition_index: r.get()?, partition_error_code: r.get()? };
        r.skip_tags()?;
        Ok(this)
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<()> {
        w.put(&self.partition_index)?;
        w.put(&self.partition_error_code)?;
        w.no_tags();
        Ok(())
    }
}

//! The producer as tasks see it: without waiting where there is room, within a transaction that
//! begins with the first record.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::error::StreamsError;
use crate::client::{
    Client, Delivery, GroupMetadata, OffsetToCommit, Producer, ProducerConfig, ProducerRecord,
    TopicPartition,
};
use crate::streams::error::BoxError;
use crate::streams::task::{Collector, OutRecord};

/// One thread's output.
pub(super) struct Output {
    client: Client,
    handle: Handle,
    config: ProducerConfig,
    producer: Option<Producer>,
    in_transaction: bool,
    /// The last record sent to each changelog partition.
    changelogs: HashMap<TopicPartition, Delivery>,
    record: ProducerRecord,
}

impl Output {
    pub(super) fn new(client: Client, handle: Handle, config: ProducerConfig) -> Self {
        Self {
            client,
            handle,
            config,
            producer: None,
            in_transaction: false,
            changelogs: HashMap::new(),
            record: ProducerRecord::default(),
        }
    }

    pub(super) fn is_transactional(&self) -> bool {
        self.config.transactional_id.is_some()
    }

    /// Has the producer ready: a transactional one fences its predecessor and waits until the
    /// predecessor's transaction has ended.
    pub(super) fn prepare(&mut self) -> Result<&Producer, StreamsError> {
        if self.producer.is_none() {
            let _context = self.handle.enter();
            let producer = Producer::new(self.client.clone(), self.config.clone())?;
            if self.is_transactional() {
                self.handle.block_on(producer.init_transactions())?;
            }
            self.producer = Some(producer);
            self.in_transaction = false;
        }
        self.producer.as_ref().ok_or_else(|| StreamsError::State("no producer".into()))
    }

    fn begin(&mut self) -> Result<(), StreamsError> {
        // Looked at after `prepare`: a new producer is in no transaction.
        self.prepare()?;
        if self.is_transactional()
            && !self.in_transaction
            && let Some(producer) = &self.producer
        {
            producer.begin_transaction().map_err(StreamsError::of_output)?;
            self.in_transaction = true;
        }
        Ok(())
    }

    /// Waits until everything sent is written, and tells how far the changelogs are.
    pub(super) fn flush(&mut self) -> Result<HashMap<TopicPartition, i64>, StreamsError> {
        let mut offsets = HashMap::new();
        let Some(producer) = &self.producer else { return Ok(offsets) };
        let deliveries = std::mem::take(&mut self.changelogs);
        let outcome = self.handle.block_on(async {
            producer.flush().await?;
            if let Some(failure) = producer.take_failure() {
                return Err(failure);
            }
            for (tp, delivery) in deliveries {
                if let Some(offset) = delivery.wait().await?.offset {
                    offsets.insert(tp, offset + 1);
                }
            }
            Ok(())
        });
        outcome.map_err(StreamsError::of_output)?;
        Ok(offsets)
    }

    /// Commits the transaction, with these offsets in it.
    pub(super) fn commit(
        &mut self,
        offsets: &[OffsetToCommit],
        group: &GroupMetadata,
    ) -> Result<(), StreamsError> {
        self.begin()?;
        let Some(producer) = &self.producer else { return Ok(()) };
        let outcome = self.handle.block_on(async {
            producer.send_offsets(offsets, group).await?;
            producer.commit_transaction().await
        });
        outcome.map_err(StreamsError::of_output)?;
        self.in_transaction = false;
        Ok(())
    }

    /// Ends the transaction without effect. If that fails the producer is given up; the next one
    /// fences it.
    pub(super) fn abort(&mut self) {
        self.changelogs.clear();
        if !self.is_transactional() {
            return;
        }
        let Some(producer) = &self.producer else { return };
        if self.in_transaction
            && let Err(error) = self.handle.block_on(producer.abort_transaction())
        {
            log::debug!(target: crate::LOG_TARGET, "aborting a transaction: {error}");
            self.discard();
        }
        self.in_transaction = false;
    }

    /// Drops the producer; the next record makes another one.
    pub(super) fn discard(&mut self) {
        let _context = self.handle.enter();
        self.producer = None;
        self.in_transaction = false;
        self.changelogs.clear();
    }

    /// Delivers the rest and ends the producer.
    pub(super) fn close(mut self) {
        let in_transaction = self.in_transaction;
        if in_transaction {
            self.abort();
        }
        if let Some(producer) = self.producer.take()
            && let Err(error) = self.handle.block_on(producer.close())
        {
            log::warn!(target: crate::LOG_TARGET, "closing the producer: {error}");
        }
    }
}

impl Output {
    fn write(&mut self, record: OutRecord<'_>) -> Result<(), StreamsError> {
        self.begin()?;
        let out = &mut self.record;
        if out.topic != *record.topic {
            out.topic = record.topic.clone();
        }
        out.partition = record.partition;
        out.key = record.key;
        out.value = record.value;
        out.headers.clear();
        let headers = record.headers.iter();
        out.headers.extend(headers.map(|header| (header.name.to_string(), header.value.clone())));
        out.timestamp = Some(record.timestamp);
        let Some(producer) = &self.producer else { return Ok(()) };
        let sent = match producer.try_send(out) {
            Ok(Some(delivery)) => Ok(delivery),
            Ok(None) => self.handle.block_on(producer.send(out)),
            Err(error) => Err(error),
        };
        let delivery = sent.map_err(StreamsError::of_output)?;
        if record.changelog
            && let Some(partition) = record.partition
        {
            let tp = TopicPartition { topic: record.topic.clone(), partition };
            self.changelogs.insert(tp, delivery);
        }
        Ok(())
    }

    fn width(&self, topic: &Arc<str>) -> Result<i32, StreamsError> {
        let deadline = self.client.api_deadline();
        let topic = self.handle.block_on(self.client.topic(topic, deadline))?;
        Ok(i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX))
    }
}

impl Collector for Output {
    fn send(&mut self, record: OutRecord<'_>) -> Result<(), BoxError> {
        Ok(self.write(record)?)
    }

    fn partitions(&mut self, topic: &Arc<str>) -> Result<i32, BoxError> {
        Ok(self.width(topic)?)
    }
}

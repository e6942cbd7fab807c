//! What tasks have sent, by topic.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;

use crate::streams::error::BoxError;
use crate::streams::record::Headers;
use crate::streams::task::{Collector, OutRecord};

/// A record in a topic.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) key: Option<Bytes>,
    pub(super) value: Option<Bytes>,
    pub(super) headers: Headers,
    pub(super) timestamp: i64,
}

/// Collects what tasks send: every topic has one partition.
#[derive(Default)]
pub(super) struct Output {
    topics: BTreeMap<Arc<str>, VecDeque<Sent>>,
    /// Not yet looked at for what the topology reads itself.
    new: Vec<(Arc<str>, Sent)>,
}

impl Output {
    pub(super) fn topics(&self) -> impl Iterator<Item = &Arc<str>> {
        self.topics.keys()
    }

    /// The records since the last call that are of such topics.
    pub(super) fn take_new(
        &mut self,
        is_input: impl Fn(&Arc<str>) -> bool,
    ) -> Vec<(Arc<str>, Sent)> {
        let mut new = std::mem::take(&mut self.new);
        new.retain(|(topic, _)| is_input(topic));
        new
    }

    pub(super) fn read(&mut self, topic: &str) -> Option<Sent> {
        self.topics.get_mut(topic)?.pop_front()
    }

    pub(super) fn len(&self, topic: &str) -> usize {
        self.topics.get(topic).map_or(0, VecDeque::len)
    }
}

impl Collector for Output {
    fn send(&mut self, record: OutRecord<'_>) -> Result<(), BoxError> {
        let sent = Sent {
            key: record.key,
            value: record.value,
            headers: record.headers,
            timestamp: record.timestamp,
        };
        if !record.changelog {
            self.new.push((record.topic.clone(), sent.clone()));
        }
        self.topics.entry(record.topic.clone()).or_default().push_back(sent);
        Ok(())
    }

    fn partitions(&mut self, _: &Arc<str>) -> Result<i32, BoxError> {
        Ok(1)
    }
}

//! What is known about the cluster at one moment, and how an answer changes it. No I/O.

use std::collections::HashMap;
use std::sync::Arc;

use crate::client::error::{Error, ErrorCode};
use crate::client::pool::Endpoint;
use crate::wire::Uuid;
use crate::wire::messages::MetadataResponse;
use crate::wire::messages::metadata::{MetadataResponseBroker, MetadataResponseTopic};

/// The cluster as last heard of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    /// Grows with every finished attempt to refresh, also a failed one.
    pub(crate) round: u64,
    /// Why the last attempt failed, if it did.
    pub(crate) last_error: Option<Error>,
    pub(crate) cluster_id: Option<Arc<str>>,
    /// -1 while unknown.
    pub(crate) controller_id: i32,
    pub(crate) brokers: HashMap<i32, Broker>,
    topics: HashMap<Arc<str>, Arc<Topic>>,
    names: HashMap<Uuid, Arc<str>>,
    unknown_ids: HashMap<Uuid, ErrorCode>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broker {
    pub(crate) id: i32,
    pub(crate) endpoint: Endpoint,
    pub(crate) rack: Option<Arc<str>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Topic {
    pub(crate) name: Arc<str>,
    /// Zero if the broker is too old for topic ids.
    pub(crate) id: Uuid,
    pub(crate) error: ErrorCode,
    /// Sorted by index.
    pub(crate) partitions: Vec<Partition>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Partition {
    pub(crate) index: i32,
    /// -1 while there is none.
    pub(crate) leader: i32,
    /// -1 if unknown.
    pub(crate) leader_epoch: i32,
    pub(crate) replicas: Vec<i32>,
    pub(crate) isr: Vec<i32>,
    pub(crate) error: ErrorCode,
}

/// A leader as another answer named it (KIP-951).
#[derive(Debug, Clone)]
pub(crate) struct LeaderHint {
    pub(crate) leader: i32,
    pub(crate) epoch: i32,
    /// Where that leader listens, if the answer said so.
    pub(crate) endpoint: Option<Broker>,
}

impl Topic {
    pub(crate) fn partition(&self, index: i32) -> Option<&Partition> {
        let at = self.partitions.binary_search_by_key(&index, |partition| partition.index).ok()?;
        self.partitions.get(at)
    }
}

impl Snapshot {
    /// Before the first answer.
    pub(crate) fn unknown() -> Self {
        Self { controller_id: -1, ..Self::default() }
    }

    pub(crate) fn topic(&self, name: &str) -> Option<&Arc<Topic>> {
        self.topics.get(name)
    }

    pub(crate) fn topic_by_id(&self, id: Uuid) -> Option<&Arc<Topic>> {
        self.topics.get(self.names.get(&id)?)
    }

    /// The broker's answer about an id that it does not know.
    pub(crate) fn id_error(&self, id: Uuid) -> Option<ErrorCode> {
        self.unknown_ids.get(&id).copied()
    }

    /// Takes over an answer. Leaders with an older epoch than the one known are not believed:
    /// brokers learn of elections at different times.
    pub(crate) fn apply(&mut self, response: MetadataResponse) {
        if !response.brokers.is_empty() {
            self.brokers = response.brokers.iter().filter_map(broker).map(|b| (b.id, b)).collect();
        }
        if let Some(id) = response.cluster_id {
            self.cluster_id = Some(id.into());
        }
        self.controller_id = response.controller_id;
        for topic in response.topics {
            self.apply_topic(topic);
        }
    }

    fn apply_topic(&mut self, answer: MetadataResponseTopic) {
        let id = answer.topic_id;
        let error = ErrorCode::from(answer.error_code);
        let name: Arc<str> = match &answer.name {
            Some(name) if !name.is_empty() => name.as_str().into(),
            // Asked by id, and the broker does not know it: deleted, or not there yet.
            _ => {
                if let Some(name) = self.names.remove(&id) {
                    self.topics.remove(&name);
                }
                self.unknown_ids.insert(id, error);
                return;
            }
        };
        self.unknown_ids.remove(&id);
        let known = self.topics.get(&name).cloned();
        if let Some(known) = known.as_ref().filter(|known| known.id != id) {
            // Deleted and created again: nothing of the former topic holds.
            self.names.remove(&known.id);
        }
        let mut partitions: Vec<Partition> = answer
            .partitions
            .into_iter()
            .map(|partition| Partition {
                index: partition.partition_index,
                leader: partition.leader_id,
                leader_epoch: partition.leader_epoch,
                replicas: partition.replica_nodes,
                isr: partition.isr_nodes,
                error: ErrorCode::from(partition.error_code),
            })
            .collect();
        partitions.sort_by_key(|partition| partition.index);
        partitions.dedup_by_key(|partition| partition.index);
        if let Some(known) = known.filter(|known| known.id == id) {
            for partition in &mut partitions {
                if let Some(old) = known.partition(partition.index)
                    && old.leader_epoch > partition.leader_epoch
                {
                    *partition = old.clone();
                }
            }
        }
        if !id.is_zero() {
            self.names.insert(id, name.clone());
        }
        let topic = Topic { name: name.clone(), id, error, partitions };
        self.topics.insert(name, Arc::new(topic));
    }

    /// Takes over a leader named by another answer. Returns whether it was news.
    pub(crate) fn apply_hint(&mut self, topic: &str, partition: i32, hint: LeaderHint) -> bool {
        if hint.leader < 0 || hint.epoch < 0 {
            return false;
        }
        let Some(known) = self.topics.get(topic) else { return false };
        let Some(old) = known.partition(partition) else { return false };
        if hint.epoch <= old.leader_epoch {
            return false;
        }
        match hint.endpoint {
            Some(broker) if broker.id == hint.leader => {
                self.brokers.insert(broker.id, broker);
            }
            // A leader without an address is of no use before metadata brings one.
            _ if !self.brokers.contains_key(&hint.leader) => return false,
            _ => {}
        }
        let mut changed = Topic::clone(known);
        for entry in changed.partitions.iter_mut().filter(|entry| entry.index == partition) {
            entry.leader = hint.leader;
            entry.leader_epoch = hint.epoch;
            entry.error = ErrorCode::None;
        }
        self.topics.insert(changed.name.clone(), Arc::new(changed));
        true
    }

    /// Drops what nobody asks about any more.
    pub(crate) fn retain(&mut self, wanted: impl Fn(&Topic) -> bool) {
        self.topics.retain(|_, topic| wanted(topic));
        let topics = &self.topics;
        self.names.retain(|_, name| topics.contains_key(name));
    }

    pub(crate) fn forget_unknown_ids(&mut self, wanted: impl Fn(Uuid) -> bool) {
        self.unknown_ids.retain(|id, _| wanted(*id));
    }
}

fn broker(answer: &MetadataResponseBroker) -> Option<Broker> {
    node(answer.node_id, &answer.host, answer.port, answer.rack.as_deref())
}

/// A broker from an answer; `None` if its address cannot be one.
pub(crate) fn node(id: i32, host: &str, port: i32, rack: Option<&str>) -> Option<Broker> {
    let port = u16::try_from(port).ok().filter(|port| *port > 0)?;
    let endpoint = Endpoint { host: host.into(), port };
    (!host.is_empty()).then(|| Broker { id, endpoint, rack: rack.map(Arc::from) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::messages::metadata::MetadataResponsePartition;

    const ID: Uuid = Uuid([1; 16]);
    const OTHER_ID: Uuid = Uuid([2; 16]);

    fn answer(id: Uuid, leader: i32, epoch: i32) -> MetadataResponse {
        let partition = MetadataResponsePartition {
            partition_index: 0,
            leader_id: leader,
            leader_epoch: epoch,
            ..Default::default()
        };
        MetadataResponse {
            brokers: vec![MetadataResponseBroker {
                node_id: 1,
                host: "one".into(),
                port: 9092,
                ..Default::default()
            }],
            topics: vec![MetadataResponseTopic {
                name: Some("orders".into()),
                topic_id: id,
                partitions: vec![partition],
                ..Default::default()
            }],
            ..Default::default()
        }
    }

    fn leader(snapshot: &Snapshot) -> (i32, i32) {
        let topic = snapshot.topic("orders").unwrap();
        let partition = topic.partition(0).unwrap();
        (partition.leader, partition.leader_epoch)
    }

    fn hint(leader: i32, epoch: i32, known_address: bool) -> LeaderHint {
        let endpoint = if known_address { node(leader, "host", 9092, None) } else { None };
        LeaderHint { leader, epoch, endpoint }
    }

    #[test]
    fn an_answer_with_an_older_leader_epoch_is_not_believed() {
        let mut snapshot = Snapshot::default();
        snapshot.apply(answer(ID, 1, 5));
        snapshot.apply(answer(ID, 2, 4));
        assert_eq!(leader(&snapshot), (1, 5));
        snapshot.apply(answer(ID, 2, 6));
        assert_eq!(leader(&snapshot), (2, 6));
    }

    #[test]
    fn a_recreated_topic_replaces_the_former_one_whatever_its_epochs() {
        let mut snapshot = Snapshot::default();
        snapshot.apply(answer(ID, 1, 5));
        snapshot.apply(answer(OTHER_ID, 2, 0));
        assert_eq!(leader(&snapshot), (2, 0));
        assert!(snapshot.topic_by_id(ID).is_none());
        assert!(snapshot.topic_by_id(OTHER_ID).is_some());
    }

    #[test]
    fn hints_count_only_with_a_newer_epoch_and_a_known_address() {
        let mut snapshot = Snapshot::default();
        snapshot.apply(answer(ID, 1, 5));
        assert!(!snapshot.apply_hint("orders", 0, hint(2, 5, true)));
        assert!(!snapshot.apply_hint("orders", 0, hint(-1, -1, true)));
        assert!(!snapshot.apply_hint("orders", 0, hint(2, 6, false)));
        assert!(!snapshot.apply_hint("orders", 9, hint(2, 6, true)));
        assert_eq!(leader(&snapshot), (1, 5));
        assert!(snapshot.apply_hint("orders", 0, hint(2, 6, true)));
        assert_eq!(leader(&snapshot), (2, 6));
        assert_eq!(&*snapshot.brokers[&2].endpoint.host, "host");
    }

    #[test]
    fn an_id_the_broker_does_not_know_drops_the_topic_and_keeps_the_reason() {
        let mut snapshot = Snapshot::default();
        snapshot.apply(answer(ID, 1, 5));
        snapshot.apply(MetadataResponse {
            topics: vec![MetadataResponseTopic {
                error_code: 100,
                topic_id: ID,
                ..Default::default()
            }],
            ..Default::default()
        });
        assert!(snapshot.topic("orders").is_none());
        assert_eq!(snapshot.id_error(ID), Some(ErrorCode::UnknownTopicId));
    }

    #[test]
    fn brokers_with_impossible_addresses_are_left_out() {
        assert!(node(1, "", 9092, None).is_none());
        assert!(node(1, "a", -1, None).is_none());
        assert!(node(1, "a", 70_000, None).is_none());
    }
}

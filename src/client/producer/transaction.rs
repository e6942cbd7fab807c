//! Transactions: the calls an application makes, and what they ask of the coordinators.
//!
//! ```text
//! Uninitialized -init-> Ready -begin-> Open -commit-> Ending -> Ready
//!                                        |-abort--> Ending -> Ready
//!                                        |-error--> Failed -abort-> Ending -> Ready
//! any -fencing-> the producer ends
//! ```
//!
//! While `Ending`, the outcome may be unknown, because an answer was lost or the caller's future
//! dropped: the same call again asks for the same outcome, which the coordinator answers without
//! doing it twice.

use super::batch::Identity;
use super::state::{Open, Shared, State, Txn};
use super::{Producer, is_fatal};
use crate::client::admin::TopicPartition;
use crate::client::cluster::{Client, retrying};
use crate::client::coordinator::CoordinatorKind;
use crate::client::error::{Error, ErrorCode, ErrorCodeExt as _, Result};
use crate::wire::messages::add_partitions_to_txn::AddPartitionsToTxnTopic;
use crate::wire::messages::txn_offset_commit::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use crate::wire::messages::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest, EndTxnResponse,
    InitProducerIdRequest, InitProducerIdResponse, TxnOffsetCommitRequest,
};

/// First version of EndTxn that raises the epoch.
const END_RAISES_EPOCH: i16 = 5;
/// First version of TxnOffsetCommit that needs no AddOffsetsToTxn.
const IMPLICIT_OFFSETS: i16 = 5;
/// Newest version of AddPartitionsToTxn for clients; later ones are spoken among brokers.
const ADD_PARTITIONS: i16 = 3;

/// Who commits offsets within a transaction: a member of a consumer or streams group.
#[derive(Debug, Clone, Default)]
pub struct GroupMetadata {
    /// The group's id.
    pub group_id: String,
    /// Member epoch, or generation in a classic group; -1 if not a member.
    pub member_epoch: i32,
    /// The member's id; empty if not a member.
    pub member_id: String,
    /// Static member's instance id.
    pub group_instance_id: Option<String>,
}

/// An offset to commit.
#[derive(Debug, Clone)]
pub struct OffsetToCommit {
    /// Topic and partition.
    pub partition: TopicPartition,
    /// The next offset to read.
    pub offset: i64,
    /// Leader epoch of the last record read; -1 if unknown.
    pub leader_epoch: i32,
    /// Free text kept with the offset.
    pub metadata: String,
}

impl Producer {
    /// Registers the transactional id: fences an earlier producer of the same id and ends its
    /// transaction. Call once, before the first transaction.
    ///
    /// # Errors
    /// [`Error::State`] without a transactional id or when called twice; the coordinator's
    /// refusal.
    ///
    /// # Cancel safety
    /// May be called again after its future was dropped.
    pub async fn init_transactions(&self) -> Result<()> {
        let _turn = self.transaction.lock().await;
        let id = self.transactional_id()?;
        if !matches!(self.shared.state().txn, Txn::Uninitialized) {
            return Err(Error::state("init_transactions was called already"));
        }
        let deadline = self.client.api_deadline();
        let v2 = retrying!(self.client, deadline, {
            let kind = CoordinatorKind::Transaction;
            let (_, connection) = self.client.coordinator(kind, id, deadline).await?;
            let knows =
                connection.version_within::<EndTxnRequest>(END_RAISES_EPOCH..=i16::MAX).is_ok();
            Ok(knows && connection.feature("transaction.version") >= 2)
        })?;
        let identity = self.initialise(None).await?;
        let mut state = self.shared.state();
        state.v2 = v2;
        state.identity = Some(identity);
        state.txn = Txn::Ready;
        Ok(())
    }

    /// Begins a transaction; the broker hears of it with the first record.
    ///
    /// # Errors
    /// [`Error::State`] if one is open or the producer is not initialised.
    pub fn begin_transaction(&self) -> Result<()> {
        let mut state = self.shared.state();
        if let Some(fatal) = &state.fatal {
            return Err(fatal.clone());
        }
        match &state.txn {
            Txn::Ready => {
                state.txn = Txn::Open;
                state.open = Open::default();
                Ok(())
            }
            Txn::Failed(error) => Err(error.clone()),
            Txn::Open => Err(Error::state("a transaction is open already")),
            Txn::Ending { .. } => Err(Error::state(
                "the last transaction's end is not confirmed: repeat commit or abort first",
            )),
            Txn::Off | Txn::Uninitialized => {
                Err(Error::state("call init_transactions before begin_transaction"))
            }
        }
    }

    /// Commits offsets of a group as part of the transaction.
    ///
    /// # Errors
    /// Of the coordinators. Except for a lost connection the transaction must then be aborted.
    ///
    /// # Cancel safety
    /// After its future was dropped the offsets may be part of the transaction; call it again or
    /// abort.
    pub async fn send_offsets(
        &self,
        offsets: &[OffsetToCommit],
        group: &GroupMetadata,
    ) -> Result<()> {
        let _turn = self.transaction.lock().await;
        let id = self.transactional_id()?;
        let (identity, v2) = {
            let mut state = self.shared.state();
            state.check_sending()?;
            state.open.touched = true;
            (state.identity.ok_or(Error::Closed)?, state.v2)
        };
        let outcome = self.commit_offsets(id, identity, v2, offsets, group).await;
        outcome.inspect_err(|error| self.transaction_failed(error))
    }

    async fn commit_offsets(
        &self,
        id: &str,
        identity: Identity,
        v2: bool,
        offsets: &[OffsetToCommit],
        group: &GroupMetadata,
    ) -> Result<()> {
        let deadline = self.client.api_deadline();
        if !v2 {
            let request = AddOffsetsToTxnRequest {
                transactional_id: id.to_owned(),
                producer_id: identity.id,
                producer_epoch: identity.epoch,
                group_id: group.group_id.clone(),
            };
            let kind = CoordinatorKind::Transaction;
            self.client
                .call_coordinator(kind, id, &request, deadline, |response| {
                    ErrorCode::from(response.error_code)
                        .check(|| format!("AddOffsetsToTxn of {id} for group {}", group.group_id))
                })
                .await?;
            self.shared.state().open.partitions.insert(offsets_marker(&group.group_id));
        }
        let request = offsets_request(id, identity, offsets, group);
        // Version 6 names topics by id; names do as well.
        let versions =
            if v2 { IMPLICIT_OFFSETS..=IMPLICIT_OFFSETS } else { 0..=IMPLICIT_OFFSETS - 1 };
        self.client
            .call_coordinator_within(
                CoordinatorKind::Group,
                &group.group_id,
                &request,
                versions,
                deadline,
                |response| {
                    let mut partitions = response.topics.iter().flat_map(|topic| {
                        topic.partitions.iter().map(move |answer| (&topic.name, answer))
                    });
                    partitions.try_for_each(|(topic, answer)| {
                        ErrorCode::from(answer.error_code).check(|| {
                            format!(
                                "TxnOffsetCommit of {id} for group {} and {topic}-{}",
                                group.group_id, answer.partition_index
                            )
                        })
                    })
                },
            )
            .await
            .map(drop)
    }

    /// Delivers all records of the transaction and commits it.
    ///
    /// # Errors
    /// If a record could not be delivered or the coordinator says so: abort then. After
    /// [`Error::Timeout`] or a lost connection the outcome is unknown: call it again.
    ///
    /// # Cancel safety
    /// May be called again after its future was dropped, until it returned.
    pub async fn commit_transaction(&self) -> Result<()> {
        let _turn = self.transaction.lock().await;
        let id = self.transactional_id()?;
        let repeated = {
            let state = self.shared.state();
            match &state.txn {
                _ if state.fatal.is_some() => {
                    return Err(state.fatal.clone().unwrap_or(Error::Closed));
                }
                Txn::Open => false,
                Txn::Ending { commit: true } => true,
                Txn::Failed(error) => return Err(error.clone()),
                _ => return Err(Error::state("no transaction is open to commit")),
            }
        };
        if !repeated {
            loop {
                // Failures among the records have failed the transaction as well.
                let _ = self.flush().await;
                let mut state = self.shared.state();
                state.check_sending()?;
                // Records sent meanwhile by others belong to this transaction too.
                if state.is_settled() {
                    state.txn = Txn::Ending { commit: true };
                    break;
                }
            }
        }
        self.end(id, true).await
    }

    /// Drops what was not sent and aborts the transaction.
    ///
    /// # Errors
    /// After [`Error::Timeout`] or a lost connection: call it again. [`Error::State`] if a commit
    /// is not confirmed: its outcome is no longer free.
    ///
    /// # Cancel safety
    /// May be called again after its future was dropped, until it returned.
    pub async fn abort_transaction(&self) -> Result<()> {
        let _turn = self.transaction.lock().await;
        let id = self.transactional_id()?;
        {
            let mut state = self.shared.state();
            match &state.txn {
                _ if state.fatal.is_some() => {
                    return Err(state.fatal.clone().unwrap_or(Error::Closed));
                }
                Txn::Open | Txn::Failed(_) | Txn::Ending { commit: false } => {}
                Txn::Ending { commit: true } => {
                    return Err(Error::state(
                        "a commit is under way and not confirmed: call commit_transaction again",
                    ));
                }
                _ => return Err(Error::state("no transaction is open to abort")),
            }
            state.txn = Txn::Ending { commit: false };
            state.drain_waiting(&Error::state("the transaction was aborted"));
        }
        // What is on the wire comes back, one way or the other, within the request timeout.
        let _ = self.flush().await;
        // Asked to end before it heard of a partition, the coordinator would know of no
        // transaction.
        let deadline = self.client.api_deadline();
        while !self.shared.state().open.adding.is_empty() {
            let added = tokio::time::timeout_at(deadline, self.shared.added.notified()).await;
            added.map_err(|_| {
                let what = format!("AddPartitionsToTxn of transactional id {id}");
                Error::timeout(what, self.client.config().api_timeout)
            })?;
        }
        self.end(id, false).await
    }

    async fn end(&self, id: &str, commit: bool) -> Result<()> {
        let (identity, v2, touched, added, gap) = {
            let state = self.shared.state();
            let identity = state.identity.ok_or(Error::Closed)?;
            let added = !state.open.partitions.is_empty();
            let gap = state.queues.values().any(super::queue::Queue::wants_new_epoch);
            (identity, state.v2, state.open.touched, added, gap)
        };
        // The first version's coordinator knows nothing of a transaction without partitions.
        let mut next = None;
        if if v2 { touched } else { added } {
            let response = self.end_txn(id, identity, v2, commit).await?;
            let raised = response.producer_id >= 0 && v2;
            next = raised
                .then_some(Identity { id: response.producer_id, epoch: response.producer_epoch });
        }
        if gap && next.is_none() {
            // Sequence numbers are missing that the broker would ask for: begin anew.
            next = Some(self.initialise(Some(identity)).await?);
        }
        let mut state = self.shared.state();
        if let Some(next) = next {
            state.identity = Some(next);
            state.queues.values_mut().for_each(super::queue::Queue::settle);
        }
        state.open = Open::default();
        state.txn = Txn::Ready;
        Ok(())
    }

    async fn end_txn(
        &self,
        id: &str,
        identity: Identity,
        v2: bool,
        commit: bool,
    ) -> Result<EndTxnResponse> {
        let request = EndTxnRequest {
            transactional_id: id.to_owned(),
            producer_id: identity.id,
            producer_epoch: identity.epoch,
            committed: commit,
        };
        let versions = if v2 { END_RAISES_EPOCH..=i16::MAX } else { 0..=END_RAISES_EPOCH - 1 };
        let word = if commit { "commit" } else { "abort" };
        let deadline = self.client.api_deadline();
        let kind = CoordinatorKind::Transaction;
        let outcome = self
            .client
            .call_coordinator_within(kind, id, &request, versions, deadline, |response| {
                ErrorCode::from(response.error_code)
                    .check(|| format!("EndTxn ({word}) of transactional id {id}"))
            })
            .await;
        outcome.inspect_err(|error| {
            let mut state = self.shared.state();
            match error.code() {
                Some(ErrorCode::TransactionAbortable) => state.txn = Txn::Failed(error.clone()),
                // The coordinator has moved on without us, and will not take us back.
                Some(ErrorCode::InvalidProducerEpoch | ErrorCode::InvalidTxnState) => {
                    state.end(error.clone());
                }
                Some(code) if is_fatal(code) => state.end(error.clone()),
                _ => {}
            }
        })
    }

    /// Asks the coordinator for an identity; `known` proves that the last one is ours.
    async fn initialise(&self, known: Option<Identity>) -> Result<Identity> {
        let id = self.transactional_id()?;
        let timeout = self.shared.config.transaction_timeout.as_millis();
        let known = known.unwrap_or(Identity { id: -1, epoch: -1 });
        let request = InitProducerIdRequest {
            transactional_id: Some(id.to_owned()),
            transaction_timeout_ms: i32::try_from(timeout).unwrap_or(i32::MAX),
            producer_id: known.id,
            producer_epoch: known.epoch,
        };
        let deadline = self.client.api_deadline();
        let kind = CoordinatorKind::Transaction;
        let check = |response: &InitProducerIdResponse| {
            ErrorCode::from(response.error_code)
                .check(|| format!("InitProducerId of transactional id {id}"))
        };
        let response = self.client.call_coordinator(kind, id, &request, deadline, check).await;
        let response = response.inspect_err(|error| {
            let fenced = error.code() == Some(ErrorCode::InvalidProducerEpoch);
            if fenced || error.code().is_some_and(is_fatal) {
                self.shared.state().end(error.clone());
            }
        })?;
        Ok(Identity { id: response.producer_id, epoch: response.producer_epoch })
    }

    fn transaction_failed(&self, error: &Error) {
        let mut state = self.shared.state();
        match error.code() {
            Some(ErrorCode::InvalidProducerEpoch) => state.end(error.clone()),
            Some(code) if is_fatal(code) => state.end(error.clone()),
            Some(_) => state.fail_transaction(error.clone()),
            // Nothing was said about the transaction: the call may be repeated.
            None => {}
        }
    }

    fn transactional_id(&self) -> Result<&str> {
        self.shared.config.transactional_id.as_deref().ok_or_else(|| {
            Error::state("this producer has no transactional.id; set one to use transactions")
        })
    }
}

/// An identity for a producer without transactions.
pub(super) async fn identify(client: &Client) -> Result<Identity> {
    let request = InitProducerIdRequest {
        transactional_id: None,
        transaction_timeout_ms: i32::MAX,
        producer_id: -1,
        producer_epoch: -1,
    };
    let check = |response: &InitProducerIdResponse| {
        ErrorCode::from(response.error_code).check(|| "InitProducerId")
    };
    let response = client.call_any(&request, client.api_deadline(), check).await?;
    Ok(Identity { id: response.producer_id, epoch: response.producer_epoch })
}

/// Tells the coordinator which partitions the transaction will write to (before KIP-890).
pub(super) async fn add_partitions(
    client: &Client,
    shared: &Shared,
    partitions: &[TopicPartition],
) -> Result<()> {
    let id = shared.config.transactional_id.clone().ok_or(Error::Closed)?;
    let identity = State::identity(&shared.state()).ok_or(Error::Closed)?;
    let mut topics: Vec<AddPartitionsToTxnTopic> = Vec::new();
    for tp in partitions {
        match topics.iter_mut().find(|topic| *topic.name == *tp.topic) {
            Some(topic) => topic.partitions.push(tp.partition),
            None => topics.push(AddPartitionsToTxnTopic {
                name: tp.topic.to_string(),
                partitions: vec![tp.partition],
            }),
        }
    }
    let request = AddPartitionsToTxnRequest {
        v3_and_below_transactional_id: id.clone(),
        v3_and_below_producer_id: identity.id,
        v3_and_below_producer_epoch: identity.epoch,
        v3_and_below_topics: topics,
        ..AddPartitionsToTxnRequest::default()
    };
    let kind = CoordinatorKind::Transaction;
    let deadline = client.api_deadline();
    client
        .call_coordinator_within(kind, &id, &request, 0..=ADD_PARTITIONS, deadline, |response| {
            let results = response.results_by_topic_v3_and_below.iter();
            let mut results = results
                .flat_map(|topic| topic.results_by_partition.iter().map(move |r| (&topic.name, r)));
            results.try_for_each(|(topic, result)| {
                ErrorCode::from(result.partition_error_code).check(|| {
                    format!("AddPartitionsToTxn of {id} for {topic}-{}", result.partition_index)
                })
            })
        })
        .await
        .map(drop)
}

impl State {
    fn identity(state: &Self) -> Option<Identity> {
        state.identity
    }
}

/// Stands for a group's offsets among the partitions of a transaction.
fn offsets_marker(group: &str) -> TopicPartition {
    TopicPartition::new(format!("__consumer_offsets of group {group}"), -1)
}

fn offsets_request(
    id: &str,
    identity: Identity,
    offsets: &[OffsetToCommit],
    group: &GroupMetadata,
) -> TxnOffsetCommitRequest {
    let mut topics: Vec<TxnOffsetCommitRequestTopic> = Vec::new();
    for offset in offsets {
        let partition = TxnOffsetCommitRequestPartition {
            partition_index: offset.partition.partition,
            committed_offset: offset.offset,
            committed_leader_epoch: offset.leader_epoch,
            committed_metadata: Some(offset.metadata.clone()),
        };
        match topics.iter_mut().find(|topic| *topic.name == *offset.partition.topic) {
            Some(topic) => topic.partitions.push(partition),
            None => topics.push(TxnOffsetCommitRequestTopic {
                name: offset.partition.topic.to_string(),
                partitions: vec![partition],
                ..TxnOffsetCommitRequestTopic::default()
            }),
        }
    }
    TxnOffsetCommitRequest {
        transactional_id: id.to_owned(),
        group_id: group.group_id.clone(),
        producer_id: identity.id,
        producer_epoch: identity.epoch,
        generation_id_or_member_epoch: group.member_epoch,
        member_id: group.member_id.clone(),
        group_instance_id: group.group_instance_id.clone(),
        topics,
    }
}

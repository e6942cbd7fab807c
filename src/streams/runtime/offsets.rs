//! Committed offsets of the group, asked from and sent to its coordinator.

use std::collections::{BTreeMap, HashMap};

use crate::client::{
    Client, CoordinatorKind, Error, ErrorCode, ErrorCodeExt as _, GroupMetadata, OffsetToCommit,
    TopicPartition,
};
use crate::wire::messages::offset_commit::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use crate::wire::messages::offset_fetch::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use crate::wire::messages::{OffsetCommitRequest, OffsetFetchRequest};

/// The version with member epochs and topic names; the next one names topics by id.
const COMMIT_VERSION: i16 = 9;
const FETCH_VERSION: i16 = 9;

/// A committed offset and the text kept with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Committed {
    pub(super) offset: i64,
    pub(super) metadata: String,
}

/// Commits outside a transaction.
///
/// # Errors
/// The first refusal. Cancelling leaves it open whether the offsets were committed.
pub(super) async fn commit(
    client: &Client,
    group: &GroupMetadata,
    offsets: &[OffsetToCommit],
) -> Result<(), Error> {
    let mut topics: BTreeMap<&str, Vec<OffsetCommitRequestPartition>> = BTreeMap::new();
    for offset in offsets {
        topics.entry(&offset.partition.topic).or_default().push(OffsetCommitRequestPartition {
            partition_index: offset.partition.partition,
            committed_offset: offset.offset,
            committed_leader_epoch: offset.leader_epoch,
            committed_metadata: Some(offset.metadata.clone()),
        });
    }
    let topics = topics.into_iter().map(|(name, partitions)| OffsetCommitRequestTopic {
        name: name.to_owned(),
        partitions,
        ..Default::default()
    });
    let request = OffsetCommitRequest {
        group_id: group.group_id.clone(),
        generation_id_or_member_epoch: group.member_epoch,
        member_id: group.member_id.clone(),
        group_instance_id: group.group_instance_id.clone(),
        topics: topics.collect(),
        ..Default::default()
    };
    let (kind, key, deadline) =
        (CoordinatorKind::Group, group.group_id.as_str(), client.api_deadline());
    let versions = COMMIT_VERSION..=COMMIT_VERSION;
    client
        .call_coordinator_within(kind, key, &request, versions, deadline, |response| {
            let answers = response
                .topics
                .iter()
                .flat_map(|topic| topic.partitions.iter().map(move |answer| (&topic.name, answer)));
            for (topic, answer) in answers {
                ErrorCode::from(answer.error_code).check(|| {
                    format!("OffsetCommit of group {key} for {topic}-{}", answer.partition_index)
                })?;
            }
            Ok(())
        })
        .await
        .map(drop)
}

/// Committed offsets of these partitions; those without one are missing. Open transactions are
/// waited for.
///
/// # Errors
/// The first refusal. Cancel safe.
pub(super) async fn committed(
    client: &Client,
    group: &GroupMetadata,
    partitions: &[TopicPartition],
) -> Result<HashMap<TopicPartition, Committed>, Error> {
    let mut topics: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for tp in partitions {
        topics.entry(&tp.topic).or_default().push(tp.partition);
    }
    let topics = topics.into_iter().map(|(name, partition_indexes)| OffsetFetchRequestTopics {
        name: name.to_owned(),
        partition_indexes,
        ..Default::default()
    });
    // Without a member: one that names itself needs the very newest epoch, and what is asked for
    // is the same.
    let asked = OffsetFetchRequestGroup {
        group_id: group.group_id.clone(),
        member_id: None,
        member_epoch: -1,
        topics: Some(topics.collect()),
    };
    let request =
        OffsetFetchRequest { groups: vec![asked], require_stable: true, ..Default::default() };
    let (kind, key, deadline) =
        (CoordinatorKind::Group, group.group_id.as_str(), client.api_deadline());
    let versions = FETCH_VERSION..=FETCH_VERSION;
    let response = client
        .call_coordinator_within(kind, key, &request, versions, deadline, |response| {
            for group in &response.groups {
                ErrorCode::from(group.error_code)
                    .check(|| format!("OffsetFetch of group {key}"))?;
                for topic in &group.topics {
                    for answer in &topic.partitions {
                        ErrorCode::from(answer.error_code).check(|| {
                            let partition = answer.partition_index;
                            format!("OffsetFetch of group {key} for {}-{partition}", topic.name)
                        })?;
                    }
                }
            }
            Ok(())
        })
        .await?;
    let topics = response.groups.into_iter().flat_map(|group| group.topics);
    let mut found = HashMap::new();
    for topic in topics {
        for answer in topic.partitions.into_iter().filter(|answer| answer.committed_offset >= 0) {
            let tp = TopicPartition::new(topic.name.as_str(), answer.partition_index);
            let metadata = answer.metadata.unwrap_or_default();
            found.insert(tp, Committed { offset: answer.committed_offset, metadata });
        }
    }
    Ok(found)
}

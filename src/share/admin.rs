//! Looking after share groups: members, offsets, settings.

use crate::client::{
    Admin, Client, Config, ConfigResource, CoordinatorKind, Error, ErrorCode, ErrorCodeExt as _,
};
use crate::options::{Options, Part};
use crate::wire::messages::alter_share_group_offsets::{
    AlterShareGroupOffsetsRequestPartition, AlterShareGroupOffsetsRequestTopic,
};
use crate::wire::messages::delete_share_group_offsets::DeleteShareGroupOffsetsRequestTopic;
use crate::wire::messages::describe_share_group_offsets::{
    DescribeShareGroupOffsetsRequestGroup, DescribeShareGroupOffsetsRequestTopic,
};
use crate::wire::messages::{
    AlterShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequest, ShareGroupDescribeRequest,
};

use super::error::ShareError;

/// Administrative calls for share groups. Each is bounded by `default.api.timeout.ms` and tried
/// again where that may help. Dropping a call's future abandons it; what the broker has begun it
/// finishes.
#[derive(Clone)]
pub struct ShareAdmin {
    client: Client,
    admin: Admin,
}

impl std::fmt::Debug for ShareAdmin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShareAdmin").finish_non_exhaustive()
    }
}

/// A share group as its coordinator describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShareGroupDescription {
    /// `Empty`, `Stable` or `Dead`.
    pub state: String,
    /// Grows with each change of members or subscriptions.
    pub epoch: i32,
    /// Epoch that the present assignment was computed for.
    pub assignment_epoch: i32,
    /// Who assigns, for example `simple`.
    pub assignor: String,
    /// Members.
    pub members: Vec<ShareMember>,
}

/// A member of a share group.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShareMember {
    /// Its id, see [`ShareConsumer::member_id`](super::ShareConsumer::member_id).
    pub id: String,
    /// Its `client.id`.
    pub client_id: String,
    /// Address it connects from.
    pub client_host: String,
    /// Its rack, if it named one.
    pub rack: Option<String>,
    /// Its epoch.
    pub epoch: i32,
    /// Topics it subscribes to.
    pub topics: Vec<String>,
    /// Topics and partitions assigned to it; other members may have the same ones.
    pub assignment: Vec<(String, i32)>,
}

/// Where a share group stands in a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShareOffset {
    /// Topic.
    pub topic: String,
    /// Partition.
    pub partition: i32,
    /// Everything before it is settled; `None` if the group has not begun here.
    pub start_offset: Option<i64>,
    /// Records from there on that are not settled (KIP-1226); `None` if the broker does not tell.
    pub lag: Option<i64>,
}

impl ShareAdmin {
    /// Connects to `brokers` (`host:port`, separated by commas). Must be called on a tokio
    /// runtime; nothing is sent before the first call.
    ///
    /// # Errors
    /// [`ShareError::Config`] naming the setting.
    pub fn new(brokers: &str, options: &Options) -> Result<Self, ShareError> {
        let (config, _) = Config::of_part(Part::Share, brokers, options)?;
        let client = Client::new(config)?;
        Ok(Self { admin: Admin::new(client.clone()), client })
    }

    /// State and members of a group.
    ///
    /// # Errors
    /// The coordinator's refusal (an unknown group is one), or that it could not be asked.
    pub async fn describe_group(&self, group: &str) -> Result<ShareGroupDescription, ShareError> {
        let request =
            ShareGroupDescribeRequest { group_ids: vec![group.to_owned()], ..Default::default() };
        let context = || format!("ShareGroupDescribe for group {group}");
        let deadline = self.client.api_deadline();
        let response = self.client.call_coordinator(
            CoordinatorKind::Group,
            group,
            &request,
            deadline,
            |response| {
                response.groups.iter().try_for_each(|answer| {
                    ErrorCode::from(answer.error_code)
                        .check_with(answer.error_message.as_deref(), context)
                })
            },
        );
        let answer = response.await?.groups.into_iter().find(|answer| answer.group_id == group);
        let answer = answer.ok_or_else(|| Error::broker(ErrorCode::GroupIdNotFound, context()))?;
        let members = answer.members.into_iter().map(|member| ShareMember {
            id: member.member_id,
            client_id: member.client_id,
            client_host: member.client_host,
            rack: member.rack_id,
            epoch: member.member_epoch,
            topics: member.subscribed_topic_names,
            assignment: member
                .assignment
                .topic_partitions
                .into_iter()
                .flat_map(|topic| {
                    topic.partitions.into_iter().map(move |p| (topic.topic_name.clone(), p))
                })
                .collect(),
        });
        Ok(ShareGroupDescription {
            state: answer.group_state,
            epoch: answer.group_epoch,
            assignment_epoch: answer.assignment_epoch,
            assignor: answer.assignor_name,
            members: members.collect(),
        })
    }

    /// Where a group stands, in all its partitions or in those given by topic.
    ///
    /// # Errors
    /// The coordinator's refusal, also for a single partition, or that it could not be asked.
    pub async fn list_offsets(
        &self,
        group: &str,
        topics: Option<&[(&str, Vec<i32>)]>,
    ) -> Result<Vec<ShareOffset>, ShareError> {
        let topics = topics.map(|topics| {
            let topic =
                |(name, partitions): &(&str, Vec<i32>)| DescribeShareGroupOffsetsRequestTopic {
                    topic_name: (*name).to_owned(),
                    partitions: partitions.clone(),
                };
            topics.iter().map(topic).collect()
        });
        let asked = DescribeShareGroupOffsetsRequestGroup { group_id: group.to_owned(), topics };
        let request = DescribeShareGroupOffsetsRequest { groups: vec![asked] };
        let deadline = self.client.api_deadline();
        let response = self.client.call_coordinator(
            CoordinatorKind::Group,
            group,
            &request,
            deadline,
            |response| {
                response.groups.iter().try_for_each(|answer| {
                    ErrorCode::from(answer.error_code)
                        .check_with(answer.error_message.as_deref(), || {
                            format!("DescribeShareGroupOffsets for group {group}")
                        })
                })
            },
        );
        let mut offsets = Vec::new();
        for topic in response.await?.groups.into_iter().flat_map(|answer| answer.topics) {
            for part in topic.partitions {
                ErrorCode::from(part.error_code).check_with(
                    part.error_message.as_deref(),
                    || {
                        format!(
                            "offset of group {group} in {}-{}",
                            topic.topic_name, part.partition_index
                        )
                    },
                )?;
                offsets.push(ShareOffset {
                    topic: topic.topic_name.clone(),
                    partition: part.partition_index,
                    start_offset: Some(part.start_offset).filter(|offset| *offset >= 0),
                    lag: Some(part.lag).filter(|lag| *lag >= 0),
                });
            }
        }
        offsets.sort_by(|a, b| (&a.topic, a.partition).cmp(&(&b.topic, b.partition)));
        Ok(offsets)
    }

    /// Moves a group without members to these offsets of a topic, by partition.
    ///
    /// # Errors
    /// The coordinator's refusal, also for a single partition (the others may have been moved),
    /// or that it could not be asked.
    pub async fn alter_offsets(
        &self,
        group: &str,
        topic: &str,
        offsets: &[(i32, i64)],
    ) -> Result<(), ShareError> {
        let partition =
            |(partition_index, start_offset): &(i32, i64)| AlterShareGroupOffsetsRequestPartition {
                partition_index: *partition_index,
                start_offset: *start_offset,
            };
        let topics = vec![AlterShareGroupOffsetsRequestTopic {
            topic_name: topic.to_owned(),
            partitions: offsets.iter().map(partition).collect(),
        }];
        let request = AlterShareGroupOffsetsRequest { group_id: group.to_owned(), topics };
        let context = || format!("AlterShareGroupOffsets for group {group} in topic {topic}");
        let deadline = self.client.api_deadline();
        let response = self.client.call_coordinator(
            CoordinatorKind::Group,
            group,
            &request,
            deadline,
            |response| {
                ErrorCode::from(response.error_code)
                    .check_with(response.error_message.as_deref(), context)
            },
        );
        for part in response.await?.responses.into_iter().flat_map(|topic| topic.partitions) {
            ErrorCode::from(part.error_code).check_with(part.error_message.as_deref(), || {
                format!("{}, partition {}", context(), part.partition_index)
            })?;
        }
        Ok(())
    }

    /// Forgets where a group without members stands in these topics.
    ///
    /// # Errors
    /// The coordinator's refusal, also for a single topic, or that it could not be asked.
    pub async fn delete_offsets(&self, group: &str, topics: &[&str]) -> Result<(), ShareError> {
        let topic =
            |name: &&str| DeleteShareGroupOffsetsRequestTopic { topic_name: (*name).to_owned() };
        let request = DeleteShareGroupOffsetsRequest {
            group_id: group.to_owned(),
            topics: topics.iter().map(topic).collect(),
        };
        let context = || format!("DeleteShareGroupOffsets for group {group}");
        let deadline = self.client.api_deadline();
        let response = self.client.call_coordinator(
            CoordinatorKind::Group,
            group,
            &request,
            deadline,
            |response| {
                ErrorCode::from(response.error_code)
                    .check_with(response.error_message.as_deref(), context)
            },
        );
        for topic in response.await?.responses {
            ErrorCode::from(topic.error_code).check_with(topic.error_message.as_deref(), || {
                format!("{}, topic {}", context(), topic.topic_name)
            })?;
        }
        Ok(())
    }

    /// Sets (`Some`) or removes (`None`) a setting of a group, for example
    /// `share.auto.offset.reset` to `earliest` or `share.record.lock.duration.ms`.
    ///
    /// # Errors
    /// The broker's refusal, or that none could be asked.
    pub async fn set_group_config(
        &self,
        group: &str,
        key: &str,
        value: Option<&str>,
    ) -> Result<(), ShareError> {
        let group = ConfigResource::Group(group.to_owned());
        Ok(self.admin.alter_configs(&group, &[(key, value)]).await?)
    }

    /// Names and values of all settings of a group.
    ///
    /// # Errors
    /// The broker's refusal, or that none could be asked.
    pub async fn group_config(
        &self,
        group: &str,
    ) -> Result<Vec<(String, Option<String>)>, ShareError> {
        let group = ConfigResource::Group(group.to_owned());
        let entries = self.admin.describe_configs(&group).await?;
        Ok(entries.into_iter().map(|entry| (entry.name, entry.value)).collect())
    }

    /// Deletes a group without members, its offsets included.
    ///
    /// # Errors
    /// The coordinator's refusal, or that it could not be asked.
    pub async fn delete_group(&self, group: &str) -> Result<(), ShareError> {
        for (_, outcome) in self.admin.delete_groups(&[group]).await {
            outcome?;
        }
        Ok(())
    }
}

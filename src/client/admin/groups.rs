//! Groups of every kind: listing asks all brokers, the rest the group's coordinator.

use super::{Admin, PerItem};
use crate::client::cluster::retrying;
use crate::client::coordinator::CoordinatorKind;
use crate::client::error::{Error, ErrorCode, ErrorCodeExt as _, Result};
use crate::client::pool::Purpose;
use crate::wire::messages::describe_groups::DescribedGroup;
use crate::wire::messages::{DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest};

/// A group as a coordinator lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedGroup {
    /// The group's id.
    pub group_id: String,
    /// `classic`, `consumer`, `share` or `streams`; empty from brokers before Kafka 3.8.
    pub group_type: String,
    /// For example `Stable` or `Empty`; empty from brokers before Kafka 2.6.
    pub state: String,
}

impl Admin {
    /// All groups of the cluster.
    ///
    /// # Errors
    /// If any broker cannot be asked: a list with holes would look complete.
    pub async fn list_groups(&self) -> Result<Vec<ListedGroup>> {
        let deadline = self.client.api_deadline();
        let snapshot = self.client.brokers(deadline).await?;
        let mut groups = Vec::new();
        for id in snapshot.brokers.keys() {
            let response = retrying!(self.client, deadline, {
                let connection = self.client.node(*id, Purpose::General, deadline).await?;
                let request = ListGroupsRequest::default();
                let limit = self.client.request_deadline(deadline);
                let response = connection.call(&request, limit).await?;
                ErrorCode::from(response.error_code)
                    .check(|| format!("ListGroups at broker {id}"))?;
                Ok(response)
            });
            groups.extend(response?.groups.into_iter().map(|group| ListedGroup {
                group_id: group.group_id,
                group_type: group.group_type,
                state: group.group_state,
            }));
        }
        groups.sort_by(|a, b| a.group_id.cmp(&b.group_id));
        Ok(groups)
    }

    /// State and members of a group of the classic protocol.
    ///
    /// # Errors
    /// The coordinator's refusal, or that it could not be asked.
    pub async fn describe_classic_group(&self, group: &str) -> Result<DescribedGroup> {
        let request =
            DescribeGroupsRequest { groups: vec![group.to_owned()], ..Default::default() };
        let context = || format!("DescribeGroups for group {group}");
        let response = self
            .client
            .call_coordinator(
                CoordinatorKind::Group,
                group,
                &request,
                self.client.api_deadline(),
                |response| {
                    response.groups.iter().try_for_each(|group| {
                        ErrorCode::from(group.error_code)
                            .check_with(group.error_message.as_deref(), context)
                    })
                },
            )
            .await?;
        let found = response.groups.into_iter().find(|answer| answer.group_id == group);
        found.ok_or_else(|| Error::broker(ErrorCode::GroupIdNotFound, context()))
    }

    /// Deletes groups without members, of any kind.
    ///
    /// # Errors
    /// Each group has its own.
    pub async fn delete_groups(&self, groups: &[&str]) -> PerItem<()> {
        let mut results = Vec::with_capacity(groups.len());
        for group in groups {
            let request = DeleteGroupsRequest { groups_names: vec![(*group).to_owned()] };
            let outcome = self
                .client
                .call_coordinator(
                    CoordinatorKind::Group,
                    group,
                    &request,
                    self.client.api_deadline(),
                    |response| {
                        response.results.iter().try_for_each(|result| {
                            ErrorCode::from(result.error_code)
                                .check_with(result.error_message.as_deref(), || {
                                    format!("DeleteGroups for group {group}")
                                })
                        })
                    },
                )
                .await;
            results.push(((*group).to_owned(), outcome.map(drop)));
        }
        results
    }
}

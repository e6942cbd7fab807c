//! Tasks by role, as the group assigns them and as members report them.

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use crate::streams::task::TaskId;
use crate::wire::messages::streams_group_heartbeat::{
    RequestTaskIds, ResponseTaskIds, StreamsGroupHeartbeatResponse,
};

/// Tasks in order.
pub(crate) type TaskSet = BTreeSet<TaskId>;

/// What a member has: each task in one role only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) active: TaskSet,
    pub(crate) standby: TaskSet,
    /// Standbys that are to become active as soon as they have caught up.
    pub(crate) warmup: TaskSet,
    /// Whether the group has all it needs. If not, nothing is to be processed.
    pub(crate) ready: bool,
}

/// The task lists of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Keep what there is.
    Unchanged,
    New(Assignment),
    /// Lists that no correct broker sends; says why.
    Malformed(String),
}

impl Assignment {
    /// A role is decided for each task: active before standby before warm-up.
    fn of(active: TaskSet, mut standby: TaskSet, mut warmup: TaskSet, ready: bool) -> Self {
        standby.retain(|task| !active.contains(task));
        warmup.retain(|task| !active.contains(task) && !standby.contains(task));
        Self { active, standby, warmup, ready }
    }

    /// No task in any role.
    pub(crate) fn is_empty(&self) -> bool {
        self.active.is_empty() && self.standby.is_empty() && self.warmup.is_empty()
    }

    /// The lists of an answer. `known` says whether the topology has this subtopology.
    pub(super) fn from_answer(
        answer: &StreamsGroupHeartbeatResponse,
        ready: bool,
        known: impl Fn(i32) -> bool,
    ) -> Target {
        let lists = (&answer.active_tasks, &answer.standby_tasks, &answer.warmup_tasks);
        let (active, standby, warmup) = match lists {
            (None, None, None) => return Target::Unchanged,
            (Some(active), Some(standby), Some(warmup)) => (active, standby, warmup),
            _ => {
                return Target::Malformed(
                    "an assignment with some of its three task lists missing".into(),
                );
            }
        };
        let read = |lists| tasks(lists, &known);
        match (read(active), read(standby), read(warmup)) {
            (Ok(active), Ok(standby), Ok(warmup)) => {
                Target::New(Self::of(active, standby, warmup, ready))
            }
            (Err(why), ..) | (_, Err(why), _) | (.., Err(why)) => Target::Malformed(why),
        }
    }
}

fn tasks(lists: &[ResponseTaskIds], known: &impl Fn(i32) -> bool) -> Result<TaskSet, String> {
    let mut tasks = TaskSet::new();
    for list in lists {
        let subtopology = list.subtopology_id.parse().ok().filter(|id| known(*id));
        let Some(subtopology) = subtopology else {
            return Err(format!(
                "tasks of subtopology {:?}, which this application's topology does not have: all \
                 members of the group must run the same topology",
                list.subtopology_id
            ));
        };
        for partition in &list.partitions {
            if *partition < 0 {
                return Err(format!("a task with the negative partition {partition}"));
            }
            tasks.insert(TaskId { subtopology, partition: *partition });
        }
    }
    Ok(tasks)
}

/// The list of a request.
pub(super) fn to_wire(tasks: &TaskSet) -> Vec<RequestTaskIds> {
    let mut by_subtopology: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for task in tasks {
        by_subtopology.entry(task.subtopology).or_default().push(task.partition);
    }
    let lists = by_subtopology.into_iter().map(|(subtopology, partitions)| RequestTaskIds {
        subtopology_id: subtopology.to_string(),
        partitions,
    });
    lists.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(subtopology: &str, partitions: &[i32]) -> Vec<ResponseTaskIds> {
        vec![ResponseTaskIds {
            subtopology_id: subtopology.into(),
            partitions: partitions.to_vec(),
        }]
    }

    fn set(partitions: &[i32]) -> TaskSet {
        partitions
            .iter()
            .map(|partition| TaskId { subtopology: 1, partition: *partition })
            .collect()
    }

    fn answer(lists: [Option<Vec<ResponseTaskIds>>; 3]) -> StreamsGroupHeartbeatResponse {
        let [active_tasks, standby_tasks, warmup_tasks] = lists;
        StreamsGroupHeartbeatResponse {
            active_tasks,
            standby_tasks,
            warmup_tasks,
            ..Default::default()
        }
    }

    fn read(lists: [Option<Vec<ResponseTaskIds>>; 3]) -> Target {
        Assignment::from_answer(&answer(lists), true, |id| id == 1)
    }

    #[test]
    fn no_lists_keep_the_target_and_empty_ones_take_everything_away() {
        assert_eq!(read([None, None, None]), Target::Unchanged);
        let none = Assignment { ready: true, ..Default::default() };
        assert_eq!(read([Some(vec![]), Some(vec![]), Some(vec![])]), Target::New(none));
    }

    #[test]
    fn a_task_in_several_roles_is_active_before_standby_before_warmup() {
        let target =
            read([Some(list("1", &[0, 1])), Some(list("1", &[1, 2])), Some(list("1", &[0, 2, 3]))]);
        let expected =
            Assignment { active: set(&[0, 1]), standby: set(&[2]), warmup: set(&[3]), ready: true };
        assert_eq!(target, Target::New(expected));
    }

    #[test]
    fn lists_that_no_correct_broker_sends_are_named() {
        for (lists, named) in [
            ([Some(vec![]), None, Some(vec![])], "missing"),
            ([Some(list("7", &[0])), Some(vec![]), Some(vec![])], "\"7\""),
            ([Some(vec![]), Some(list("x", &[0])), Some(vec![])], "\"x\""),
            ([Some(vec![]), Some(vec![]), Some(list("1", &[-1]))], "-1"),
        ] {
            let Target::Malformed(why) = read(lists) else { panic!("accepted: {named}") };
            assert!(why.contains(named), "{why} does not name {named}");
        }
    }

    #[test]
    fn tasks_are_reported_by_subtopology() {
        let mut tasks = set(&[2, 0]);
        tasks.insert(TaskId { subtopology: 10, partition: 5 });
        let wire = to_wire(&tasks);
        let ids: Vec<_> =
            wire.iter().map(|ids| (ids.subtopology_id.as_str(), ids.partitions.clone())).collect();
        assert_eq!(ids, [("1", vec![0, 2]), ("10", vec![5])]);
    }
}

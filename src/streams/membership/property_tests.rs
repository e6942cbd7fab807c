//! Members, a group that follows the protocol's rules, and a network that loses answers, in any
//! order of events: no task is ever run by two members, and nothing is acknowledged before it was
//! given up.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;

use super::assignment::{TaskId, TaskSet};
use super::member::{Member, Outgoing, Settings, Work};
use crate::wire::messages::streams_group_heartbeat::{ResponseTaskIds, Subtopology, Topology};
use crate::wire::messages::{StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse};

const PAUSE: Duration = Duration::from_millis(100);
const MEMBERS: usize = 3;
const TASKS: i32 = 5;

fn member(name: usize, now: Instant) -> Member {
    let subtopology = Subtopology { subtopology_id: "0".into(), ..Default::default() };
    let settings = Settings {
        group: "app".into(),
        member_id: format!("member-{name}"),
        instance_id: None,
        rack: None,
        process_id: format!("process-{name}"),
        endpoint: None,
        client_tags: vec![],
        max_poll_interval: Duration::from_secs(300),
        topology: Topology { epoch: 0, subtopologies: vec![subtopology] },
    };
    Member::new(settings, now)
}

/// What a stream thread really runs; it obeys its works to the letter.
#[derive(Default)]
struct Thread {
    running: TaskSet,
}

impl Thread {
    fn carry_out(&mut self, work: &Work) {
        match work {
            Work::Revoke(tasks) => self.running.retain(|task| !tasks.contains(task)),
            Work::Assign(assignment) => {
                // What an assignment takes away was to be revoked before.
                assert!(self.running.is_subset(&assignment.active), "taken without a revocation");
                self.running = assignment.active.clone();
            }
            Work::Lost => self.running.clear(),
        }
    }
}

fn reported(request: &StreamsGroupHeartbeatRequest) -> Option<TaskSet> {
    let lists = request.active_tasks.as_ref()?;
    let tasks = lists.iter().flat_map(|ids| {
        let subtopology = ids.subtopology_id.parse().expect("a number");
        ids.partitions.iter().map(move |partition| TaskId { subtopology, partition: *partition })
    });
    Some(tasks.collect())
}

/// The group's side: a task goes to a member only after the one that had it no longer lists it.
#[derive(Default)]
struct Group {
    epoch: i32,
    /// What each member is told to have.
    members: BTreeMap<usize, Seat>,
    wanted: BTreeMap<i32, usize>,
}

#[derive(Default, Clone)]
struct Seat {
    epoch: i32,
    assigned: TaskSet,
    /// Taken away, and not yet missing in a list of the member.
    pending: TaskSet,
    told: bool,
}

impl Group {
    fn heartbeat(
        &mut self,
        from: usize,
        request: &StreamsGroupHeartbeatRequest,
    ) -> StreamsGroupHeartbeatResponse {
        let listed = reported(request);
        if request.member_epoch == 0 {
            self.epoch += 1;
            self.members.insert(from, Seat { epoch: self.epoch, ..Seat::default() });
        }
        let Some(seat) = self.members.get_mut(&from) else {
            return StreamsGroupHeartbeatResponse { error_code: 25, ..Default::default() };
        };
        if let Some(listed) = &listed {
            seat.pending.retain(|task| listed.contains(task));
        }
        let held_elsewhere: TaskSet = self
            .members
            .iter()
            .filter(|(name, _)| **name != from)
            .flat_map(|(_, seat)| seat.assigned.union(&seat.pending).copied().collect::<Vec<_>>())
            .collect();
        let wanted: TaskSet = self
            .wanted
            .iter()
            .filter(|(_, owner)| **owner == from)
            .map(|(partition, _)| TaskId { subtopology: 0, partition: *partition })
            .filter(|task| !held_elsewhere.contains(task))
            .collect();
        let seat = self.members.get_mut(&from).expect("a member");
        let changed = seat.assigned != wanted || !seat.told;
        seat.pending.extend(seat.assigned.difference(&wanted));
        seat.pending.retain(|task| !wanted.contains(task));
        if let Some(listed) = &listed {
            seat.pending.retain(|task| listed.contains(task));
        }
        seat.assigned = wanted;
        seat.told = true;
        let list = |tasks: &TaskSet| {
            let partitions = tasks.iter().map(|task| task.partition).collect();
            Some(vec![ResponseTaskIds { subtopology_id: "0".into(), partitions }])
        };
        StreamsGroupHeartbeatResponse {
            member_epoch: seat.epoch,
            heartbeat_interval_ms: 5000,
            active_tasks: changed.then(|| list(&seat.assigned)).flatten(),
            standby_tasks: changed.then(Vec::new),
            warmup_tasks: changed.then(Vec::new),
            ..Default::default()
        }
    }

    /// An answer got lost: a real group repeats what a member has not confirmed.
    fn answer_lost(&mut self, from: usize) {
        if let Some(seat) = self.members.get_mut(&from) {
            seat.told = false;
        }
    }
}

#[derive(Debug, Clone)]
enum Event {
    /// A task is to go to a member.
    Move(i32, usize),
    /// The member's next request reaches the group and the answer comes back.
    Beat(usize),
    /// The request reaches the group, the answer does not come back.
    Lost(usize),
    /// The request does not reach the group.
    Unsent(usize),
    /// The request and its answer pass, but the thread works in between.
    Slow(usize),
    /// The thread does what there is to do.
    Work(usize),
}

fn event() -> impl Strategy<Value = Event> {
    let member = 0..MEMBERS;
    prop_oneof![
        2 => (0..TASKS, 0..MEMBERS).prop_map(|(task, to)| Event::Move(task, to)),
        6 => member.clone().prop_map(Event::Beat),
        1 => member.clone().prop_map(Event::Lost),
        1 => member.clone().prop_map(Event::Unsent),
        2 => member.clone().prop_map(Event::Slow),
        5 => member.prop_map(Event::Work),
    ]
}

fn work(member: &mut Member, thread: &mut Thread, now: Instant) {
    member.poll(now);
    if let Some((id, work)) = member.work().cloned() {
        thread.carry_out(&work);
        member.done(id, now);
    }
}

/// What the thread runs must be in every list that the member sends.
fn check_report(outgoing: &Outgoing, thread: &Thread) {
    if let Some(listed) = reported(&outgoing.request) {
        let hidden: Vec<_> = thread.running.difference(&listed).collect();
        assert!(hidden.is_empty(), "acknowledged before revoked: {hidden:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_task_has_two_owners_and_none_is_acknowledged_before_it_is_revoked(
        events in prop::collection::vec(event(), 0..200)
    ) {
        let mut now = Instant::now();
        let mut group = Group::default();
        let mut members: Vec<Member> = (0..MEMBERS).map(|name| member(name, now)).collect();
        let mut threads: Vec<Thread> = (0..MEMBERS).map(|_| Thread::default()).collect();
        for member in &mut members {
            member.poll(now);
        }
        for partition in 0..TASKS {
            group.wanted.insert(partition, 0);
        }
        let settle = (0..20).flat_map(|_| {
            (0..MEMBERS).flat_map(|name| [Event::Beat(name), Event::Work(name)])
        });
        for event in events.into_iter().chain(settle) {
            now += Duration::from_millis(10);
            match event {
                Event::Move(task, to) => {
                    group.wanted.insert(task, to);
                }
                Event::Work(name) => work(&mut members[name], &mut threads[name], now),
                Event::Beat(name) | Event::Lost(name) | Event::Unsent(name) | Event::Slow(name) => {
                    if members[name].due().is_none() {
                        continue;
                    }
                    let outgoing = members[name].request(1, now).expect("a request");
                    check_report(&outgoing, &threads[name]);
                    match event {
                        Event::Unsent(_) => members[name].on_failure(now, PAUSE),
                        Event::Lost(_) => {
                            group.heartbeat(name, &outgoing.request);
                            group.answer_lost(name);
                            members[name].on_failure(now, PAUSE);
                        }
                        _ => {
                            let answer = group.heartbeat(name, &outgoing.request);
                            if matches!(event, Event::Slow(_)) {
                                work(&mut members[name], &mut threads[name], now);
                            }
                            members[name].on_response(&outgoing, answer, 1, now, PAUSE);
                        }
                    }
                }
            }
            for partition in 0..TASKS {
                let task = TaskId { subtopology: 0, partition };
                let owners = threads.iter().filter(|thread| thread.running.contains(&task)).count();
                prop_assert!(owners <= 1, "{task} is run by {owners} members");
            }
        }
        // And it ends where the group wanted it.
        for (partition, owner) in &group.wanted {
            let task = TaskId { subtopology: 0, partition: *partition };
            prop_assert!(threads[*owner].running.contains(&task), "{task} does not run");
        }
    }

    #[test]
    fn whatever_answers_come_nothing_is_acknowledged_before_it_is_revoked(
        steps in prop::collection::vec(
            (
                prop::option::of(prop::collection::btree_set(0..TASKS, 0..4)),
                prop_oneof![
                    6 => Just(0i16), 1 => Just(110), 1 => Just(25), 1 => Just(14), 1 => Just(16),
                    1 => Just(29),
                ],
                any::<bool>(),
                any::<bool>(),
            ),
            0..200
        )
    ) {
        let mut now = Instant::now();
        let (mut member, mut thread) = (member(0, now), Thread::default());
        member.poll(now);
        for (active, error_code, works_before, works_after) in steps {
            now += Duration::from_millis(10);
            if works_before {
                work(&mut member, &mut thread, now);
            }
            if member.due().is_some() {
                let outgoing = member.request(1, now).expect("a request");
                check_report(&outgoing, &thread);
                let lists = active.map(|partitions| {
                    let partitions = partitions.into_iter().collect();
                    vec![ResponseTaskIds { subtopology_id: "0".into(), partitions }]
                });
                let answer = StreamsGroupHeartbeatResponse {
                    error_code,
                    member_epoch: 7,
                    heartbeat_interval_ms: 5000,
                    standby_tasks: lists.as_ref().map(|_| vec![]),
                    warmup_tasks: lists.as_ref().map(|_| vec![]),
                    active_tasks: lists,
                    ..Default::default()
                };
                member.on_response(&outgoing, answer, 1, now, PAUSE);
            }
            if works_after {
                work(&mut member, &mut thread, now);
            }
        }
    }
}

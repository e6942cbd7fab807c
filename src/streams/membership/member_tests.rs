use super::super::answer::Reaction;
use super::super::assignment::TaskId;
use super::*;
use crate::wire::messages::StreamsGroupHeartbeatResponse;
use crate::wire::messages::streams_group_heartbeat::{
    EndpointToPartitions, ResponseEndpoint, ResponseTaskIds, Status, Subtopology,
};

const PAUSE: Duration = Duration::from_millis(100);
const INTERVAL: Duration = Duration::from_secs(5);

fn settings() -> Settings {
    let subtopology = |id: &str| Subtopology { subtopology_id: id.into(), ..Default::default() };
    Settings {
        group: "app".into(),
        member_id: "member".into(),
        instance_id: None,
        rack: Some("rack-1".into()),
        process_id: "process".into(),
        endpoint: Some("host:7070".parse().unwrap()),
        client_tags: vec![("zone".into(), "a".into())],
        max_poll_interval: Duration::from_secs(300),
        topology: Topology { epoch: 0, subtopologies: vec![subtopology("0"), subtopology("2")] },
    }
}

fn fixed() -> Settings {
    Settings { instance_id: Some("blue-1".into()), ..settings() }
}

fn tasks(partitions: &[i32]) -> TaskSet {
    partitions.iter().map(|partition| TaskId { subtopology: 0, partition: *partition }).collect()
}

fn list(partitions: &[i32]) -> Option<Vec<ResponseTaskIds>> {
    let ids = ResponseTaskIds { subtopology_id: "0".into(), partitions: partitions.to_vec() };
    Some(if partitions.is_empty() { vec![] } else { vec![ids] })
}

fn answer(epoch: i32) -> StreamsGroupHeartbeatResponse {
    StreamsGroupHeartbeatResponse {
        member_epoch: epoch,
        heartbeat_interval_ms: 5000,
        ..Default::default()
    }
}

fn refusal(code: i16) -> StreamsGroupHeartbeatResponse {
    StreamsGroupHeartbeatResponse { error_code: code, ..answer(0) }
}

fn assigning(epoch: i32, active: &[i32]) -> StreamsGroupHeartbeatResponse {
    StreamsGroupHeartbeatResponse {
        active_tasks: list(active),
        standby_tasks: list(&[]),
        warmup_tasks: list(&[]),
        ..answer(epoch)
    }
}

fn with_status(response: StreamsGroupHeartbeatResponse, code: i8) -> StreamsGroupHeartbeatResponse {
    let status = Status { status_code: code, status_detail: "why".into() };
    StreamsGroupHeartbeatResponse { status: Some(vec![status]), ..response }
}

/// Sends what is to be sent and has it answered.
fn beat(
    member: &mut Member,
    response: StreamsGroupHeartbeatResponse,
    now: Instant,
) -> StreamsGroupHeartbeatRequest {
    let outgoing = member.request(1, now).expect("a request");
    member.on_response(&outgoing, response, 1, now, PAUSE);
    outgoing.request
}

fn finish_work(member: &mut Member, now: Instant) -> Option<Work> {
    let (id, work) = member.work().cloned()?;
    member.done(id, now);
    Some(work)
}

fn start(settings: Settings, now: Instant) -> Member {
    let mut member = Member::new(settings, now);
    member.poll(now);
    member
}

/// A stable member with these active tasks, the group having heard of them.
fn stable(settings: Settings, active: &[i32], now: Instant) -> Member {
    let mut member = start(settings, now);
    beat(&mut member, assigning(3, active), now);
    finish_work(&mut member, now).expect("an assignment");
    beat(&mut member, answer(3), now);
    assert_eq!(member.state(), State::Stable);
    member
}

fn active_sent(request: &StreamsGroupHeartbeatRequest) -> Option<Vec<i32>> {
    let lists = request.active_tasks.as_ref()?;
    Some(lists.iter().flat_map(|ids| ids.partitions.clone()).collect())
}

#[test]
fn the_group_is_joined_by_a_poll_and_not_before() {
    let now = Instant::now();
    let mut member = Member::new(settings(), now);
    assert_eq!((member.state(), member.due()), (State::Unsubscribed, None));
    member.poll(now);
    assert_eq!((member.state(), member.due()), (State::Joining, Some(now)));
}

#[test]
fn the_join_carries_everything_and_later_heartbeats_only_what_changed() {
    let now = Instant::now();
    let mut member = start(settings(), now);
    let join = beat(&mut member, assigning(3, &[0, 1]), now);
    assert_eq!((join.member_epoch, join.rebalance_timeout_ms), (0, 300_000));
    assert_eq!(join.endpoint_information_epoch, -1);
    assert_eq!(join.topology.as_ref().map(|t| t.subtopologies.len()), Some(2));
    assert_eq!(join.process_id.as_deref(), Some("process"));
    assert_eq!(join.rack_id.as_deref(), Some("rack-1"));
    assert_eq!(join.user_endpoint.as_ref().map(|e| e.port), Some(7070));
    assert_eq!(join.client_tags.as_ref().map(Vec::len), Some(1));
    for list in [&join.active_tasks, &join.standby_tasks, &join.warmup_tasks] {
        assert_eq!(list.as_ref().map(Vec::len), Some(0), "empty, not null");
    }
    finish_work(&mut member, now);
    let told = beat(&mut member, answer(3), now);
    assert_eq!((told.member_epoch, active_sent(&told)), (3, Some(vec![0, 1])));
    assert_eq!((told.rebalance_timeout_ms, told.topology, told.process_id), (-1, None, None));
    assert_eq!((told.rack_id, told.user_endpoint, told.client_tags), (None, None, None));
    let quiet = beat(&mut member, answer(3), now + INTERVAL);
    assert_eq!((quiet.active_tasks, quiet.standby_tasks, quiet.warmup_tasks), (None, None, None));
    assert_eq!((quiet.group_id.as_str(), quiet.member_id.as_str()), ("app", "member"));
}

#[test]
fn without_tags_or_endpoint_the_tags_are_empty_and_the_endpoint_null() {
    let now = Instant::now();
    let bare = Settings { rack: None, endpoint: None, client_tags: vec![], ..settings() };
    let join = start(bare, now).request(1, now).unwrap().request;
    assert_eq!((join.client_tags, join.user_endpoint, join.rack_id), (Some(vec![]), None, None));
}

#[test]
fn null_task_lists_keep_the_tasks() {
    let now = Instant::now();
    let mut member = stable(settings(), &[0, 1], now);
    beat(&mut member, answer(3), now + INTERVAL);
    assert_eq!((member.work(), member.state()), (None, State::Stable));
    assert_eq!(member.owned().active, tasks(&[0, 1]));
}

#[test]
fn a_task_taken_away_is_given_up_first_and_acknowledged_after() {
    let now = Instant::now();
    let mut member = stable(settings(), &[0, 1], now);
    beat(&mut member, assigning(3, &[0]), now + INTERVAL);
    assert_eq!(member.state(), State::Reconciling);
    // However long the revocation takes, heartbeats do not give the task away.
    for n in 2..6 {
        assert_eq!(active_sent(&beat(&mut member, answer(3), now + INTERVAL * n)), None);
    }
    assert_eq!(finish_work(&mut member, now), Some(Work::Revoke(tasks(&[1]))));
    assert_eq!(active_sent(&beat(&mut member, answer(3), now + INTERVAL * 6)), None);
    let Some(Work::Assign(assignment)) = finish_work(&mut member, now) else { panic!("no assign") };
    assert_eq!(assignment.active, tasks(&[0]));
    assert_eq!((member.state(), member.due()), (State::Acknowledging, Some(now + INTERVAL * 6)));
    assert_eq!(active_sent(&beat(&mut member, answer(4), now + INTERVAL * 6)), Some(vec![0]));
    assert_eq!((member.state(), member.group_metadata().member_epoch), (State::Stable, 4));
}

#[test]
fn a_newer_target_waits_for_the_end_of_the_round() {
    let now = Instant::now();
    let mut member = stable(settings(), &[0], now);
    beat(&mut member, assigning(4, &[0, 1]), now + INTERVAL);
    beat(&mut member, assigning(5, &[0, 2]), now + INTERVAL * 2);
    let Some(Work::Assign(first)) = finish_work(&mut member, now) else { panic!("no assign") };
    assert_eq!(first.active, tasks(&[0, 1]));
    assert_eq!(member.work(), None);
    let told = beat(&mut member, answer(5), now + INTERVAL * 3);
    assert_eq!(active_sent(&told), Some(vec![0, 1]));
    assert_eq!(member.state(), State::Reconciling);
    assert_eq!(finish_work(&mut member, now), Some(Work::Revoke(tasks(&[1]))));
    let Some(Work::Assign(second)) = finish_work(&mut member, now) else { panic!("no assign") };
    assert_eq!(second.active, tasks(&[0, 2]));
}

#[test]
fn a_repeated_target_is_no_news_but_one_that_came_back_is_acknowledged_again() {
    let now = Instant::now();
    let mut member = stable(settings(), &[0], now);
    beat(&mut member, assigning(3, &[0]), now + INTERVAL);
    assert_eq!((member.state(), member.work()), (State::Stable, None));
    beat(&mut member, assigning(4, &[0, 1]), now + INTERVAL);
    beat(&mut member, assigning(5, &[0]), now + INTERVAL);
    beat(&mut member, assigning(6, &[0, 1]), now + INTERVAL);
    finish_work(&mut member, now);
    assert_eq!(active_sent(&beat(&mut member, answer(6), now + INTERVAL)), Some(vec![0, 1]));
    // Nothing to do but to say so.
    let Some(Work::Assign(again)) = finish_work(&mut member, now) else { panic!("no assign") };
    assert_eq!(again.active, tasks(&[0, 1]));
    assert_eq!(active_sent(&beat(&mut member, answer(6), now + INTERVAL)), Some(vec![0, 1]));
}

#[test]
fn standby_changes_need_no_revocation() {
    let now = Instant::now();
    let mut member = stable(settings(), &[0], now);
    let response = StreamsGroupHeartbeatResponse {
        standby_tasks: list(&[1]),
        warmup_tasks: list(&[2]),
        ..assigning(4, &[0])
    };
    beat(&mut member, response, now + INTERVAL);
    let Some(Work::Assign(assignment)) = finish_work(&mut member, now) else { panic!("no assign") };
    assert_eq!((assignment.standby, assignment.warmup), (tasks(&[1]), tasks(&[2])));
    beat(&mut member, answer(4), now + INTERVAL);
    beat(&mut member, assigning(5, &[0]), now + INTERVAL * 2);
    assert!(matches!(finish_work(&mut member, now), Some(Work::Assign(_))));
}

#[test]
fn readiness_alone_is_carried_out_with_the_same_tasks() {
    let now = Instant::now();
    let mut member = start(settings(), now);
    beat(&mut member, with_status(assigning(1, &[0]), 3), now);
    let Some(Work::Assign(held)) = finish_work(&mut member, now) else { panic!("no assign") };
    assert_eq!((held.active, held.ready), (tasks(&[0]), false));
    beat(&mut member, answer(1), now);
    let Some(Work::Assign(free)) = finish_work(&mut member, now) else { panic!("no assign") };
    assert_eq!((free.active, free.ready), (tasks(&[0]), true));
    assert_eq!(active_sent(&beat(&mut member, answer(1), now)), Some(vec![0]));
}

#[test]
fn a_fenced_or_unknown_member_loses_all_and_joins_again_under_its_id() {
    for code in [25, 110] {
        let now = Instant::now();
        let mut member = stable(settings(), &[0, 1], now);
        beat(&mut member, refusal(code), now + INTERVAL);
        assert_eq!((member.state(), member.due()), (State::Fenced, None));
        assert_eq!(finish_work(&mut member, now), Some(Work::Lost));
        assert!(member.owned().is_empty());
        let join = beat(&mut member, assigning(9, &[0]), now + INTERVAL);
        assert_eq!((join.member_epoch, join.member_id.as_str()), (0, "member"));
        assert!(join.topology.is_some());
        assert_eq!(active_sent(&join), Some(vec![]));
    }
}

#[test]
fn work_of_before_a_fence_changes_nothing_when_it_is_reported_after() {
    let now = Instant::now();
    let mut member = stable(settings(), &[0, 1], now);
    beat(&mut member, assigning(3, &[0]), now + INTERVAL);
    let (revoke, _) = member.work().cloned().unwrap();
    beat(&mut member, refusal(110), now + INTERVAL * 2);
    member.done(revoke, now);
    assert!(matches!(member.work(), Some((_, Work::Lost))));
    assert_eq!(member.state(), State::Fenced);
}

#[test]
fn a_member_fenced_again_and_again_waits_between_its_joins() {
    let now = Instant::now();
    let mut member = start(settings(), now);
    for _ in 0..4 {
        beat(&mut member, refusal(110), now);
        finish_work(&mut member, now);
    }
    assert_eq!(member.due(), Some(now + INTERVAL));
}

#[test]
fn a_coordinator_that_moved_or_loads_is_asked_again_with_everything_after_a_pause() {
    for (code, reaction) in
        [(14, Reaction::Other), (15, Reaction::Rediscover), (16, Reaction::Rediscover)]
    {
        let now = Instant::now();
        let mut member = stable(settings(), &[0], now);
        let outgoing = member.request(1, now).unwrap();
        assert_eq!(member.on_response(&outgoing, refusal(code), 1, now, PAUSE), reaction);
        assert_eq!((member.state(), member.due()), (State::Stable, Some(now + PAUSE)));
        assert_eq!(active_sent(&beat(&mut member, answer(3), now + PAUSE)), Some(vec![0]));
    }
}

#[test]
fn joining_waits_after_a_failure_too() {
    let now = Instant::now();
    let mut member = start(settings(), now);
    beat(&mut member, refusal(14), now);
    assert_eq!((member.state(), member.due()), (State::Joining, Some(now + PAUSE)));
    member.request(1, now + PAUSE).unwrap();
    member.on_failure(now + PAUSE, PAUSE);
    assert_eq!(member.due(), Some(now + PAUSE * 2));
}

#[test]
fn an_acknowledgement_whose_answer_is_lost_is_repeated() {
    let now = Instant::now();
    let mut member = start(settings(), now);
    beat(&mut member, assigning(3, &[0]), now);
    finish_work(&mut member, now);
    let lost = member.request(1, now).unwrap();
    assert_eq!(active_sent(&lost.request), Some(vec![0]));
    member.on_failure(now, PAUSE);
    assert_eq!(active_sent(&beat(&mut member, answer(3), now + PAUSE)), Some(vec![0]));
}

#[test]
fn a_repetition_during_a_round_lists_what_the_thread_may_have_any_moment() {
    let now = Instant::now();
    let mut member = stable(settings(), &[0, 1], now);
    beat(&mut member, assigning(4, &[1, 2]), now);
    member.request(1, now).unwrap();
    member.on_failure(now, PAUSE);
    assert_eq!(active_sent(&beat(&mut member, answer(4), now + PAUSE)), Some(vec![0, 1, 2]));
}

#[test]
fn a_forbidden_topic_is_told_and_the_membership_goes_on() {
    let now = Instant::now();
    let mut member = stable(settings(), &[0], now);
    beat(&mut member, refusal(29), now);
    assert_eq!(member.state(), State::Stable);
    assert!(matches!(&member.take_notices()[..], [Notice::TopicDenied(_)]));
    assert_eq!(member.due(), Some(now + INTERVAL));
}

#[test]
fn refusals_are_final_lose_all_and_name_the_group() {
    for code in [30, 42, 81, 111, 82, 130, 131, 132, 35, 69, -1, 113, 9999] {
        let now = Instant::now();
        let mut member = stable(settings(), &[0], now);
        beat(&mut member, refusal(code), now);
        assert_eq!((member.state(), member.due()), (State::Fatal, None), "{code}");
        assert!(matches!(member.work(), Some((_, Work::Lost))), "{code}");
        let notices = member.take_notices();
        let [Notice::Fatal(error)] = &notices[..] else { panic!("{code}: {notices:?}") };
        assert!(error.to_string().contains("app"), "{error}");
        member.poll(now);
        finish_work(&mut member, now);
        assert_eq!(member.due(), None, "{code}: nothing is sent any more");
    }
}

#[test]
fn an_assignment_of_an_unknown_subtopology_is_final() {
    let now = Instant::now();
    let mut member = start(settings(), now);
    let ids = ResponseTaskIds { subtopology_id: "1".into(), partitions: vec![0] };
    let response =
        StreamsGroupHeartbeatResponse { active_tasks: Some(vec![ids]), ..assigning(1, &[]) };
    beat(&mut member, response, now);
    assert_eq!(member.state(), State::Fatal);
    assert!(member.owned().is_empty());
}

#[test]
fn without_polls_the_member_leaves_and_joins_again_after_it_gave_everything_up() {
    let now = Instant::now();
    for (settings, epoch) in [(settings(), -1), (fixed(), -2)] {
        let mut member = stable(settings, &[0], now);
        let late = now + Duration::from_secs(300);
        member.tick(late - Duration::from_millis(1));
        assert_eq!(member.state(), State::Stable);
        member.tick(late);
        assert_eq!((member.state(), member.due()), (State::Leaving, Some(late)));
        let leave = member.request(1, late).unwrap();
        assert_eq!((leave.request.member_epoch, member.state()), (epoch, State::Stale));
        // The answer of the leave is nobody's concern.
        member.on_response(&leave, answer(epoch), 1, late, PAUSE);
        assert_eq!((member.state(), member.due()), (State::Stale, None));
        member.poll(late);
        assert_eq!(member.state(), State::Stale);
        assert_eq!(finish_work(&mut member, late), Some(Work::Lost));
        assert_eq!((member.state(), member.due()), (State::Joining, Some(late)));
    }
}

#[test]
fn a_thread_that_comes_back_before_the_leave_was_sent_still_joins_again() {
    let now = Instant::now();
    let mut member = stable(settings(), &[0], now);
    let late = now + Duration::from_secs(300);
    member.tick(late);
    member.poll(late);
    finish_work(&mut member, late);
    assert_eq!(member.state(), State::Leaving);
    assert_eq!(member.request(1, late).unwrap().request.member_epoch, -1);
    assert_eq!((member.state(), member.due()), (State::Joining, Some(late)));
}

#[test]
fn closing_leaves_after_the_tasks_were_closed() {
    let now = Instant::now();
    for (settings, how, epoch) in [
        (settings(), Leave::Default, Some(-1)),
        (settings(), Leave::ForGood, Some(-1)),
        (settings(), Leave::Silently, None),
        (fixed(), Leave::Default, Some(-2)),
        (fixed(), Leave::ForGood, Some(-1)),
        (fixed(), Leave::Silently, Some(-2)),
    ] {
        let mut member = stable(settings, &[0], now);
        member.prepare_leave();
        let alive = beat(&mut member, answer(3), now + INTERVAL);
        assert_eq!((alive.member_epoch, member.state()), (3, State::PrepareLeaving));
        member.leave(how, now + INTERVAL);
        let Some(epoch) = epoch else {
            assert_eq!((member.state(), member.due()), (State::Unsubscribed, None));
            continue;
        };
        let leave = member.request(1, now + INTERVAL).unwrap();
        assert_eq!(leave.request.member_epoch, epoch, "{how:?}");
        assert!(leave.request.topology.is_none());
        let left = member.on_response(&leave, answer(epoch), 1, now + INTERVAL, PAUSE);
        assert_eq!((left, member.state()), (Reaction::Left, State::Unsubscribed));
    }
}

#[test]
fn a_leave_is_repeated_until_the_coordinator_answers_and_a_stranger_has_left() {
    let now = Instant::now();
    let mut member = stable(settings(), &[0], now);
    member.leave(Leave::Default, now);
    let mut at = now;
    for code in [14, 15, 16] {
        let leave = member.request(1, at).unwrap();
        assert_eq!(leave.request.member_epoch, -1);
        member.on_response(&leave, refusal(code), 1, at, PAUSE);
        at += PAUSE;
        assert_eq!((member.state(), member.due()), (State::Leaving, Some(at)), "{code}");
    }
    let leave = member.request(1, at).unwrap();
    assert_eq!(member.on_response(&leave, refusal(25), 1, at, PAUSE), Reaction::Left);
}

#[test]
fn the_answer_to_a_heartbeat_of_before_the_leave_is_not_the_leaves() {
    let now = Instant::now();
    let mut member = stable(settings(), &[0], now);
    let running = member.request(1, now).unwrap();
    member.leave(Leave::Default, now);
    member.on_response(&running, answer(3), 1, now, PAUSE);
    assert_eq!((member.state(), member.due()), (State::Leaving, Some(now)));
}

#[test]
fn version_0_gets_neither_instance_ids_nor_offsets_nor_warmup_tasks() {
    let now = Instant::now();
    let mut member = start(settings(), now);
    let task = TaskId { subtopology: 0, partition: 0 };
    member.set_task_offsets(TaskOffsets { current: [(task, 1)].into(), end: [(task, 2)].into() });
    let join = member.request(0, now).unwrap();
    assert_eq!((&join.request.task_offsets, &join.request.task_end_offsets), (&None, &None));
    let response = StreamsGroupHeartbeatResponse { warmup_tasks: list(&[1]), ..assigning(1, &[0]) };
    member.on_response(&join, response, 0, now, PAUSE);
    finish_work(&mut member, now);
    let told = member.request(0, now).unwrap().request;
    assert_eq!((told.warmup_tasks, told.task_offsets), (Some(vec![]), None));
    let error = start(fixed(), now).request(0, now).unwrap_err().to_string();
    assert!(error.contains("group.instance.id") && error.contains("4.4"), "{error}");
}

#[test]
fn version_1_gets_them() {
    let now = Instant::now();
    let mut member = start(fixed(), now);
    let join = beat(&mut member, assigning(1, &[0]), now);
    assert_eq!(join.instance_id.as_deref(), Some("blue-1"));
    assert!(join.task_offsets.is_some() && join.task_end_offsets.is_some());
    finish_work(&mut member, now);
    let told = beat(&mut member, answer(1), now);
    assert_eq!(told.instance_id.as_deref(), Some("blue-1"), "always, not only with the join");
}

#[test]
fn endpoint_information_replaces_the_map_and_its_epoch_is_sent_back() {
    let now = Instant::now();
    let mut member = stable(settings(), &[0], now);
    let entry = EndpointToPartitions {
        user_endpoint: ResponseEndpoint { host: "other".into(), port: 1 },
        ..Default::default()
    };
    let response = StreamsGroupHeartbeatResponse {
        endpoint_information_epoch: 4,
        partitions_by_user_endpoint: Some(vec![entry]),
        ..answer(3)
    };
    beat(&mut member, response, now);
    assert_eq!(member.take_endpoints().map(|map| map.len()), Some(1));
    // Not news, whatever epoch comes with it.
    let response = StreamsGroupHeartbeatResponse { endpoint_information_epoch: 5, ..answer(3) };
    assert_eq!(beat(&mut member, response, now).endpoint_information_epoch, 4);
    assert_eq!(beat(&mut member, answer(3), now).endpoint_information_epoch, 4);
    assert_eq!(member.take_endpoints(), None);
}

#[test]
fn the_wish_to_stop_all_instances_is_sent_at_once_and_the_answer_is_told() {
    let now = Instant::now();
    let mut member = stable(settings(), &[0], now);
    member.shutdown_application(now);
    assert_eq!(member.due(), Some(now));
    let request = beat(&mut member, with_status(answer(3), 4), now);
    assert!(request.shutdown_application);
    assert_eq!(member.take_notices(), [Notice::ShutdownApplication]);
}

#[test]
fn missing_source_topics_are_an_error_after_two_intervals() {
    let now = Instant::now();
    let mut member = start(settings(), now);
    beat(&mut member, with_status(assigning(1, &[]), 1), now);
    member.tick(now + INTERVAL);
    assert_eq!(member.take_notices(), []);
    member.tick(now + INTERVAL * 2);
    assert_eq!(member.take_notices(), [Notice::MissingSourceTopics("why".into())]);
}

#[test]
fn early_heartbeats_follow_a_join_without_tasks_and_are_bounded() {
    let start_at = Instant::now();
    let mut now = start_at;
    let mut member = start(settings(), now);
    beat(&mut member, with_status(assigning(1, &[]), 5), now);
    let mut beats = 0;
    while now < start_at + Duration::from_secs(4) {
        finish_work(&mut member, now);
        now = member.due().unwrap();
        beat(&mut member, with_status(answer(1), 5), now);
        beats += 1;
    }
    assert!((8..=14).contains(&beats), "{beats} heartbeats in four seconds");
    while now < start_at + Duration::from_secs(60) {
        now = member.due().unwrap();
        beat(&mut member, with_status(answer(1), 5), now);
        beats += 1;
    }
    assert!(beats <= 30, "{beats} heartbeats in a minute");
    beat(&mut member, assigning(2, &[0]), now);
    assert_eq!(member.due(), Some(now + INTERVAL), "with tasks the group's interval counts");
}

#[test]
fn a_dictated_interval_counts_at_once_and_is_bounded() {
    for (dictated, expected) in [
        (2000, Duration::from_secs(2)),
        (0, Duration::from_millis(100)),
        (-1, Duration::from_millis(100)),
        (i32::MAX, Duration::from_secs(30)),
    ] {
        let now = Instant::now();
        let mut member = stable(settings(), &[0], now);
        let response =
            StreamsGroupHeartbeatResponse { heartbeat_interval_ms: dictated, ..answer(3) };
        beat(&mut member, response, now);
        assert_eq!(member.due(), Some(now + expected));
    }
}

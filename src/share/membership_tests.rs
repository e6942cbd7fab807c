use super::*;
use crate::wire::Uuid;
use crate::wire::messages::share_group_heartbeat::TopicPartitions;

const PAUSE: Duration = Duration::from_millis(100);

fn member(now: Instant) -> Membership {
    Membership::new("g", "member".into(), "rack-1", vec!["orders".into()], now)
}

fn answer(code: i16) -> ShareGroupHeartbeatResponse {
    ShareGroupHeartbeatResponse {
        error_code: code,
        member_epoch: 7,
        heartbeat_interval_ms: 5000,
        ..Default::default()
    }
}

fn assignment() -> Assignment {
    Assignment {
        topic_partitions: vec![TopicPartitions { topic_id: Uuid([1; 16]), partitions: vec![0] }],
    }
}

fn beat(member: &mut Membership, response: ShareGroupHeartbeatResponse, now: Instant) -> Reaction {
    let request = member.request();
    member.on_response(&request, response, now, PAUSE)
}

fn joined(now: Instant) -> Membership {
    let mut member = member(now);
    let response = ShareGroupHeartbeatResponse { assignment: Some(assignment()), ..answer(0) };
    assert_eq!(beat(&mut member, response, now), Reaction::Assigned(Some(assignment())));
    member
}

#[test]
fn the_join_carries_names_and_rack_and_later_ones_do_not() {
    let now = Instant::now();
    let join = member(now).request();
    assert_eq!((join.member_epoch, join.rack_id.as_deref()), (0, Some("rack-1")));
    assert_eq!(join.subscribed_topic_names, Some(vec!["orders".to_owned()]));
    let next = joined(now).request();
    assert_eq!((next.member_epoch, next.rack_id, next.subscribed_topic_names), (7, None, None));
}

#[test]
fn without_a_rack_none_is_sent_because_an_empty_one_is_refused() {
    let member = Membership::new("g", "m".into(), "", vec!["t".into()], Instant::now());
    assert_eq!(member.request().rack_id, None);
}

#[test]
fn early_heartbeats_follow_a_join_without_assignment_and_end_with_one() {
    let mut now = Instant::now();
    let start = now;
    let mut member = member(now);
    let mut beats = 0;
    while now < start + Duration::from_secs(2) {
        beat(&mut member, answer(0), now);
        beats += 1;
        now = member.due();
    }
    assert!((4..=8).contains(&beats), "{beats} heartbeats in two seconds");
    let response = ShareGroupHeartbeatResponse { assignment: Some(assignment()), ..answer(0) };
    beat(&mut member, response, now);
    assert_eq!(member.due() - now, Duration::from_secs(5));
}

#[test]
fn early_heartbeats_are_bounded_when_there_is_nothing_to_assign() {
    let mut now = Instant::now();
    let start = now;
    let mut member = member(now);
    let mut beats = 0;
    while now < start + Duration::from_secs(60) {
        beat(&mut member, answer(0), now);
        beats += 1;
        now = member.due();
    }
    assert!(beats <= EARLY.len() + 12, "{beats} heartbeats in a minute");
}

#[test]
fn share_29_a_fenced_or_unknown_member_joins_again_with_names_and_rack_at_once() {
    for code in [25, 110] {
        let now = Instant::now();
        let mut member = joined(now);
        assert_eq!(beat(&mut member, answer(code), now), Reaction::Rejoin);
        assert_eq!((member.phase(), member.due()), (Phase::Joining, now));
        let join = member.request();
        assert_eq!((join.member_epoch, join.member_id.as_str()), (0, "member"));
        assert!(join.subscribed_topic_names.is_some() && join.rack_id.is_some());
    }
}

#[test]
fn a_member_fenced_again_and_again_waits_between_its_joins() {
    let now = Instant::now();
    let mut member = joined(now);
    for _ in 0..=FENCES_AT_ONCE {
        beat(&mut member, answer(110), now);
    }
    assert!(member.due() >= now + Duration::from_secs(5));
}

#[test]
fn share_30_a_group_that_is_gone_is_joined_anew_and_leaving_it_is_done() {
    let now = Instant::now();
    let mut member = joined(now);
    assert_eq!(beat(&mut member, answer(69), now), Reaction::Rejoin);
    member.leave(now);
    assert_eq!(beat(&mut member, answer(69), now), Reaction::Left);
    let mut member = joined(now);
    member.leave(now);
    assert_eq!(beat(&mut member, answer(25), now), Reaction::Left);
    assert_eq!(member.phase(), Phase::Gone);
}

#[test]
fn share_31_a_coordinator_that_loads_is_asked_again_at_join_and_at_leave() {
    let now = Instant::now();
    let mut member = member(now);
    assert_eq!(beat(&mut member, answer(14), now), Reaction::Retry { rediscover: false });
    assert_eq!((member.phase(), member.due()), (Phase::Joining, now + PAUSE));
    member.leave(now);
    assert_eq!(beat(&mut member, answer(14), now), Reaction::Retry { rediscover: false });
    assert_eq!((member.phase(), member.due()), (Phase::Leaving, now + PAUSE));
    assert_eq!(member.request().member_epoch, -1);
}

#[test]
fn share_32_a_lost_coordinator_is_looked_up_again_after_a_pause() {
    for code in [15, 16] {
        let now = Instant::now();
        let mut member = joined(now);
        assert_eq!(beat(&mut member, answer(code), now), Reaction::Retry { rediscover: true });
        assert_eq!(member.due(), now + PAUSE);
        assert!(member.request().subscribed_topic_names.is_some());
    }
}

#[test]
fn share_33_a_forbidden_topic_is_told_and_the_membership_goes_on() {
    let now = Instant::now();
    let mut member = joined(now);
    let response = ShareGroupHeartbeatResponse {
        error_message: Some("no right for orders".into()),
        ..answer(29)
    };
    assert_eq!(
        beat(&mut member, response, now),
        Reaction::TopicDenied("no right for orders".into())
    );
    assert_eq!(member.phase(), Phase::Member);
    assert!(member.due() >= now + Duration::from_secs(5));
}

#[test]
fn refusals_of_the_group_are_final() {
    for code in [30, 42, 81, 35, -1, 9999] {
        let now = Instant::now();
        let mut member = joined(now);
        let reaction = beat(&mut member, answer(code), now);
        assert!(matches!(reaction, Reaction::Fatal(..)), "{code}: {reaction:?}");
        assert_eq!(member.phase(), Phase::Fatal);
    }
}

#[test]
fn topics_changed_while_a_heartbeat_ran_are_sent_with_the_next() {
    let now = Instant::now();
    let mut member = member(now);
    let running = member.request();
    member.subscribe(vec!["payments".into()], now);
    member.on_response(&running, answer(0), now, PAUSE);
    assert_eq!(member.due(), now);
    assert_eq!(member.request().subscribed_topic_names, Some(vec!["payments".to_owned()]));
}

#[test]
fn a_dictated_interval_out_of_all_reason_is_bounded() {
    for (dictated, expected) in [(0, INTERVAL_MIN), (-1, INTERVAL_MIN), (i32::MAX, INTERVAL_MAX)] {
        let now = Instant::now();
        let mut member = joined(now);
        let response = ShareGroupHeartbeatResponse { heartbeat_interval_ms: dictated, ..answer(0) };
        beat(&mut member, response, now);
        assert_eq!(member.due() - now, expected);
    }
}

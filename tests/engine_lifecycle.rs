//! The engine's life on a real broker: starting, pausing, stopping in each
//! state, and what it says of itself.
#![cfg(feature = "engine")]

mod member;
mod support;

use std::time::{Duration, Instant};

use llingr_kafka::ErrorKind;
use member::*;
use support::*;

#[test]
#[ignore = "the process of the other tests' members"]
fn member() {
    child();
}

fn set_up(partitions: i32) -> (Tool, String, String, Journal, Spec) {
    let broker = shared_broker();
    let tool = broker.tool();
    let (topic, group) = names();
    tool.create(&topic, partitions).unwrap();
    let journal = Journal::new();
    let spec = Spec::new(broker.bootstrap(), &topic, &group, &journal);
    (tool, topic, group, journal, spec)
}

fn records_of(key: &str, partition: i32, count: usize) -> Vec<NewRecord> {
    (0..count).map(|i| NewRecord::new(key, i.to_string()).partition(partition)).collect()
}

#[track_caller]
fn committed(tool: &Tool, group: &str, topic: &str, partition: i32) -> Option<i64> {
    tool.committed_at(group, topic, partition).unwrap().map(|c| c.offset)
}

#[track_caller]
fn shutdown_reasons(member: &Member) -> Vec<String> {
    let events = member.child.events();
    events.iter().filter(|e| e.name == "shutdown").map(Event::data).collect()
}

/// Asks for a stop and checks that everything about it is as it should be.
#[track_caller]
fn stop_and_check(mut member: Member) {
    member.ask(Ask::Stop);
    let end = member.ended();
    assert_eq!((end.code, end.text.as_str()), (0, ""));
    member.child.wait_event("stopped", SOON);
    assert_eq!(shutdown_reasons(&member), ["graceful shutdown"]);
    assert_eq!(member.health().state, "stopped");
    assert_eq!(member.ready(), ReadyNow { ready: false, state: "stopped".into(), partitions: 0 });
    assert_eq!(member.snapshot().summary.assigned_partition_count, 0);
    member.finish();
}

#[test]
fn a_stop_before_run_makes_run_fail() {
    let (_, _, _, _journal, spec) = set_up(1);
    let mut member = Member::start(&spec.with(|s| s.hold = true));
    assert_eq!(member.health().state, "built");
    assert!(!member.ready().ready);
    member.ask(Ask::Stop);
    member.child.wait_event("stopped", SOON);
    member.ask(Ask::Run);
    let end = member.ended();
    assert_eq!(end.code, ErrorKind::State.code(), "{}", end.text);
    assert_eq!(shutdown_reasons(&member).len(), 1);
    member.finish();
}

#[test]
fn a_stop_while_idle_is_graceful() {
    for asynchronous in [false, true] {
        let (_, _, _, _journal, spec) = set_up(3);
        let member = Member::start(&spec.asynchronous(asynchronous));
        member.wait_assigned(3);
        let ready = member.ready();
        assert_eq!(ready, ReadyNow { ready: true, state: "running".into(), partitions: 3 });
        stop_and_check(member);
    }
}

#[test]
fn a_stop_under_load_waits_for_the_running_ones_and_commits_them() {
    for asynchronous in [false, true] {
        let (tool, topic, group, journal, spec) = set_up(2);
        tool.produce_bulk(&Bulk::new(&topic, 20_000).keys(500)).unwrap();
        let load = Load { seed: 3, max_micros: 20_000, ..Load::default() };
        let member = Member::start(&spec.asynchronous(asynchronous).load(load));
        journal.wait_ended(500, SOON);
        stop_and_check(member);
        let lines = journal.lines();
        let ended = journal.ended_places();
        assert!(ended.len() < 20_000, "the stop came too late to be under load");
        // What began has ended, and all of it is in the commits.
        assert_eq!(lines.iter().filter(|l| l.kind == Kind::Started).count(), ended.len());
        let mut told = std::collections::BTreeSet::new();
        for c in tool.committed(&group).unwrap() {
            told.extend((0..c.offset).map(|o| (c.partition, o)));
            for (from, to) in finished_map(&c) {
                told.extend((from..to).map(|o| (c.partition, o)));
            }
        }
        assert_eq!(told, ended);
    }
}

#[test]
fn a_stop_while_paused_is_graceful() {
    let (tool, topic, group, journal, spec) = set_up(1);
    tool.produce_bulk(&Bulk::new(&topic, 100)).unwrap();
    let member = Member::start(&spec);
    journal.wait_ended(100, SOON);
    assert_eq!(member.tell(Ask::Pause(None)), None);
    assert_eq!(member.health().state, "paused");
    stop_and_check(member);
    assert_eq!(committed(&tool, &group, &topic, 0), Some(100));
}

#[test]
fn a_stop_with_a_stuck_handler_gives_up_after_the_drain_timeout() {
    for asynchronous in [false, true] {
        let (tool, topic, group, journal, spec) = set_up(1);
        tool.produce(&topic, &records_of("free", 0, 10)).unwrap();
        tool.produce(&topic, &records_of("stuck", 0, 2)).unwrap();
        tool.produce(&topic, &records_of("free", 0, 10)).unwrap();
        let spec =
            spec.asynchronous(asynchronous).act("stuck", Act::Block).with(|s| s.drain_ms = 1_500);
        let member = Member::start(&spec);
        journal.wait_ended(20, SOON);
        let asked = Instant::now();
        stop_and_check(member);
        assert!(asked.elapsed() >= Duration::from_millis(1_500), "it did not wait");
        let c = tool.committed_at(&group, &topic, 0).unwrap().unwrap();
        assert_eq!((c.offset, finished_map(&c)), (10, vec![(12, 22)]));
    }
}

#[test]
fn a_stop_while_the_broker_is_down_is_graceful() {
    let _turn = one_at_a_time();
    let cluster = Cluster::builder().start();
    let tool = cluster.tool();
    let (topic, group) = names();
    tool.create(&topic, 1).unwrap();
    let journal = Journal::new();
    let spec = Spec::new(&cluster.bootstrap(), &topic, &group, &journal)
        .with(|s| (s.hold, s.drain_ms) = (true, 1_000));
    let joining = Member::start(&spec);
    let running = Member::start(&spec.clone().name("b").with(|s| s.group = unique("g")));
    running.ask(Ask::Run);
    running.wait_assigned(1);
    tool.produce(&topic, &records_of("k", 0, 10)).unwrap();
    journal.wait_ended(10, SOON);
    cluster.kill9(1);
    joining.ask(Ask::Run);
    wait_until("the attempt to join", SOON, || joining.health().state == "joining");
    stop_and_check(joining);
    stop_and_check(running);
}

#[test]
fn a_stop_from_inside_a_handler_does_not_deadlock() {
    for asynchronous in [false, true] {
        let (tool, topic, group, journal, spec) = set_up(1);
        tool.produce(&topic, &records_of("before", 0, 5)).unwrap();
        tool.produce(&topic, &records_of("stop", 0, 1)).unwrap();
        let mut member = Member::start(&spec.asynchronous(asynchronous).act("stop", Act::Stop));
        let end = member.ended();
        assert_eq!((end.code, end.text.as_str()), (0, ""));
        assert_eq!(shutdown_reasons(&member), ["graceful shutdown"]);
        member.finish();
        assert_eq!(journal.count(|l| l.key == "stop" && l.kind == Kind::Done), 1);
        let c = tool.committed_at(&group, &topic, 0).unwrap().unwrap();
        let told = c.offset as usize
            + finished_map(&c).iter().map(|(from, to)| (to - from) as usize).sum::<usize>();
        assert_eq!(told, journal.ended(), "the stopping record and what ended are committed");
    }
}

#[test]
fn an_emergency_stop_waits_for_nothing_and_names_its_reason() {
    for asynchronous in [false, true] {
        let (tool, topic, group, journal, spec) = set_up(1);
        tool.produce(&topic, &records_of("stuck", 0, 1)).unwrap();
        let spec = spec.asynchronous(asynchronous).act("stuck", Act::Block);

        // Before run.
        let mut early = Member::start(&spec.clone().name("early").with(|s| s.hold = true));
        early.ask(Ask::Emergency("too early".into()));
        early.ask(Ask::Run);
        let end = early.ended();
        assert_eq!(end.code, ErrorKind::EmergencyStop.code(), "{}", end.text);
        assert_eq!(end.text, "too early");
        assert_eq!(shutdown_reasons(&early), ["too early"]);
        early.finish();

        // While running, with a stuck handler; the first reason wins.
        let mut during = Member::start(&spec.clone().name("during"));
        journal.wait_lines(1, SOON, |l| l.who == "during");
        during.ask(Ask::Emergency("the disk is full".into()));
        during.ask(Ask::Emergency("another".into()));
        let end = during.ended();
        assert_eq!(end.code, ErrorKind::EmergencyStop.code(), "{}", end.text);
        assert_eq!(end.text, "the disk is full");
        assert_eq!(shutdown_reasons(&during), ["the disk is full"]);
        let health = during.health();
        assert_eq!(health.state, "failed");
        assert_eq!(health.cause.as_deref(), Some("the disk is full"));
        during.finish();
        // Where it stands may be committed; what it has not done is not.
        let at = tool.committed_at(&group, &topic, 0).unwrap();
        assert!(at.is_none_or(|c| c.offset == 0 && c.metadata.is_empty()));

        // Inside a handler.
        let inside = spec.name("inside").act("stuck", Act::Emergency("from inside".into()));
        let mut inside = Member::start(&inside.short_session());
        let end = inside.ended();
        assert_eq!(end.code, ErrorKind::EmergencyStop.code(), "{}", end.text);
        assert_eq!(end.text, "from inside");
        assert_eq!(shutdown_reasons(&inside), ["from inside"]);
        inside.finish();
        // Where it stands may be committed; what it has not done is not.
        let at = tool.committed_at(&group, &topic, 0).unwrap();
        assert!(at.is_none_or(|c| c.offset == 0 && c.metadata.is_empty()));
    }
}

#[test]
fn pause_and_resume_hold_all_or_one_partition() {
    for asynchronous in [false, true] {
        let (tool, topic, _, journal, spec) = set_up(2);
        let member = Member::start(&spec.asynchronous(asynchronous));
        member.wait_assigned(2);
        let error = member.tell(Ask::Pause(Some(7))).expect("a partition that is not assigned");
        assert!(error.contains("partition 7") && error.contains("not assigned"), "{error}");

        assert_eq!(member.tell(Ask::Pause(Some(0))), None);
        assert_eq!(member.health().state, "running");
        tool.produce(&topic, &records_of("held", 0, 50)).unwrap();
        tool.produce(&topic, &records_of("flows", 1, 50)).unwrap();
        journal.wait_ended(50, SOON);
        assert_eq!(journal.count(|l| l.partition == 0), 0);
        let paused: Vec<bool> =
            member.snapshot().pre_commits.partitions.iter().map(|p| p.paused).collect();
        assert_eq!(paused, [true, false]);
        assert_eq!(member.tell(Ask::Resume(Some(0))), None);
        journal.wait_ended(100, SOON);

        assert_eq!(member.tell(Ask::Pause(None)), None);
        assert_eq!(member.health().state, "paused");
        assert!(member.ready().ready, "a paused engine is ready");
        let error = member.tell(Ask::Resume(Some(1))).expect("all are paused");
        assert!(error.contains("resume all"), "{error}");
        for p in [0, 1] {
            tool.produce(&topic, &records_of("later", p, 10)).unwrap();
        }
        // Nothing can be waited for that must not happen: a hundred looks.
        for _ in 0..100 {
            assert_eq!(member.snapshot().summary.total_processed, 100);
        }
        assert_eq!(member.tell(Ask::Resume(None)), None);
        journal.wait_ended(120, SOON);
        assert_eq!(member.health().state, "running");
        member.stop();
        Order::check(&[], &journal.lines());
    }
}

/// A pause while handlers run: they end, and nothing further starts.
#[test]
fn a_pause_lets_the_running_ones_end_and_starts_no_other() {
    for asynchronous in [false, true] {
        let (tool, topic, _, journal, spec) = set_up(1);
        for i in 0..20 {
            tool.produce(&topic, &records_of(&format!("k{i}"), 0, 5)).unwrap();
        }
        let mut spec = spec.asynchronous(asynchronous).with(|s| s.concurrent = 6);
        for i in 0..20 {
            spec = spec.act(&format!("k{i}"), Act::Block);
        }
        let member = Member::start(&spec);
        journal.wait_lines(6, SOON, |l| l.kind == Kind::Started);
        assert_eq!(member.tell(Ask::Pause(None)), None);
        member.open("*");
        journal.wait_ended(6, SOON);
        wait_until("the handlers to be idle", SOON, || member.peak().1 == 0);
        for _ in 0..50 {
            assert_eq!(member.peak(), (0, 0));
        }
        assert_eq!(journal.ended(), 6);
        assert_eq!(member.tell(Ask::Resume(None)), None);
        journal.wait_ended(100, SOON);
        member.stop();
        Order::check(&[], &journal.lines());
    }
}

#[test]
fn the_limit_of_concurrent_keys_is_reached_and_never_exceeded() {
    for asynchronous in [false, true] {
        for limit in [1, 2, 250] {
            let (tool, topic, _, journal, spec) = set_up(3);
            tool.produce_bulk(&Bulk::new(&topic, 4_000).keys(1_000)).unwrap();
            let mut spec = spec.asynchronous(asynchronous).with(|s| s.concurrent = limit);
            for i in 0..1_000 {
                spec = spec.act(&format!("key-{i}"), Act::Block);
            }
            let member = Member::start(&spec);
            wait_until("the limit to be reached", SOON, || member.peak().1 == limit);
            let concurrency = member.snapshot().concurrency;
            assert_eq!(concurrency.guard_active, limit as u64);
            assert_eq!(concurrency.guard_capacity, limit as u64);
            member.open("*");
            journal.wait_ended(4_000, SOON);
            let peak = member.peak().0;
            assert!(peak <= limit, "{peak} at once, {limit} allowed");
            member.stop();
            Order::check(&[], &journal.lines());
        }
    }
}

/// Lowered and raised while keys with long queues are at work.
#[test]
fn a_changed_limit_of_concurrent_keys_holds_from_the_next_record_on() {
    for asynchronous in [false, true] {
        let (tool, topic, _, journal, spec) = set_up(2);
        tool.produce_bulk(&Bulk::new(&topic, 8_000).keys(40)).unwrap();
        let load = Load { seed: 9, max_micros: 12_000, ..Load::default() };
        let spec = spec.asynchronous(asynchronous).load(load).with(|s| s.concurrent = 32);
        let member = Member::start(&spec);
        wait_until("many at once", SOON, || member.peak().0 > 8);
        for limit in [3, 24, 1] {
            assert_eq!(member.tell(Ask::Concurrent(limit)), None);
            if limit == 24 {
                wait_until("more at once", SOON, || member.peak().0 > 3);
            } else {
                // Those at work may end their record, but take no other.
                wait_until("few at once", SOON, || member.peak().1 <= limit);
            }
            member.peak();
            let at = journal.ended();
            journal.wait_ended(at + 50, SOON);
            let peak = member.peak().0;
            assert!(peak <= limit, "{peak} at once, {limit} allowed");
            assert_eq!(member.snapshot().concurrency.guard_capacity, limit as u64);
        }
        let error = member.tell(Ask::Concurrent(0)).expect("zero is out of range");
        assert!(error.contains("between 1 and 100000"), "{error}");
        assert_eq!(member.tell(Ask::Concurrent(64)), None);
        journal.wait_ended(8_000, SOON);
        member.stop();
        Order::check(&[], &journal.lines());
    }
}

#[test]
fn health_and_snapshot_name_the_oldest_blocked_record() {
    for asynchronous in [false, true] {
        let (tool, topic, group, journal, spec) = set_up(2);
        tool.produce(&topic, &records_of("free", 1, 30)).unwrap();
        tool.produce(&topic, &records_of("free", 0, 7)).unwrap();
        tool.produce(&topic, &records_of("stuck", 0, 3)).unwrap();
        let member = Member::start(&spec.asynchronous(asynchronous).act("stuck", Act::Block));
        journal.wait_ended(37, SOON);
        let health = wait_for("the blocked record", SOON, || {
            let health = member.health();
            (health.oldest_age_ms > 0).then_some(health)
        });
        assert_eq!(health.oldest, Some((0, 7, Some("stuck".to_owned()))));
        assert_eq!(
            (health.state.as_str(), health.cause, health.progressed),
            ("running", None, true)
        );
        wait_until("the commits", SOON, || {
            committed(&tool, &group, &topic, 0) == Some(7)
                && committed(&tool, &group, &topic, 1) == Some(30)
        });
        let snapshot = member.snapshot();
        assert_eq!(snapshot.summary.topic_name, topic);
        assert_eq!(snapshot.summary.assigned_partition_count, 2);
        assert_eq!(snapshot.summary.total_processed, 37);
        assert!(snapshot.summary.last_rebalance_time.is_some());
        let oldest = snapshot.oldest_blocked.as_ref().expect("a record is blocked");
        assert_eq!((oldest.partition, oldest.offset), (0, 7));
        let [zero, one] = &snapshot.pre_commits.partitions[..] else { panic!("{snapshot:?}") };
        assert_eq!((zero.committed_offset, zero.highest_ready_offset), (7, 7));
        assert_eq!((zero.max_offset_seen, zero.high_watermark, zero.lag), (9, 10, 3));
        assert_eq!((zero.in_flight, zero.held_records), (1, 3));
        assert!(zero.assigned && !zero.paused);
        assert_eq!((one.committed_offset, one.highest_ready_offset), (30, 30));
        assert_eq!((one.high_watermark, one.lag, one.held_records), (30, 0, 0));
        assert_eq!(snapshot.concurrency.guard_active, 1);
        assert_eq!(snapshot.concurrency.held_records, 3);
        assert_eq!(snapshot.concurrency.held_bytes, zero.held_bytes);
        member.open("stuck");
        journal.wait_ended(40, SOON);
        wait_until("nothing to be held", SOON, || {
            let snapshot = member.snapshot();
            snapshot.concurrency.held_bytes == 0 && snapshot.oldest_blocked.is_none()
        });
        member.stop();
    }
}

#[test]
fn a_retry_delays_its_key_alone() {
    for asynchronous in [false, true] {
        let (tool, topic, _, journal, spec) = set_up(1);
        tool.produce(&topic, &records_of("flaky", 0, 2)).unwrap();
        tool.produce(&topic, &records_of("free", 0, 50)).unwrap();
        let spec = spec
            .asynchronous(asynchronous)
            .act("flaky", Act::FailTimes(2))
            // Neither a thread nor a slot is taken by the wait.
            .with(|s| (s.attempts, s.backoff_ms, s.concurrent) = (3, (400, 400), 1));
        let member = Member::start(&spec);
        journal.wait_ended(52, SOON);
        member.stop();
        let lines = journal.lines();
        Order::check(&[], &lines);
        let at = |wanted: &dyn Fn(&Line) -> bool| lines.iter().position(wanted).unwrap();
        let last_free = at(&|l: &Line| l.key == "free" && l.offset == 51 && l.kind == Kind::Done);
        let retried = at(&|l: &Line| l.offset == 0 && l.attempt == 2);
        let successor = at(&|l: &Line| l.offset == 1);
        let done = at(&|l: &Line| l.offset == 0 && l.kind == Kind::Done);
        assert!(last_free < retried, "the others waited for the retry");
        assert!(done < successor, "the successor overtook the retry");
        let attempts: Vec<u32> = lines
            .iter()
            .filter(|l| l.key == "flaky" && l.kind == Kind::Started)
            .map(|l| l.attempt)
            .collect();
        assert_eq!(attempts, [1, 2, 3, 1, 2, 3]);
    }
}

#[test]
fn a_backoff_longer_than_the_session_costs_no_membership() {
    let (tool, topic, group, journal, spec) = set_up(1);
    tool.produce(&topic, &records_of("flaky", 0, 1)).unwrap();
    let spec = spec.short_session();
    let session: u64 = spec.options["session.timeout.ms"].parse().unwrap();
    let wait = session + 1_000;
    let spec = spec
        .act("flaky", Act::FailTimes(1))
        .with(|s| (s.attempts, s.backoff_ms) = (2, (wait * 5 / 4, wait * 5 / 4)));
    let member = Member::start(&spec);
    journal.wait_lines(1, SOON, |l| l.kind == Kind::Failed);
    let before = tool.group(&group).unwrap().members[0].id.clone();
    journal.wait_ended(1, SOON);
    let after = tool.group(&group).unwrap();
    assert_eq!((after.state.as_str(), after.members[0].id.as_str()), ("Stable", before.as_str()));
    assert_eq!(journal.count(|l| l.kind == Kind::Started), 2);
    member.stop();
    assert_eq!(committed(&tool, &group, &topic, 0), Some(1));
}

#[test]
fn thousands_of_waiting_async_handlers_take_no_threads() {
    let (tool, topic, _, journal, spec) = set_up(4);
    tool.produce_bulk(&Bulk::new(&topic, 5_000).keys(5_000)).unwrap();
    let mut spec = spec.asynchronous(true).with(|s| s.concurrent = 5_000);
    for i in 0..5_000 {
        spec = spec.act(&format!("key-{i}"), Act::Block);
    }
    let member = Member::start(&spec);
    wait_until("5000 waiting handlers", SOON, || member.peak().1 == 5_000);
    // The test's own: main, the harness's and the one in `run`.
    let own = 3;
    let threads = member.child.threads();
    assert!(threads <= 12 + own, "{threads} threads");
    member.open("*");
    journal.wait_ended(5_000, SOON);
    member.stop();
    Order::check(&[], &journal.lines());
}

//! What goes wrong around the engine, on a real broker: killed processes,
//! killed brokers, moved leaders, frozen members.
#![cfg(feature = "engine")]

mod member;
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use member::*;
use support::*;

#[test]
#[ignore = "the process of the other tests' members"]
fn member() {
    child();
}

fn by_partition(tool: &Tool, group: &str, topic: &str) -> Vec<Option<Committed>> {
    let all = tool.committed(group).unwrap();
    let partitions = tool.topic(topic).unwrap().partitions.len() as i32;
    (0..partitions)
        .map(|p| all.iter().find(|c| c.topic == topic && c.partition == p).cloned())
        .collect()
}

/// The places that a group's commits say have ended, below `ends`.
fn committed_places(tool: &Tool, group: &str, topic: &str) -> BTreeSet<(i32, i64)> {
    let mut places = BTreeSet::new();
    for c in by_partition(tool, group, topic).into_iter().flatten() {
        places.extend((0..c.offset).map(|o| (c.partition, o)));
        for (from, to) in finished_map(&c) {
            places.extend((from..to).map(|o| (c.partition, o)));
        }
    }
    places
}

#[track_caller]
fn assert_committed_to_the_end(tool: &Tool, group: &str, topic: &str) {
    let ends = tool.end_offsets(topic).unwrap();
    let committed = by_partition(tool, group, topic);
    for (p, (end, c)) in ends.iter().zip(committed).enumerate() {
        let at = c.as_ref().map_or(0, |c| c.offset);
        assert_eq!(at, *end, "partition {p}: {c:?}");
        assert_eq!(c.map_or(String::new(), |c| c.metadata), "", "partition {p}");
    }
}

/// Kills the process under load, with two keys stuck so that nothing above
/// them can be committed but by the map in the metadata.
fn killed_under_load(asynchronous: bool) {
    let broker = shared_broker();
    let tool = broker.tool();
    let (topic, group) = names();
    tool.create(&topic, 4).unwrap();
    let records = 20_000;
    tool.produce_bulk(&Bulk::new(&topic, records).keys(400)).unwrap();
    let journal = Journal::new();
    let spec = Spec::new(broker.bootstrap(), &topic, &group, &journal)
        .asynchronous(asynchronous)
        .option("group.instance.id", "one")
        .load(Load { seed: 7, max_micros: 20_000, ..Load::default() });
    let rounds = ["a", "b", "c"];
    for (round, name) in rounds.into_iter().enumerate() {
        let stuck = spec.clone().name(name).act("key-3", Act::Block).act("key-7", Act::Block);
        let before = journal.ended();
        let had = committed_places(&tool, &group, &topic);
        let member = Member::start(&stuck);
        journal.wait_ended(before + 3_000, SOON);
        if round > 0 {
            // A commit of this process, above the stuck records.
            wait_until("a commit", SOON, || {
                committed_places(&tool, &group, &topic).len() > had.len()
            });
        }
        member.kill9();
        let committed = committed_places(&tool, &group, &topic);
        let ended = journal.ended_places();
        let wrong: Vec<_> = committed.difference(&ended).take(10).collect();
        assert!(wrong.is_empty(), "committed but never ended: {wrong:?}");
        // What was committed at the start did not run.
        let again: Vec<_> = journal
            .lines()
            .into_iter()
            .filter(|l| l.who == *name && had.contains(&l.place()))
            .take(10)
            .collect();
        assert!(again.is_empty(), "ended, committed and run again: {again:?}");
        assert!(round == 0 || committed.len() > had.len(), "nothing new was committed");
    }
    let had = committed_places(&tool, &group, &topic);
    let member = Member::start(&spec.clone().name("last"));
    journal.wait_ended(records as usize, SOON);
    member.stop();
    let lines = journal.lines();
    let again: Vec<_> =
        lines.iter().filter(|l| l.who == "last" && had.contains(&l.place())).take(10).collect();
    assert!(again.is_empty(), "ended, committed and run again: {again:?}");
    journal.assert_complete(&tool.end_offsets(&topic).unwrap());
    Order::check(&rounds, &lines);
    assert_committed_to_the_end(&tool, &group, &topic);
}

#[test]
fn a_killed_process_repeats_only_what_was_not_committed() {
    killed_under_load(false);
}

#[test]
fn a_killed_process_with_async_handlers_repeats_only_what_was_not_committed() {
    killed_under_load(true);
}

#[test]
fn a_broker_killed_and_restarted_under_load_repeats_only_what_was_running() {
    let _turn = one_at_a_time();
    let cluster = Cluster::builder().start();
    let tool = cluster.tool();
    let (topic, group) = names();
    tool.create(&topic, 3).unwrap();
    let journal = Journal::new();
    let spec = Spec::new(&cluster.bootstrap(), &topic, &group, &journal).load(Load {
        seed: 1,
        max_micros: 2_000,
        ..Load::default()
    });
    let member = Member::start(&spec);
    member.wait_assigned(3);
    let producing = tool
        .clone()
        .limit(Duration::from_secs(120))
        .start_bulk(&Bulk::new(&topic, 8_000).keys(200).per_second(1_000));
    for kills in 1..=2 {
        journal.wait_ended(kills * 1_500, SOON);
        cluster.kill9(1);
        cluster.start(1);
    }
    let produced = producing.wait().unwrap();
    assert_eq!(produced.failed, 0, "{}", produced.first_error);
    let ends = tool.end_offsets(&topic).unwrap();
    journal.wait_ended(ends.iter().sum::<i64>() as usize, SOON);
    journal.assert_complete(&ends);
    // The session ends with the broker. What a handler had in work then runs
    // again; all else runs once, though much of it was not committed.
    wait_until("the commits", SOON, || {
        committed_places(&tool, &group, &topic).len() == journal.ended()
    });
    member.stop();
    let lines = journal.lines();
    let mut newest: BTreeMap<(i32, String), i64> = BTreeMap::new();
    let mut repeated = BTreeSet::new();
    for line in lines.iter().filter(|l| l.kind == Kind::Started) {
        let newest = newest.entry((line.partition, line.key.clone())).or_insert(-1);
        if line.offset <= *newest {
            repeated.insert(line.place());
        }
        *newest = line.offset.max(*newest);
    }
    let running = 2 * 64;
    assert!(repeated.len() <= running, "{} records ran again: {repeated:?}", repeated.len());
    assert_committed_to_the_end(&tool, &group, &topic);
}

#[test]
fn moved_leaders_and_a_killed_broker_among_three_cost_nothing() {
    let _turn = one_at_a_time();
    let cluster = Cluster::builder().brokers(3).start();
    let tool = cluster.tool();
    let (topic, group) = names();
    let replicas: [&[i32]; 3] = [&[1, 2, 3], &[2, 3, 1], &[3, 1, 2]];
    let new = NewTopic::new(&topic, 3).replicas(&replicas).config("min.insync.replicas", "2");
    tool.create_topic(&new).unwrap();
    let journal = Journal::new();
    let spec = Spec::new(&cluster.bootstrap(), &topic, &group, &journal)
        .asynchronous(true)
        .load(Load { seed: 2, max_micros: 2_000, ..Load::default() });
    let member = Member::start(&spec);
    member.wait_assigned(3);
    let producing = tool
        .clone()
        .limit(Duration::from_secs(120))
        .start_bulk(&Bulk::new(&topic, 12_000).keys(300).per_second(1_000));
    let mut seen = 0;
    for (partition, to) in [(0, 2), (1, 3), (2, 1), (0, 3), (1, 1), (2, 2)] {
        seen += 500;
        journal.wait_ended(seen, SOON);
        tool.move_leader(&topic, partition, to).unwrap();
    }
    seen += 500;
    journal.wait_ended(seen, SOON);
    cluster.kill9(3);
    seen += 1_500;
    journal.wait_ended(seen, SOON);
    cluster.start(3);
    let produced = producing.wait().unwrap();
    assert_eq!(produced.failed, 0, "{}", produced.first_error);
    let ends = tool.end_offsets(&topic).unwrap();
    journal.wait_ended(ends.iter().sum::<i64>() as usize, SOON);
    journal.assert_complete(&ends);
    Order::check(&[], &journal.lines());
    member.stop();
    assert_committed_to_the_end(&tool, &group, &topic);
}

#[test]
fn a_member_frozen_past_its_session_loses_and_overwrites_nothing() {
    let broker = shared_broker();
    let tool = broker.tool();
    let (topic, group) = names();
    tool.create(&topic, 4).unwrap();
    tool.produce_bulk(&Bulk::new(&topic, 4_000).keys(100)).unwrap();
    let journal = Journal::new();
    let spec = Spec::new(broker.bootstrap(), &topic, &group, &journal).short_session();
    let blocked = ["key-1", "key-2", "key-3"];
    let mut frozen = spec.clone().name("frozen");
    for key in blocked {
        frozen = frozen.act(key, Act::Block);
    }
    let frozen = Member::start(&frozen);
    // 40 records of each blocked key; all others are through.
    journal.wait_ended(4_000 - 120, SOON);
    wait_until("its commits", SOON, || {
        committed_places(&tool, &group, &topic).len() >= 4_000 - 120
    });
    frozen.child.freeze();
    let before = committed_places(&tool, &group, &topic);

    let other = Member::start(&spec.clone().name("other"));
    journal.wait_ended(4_000, SOON);
    wait_until("the other's commits", SOON, || {
        committed_places(&tool, &group, &topic).len() == 4_000
    });
    let repeated: Vec<_> = journal
        .lines()
        .into_iter()
        .filter(|l| l.who == "other" && before.contains(&l.place()))
        .take(10)
        .collect();
    assert!(repeated.is_empty(), "committed by the frozen one and run again: {repeated:?}");

    // The frozen one wakes with three handlers in work; it must notice that
    // its partitions are gone, and share them again.
    frozen.child.thaw();
    frozen.open("*");
    wait_until("both to have partitions", SOON, || {
        let (a, b) = (frozen.ready().partitions, other.ready().partitions);
        a > 0 && b > 0 && a + b == 4
    });
    assert_eq!(committed_places(&tool, &group, &topic).len(), 4_000, "a commit went back");
    let from = journal.lines().len();
    tool.produce_bulk(&Bulk::new(&topic, 2_000).start(4_000).keys(100)).unwrap();
    journal.wait_ended(6_000, SOON);
    let lines = journal.lines();
    let new: Vec<Line> = lines[from..].to_vec();
    assert!(new.iter().any(|l| l.who == "frozen"), "the frozen one does not work any more");
    Order::check(&[], &new);
    frozen.stop();
    other.stop();
    journal.assert_complete(&tool.end_offsets(&topic).unwrap());
    assert_committed_to_the_end(&tool, &group, &topic);
}

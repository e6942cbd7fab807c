//! Two members of one group on a real broker, each in a process of its own:
//! every assignor, static membership and KIP-848, with work in progress while
//! partitions move. Nothing is lost, and only the moving partitions wait.
#![cfg(feature = "engine")]

mod support;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use llingr_kafka::{
    Builder, DeadLetterHandler, DemuxConfig, ErrorKind, Message, Options, ProcessHandler, Traits,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use support::*;

const PARTITIONS: i32 = 4;

/// What a member is to do.
#[derive(Clone, Serialize, Deserialize)]
struct Member {
    brokers: String,
    topic: String,
    group: String,
    options: BTreeMap<String, String>,
    /// Handlers of these values wait until the parent says so.
    held: Vec<String>,
}

/// What the parent may ask of a member.
#[derive(Serialize, Deserialize)]
enum Order {
    /// Lets the handlers of this value go.
    Release(String),
    Stop,
}

/// A record as a handler saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    partition: i32,
    offset: i64,
    value: String,
}

/// Holds back handlers by value.
#[derive(Default)]
struct Gate {
    held: Mutex<HashSet<String>>,
    changed: Condvar,
}

struct Handler {
    side: ChildSide,
    gate: Arc<Gate>,
}

impl ProcessHandler for Handler {
    fn process(&self, m: &Message<'_>) -> Result<Traits, Box<dyn std::error::Error>> {
        let value = String::from_utf8_lossy(m.value().unwrap_or_default()).into_owned();
        let seen = Seen { partition: m.partition(), offset: m.offset(), value };
        self.side.emit("began", &seen);
        let held = self.gate.held.lock().unwrap_or_else(PoisonError::into_inner);
        let _free = self
            .gate
            .changed
            .wait_while(held, |held| held.contains(&seen.value))
            .unwrap_or_else(PoisonError::into_inner);
        drop(_free);
        self.side.emit("done", &seen);
        Ok(Traits::default())
    }
}

struct NoLetters;

impl DeadLetterHandler for NoLetters {
    fn handle(&self, _: &Message<'_>, error: &str) -> Result<(), Box<dyn std::error::Error>> {
        Err(error.to_owned().into())
    }
}

/// A member's life, in the child.
fn member(side: &ChildSide) {
    let m: Member = side.args();
    let gate = Arc::new(Gate {
        held: Mutex::new(m.held.iter().cloned().collect()),
        changed: Condvar::new(),
    });
    let handler = Handler { side: side.clone(), gate: gate.clone() };
    let built = Builder::new(&m.topic, handler, NoLetters)
        .brokers(&m.brokers)
        .consumer_group(&m.group)
        .options(
            Options::new().kafka_option("auto.offset.reset", "earliest").kafka_options(m.options),
        )
        .demux(
            DemuxConfig::default()
                .concurrent_keys(64)
                .worker_threads(64)
                .auto_commit_interval(Duration::from_millis(200))
                .drain_timeout(Duration::from_secs(30)),
        )
        .build();
    let engine = match built {
        Ok(engine) => engine,
        Err(e) => return side.emit("refused", json!({"code": e.code(), "text": e.text()})),
    };
    let orders = side.clone();
    let stop = engine.stopper();
    std::thread::spawn(move || {
        while let Some(order) = orders.receive::<Order>() {
            match order {
                Order::Release(value) => {
                    gate.held.lock().unwrap_or_else(PoisonError::into_inner).remove(&value);
                    gate.changed.notify_all();
                }
                Order::Stop => stop(),
            }
        }
    });
    match engine.run() {
        Ok(()) => side.emit("ended", json!(null)),
        Err(e) => side.emit("failed", json!({"code": e.code(), "text": e.text()})),
    }
}

/// The topic, and the members of one group on it.
struct Group {
    tool: Tool,
    member: Member,
}

impl Group {
    fn new(options: &[(&str, &str)]) -> Group {
        let broker = shared_broker();
        let tool = broker.tool();
        let topic = unique("membership");
        tool.create(&topic, PARTITIONS).unwrap();
        let mut all: BTreeMap<String, String> =
            options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        if !all.contains_key("group.protocol") {
            // A member that is killed is missed soon, and news travel fast.
            all.insert("session.timeout.ms".into(), "6000".into());
            all.insert("heartbeat.interval.ms".into(), "200".into());
        }
        let member = Member {
            brokers: broker.bootstrap().to_owned(),
            group: unique("membership"),
            topic,
            options: all,
            held: Vec::new(),
        };
        Group { tool, member }
    }

    fn join(&self, test: &str, held: &[&str]) -> Child {
        self.join_with(test, held, &[])
    }

    fn join_with(&self, test: &str, held: &[&str], options: &[(&str, &str)]) -> Child {
        let mut member = self.member.clone();
        member.held = held.iter().map(|h| (*h).to_owned()).collect();
        for (key, value) in options {
            member.options.insert((*key).to_owned(), (*value).to_owned());
        }
        Child::spawn(test, &member)
    }

    /// One record to each partition, with its own key.
    fn produce(&self, value: &str) {
        let records: Vec<NewRecord> = (0..PARTITIONS)
            .map(|p| NewRecord::new(format!("{value}-{p}"), format!("{value}-{p}")).partition(p))
            .collect();
        self.tool.produce(&self.member.topic, &records).unwrap();
    }

    fn to(&self, partition: i32, key: &str, value: &str) {
        let record = NewRecord::new(key, value).partition(partition);
        self.tool.produce(&self.member.topic, &[record]).unwrap();
    }

    /// Waits until the group has this many members that hold all partitions,
    /// and returns each member's.
    fn settled(&self, members: usize) -> Vec<BTreeSet<i32>> {
        wait_for("the group to settle", SOON, || {
            let group = self.tool.group(&self.member.group).ok()?;
            let all: Vec<i32> = (0..PARTITIONS).collect();
            if group.members.len() != members
                || !group.state.eq_ignore_ascii_case("stable")
                || group.assigned(&self.member.topic) != all
            {
                return None;
            }
            let of =
                |m: &MemberState| m.assigned.iter().flat_map(|a| a.partitions.clone()).collect();
            Some(group.members.iter().map(of).collect())
        })
    }

    /// Waits until all of the topic is committed.
    fn all_committed(&self) {
        let ends = self.tool.end_offsets(&self.member.topic).unwrap();
        wait_until("everything to be committed", SOON, || {
            let committed = self.tool.committed(&self.member.group).unwrap_or_default();
            ends.iter().enumerate().all(|(p, end)| {
                committed.iter().any(|c| c.partition == p as i32 && c.offset == *end) || *end == 0
            })
        });
    }
}

fn seen(child: &Child, name: &str) -> Vec<Seen> {
    child.events().iter().filter(|e| e.name == name).map(support::Event::data).collect()
}

fn partitions_of(seen: &[Seen]) -> BTreeSet<i32> {
    seen.iter().map(|s| s.partition).collect()
}

fn wait_value(child: &Child, name: &str, value: &str) -> Seen {
    child.wait_events(&format!("{name} {value}"), SOON, |all| {
        all.iter()
            .filter(|e| e.name == name)
            .map(support::Event::data::<Seen>)
            .find(|s| s.value == value)
    })
}

fn stop(child: &mut Child) {
    child.send(&Order::Stop);
    child.wait_event("ended", SOON);
    child.wait_success(SOON);
}

/// Both members work, one leaves, the other takes all over; each record is
/// handled exactly once, since every change of hands is an orderly one.
fn two_members_share_and_take_over(test: &str, options: &[(&str, &str)]) {
    let group = Group::new(options);
    let mut first = group.join(test, &[]);
    group.produce("alone");
    first.wait_count("done", PARTITIONS as usize, SOON);
    let mut second = group.join(test, &[]);
    let held = group.settled(2);
    assert!(held.iter().all(|p| p.len() == 2), "two partitions each: {held:?}");
    group.produce("both");
    let of = |child: &Child, prefix: &str| -> Vec<Seen> {
        seen(child, "done").into_iter().filter(|s| s.value.starts_with(prefix)).collect()
    };
    wait_until("both to have worked", SOON, || {
        of(&first, "both").len() + of(&second, "both").len() >= PARTITIONS as usize
    });
    assert_eq!(of(&first, "both").len(), 2);
    assert_eq!(of(&second, "both").len(), 2);
    stop(&mut first);
    group.settled(1);
    group.produce("after");
    wait_until("the last one to have worked", SOON, || {
        of(&second, "after").len() >= PARTITIONS as usize
    });
    group.all_committed();
    stop(&mut second);

    let mut all: Vec<(i32, i64)> = [&first, &second]
        .iter()
        .flat_map(|c| seen(c, "done"))
        .map(|s| (s.partition, s.offset))
        .collect();
    all.sort_unstable();
    let want: Vec<(i32, i64)> = (0..PARTITIONS).flat_map(|p| (0..3).map(move |o| (p, o))).collect();
    assert_eq!(all, want, "each record once");
}

#[test]
fn cooperative_sticky_shares_and_takes_over() {
    if let Some(side) = child_side() {
        return member(&side);
    }
    two_members_share_and_take_over(
        "cooperative_sticky_shares_and_takes_over",
        &[("partition.assignment.strategy", "cooperative-sticky")],
    );
}

#[test]
fn sticky_shares_and_takes_over() {
    if let Some(side) = child_side() {
        return member(&side);
    }
    two_members_share_and_take_over(
        "sticky_shares_and_takes_over",
        &[("partition.assignment.strategy", "sticky")],
    );
}

#[test]
fn range_shares_and_takes_over() {
    if let Some(side) = child_side() {
        return member(&side);
    }
    two_members_share_and_take_over(
        "range_shares_and_takes_over",
        &[("partition.assignment.strategy", "range")],
    );
}

#[test]
fn round_robin_shares_and_takes_over() {
    if let Some(side) = child_side() {
        return member(&side);
    }
    two_members_share_and_take_over(
        "round_robin_shares_and_takes_over",
        &[("partition.assignment.strategy", "roundrobin")],
    );
}

#[test]
fn the_consumer_protocol_shares_and_takes_over() {
    if let Some(side) = child_side() {
        return member(&side);
    }
    two_members_share_and_take_over(
        "the_consumer_protocol_shares_and_takes_over",
        &[("group.protocol", "consumer")],
    );
}

/// A handler runs on every partition while a second member joins. The revoke
/// waits for those of the partitions that move; what stays goes on, with old
/// records and with new ones.
fn a_revoke_waits_for_the_lost_partitions_alone(test: &str, options: &[(&str, &str)]) {
    let group = Group::new(options);
    let held: Vec<String> = (0..PARTITIONS).map(|p| format!("slow-{p}")).collect();
    let mut first = group.join(test, &held.iter().map(String::as_str).collect::<Vec<_>>());
    group.produce("slow");
    first.wait_count("began", PARTITIONS as usize, SOON);
    let mut second = group.join(test, &[]);

    // Records of free keys run on all four until two partitions are revoked:
    // from then on, only on the two that stay.
    let mut round = 0;
    let (stay, go) = wait_for("two partitions to be revoked", SOON, || {
        round += 1;
        let value = format!("free{round}");
        group.produce(&value);
        let prefix = format!("{value}-");
        let ran = |child: &Child| -> BTreeSet<i32> {
            let all = seen(child, "done");
            partitions_of(
                &all.into_iter().filter(|s| s.value.starts_with(&prefix)).collect::<Vec<_>>(),
            )
        };
        wait_until("records to run", SOON, || ran(&first).len() >= 2);
        // A partition that is held back stays so until its slow record ends.
        let quiet = std::time::Instant::now();
        while quiet.elapsed() < Duration::from_millis(500)
            && ran(&first).len() < PARTITIONS as usize
        {
            std::thread::yield_now();
        }
        let stay = ran(&first);
        let go: BTreeSet<i32> = (0..PARTITIONS).filter(|p| !stay.contains(p)).collect();
        (stay.len() == 2).then_some((stay, go))
    });
    // The wait goes on, and so does the work on what stays.
    for p in &stay {
        group.to(*p, &format!("more-{p}"), &format!("more-{p}"));
        wait_value(&first, "done", &format!("more-{p}"));
    }
    let early: Vec<Seen> = seen(&second, "began");
    assert!(
        partitions_of(&early).is_disjoint(&go),
        "handed over before its record ended: {early:?}"
    );

    // The moving ones' records end; they are committed and the new owner goes on
    // behind them.
    for p in &go {
        first.send(&Order::Release(format!("slow-{p}")));
        wait_value(&first, "done", &format!("slow-{p}"));
    }
    group.settled(2);
    for p in &go {
        let value = format!("moved-{p}");
        group.to(*p, &value, &value);
        wait_value(&second, "done", &value);
    }
    assert!(
        !seen(&second, "began").iter().any(|s| s.value.starts_with("slow-")),
        "a record that had ended ran again"
    );
    for p in &stay {
        let value = format!("slow-{p}");
        assert!(
            !seen(&first, "done").iter().any(|s| s.value == value),
            "{value} was not to end yet"
        );
        first.send(&Order::Release(value));
    }
    group.all_committed();
    stop(&mut first);
    stop(&mut second);
}

#[test]
fn under_the_cooperative_protocol_a_revoke_waits_for_lost_partitions_alone() {
    if let Some(side) = child_side() {
        return member(&side);
    }
    a_revoke_waits_for_the_lost_partitions_alone(
        "under_the_cooperative_protocol_a_revoke_waits_for_lost_partitions_alone",
        &[("partition.assignment.strategy", "cooperative-sticky")],
    );
}

#[test]
fn under_the_consumer_protocol_a_revoke_waits_for_lost_partitions_alone() {
    if let Some(side) = child_side() {
        return member(&side);
    }
    a_revoke_waits_for_the_lost_partitions_alone(
        "under_the_consumer_protocol_a_revoke_waits_for_lost_partitions_alone",
        &[("group.protocol", "consumer")],
    );
}

/// The eager assignors give everything up: all running records are waited for,
/// committed, and none runs twice.
#[test]
fn an_eager_rebalance_waits_for_what_runs() {
    if let Some(side) = child_side() {
        return member(&side);
    }
    let test = "an_eager_rebalance_waits_for_what_runs";
    let group = Group::new(&[("partition.assignment.strategy", "range")]);
    let held: Vec<String> = (0..PARTITIONS).map(|p| format!("slow-{p}")).collect();
    let mut first = group.join(test, &held.iter().map(String::as_str).collect::<Vec<_>>());
    group.produce("slow");
    first.wait_count("began", PARTITIONS as usize, SOON);
    let mut second = group.join(test, &[]);
    wait_until("the second to ask for its part", SOON, || {
        group.tool.group(&group.member.group).is_ok_and(|g| g.members.len() == 2)
    });
    assert_eq!(seen(&second, "began"), []);
    for value in held {
        first.send(&Order::Release(value));
    }
    group.settled(2);
    group.produce("after");
    wait_until("all of it", SOON, || {
        seen(&first, "done").len() + seen(&second, "done").len() >= 2 * PARTITIONS as usize
    });
    group.all_committed();
    stop(&mut first);
    stop(&mut second);
    let ran = seen(&first, "done").len() + seen(&second, "done").len();
    assert_eq!(ran, 2 * PARTITIONS as usize, "each record once");
}

#[test]
fn a_static_member_keeps_its_partitions_over_a_restart() {
    if let Some(side) = child_side() {
        return member(&side);
    }
    let test = "a_static_member_keeps_its_partitions_over_a_restart";
    let group = Group::new(&[("session.timeout.ms", "30000")]);
    let id = |name: &'static str| [("group.instance.id", name)];
    let mut one = group.join_with(test, &[], &id("one"));
    let mut two = group.join_with(test, &[], &id("two"));
    group.settled(2);
    let held_by = |name: &str| {
        let state = group.tool.group(&group.member.group).unwrap();
        let of = state.members.iter().find(|m| m.instance_id.as_deref() == Some(name));
        of.map(|m| m.assigned.iter().flat_map(|a| a.partitions.clone()).collect::<BTreeSet<_>>())
    };
    let before = (held_by("one"), held_by("two"));
    group.produce("before");
    wait_until("all of it", SOON, || {
        seen(&one, "done").len() + seen(&two, "done").len() == PARTITIONS as usize
    });
    group.all_committed();
    one.kill9();
    group.produce("meanwhile");
    two.wait_count("done", 4, SOON);
    let mut again = group.join_with(test, &[], &id("one"));
    again.wait_count("done", 2, SOON);
    assert_eq!((held_by("one"), held_by("two")), before);
    assert!(
        seen(&again, "done").iter().all(|s| s.value.starts_with("meanwhile")),
        "nothing ran twice"
    );
    assert_eq!(Some(partitions_of(&seen(&again, "done"))), before.0);
    assert_eq!(seen(&two, "done").len(), 4, "the other one was left alone");
    stop(&mut again);
    stop(&mut two);
}

#[derive(Deserialize)]
struct Failure {
    code: i32,
    text: String,
}

#[test]
fn a_second_process_with_the_same_instance_id_fences_the_first() {
    if let Some(side) = child_side() {
        return member(&side);
    }
    let test = "a_second_process_with_the_same_instance_id_fences_the_first";
    let group = Group::new(&[]);
    let id = [("group.instance.id", "the-one")];
    let first = group.join_with(test, &[], &id);
    group.produce("first");
    first.wait_count("done", PARTITIONS as usize, SOON);
    group.all_committed();
    let mut second = group.join_with(test, &[], &id);
    let failure: Failure = first.wait_event("failed", SOON).data();
    assert_eq!(ErrorKind::from_code(failure.code), ErrorKind::Group, "{}", failure.text);
    for word in [&*group.member.group, "group.instance.id"] {
        assert!(failure.text.contains(word), "no {word} in: {}", failure.text);
    }
    group.produce("second");
    wait_until("the second to work", SOON, || seen(&second, "done").len() >= PARTITIONS as usize);
    assert!(
        seen(&second, "done").iter().all(|s| s.value.starts_with("second")),
        "nothing ran twice"
    );
    stop(&mut second);
}

#[test]
fn members_without_a_common_assignor_are_refused() {
    if let Some(side) = child_side() {
        return member(&side);
    }
    let test = "members_without_a_common_assignor_are_refused";
    let group = Group::new(&[("partition.assignment.strategy", "range")]);
    let mut first = group.join(test, &[]);
    group.settled(1);
    let other = group.join_with(test, &[], &[("partition.assignment.strategy", "roundrobin")]);
    let failure: Failure = other.wait_event("refused", SOON).data();
    assert_eq!(ErrorKind::from_code(failure.code), ErrorKind::Group);
    for word in [&*group.member.group, "partition.assignment.strategy", "roundrobin"] {
        assert!(failure.text.contains(word), "no {word} in: {}", failure.text);
    }
    stop(&mut first);
}

/// A broker that keeps classic and new members apart refuses whoever comes
/// second.
#[test]
fn a_group_of_the_other_protocol_is_refused() {
    if let Some(side) = child_side() {
        return member(&side);
    }
    let test = "a_group_of_the_other_protocol_is_refused";
    let cluster =
        Cluster::builder().property("group.consumer.migration.policy", "disabled").start();
    let (classic, consumer) = ([("group.protocol", "classic")], [("group.protocol", "consumer")]);
    for (first, second) in [(classic, consumer), (consumer, classic)] {
        let mut group = Group::new(&first);
        group.tool = cluster.tool();
        group.tool.create(&group.member.topic, PARTITIONS).unwrap();
        group.member.brokers = cluster.bootstrap();
        let mut member = group.join(test, &[]);
        group.settled(1);
        let other = group.join_with(test, &[], &second);
        // By build() where the broker lets it be found out, or else by run().
        let failure: Failure = other.wait_events("a refusal", SOON, |all| {
            all.iter().find(|e| e.name == "refused" || e.name == "failed").map(support::Event::data)
        });
        assert_eq!(ErrorKind::from_code(failure.code), ErrorKind::Group, "{}", failure.text);
        assert!(failure.text.contains(&group.member.group), "{}", failure.text);
        stop(&mut member);
    }
}

//! Records of every kind on a real broker: what handlers see, what becomes of
//! those that fail, and what gaps in a log do.
#![cfg(feature = "engine")]

mod member;
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use llingr_kafka::{ErrorKind, dead_letter_headers};
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

#[track_caller]
fn committed(tool: &Tool, group: &str, topic: &str, partition: i32) -> Option<i64> {
    tool.committed_at(group, topic, partition).unwrap().map(|c| c.offset)
}

/// Records with everything that a record can have and lack.
fn odd_records() -> Vec<NewRecord> {
    let binary: Vec<u8> = (0..=255).collect();
    vec![
        NewRecord::new("k", "v").timestamp_ms(1_700_000_000_123),
        NewRecord::new("", ""),
        NewRecord::keyless("no key"),
        NewRecord::keyless(""),
        NewRecord::tombstone("gone"),
        NewRecord::tombstone(""),
        NewRecord::default(),
        NewRecord::new(&binary, &binary).timestamp_ms(0),
        NewRecord::new("h", "v")
            .header("a", Some(b"1"))
            .header("a", Some(b"2"))
            .header("null", None)
            .header("empty", Some(b""))
            .header("", Some(&binary)),
    ]
    .into_iter()
    .map(|r| r.partition(0))
    .collect()
}

#[test]
fn handlers_see_every_field_as_it_was_produced() {
    for asynchronous in [false, true] {
        let (tool, topic, _, journal, spec) = set_up(1);
        let records = odd_records();
        tool.produce(&topic, &records).unwrap();
        let mut spec = spec.asynchronous(asynchronous);
        spec.echo = true;
        let member = Member::start(&spec);
        journal.wait_ended(records.len(), SOON);
        let mut seen = member.wait_seen(records.len());
        seen.sort_by_key(|s| s.offset);
        member.stop();
        let stored = tool.read(&topic).unwrap();
        assert_eq!(seen.len(), records.len());
        for ((seen, new), stored) in seen.iter().zip(&records).zip(&stored) {
            let headers: Vec<(String, Option<Vec<u8>>)> =
                new.headers.iter().map(|h| (h.key.clone(), h.value.clone())).collect();
            let expected = Seen {
                topic: topic.clone(),
                partition: 0,
                offset: stored.offset,
                key: new.key.clone(),
                value: new.value.clone(),
                headers,
                timestamp_kind: "create".to_owned(),
                timestamp_ms: new.timestamp_ms.unwrap_or(stored.timestamp_ms),
            };
            assert_eq!(*seen, expected);
        }
    }
}

#[test]
fn the_brokers_own_timestamps_are_told_as_such() {
    let broker = shared_broker();
    let tool = broker.tool();
    let (topic, group) = names();
    let new = NewTopic::new(&topic, 1).config("message.timestamp.type", "LogAppendTime");
    tool.create_topic(&new).unwrap();
    tool.produce(&topic, &[NewRecord::new("k", "v").timestamp_ms(1_000)]).unwrap();
    let journal = Journal::new();
    let mut spec = Spec::new(broker.bootstrap(), &topic, &group, &journal);
    spec.echo = true;
    let member = Member::start(&spec);
    journal.wait_ended(1, SOON);
    let seen = member.wait_seen(1).remove(0);
    member.stop();
    assert_eq!(seen.timestamp_kind, "append");
    assert_eq!(seen.timestamp_ms, tool.read(&topic).unwrap()[0].timestamp_ms);
    assert_ne!(seen.timestamp_ms, 1_000);
}

#[test]
fn a_poison_record_is_dead_lettered_after_its_attempts_and_delays_its_key_alone() {
    for asynchronous in [false, true] {
        for act in [Act::Fail, Act::Panic] {
            let (tool, topic, group, journal, spec) = set_up(1);
            let mut records = Vec::new();
            for i in 0..50 {
                records.push(NewRecord::new("good", i.to_string()).partition(0));
                if i % 25 == 3 {
                    records.push(NewRecord::new("poison", i.to_string()).partition(0));
                }
            }
            tool.produce(&topic, &records).unwrap();
            let kind = if act == Act::Fail { Kind::Failed } else { Kind::Panicked };
            let spec = spec
                .asynchronous(asynchronous)
                .act("poison", act)
                .with(|s| (s.attempts, s.backoff_ms) = (4, (1, 10)));
            let member = Member::start(&spec);
            journal.wait_ended(52, SOON);
            member.stop();
            let lines = journal.lines();
            Order::check(&[], &lines);
            for offset in [4, 30] {
                let ran: Vec<(Kind, u32)> = lines
                    .iter()
                    .filter(|l| l.offset == offset && l.kind != Kind::Started)
                    .map(|l| (l.kind, l.attempt))
                    .collect();
                let expected = [(kind, 1), (kind, 2), (kind, 3), (kind, 4), (Kind::Lettered, 4)];
                assert_eq!(ran, expected, "offset {offset}");
            }
            assert_eq!(committed(&tool, &group, &topic, 0), Some(52));
        }
    }
}

/// A dead-letter handler that fails or panics ends the engine, and the record
/// is not committed, neither by position nor by map.
#[test]
fn a_dead_letter_handler_that_fails_stops_the_engine_and_commits_nothing_of_it() {
    for asynchronous in [false, true] {
        for letters in [Letters::Fail, Letters::Panic] {
            let (tool, topic, group, journal, spec) = set_up(2);
            let good = |n: i32| (0..n).map(|i| NewRecord::new(format!("g{i}"), "v").partition(1));
            tool.produce(&topic, &good(20).collect::<Vec<_>>()).unwrap();
            let spec =
                spec.asynchronous(asynchronous).act("poison", Act::Fail).letters(letters.clone());
            let mut member = Member::start(&spec);
            journal.wait_ended(20, SOON);
            wait_until("the commit", SOON, || committed(&tool, &group, &topic, 1) == Some(20));
            tool.produce(&topic, &[NewRecord::new("poison", "v").partition(1)]).unwrap();
            let end = member.ended();
            assert_eq!(end.code, ErrorKind::EmergencyStop.code(), "{}", end.text);
            let place = format!("topic {topic} partition 1 offset 20");
            let why = match letters {
                Letters::Fail => "no room for letters",
                _ => "letter handler panicked as told",
            };
            for part in [place.as_str(), why, "failed as told"] {
                assert!(end.text.contains(part), "{part:?} is missing in {:?}", end.text);
            }
            let reasons: Vec<String> = member
                .child
                .events()
                .iter()
                .filter(|e| e.name == "shutdown")
                .map(Event::data)
                .collect();
            assert_eq!(reasons, std::slice::from_ref(&end.text));
            let health = member.health();
            assert_eq!((health.state.as_str(), health.cause), ("failed", Some(end.text)));
            member.finish();
            let at = tool.committed_at(&group, &topic, 1).unwrap().unwrap();
            assert_eq!((at.offset, finished_map(&at)), (20, vec![]));

            // The next one gets it again.
            let again = spec.name("again").letters(Letters::Keep);
            let again = Member::start(&again);
            journal.wait_ended(21, SOON);
            again.stop();
            assert_eq!(committed(&tool, &group, &topic, 1), Some(21));
        }
    }
}

#[test]
fn a_dead_letter_topic_gets_the_record_with_all_that_is_known() {
    let (tool, topic, group, journal, spec) = set_up(1);
    let dead = unique("dead");
    tool.create(&dead, 1).unwrap();
    let records = odd_records();
    tool.produce(&topic, &records).unwrap();
    let load = Load { seed: 1, fail_percent: 100, ..Load::default() };
    let spec = spec.load(load).letters(Letters::Topic(dead.clone())).with(|s| s.attempts = 2);
    let before = now_ms();
    let member = Member::start(&spec);
    journal.wait_ended(records.len(), SOON);
    member.stop();
    let after = now_ms();
    let sources = tool.read(&topic).unwrap();
    let letters = tool.read(&dead).unwrap();
    assert_eq!(letters.len(), records.len());
    let mut offsets = BTreeSet::new();
    for letter in &letters {
        let own = |name: &str| -> String {
            let found: Vec<_> = letter.headers.iter().filter(|h| h.key == name).collect();
            assert_eq!(found.len(), 1, "{name}: {found:?}");
            String::from_utf8(found[0].value.clone().unwrap()).unwrap()
        };
        let offset: i64 = own(dead_letter_headers::OFFSET).parse().unwrap();
        assert!(offsets.insert(offset), "offset {offset} twice");
        let source = &sources[offset as usize];
        assert_eq!((&letter.key, &letter.value), (&source.key, &source.value));
        assert_eq!(letter.headers[..source.headers.len()], source.headers[..]);
        assert_eq!(letter.headers.len(), source.headers.len() + 7, "{letter:?}");
        assert_eq!(letter.timestamp_ms, source.timestamp_ms, "the record's time is kept");
        assert_eq!(own(dead_letter_headers::TOPIC), topic);
        assert_eq!(own(dead_letter_headers::PARTITION), "0");
        assert_eq!(own(dead_letter_headers::ATTEMPTS), "2");
        assert_eq!(own(dead_letter_headers::ERROR), "failed as told, attempt 2");
        assert_eq!(own(dead_letter_headers::TIMESTAMP), source.timestamp_ms.to_string());
        let given_up: u128 = own(dead_letter_headers::TIME).parse().unwrap();
        assert!((before..=after).contains(&given_up), "{before} {given_up} {after}");
    }
    assert_eq!(committed(&tool, &group, &topic, 0), Some(records.len() as i64));
}

fn now_ms() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()
}

/// A dead-letter handler that blocks, for several keys, holds up those keys
/// alone.
#[test]
fn stuck_dead_letters_delay_their_keys_alone() {
    for asynchronous in [false, true] {
        let (tool, topic, group, journal, mut spec) = set_up(1);
        let mut records = Vec::new();
        for i in 0..8 {
            let key = format!("poison-{i}");
            spec = spec.act(&key, Act::Fail);
            records.push(NewRecord::new(key, "v").partition(0));
        }
        records.extend((0..200).map(|i| NewRecord::new(format!("k{i}"), "v").partition(0)));
        tool.produce(&topic, &records).unwrap();
        let spec = spec.asynchronous(asynchronous).letters(Letters::Block);
        let member = Member::start(&spec);
        member.child.wait_count("letter", 8, SOON);
        journal.wait_ended(200, SOON);
        // New ones flow too.
        tool.produce(&topic, &[NewRecord::new("late", "v").partition(0)]).unwrap();
        journal.wait_ended(201, SOON);
        assert_eq!(journal.count(|l| l.kind == Kind::Lettered), 0);
        member.open("letter");
        journal.wait_ended(209, SOON);
        member.stop();
        assert_eq!(committed(&tool, &group, &topic, 0), Some(209));
    }
}

#[test]
fn a_topic_deleted_while_consuming_is_survived_or_named() {
    let (tool, topic, _, journal, spec) = set_up(2);
    tool.produce_bulk(&Bulk::new(&topic, 200)).unwrap();
    let member = Member::start(&spec);
    journal.wait_ended(200, SOON);
    tool.delete_topic(&topic).unwrap();
    // The engine cannot know whether it comes back: it goes on, stays
    // answerable, and its stop is as quick as ever.
    wait_until("the deletion to be noticed", SOON, || {
        let output = member.child.output();
        output.contains("UNKNOWN_TOPIC") || output.contains("gave up partitions")
    });
    let health = member.health();
    assert!(["running", "joining"].contains(&health.state.as_str()), "{health:?}");
    member.stop();
}

#[test]
fn aborted_and_open_transactions_are_unseen_and_stall_no_commit() {
    for uncommitted in [false, true] {
        let (tool, topic, group, journal, spec) = set_up(1);
        let minute = Duration::from_secs(60);
        let batch = |name: &str| -> Vec<NewRecord> {
            (0..5).map(|i| NewRecord::new(format!("{name}{i}"), name).partition(0)).collect()
        };
        let mut expected = BTreeSet::new();
        for round in 0..6 {
            let transaction = tool.begin(&unique("txn"), minute).unwrap();
            let keep = round % 3 != 1;
            let acked =
                transaction.produce(&topic, &batch(if keep { "kept" } else { "cut" })).unwrap();
            if keep { transaction.commit() } else { transaction.abort() }.unwrap();
            if keep || uncommitted {
                expected.extend(acked.iter().map(|a| a.offset));
            }
            let plain = tool.produce(&topic, &batch("plain")).unwrap();
            expected.extend(plain.iter().map(|a| a.offset));
        }
        let level = if uncommitted { "read_uncommitted" } else { "read_committed" };
        let member = Member::start(&spec.option("isolation.level", level));
        journal.wait_ended(expected.len(), SOON);
        let seen: BTreeSet<i64> = journal.ended_places().into_iter().map(|p| p.1).collect();
        assert_eq!(seen, expected, "{level}");

        // An open one holds back who reads committed records only.
        let open = tool.begin(&unique("txn"), minute).unwrap();
        let acked = open.produce(&topic, &batch("open")).unwrap();
        let after = tool.produce(&topic, &batch("after")).unwrap();
        if uncommitted {
            journal.wait_ended(expected.len() + 10, SOON);
        }
        let last = after.last().unwrap().offset;
        open.abort().unwrap();
        expected.extend(after.iter().map(|a| a.offset));
        if uncommitted {
            expected.extend(acked.iter().map(|a| a.offset));
        }
        journal.wait_ended(expected.len(), SOON);
        let seen: BTreeSet<i64> = journal.ended_places().into_iter().map(|p| p.1).collect();
        assert_eq!(seen, expected, "{level}");
        member.stop();
        assert_eq!(committed(&tool, &group, &topic, 0), Some(last + 1), "{level}");
        // Nothing comes twice because of the markers behind the commit.
        let again = Member::start(
            &Spec::new(shared_broker().bootstrap(), &topic, &group, &journal)
                .name("again")
                .option("isolation.level", level),
        );
        tool.produce(&topic, &[NewRecord::new("end", "v").partition(0)]).unwrap();
        journal.wait_lines(1, SOON, |l| l.who == "again" && l.kind == Kind::Done);
        again.stop();
        assert_eq!(journal.count(|l| l.who == "again" && l.kind == Kind::Done), 1);
    }
}

#[test]
fn the_holes_of_a_compacted_topic_stall_nothing() {
    let broker = shared_broker();
    let tool = broker.tool();
    let (topic, group) = names();
    let new = NewTopic::new(&topic, 1)
        .config("cleanup.policy", "compact")
        .config("segment.ms", "100")
        .config("min.cleanable.dirty.ratio", "0.01")
        .config("min.compaction.lag.ms", "0");
    tool.create_topic(&new).unwrap();
    let mut rounds = 0;
    let kept = wait_for("compaction to make holes", SOON, || {
        tool.produce_bulk(&Bulk::new(&topic, 500).start(rounds * 500).keys(20)).unwrap();
        rounds += 1;
        let kept: Vec<i64> = tool.read(&topic).unwrap().iter().map(|r| r.offset).collect();
        (kept[0] > 0 && kept.len() < rounds as usize * 400).then_some(kept)
    });
    // What is there may still shrink: what is read must be a part of it, and
    // the newest of each key and the end must come.
    let journal = Journal::new();
    let member = Member::start(&Spec::new(broker.bootstrap(), &topic, &group, &journal));
    let end = tool.end_offsets(&topic).unwrap()[0];
    wait_until("the commit of the end", SOON, || committed(&tool, &group, &topic, 0) == Some(end));
    member.stop();
    let seen: BTreeSet<i64> = journal.ended_places().into_iter().map(|p| p.1).collect();
    let kept: BTreeSet<i64> = kept.into_iter().collect();
    assert!(seen.is_subset(&kept), "{:?}", seen.difference(&kept).take(5).collect::<Vec<_>>());
    assert!((end - 20..end).all(|o| seen.contains(&o)), "the newest records are missing");
    assert!((seen.len() as i64) < end, "there were no holes");
    Order::check(&[], &journal.lines());
}

#[test]
fn records_without_key_run_in_order_or_all_at_once_as_told() {
    for asynchronous in [false, true] {
        for unordered in [false, true] {
            let (tool, topic, _, journal, spec) = set_up(2);
            let records: Vec<NewRecord> =
                (0..40).map(|i| NewRecord::keyless(i.to_string()).partition(i % 2)).collect();
            tool.produce(&topic, &records).unwrap();
            let spec = spec
                .asynchronous(asynchronous)
                .act("-", Act::Block)
                .with(|s| (s.keyless_unordered, s.concurrent) = (unordered, 40));
            let member = Member::start(&spec);
            let at_once = if unordered { 40 } else { 2 };
            journal.wait_lines(at_once, SOON, |l| l.kind == Kind::Started);
            // Another key passes: then all that may start has started.
            for p in [0, 1] {
                tool.produce(&topic, &[NewRecord::new("free", "v").partition(p)]).unwrap();
            }
            if !unordered {
                journal.wait_ended(2, SOON);
                assert_eq!(journal.count(|l| l.key == "-"), 2);
            }
            member.open("-");
            journal.wait_ended(42, SOON);
            member.stop();
            if !unordered {
                Order::check(&[], &journal.lines());
            }
        }
    }
}

#[test]
fn one_key_on_two_partitions_runs_on_both_at_once() {
    for asynchronous in [false, true] {
        let (tool, topic, _, journal, spec) = set_up(2);
        let records: Vec<NewRecord> =
            (0..10).map(|i| NewRecord::new("same", "v").partition(i % 2)).collect();
        tool.produce(&topic, &records).unwrap();
        let member = Member::start(&spec.asynchronous(asynchronous).act("same", Act::Block));
        journal.wait_lines(2, SOON, |l| l.kind == Kind::Started);
        let started: BTreeMap<i32, i64> =
            journal.lines().iter().map(|l| (l.partition, l.offset)).collect();
        assert_eq!(started, BTreeMap::from([(0, 0), (1, 0)]));
        member.open("same");
        journal.wait_ended(10, SOON);
        member.stop();
        Order::check(&[], &journal.lines());
    }
}

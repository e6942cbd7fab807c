//! Processing: nothing lost, nothing doubled, state restored.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use llingr_kafka::streams::runtime::{
    KafkaStreams, ProcessingGuarantee, State, StreamsError, UncaughtAction,
};
use llingr_kafka::streams::{Repartitioned, StreamsBuilder};
use serde::{Deserialize, Serialize};

use crate::app::{
    SOON, StateDir, TestApp, Work, block_on, builder, close, produce, reach, values, wait_records,
};
use crate::support::{
    Child, ChildSide, Cluster, NewRecord, RecordHeader, Tool, child_side, shared_broker, unique,
    wait_until,
};

fn topics(tool: &Tool, partitions: i32) -> (String, String, String) {
    let id = unique("app");
    let (input, output) = (format!("{id}-in"), format!("{id}-out"));
    tool.create(&input, partitions).expect("a topic");
    tool.create(&output, partitions).expect("a topic");
    (id, input, output)
}

#[test]
fn every_record_is_copied_once_and_its_offset_committed() {
    let (broker, tool) = (shared_broker(), shared_broker().tool());
    let (id, input, output) = topics(&tool, 3);
    produce(&tool, &input, 10, 0..1000);
    let app = TestApp::new(&input, &output, Work::Copy);
    let streams = builder(broker.bootstrap(), &id, &app).start().unwrap();
    reach(&streams, State::Running);
    produce(&tool, &input, 10, 1000..2000);
    wait_records(&tool, &output, 2000);
    close(&streams);
    for (key, numbers) in values(&tool, &output) {
        let first: u32 = key[1..].parse().unwrap();
        let expected: Vec<u32> = (0..200).map(|n| first + 10 * n).collect();
        assert_eq!(numbers, expected, "of {key}, in order");
    }
    let mut committed = tool.committed(&id).unwrap();
    committed.sort_by_key(|offset| offset.partition);
    let committed: Vec<i64> = committed.iter().map(|offset| offset.offset).collect();
    assert_eq!(committed, tool.end_offsets(&input).unwrap());
    assert_eq!(tool.group(&id).unwrap().kind, "streams");
}

/// Counts, stops, counts on; `keep` says whether the stores survive on disk.
fn counts_over_a_restart(guarantee: ProcessingGuarantee, work: Work, keep: bool) {
    let (broker, tool) = (shared_broker(), shared_broker().tool());
    let (id, input, output) = topics(&tool, 2);
    produce(&tool, &input, 7, 0..700);
    let mut app = TestApp::new(&input, &output, work);
    let start = |app: &TestApp| {
        builder(broker.bootstrap(), &id, app).processing_guarantee(guarantee).start().unwrap()
    };
    let streams = start(&app);
    wait_records(&tool, &output, 700);
    close(&streams);
    assert_eq!(app.restored.count(), 0);
    assert_eq!(app.state.path().join(&id).exists(), work == Work::CountOnDisk);
    if !keep {
        app.state = StateDir::new();
    }
    produce(&tool, &input, 7, 700..1400);
    let streams = start(&app);
    wait_records(&tool, &output, 1400);
    close(&streams);
    let counts = values(&tool, &output);
    assert_eq!(counts.len(), 7);
    for (key, counts) in counts {
        assert_eq!(counts, (1..=200).collect::<Vec<u32>>(), "of {key}: each count once, in order");
    }
    let expected = if keep { 0 } else { 700 };
    assert_eq!(app.restored.count(), expected, "changelog records read");
    let changelog = format!("{id}-counts-changelog");
    assert_eq!(tool.read(&changelog).unwrap().len(), 1400);
}

#[test]
fn counts_go_on_after_a_restart_from_the_stores_without_reading_the_changelog() {
    counts_over_a_restart(ProcessingGuarantee::AtLeastOnce, Work::CountOnDisk, true);
}

#[test]
fn counts_go_on_after_a_restart_from_the_changelog_alone() {
    counts_over_a_restart(ProcessingGuarantee::AtLeastOnce, Work::CountOnDisk, false);
}

#[test]
fn counts_in_memory_go_on_after_a_restart() {
    counts_over_a_restart(ProcessingGuarantee::AtLeastOnce, Work::CountInMemory, false);
}

#[test]
fn exactly_once_counts_go_on_after_a_restart_from_the_stores() {
    counts_over_a_restart(ProcessingGuarantee::ExactlyOnceV2, Work::CountOnDisk, true);
}

#[test]
fn exactly_once_counts_go_on_after_a_restart_from_the_changelog_alone() {
    counts_over_a_restart(ProcessingGuarantee::ExactlyOnceV2, Work::CountOnDisk, false);
}

#[test]
fn exactly_once_counts_in_memory_go_on_after_a_restart() {
    counts_over_a_restart(ProcessingGuarantee::ExactlyOnceV2, Work::CountInMemory, false);
}

#[test]
fn a_cache_writes_a_key_once_for_each_commit_and_loses_nothing() {
    let (broker, tool) = (shared_broker(), shared_broker().tool());
    let (id, input, output) = topics(&tool, 1);
    produce(&tool, &input, 7, 0..700);
    let mut app = TestApp::new(&input, &output, Work::CountInMemory);
    app.caching = true;
    let start = |app: &TestApp| {
        let builder = builder(broker.bootstrap(), &id, app);
        builder.commit_interval(Duration::from_secs(600)).start().unwrap()
    };
    let streams = start(&app);
    wait_records(&tool, &output, 700);
    // Closing commits.
    close(&streams);
    let changelog = format!("{id}-counts-changelog");
    assert_eq!(tool.read(&changelog).unwrap().len(), 7, "the last count of each key");
    produce(&tool, &input, 7, 700..1400);
    let streams = start(&app);
    wait_records(&tool, &output, 1400);
    close(&streams);
    assert_eq!(app.restored.count(), 7);
    for (key, counts) in values(&tool, &output) {
        assert_eq!(counts, (1..=200).collect::<Vec<u32>>(), "of {key}: each count once, in order");
    }
}

#[test]
fn timestamps_headers_and_nulls_arrive_as_they_were_sent() {
    let (broker, tool) = (shared_broker(), shared_broker().tool());
    let (id, input, output) = topics(&tool, 1);
    let sent = [
        NewRecord::new("a", "1").timestamp_ms(1_000).header("h", Some(b"x")).header("h", None),
        NewRecord::new("b", "2").timestamp_ms(500),
        NewRecord::keyless("3").timestamp_ms(1_700_000_000_000).header("empty", Some(b"")),
        NewRecord::tombstone("a").timestamp_ms(7),
    ];
    tool.produce(&input, &sent).unwrap();
    let app = TestApp::new(&input, &output, Work::Copy);
    let streams = builder(broker.bootstrap(), &id, &app).start().unwrap();
    wait_records(&tool, &output, sent.len());
    close(&streams);
    let copied = tool.read(&output).unwrap();
    for (sent, copied) in sent.iter().zip(&copied) {
        assert_eq!((&sent.key, &sent.value), (&copied.key, &copied.value));
        assert_eq!(sent.timestamp_ms, Some(copied.timestamp_ms));
        let pairs = |headers: &[RecordHeader]| -> Vec<_> {
            headers.iter().map(|header| (header.key.clone(), header.value.clone())).collect()
        };
        assert_eq!(pairs(&sent.headers), pairs(&copied.headers));
    }
}

#[test]
fn a_stream_is_repartitioned_by_a_new_key_through_a_topic_of_the_application() {
    let (broker, tool) = (shared_broker(), shared_broker().tool());
    let (id, input, output) = topics(&tool, 3);
    produce(&tool, &input, 10, 0..300);
    let streams = StreamsBuilder::new();
    streams
        .stream::<String, String>(input.as_str())
        .filter(|_, value| value.is_some_and(|text| text != "0"))
        .map(|_, value| {
            let number: u32 = value.as_deref().and_then(|text| text.parse().ok()).unwrap_or(0);
            (Some(format!("m{}", number % 4)), value)
        })
        .repartition(Repartitioned::new())
        .to(output.as_str());
    let app = KafkaStreams::builder(&id, streams.build().unwrap())
        .brokers(broker.bootstrap())
        .commit_interval(Duration::from_millis(100));
    let app = app.start().unwrap();
    wait_records(&tool, &output, 299);
    close(&app);
    let values = values(&tool, &output);
    for (key, numbers) in &values {
        let rest: u32 = key[1..].parse().unwrap();
        assert!(numbers.iter().all(|number| number % 4 == rest), "{key}: {numbers:?}");
    }
    let mut all: Vec<u32> = values.into_values().flatten().collect();
    all.sort_unstable();
    assert_eq!(all, (1..300).collect::<Vec<u32>>());
}

#[test]
fn one_state_directory_is_one_instance_s_until_it_has_ended() {
    let (broker, tool) = (shared_broker(), shared_broker().tool());
    let (id, input, output) = topics(&tool, 1);
    let app = TestApp::new(&input, &output, Work::CountOnDisk);
    let start = || builder(broker.bootstrap(), &id, &app).start();
    let first = start().unwrap();
    let error = start().err().unwrap();
    assert!(matches!(error, StreamsError::StateDirectory(_)), "{error}");
    let dir = app.state.path().display().to_string();
    assert!(error.to_string().contains(&dir), "{error}");
    close(&first);
    close(&start().unwrap());
}

#[test]
fn a_thread_that_fails_is_replaced_and_exactly_once_drops_what_it_did() {
    let (broker, tool) = (shared_broker(), shared_broker().tool());
    let (id, input, output) = topics(&tool, 1);
    produce(&tool, &input, 1, 0..100);
    let mut app = TestApp::new(&input, &output, Work::CountOnDisk);
    app.poison = Some("50");
    let failures = Arc::new(AtomicUsize::new(0));
    let seen = failures.clone();
    let streams = builder(broker.bootstrap(), &id, &app)
        .processing_guarantee(ProcessingGuarantee::ExactlyOnceV2)
        .commit_interval(Duration::from_secs(5))
        .on_uncaught_error(move |error| {
            assert!(error.to_string().contains("poison"), "{error}");
            match seen.fetch_add(1, Ordering::Relaxed) {
                0 => UncaughtAction::ReplaceThread,
                _ => UncaughtAction::ShutdownClient,
            }
        })
        .start()
        .unwrap();
    reach(&streams, State::Error);
    assert_eq!(failures.load(Ordering::Relaxed), 2);
    let error = streams.failure().unwrap().to_string();
    let place = format!("task 0_0, node each, record {input}-0 offset 50");
    assert!(error.contains(&place) && error.contains("poison"), "{error}");
    // Whatever was sent before the poison was in a transaction that was aborted.
    assert_eq!(tool.read(&output).unwrap().len(), 0);
    app.poison = None;
    let streams = builder(broker.bootstrap(), &id, &app)
        .processing_guarantee(ProcessingGuarantee::ExactlyOnceV2)
        .start()
        .unwrap();
    wait_records(&tool, &output, 100);
    close(&streams);
    assert_eq!(values(&tool, &output)["k0"], (1..=100).collect::<Vec<u32>>());
}

#[test]
fn run_ends_when_the_stopper_says_so() {
    let (broker, tool) = (shared_broker(), shared_broker().tool());
    let (id, input, output) = topics(&tool, 1);
    let app = TestApp::new(&input, &output, Work::Copy);
    let streams = builder(broker.bootstrap(), &id, &app).start().unwrap();
    reach(&streams, State::Running);
    let stopper = streams.stopper();
    let running = std::thread::spawn(move || streams.run());
    stopper.stop();
    running.join().unwrap().expect("an orderly end");
}

#[test]
fn paused_means_no_records_and_threads_come_and_go() {
    let (broker, tool) = (shared_broker(), shared_broker().tool());
    let (id, input, output) = topics(&tool, 4);
    let app = TestApp::new(&input, &output, Work::CountOnDisk);
    let streams = builder(broker.bootstrap(), &id, &app).start().unwrap();
    reach(&streams, State::Running);
    assert_eq!(streams.add_stream_thread().unwrap(), 2);
    produce(&tool, &input, 20, 0..1000);
    wait_records(&tool, &output, 1000);
    wait_until("two members", SOON, || tool.group(&id).is_ok_and(|group| group.state == "Stable"));
    reach(&streams, State::Running);
    assert_eq!(streams.remove_stream_thread(), Some(2));
    streams.pause();
    assert!(streams.is_paused());
    streams.resume();
    produce(&tool, &input, 20, 1000..2000);
    wait_records(&tool, &output, 2000);
    assert!(block_on(streams.close(SOON)));
    for (key, counts) in values(&tool, &output) {
        assert_eq!(counts, (1..=100).collect::<Vec<u32>>(), "of {key}");
    }
}

#[derive(Serialize, Deserialize)]
struct Args {
    bootstrap: String,
    id: String,
    input: String,
    output: String,
    /// `None` counts in memory.
    state_dir: Option<PathBuf>,
    exactly_once: bool,
}

fn count_until_killed(side: &ChildSide) {
    let args: Args = side.args();
    let work = if args.state_dir.is_some() { Work::CountOnDisk } else { Work::CountInMemory };
    let app = TestApp::new(&args.input, &args.output, work);
    let mut builder = builder(&args.bootstrap, &args.id, &app);
    if let Some(dir) = args.state_dir {
        builder = builder.state_dir(dir);
    }
    if args.exactly_once {
        builder = builder.processing_guarantee(ProcessingGuarantee::ExactlyOnceV2);
    }
    let streams = builder.start().unwrap();
    side.emit("started", ());
    let _ = streams.run();
}

#[test]
fn at_least_once_counts_are_exact_where_a_killed_instance_had_committed() {
    if let Some(side) = child_side() {
        return count_until_killed(&side);
    }
    let name = "running::at_least_once_counts_are_exact_where_a_killed_instance_had_committed";
    for on_disk in [true, false] {
        let cluster = Cluster::builder()
            .property("group.streams.session.timeout.ms", "2000")
            .property("group.streams.heartbeat.interval.ms", "300")
            .start();
        let tool = cluster.tool();
        let (id, input, output) = topics(&tool, 2);
        let dir = StateDir::new();
        let args = Args {
            bootstrap: cluster.bootstrap(),
            id: id.clone(),
            input: input.clone(),
            output: output.clone(),
            state_dir: on_disk.then(|| dir.path().to_owned()),
            exactly_once: false,
        };
        for round in 1..=3u32 {
            let mut child = Child::spawn(name, &args);
            produce(&tool, &input, 7, (round - 1) * 700..round * 700);
            wait_until("everything is committed", SOON, || {
                let mut committed = tool.committed(&id).unwrap_or_default();
                committed.sort_by_key(|offset| offset.partition);
                let committed: Vec<i64> = committed.iter().map(|offset| offset.offset).collect();
                committed == tool.end_offsets(&input).unwrap()
            });
            child.kill9();
        }
        for (key, counts) in values(&tool, &output) {
            let expected: Vec<u32> = (1..=300).collect();
            assert_eq!(counts, expected, "of {key}: each count once, in order; disk {on_disk}");
        }
    }
}

/// Two instances count, one of them after the other is killed and started again in the middle of
/// its work. Returns all counts that were written, by key, in order.
fn counts_of_instances_that_are_killed(
    name: &str,
    exactly_once: bool,
    on_disk: bool,
) -> BTreeMap<String, Vec<u32>> {
    let cluster = Cluster::builder()
        .property("group.streams.session.timeout.ms", "2000")
        .property("group.streams.heartbeat.interval.ms", "300")
        .start();
    let tool = cluster.tool();
    let (id, input, output) = topics(&tool, 4);
    // A directory outlives the processes that use it.
    let dirs = [StateDir::new(), StateDir::new()];
    let spawn = |n: usize| {
        let args = Args {
            bootstrap: cluster.bootstrap(),
            id: id.clone(),
            input: input.clone(),
            output: output.clone(),
            state_dir: on_disk.then(|| dirs[n].path().to_owned()),
            exactly_once,
        };
        Child::spawn(name, &args)
    };
    let mut children = [spawn(0), spawn(1)];
    for round in 0..ROUNDS {
        let (from, to) = (round * PER_ROUND, (round + 1) * PER_ROUND);
        produce(&tool, &input, 20, from as u32..to as u32);
        // In the middle of the round's work.
        wait_records(&tool, &output, from + PER_ROUND / 3);
        children[round % 2].kill9();
        children[round % 2] = spawn(round % 2);
        wait_until("every key is counted to the end of the round", SOON, || {
            let counts = values(&tool, &output);
            let last = (to / 20) as u32;
            counts.len() == 20 && counts.values().all(|of_key| of_key.contains(&last))
        });
    }
    let counts = values(&tool, &output);
    assert_eq!(counts.len(), 20);
    counts
}

const ROUNDS: usize = 4;
const PER_ROUND: usize = 2000;

fn exactly_once_counts_are_exact(name: &str, on_disk: bool) {
    if let Some(side) = child_side() {
        return count_until_killed(&side);
    }
    let expected: Vec<u32> = (1..=(ROUNDS * PER_ROUND / 20) as u32).collect();
    for (key, counts) in counts_of_instances_that_are_killed(name, true, on_disk) {
        assert_eq!(counts, expected, "of {key}: each count once, in order");
    }
}

#[test]
fn exactly_once_counts_are_exact_under_repeated_kill_9_of_one_of_two_instances() {
    exactly_once_counts_are_exact(
        "running::exactly_once_counts_are_exact_under_repeated_kill_9_of_one_of_two_instances",
        true,
    );
}

#[test]
fn exactly_once_counts_in_memory_are_exact_under_repeated_kill_9() {
    exactly_once_counts_are_exact(
        "running::exactly_once_counts_in_memory_are_exact_under_repeated_kill_9",
        false,
    );
}

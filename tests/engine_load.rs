//! The engine under load and at its bounds, on a real broker.
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

/// xorshift64*, so that a seed gives the same test again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % sides
    }
}

/// Prints the seed when the test fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the seed was {}; set LLINGR_TEST_SEED to it", self.0);
        }
    }
}

fn seed(default: u64) -> Seed {
    let given = std::env::var("LLINGR_TEST_SEED").ok().and_then(|s| s.parse().ok());
    Seed(given.unwrap_or(default))
}

/// Looks at a group's commits again and again.
struct Commits<'a> {
    tool: &'a Tool,
    group: &'a str,
    last: BTreeMap<i32, i64>,
}

impl Commits<'_> {
    #[track_caller]
    fn look(&mut self) {
        for c in self.tool.committed(self.group).unwrap() {
            let last = self.last.entry(c.partition).or_insert(-1);
            assert!(
                c.offset >= *last,
                "partition {}: committed {} after {last}",
                c.partition,
                c.offset
            );
            *last = c.offset;
        }
    }
}

/// Members come, leave in order and are killed, one such step for every few
/// hundred records that end.
#[test]
fn members_that_come_and_go_lose_and_overtake_nothing() {
    let seed = seed(20_260_801);
    let mut dice = Dice(seed.0);
    let broker = shared_broker();
    let tool = broker.tool();
    let (topic, group) = names();
    tool.create(&topic, 12).unwrap();
    let journal = Journal::new();
    let records = 30_000;
    let producing = tool
        .clone()
        .limit(Duration::from_secs(180))
        .start_bulk(&Bulk::new(&topic, records).keys(600).per_second(1_000));
    let spec = Spec::new(broker.bootstrap(), &topic, &group, &journal)
        .short_session()
        .load(Load { seed: seed.0, max_micros: 4_000, fail_percent: 1, panic_percent: 1 })
        .with(|s| s.attempts = 2);
    let mut members: Vec<Member> = Vec::new();
    let mut gone: Vec<String> = Vec::new();
    let mut born = 0;
    let mut join = |members: &mut Vec<Member>, dice: &mut Dice| {
        let name = format!("m{born}");
        born += 1;
        let spec = spec.clone().name(&name).asynchronous(dice.roll(2) == 0);
        members.push(Member::start(&spec));
    };
    let mut commits = Commits { tool: &tool, group: &group, last: BTreeMap::new() };
    join(&mut members, &mut dice);
    loop {
        let next = journal.ended() + 200 + dice.roll(800) as usize;
        if next >= records as usize {
            break;
        }
        wait_until(&format!("{next} records to end"), SOON, || {
            commits.look();
            journal.ended() >= next
        });
        match dice.roll(10) {
            // At least one stays, at most eight are there.
            0..5 if members.len() < 8 => join(&mut members, &mut dice),
            5..9 if members.len() > 1 => {
                let i = dice.roll(members.len() as u64) as usize;
                members.swap_remove(i).stop();
            }
            9 if members.len() > 1 => {
                let i = dice.roll(members.len() as u64) as usize;
                let member = members.swap_remove(i);
                gone.push(member.name.clone());
                member.kill9();
            }
            _ => {}
        }
    }
    let produced = producing.wait().unwrap();
    assert_eq!((produced.acked, produced.failed), (records, 0), "{}", produced.first_error);
    wait_until("all records to end", SOON * 2, || {
        commits.look();
        journal.ended() >= records as usize
    });
    for member in members {
        member.stop();
    }
    commits.look();
    let ends = tool.end_offsets(&topic).unwrap();
    journal.assert_complete(&ends);
    let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
    Order::check(&gone, &journal.lines());
    let committed: Vec<i64> = commits.last.values().copied().collect();
    assert_eq!(committed, ends);
}

/// Random latencies, failures, retries and panics; what each record comes to
/// is known beforehand.
fn storm(asynchronous: bool) {
    let seed = seed(4_711);
    let broker = shared_broker();
    let tool = broker.tool();
    let (topic, group) = names();
    tool.create(&topic, 6).unwrap();
    let records = 200_000u64;
    tool.produce_bulk(&Bulk::new(&topic, records).keys(20_000)).unwrap();
    let journal = Journal::new();
    let load = Load { seed: seed.0, max_micros: 500, fail_percent: 4, panic_percent: 1 };
    let attempts = 3;
    let spec = Spec::new(broker.bootstrap(), &topic, &group, &journal)
        .asynchronous(asynchronous)
        .load(load)
        .with(|s| (s.attempts, s.concurrent) = (attempts, 128));
    let member = Member::start(&spec);
    journal.wait_ended(records as usize, SOON);
    let snapshot = member.snapshot();
    member.stop();
    let ends = tool.end_offsets(&topic).unwrap();
    journal.assert_complete(&ends);
    let lines = journal.lines();
    Order::check(&[], &lines);

    // Each record ran exactly as often as its dice say.
    let mut runs: BTreeMap<(i32, i64), Vec<(Kind, u32)>> = BTreeMap::new();
    for line in lines.iter().filter(|l| l.kind != Kind::Started) {
        runs.entry(line.place()).or_default().push((line.kind, line.attempt));
    }
    let mut letters = 0;
    for ((partition, offset), ran) in &runs {
        let mut expected = Vec::new();
        for attempt in 1..=attempts {
            let kind = match load.fate(*partition, *offset, attempt) {
                Fate::Done => Kind::Done,
                Fate::Failed => Kind::Failed,
                Fate::Panicked => Kind::Panicked,
            };
            expected.push((kind, attempt));
            if kind == Kind::Done {
                break;
            }
        }
        if expected.last().is_some_and(|(kind, _)| *kind != Kind::Done) {
            expected.push((Kind::Lettered, attempts));
            letters += 1;
        }
        assert_eq!(*ran, expected, "partition {partition} offset {offset}");
    }
    assert!(letters > 0, "the dice gave no dead letter");
    assert_eq!(snapshot.summary.total_processed, records);
    let committed: BTreeMap<i32, i64> =
        tool.committed(&group).unwrap().iter().map(|c| (c.partition, c.offset)).collect();
    assert_eq!(committed.values().copied().collect::<Vec<_>>(), ends);
}

#[test]
fn two_hundred_thousand_records_in_a_storm_end_as_they_must() {
    let _turn = one_at_a_time();
    storm(false);
}

#[test]
fn two_hundred_thousand_records_in_an_async_storm_end_as_they_must() {
    let _turn = one_at_a_time();
    storm(true);
}

const MIB: u64 = 1 << 20;

/// Nothing completes: what is held levels off below the bound.
fn stuck(asynchronous: bool) {
    let _turn = one_at_a_time();
    let broker = shared_broker();
    let tool = broker.tool();
    let (topic, group) = names();
    let partitions = 4;
    tool.create_topic(&NewTopic::new(&topic, partitions).config("max.message.bytes", "2000000"))
        .unwrap();
    let records = 160;
    for part in 0..8 {
        let bulk = Bulk::new(&topic, records / 8)
            .start(part * records / 8)
            .keys(0)
            .value_size(950_000)
            .round_robin(partitions);
        assert_eq!(tool.produce_bulk(&bulk).unwrap().acked, records / 8);
    }
    let journal = Journal::new();
    let (bound, fetch) = (24 * MIB, 8 * MIB);
    let spec = Spec::new(broker.bootstrap(), &topic, &group, &journal)
        .asynchronous(asynchronous)
        .option("fetch.max.bytes", &fetch.to_string())
        .option("max.partition.fetch.bytes", &MIB.to_string())
        .act("-", Act::Block)
        .with(|s| (s.held_bytes, s.keyless_unordered, s.hold) = (Some(bound), true, true));
    let member = Member::start(&spec);
    let idle = member.child.rss();
    member.ask(Ask::Run);
    wait_until("the bound to be reached", SOON, || {
        member.snapshot().concurrency.held_bytes + 2 * MIB * partitions as u64 > bound
    });
    // From here on nothing may grow. A hundred looks, and what the fetches
    // under way could bring is long there.
    let round = MIB * partitions as u64;
    for _ in 0..100 {
        let snapshot = member.snapshot();
        let held = snapshot.concurrency.held_bytes;
        assert!(held <= bound + round, "{held} bytes are held, the bound is {bound}");
        let by_partition: u64 = snapshot.pre_commits.partitions.iter().map(|p| p.held_bytes).sum();
        assert!(by_partition <= bound + round, "{by_partition} bytes are held");
    }
    assert_eq!(journal.ended(), 0);
    // Held once, a round of fetched records twice (as they came and decoded),
    // and the run-time systems.
    let grown = member.child.peak_rss().saturating_sub(idle);
    let most = bound + round + 4 * fetch + 32 * MIB;
    assert!(grown <= most, "the process grew by {grown} bytes, more than {most}");

    member.open("*");
    journal.wait_ended(records as usize, SOON);
    member.stop();
    journal.assert_complete(&tool.end_offsets(&topic).unwrap());
}

#[test]
fn a_stuck_handler_with_large_records_stays_within_the_bound() {
    stuck(false);
}

#[test]
fn a_stuck_async_handler_with_large_records_stays_within_the_bound() {
    stuck(true);
}

fn records_of(key: &str, partition: i32, count: usize) -> Vec<NewRecord> {
    (0..count).map(|i| NewRecord::new(key, i.to_string()).partition(partition)).collect()
}

/// A stuck key delays nobody; its partition pauses when the records behind it
/// reach the bound, and goes on afterwards.
#[test]
fn a_stuck_key_stops_only_itself_and_its_partition_pauses_at_the_bound() {
    for asynchronous in [false, true] {
        let broker = shared_broker();
        let tool = broker.tool();
        let (topic, group) = names();
        tool.create(&topic, 3).unwrap();
        tool.produce(&topic, &records_of("stuck", 0, 3)).unwrap();
        tool.produce(&topic, &records_of("free-0", 0, 500)).unwrap();
        for _ in 0..3 {
            tool.produce(&topic, &records_of("stuck", 0, 1_000)).unwrap();
        }
        for p in [1, 2] {
            tool.produce_bulk(&Bulk::new(&topic, 5_000).keys(50).partition(p)).unwrap();
        }
        let journal = Journal::new();
        let bound = 1_000;
        let spec = Spec::new(broker.bootstrap(), &topic, &group, &journal)
            .asynchronous(asynchronous)
            .act("stuck", Act::Block)
            // Small fetches: the bound is looked at between them.
            .option("max.partition.fetch.bytes", "4096")
            .with(|s| (s.partition_records, s.concurrent) = (Some(bound), 8));
        let member = Member::start(&spec);
        journal.wait_ended(10_500, SOON);
        let zero = wait_for("partition 0 to be paused", SOON, || {
            let snapshot = member.snapshot();
            let zero = snapshot.pre_commits.partitions.into_iter().find(|p| p.partition == 0)?;
            (zero.paused && zero.held_records >= bound).then_some(zero)
        });
        // The produce request above was one batch, which is never cut.
        assert!(zero.held_records <= bound + 1_000, "{zero:?}");
        assert_eq!((zero.highest_ready_offset, zero.in_flight), (0, 1), "{zero:?}");
        // New records of the other partitions still flow, those of the paused
        // one wait.
        tool.produce(&topic, &records_of("free-0", 0, 10)).unwrap();
        tool.produce(&topic, &records_of("free-1", 1, 10)).unwrap();
        tool.produce(&topic, &records_of("free-2", 2, 10)).unwrap();
        journal.wait_ended(10_520, SOON);
        let keys: BTreeSet<String> = journal
            .lines()
            .into_iter()
            .filter(|l| l.kind == Kind::Started)
            .map(|l| l.key)
            .collect();
        assert!(keys.contains("free-1") && keys.contains("free-2"));
        assert_eq!(journal.count(|l| l.key == "stuck"), 1, "a successor of the stuck record ran");
        let oldest = member.health().oldest;
        assert_eq!(oldest, Some((0, 0, Some("stuck".to_owned()))));
        member.open("stuck");
        let all = 10_530 + 3_003;
        journal.wait_ended(all, SOON);
        member.stop();
        let ends = tool.end_offsets(&topic).unwrap();
        journal.assert_complete(&ends);
        Order::check(&[], &journal.lines());
    }
}

/// One stuck record, all others done: the partition runs ahead as far as it
/// may, and no further.
#[test]
fn a_partition_runs_ahead_of_a_stuck_record_up_to_its_bound() {
    let broker = shared_broker();
    let tool = broker.tool();
    let (topic, group) = names();
    tool.create(&topic, 1).unwrap();
    tool.produce(&topic, &records_of("stuck", 0, 1)).unwrap();
    for _ in 0..20 {
        tool.produce(&topic, &records_of("free", 0, 100)).unwrap();
    }
    let journal = Journal::new();
    let ahead = 512;
    let spec = Spec::new(broker.bootstrap(), &topic, &group, &journal)
        .act("stuck", Act::Block)
        .option("max.partition.fetch.bytes", "1024")
        .with(|s| s.run_ahead = Some(ahead));
    let member = Member::start(&spec);
    let paused = wait_for("the partition to be paused", SOON, || {
        let partition = member.snapshot().pre_commits.partitions.into_iter().next()?;
        // All but the stuck one have ended.
        (partition.paused && partition.held_records == 1).then_some(partition)
    });
    let fetched = paused.max_offset_seen + 1;
    assert!(fetched >= ahead as i64, "{paused:?}");
    // One batch of a hundred comes whole.
    assert!(fetched <= ahead as i64 + 100, "{paused:?}");
    assert_eq!(paused.gap_buffer_depth as i64, fetched - 1);
    wait_until("the commit's map", SOON, || {
        let committed = tool.committed_at(&group, &topic, 0).unwrap();
        committed.is_some_and(|c| c.offset == 0 && finished_map(&c) == [(1, fetched)])
    });
    member.open("stuck");
    journal.wait_ended(2_001, SOON);
    member.stop();
    let committed = tool.committed_at(&group, &topic, 0).unwrap().unwrap();
    assert_eq!((committed.offset, committed.metadata.as_str()), (2_001, ""));
    Order::check(&[], &journal.lines());
}

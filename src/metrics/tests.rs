//! Rendering as a scraper sees it, and the documentation page.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::reading::{
    AssignedReading, BandwidthReading, BrokerReading, DEFINITIONS, HANDLER_BUCKETS, Identity,
    PartitionBandwidth, PartitionReading, QUEUE_BUCKETS,
};
use super::render::{Definition, DurationBuckets, HistogramReading, Kind, Value};
use super::*;
use crate::snapshot::State;

const LABELS: &str = r#"topic="orders",consumer_group="billing",service="svc",team="core""#;

fn histogram(buckets: DurationBuckets, nanos: &[u64]) -> HistogramReading {
    let mut reading =
        HistogramReading { counts: vec![0; buckets.len()], sum_nanos: nanos.iter().sum() };
    for nanos in nanos {
        reading.counts[buckets.index(*nanos)] += 1;
    }
    reading
}

fn reading() -> Reading {
    Reading {
        identity: Identity {
            topic: "orders".into(),
            consumer_group: "billing".into(),
            service: "svc".into(),
            team: "core".into(),
        },
        state: State::Running,
        commits: 11,
        commit_failures: 12,
        rebalances: 13,
        concurrent_keys_limit: 250,
        concurrent_keys_in_use: 14,
        partitions: vec![
            PartitionReading {
                partition: 0,
                processed: 21,
                errored: 22,
                panicked: 23,
                dead_lettered: 24,
                duplicate: 25,
                used_overflow: 26,
                orphaned: 27,
                retries: 28,
                skipped: 29,
                process_duration: histogram(HANDLER_BUCKETS, &[500_000, 1_500_000, 60_000_000_000]),
                dead_letter_duration: HistogramReading::default(),
                queue_wait: histogram(QUEUE_BUCKETS, &[100_000]),
                assigned: Some(AssignedReading {
                    queue_depth: 31,
                    in_flight: 32,
                    current_offset: Some(33),
                    high_watermark: Some(40),
                    lag: Some(7),
                    gap_depth: 34,
                    oldest_blocked: Some(Duration::from_millis(1500)),
                    held_records: 35,
                    held_bytes: 36,
                    paused: true,
                }),
            },
            PartitionReading { partition: 1, processed: 5, ..PartitionReading::default() },
        ],
        bandwidth: Some(BandwidthReading {
            stats_interval: Duration::from_secs(60),
            last_collection: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
            brokers: vec![BrokerReading {
                id: 2,
                host: "b2.example.com".to_owned(),
                port: 9092,
                rack: Some("a".to_owned()),
                received_bytes: 41,
                transmitted_bytes: 42,
            }],
            partitions: vec![PartitionBandwidth {
                partition: 0,
                received_bytes: 43,
                transmitted_bytes: 44,
                received_messages: 45,
                compressed_bytes: 46,
                uncompressed_bytes: 47,
                compression: None,
            }],
        }),
    }
}

struct Fixed(Reading);

impl MetricsSource for Fixed {
    fn read(&self) -> Reading {
        self.0.clone()
    }
}

fn scrape_of(reading: Reading) -> String {
    let metrics = Metrics::registry();
    let _registration =
        metrics.register_engine("engine", Arc::new(Fixed(reading))).expect("registered");
    metrics.handle().scrape()
}

#[track_caller]
fn assert_line(text: &str, line: &str) {
    assert!(text.lines().any(|found| found == line), "{line} is not in:\n{text}");
}

#[test]
fn every_value_appears_under_its_name_and_labels() {
    let text = scrape_of(reading());
    for (name, value) in [
        ("processed_total", 21),
        ("errored_total", 22),
        ("panicked_total", 23),
        ("dead_lettered_total", 24),
        ("duplicate_total", 25),
        ("used_overflow_total", 26),
        ("orphaned_total", 27),
        ("retries_total", 28),
        ("skipped_total", 29),
        ("queue_depth", 31),
        ("in_flight", 32),
        ("current_offset", 33),
        ("gap_depth", 34),
        ("held_records", 35),
        ("held_bytes", 36),
        ("high_watermark", 40),
        ("lag", 7),
        ("paused", 1),
    ] {
        assert_line(&text, &format!("llingr_engine_{name}{{{LABELS},partition=\"0\"}} {value}"));
    }
    assert_line(
        &text,
        &format!("llingr_engine_oldest_blocked_seconds{{{LABELS},partition=\"0\"}} 1.5"),
    );
    for (name, value) in [
        ("commits_total", 11),
        ("commit_failures_total", 12),
        ("rebalances_total", 13),
        ("assigned_partitions", 1),
        ("concurrent_keys_limit", 250),
        ("concurrent_keys_in_use", 14),
    ] {
        assert_line(&text, &format!("llingr_engine_{name}{{{LABELS}}} {value}"));
    }
    assert_line(&text, &format!("llingr_engine_state{{{LABELS},state=\"running\"}} 1"));
    assert_line(&text, &format!("llingr_engine_state{{{LABELS},state=\"failed\"}} 0"));
}

#[test]
fn a_partition_given_up_keeps_its_counters_and_loses_its_gauges() {
    let text = scrape_of(reading());
    assert_line(&text, &format!("llingr_engine_processed_total{{{LABELS},partition=\"1\"}} 5"));
    for name in ["lag", "queue_depth", "oldest_blocked_seconds", "current_offset"] {
        assert!(
            !text.contains(&format!("llingr_engine_{name}{{{LABELS},partition=\"1\"")),
            "{text}"
        );
    }
}

#[test]
fn bandwidth_has_its_own_families() {
    let text = scrape_of(reading());
    for (name, value) in [
        ("received_bytes_total", 43),
        ("transmitted_bytes_total", 44),
        ("received_messages_total", 45),
    ] {
        assert_line(&text, &format!("llingr_bandwidth_{name}{{{LABELS},partition=\"0\"}} {value}"));
    }
    for (name, value) in [("compressed_bytes_total", 46), ("uncompressed_bytes_total", 47)] {
        let labels = format!("{LABELS},partition=\"0\",compression=\"unknown\"");
        assert_line(&text, &format!("llingr_bandwidth_{name}{{{labels}}} {value}"));
    }
    let info = format!("{LABELS},broker_id=\"2\",host=\"b2.example.com\",port=\"9092\",rack=\"a\"");
    assert_line(&text, &format!("llingr_bandwidth_broker_info{{{info}}} 1"));
    assert_line(&text, &format!("llingr_bandwidth_broker_count{{{LABELS}}} 1"));
    assert_line(&text, &format!("llingr_bandwidth_partition_count{{{LABELS}}} 1"));
    assert_line(&text, &format!("llingr_bandwidth_stats_interval_seconds{{{LABELS}}} 60.0"));
    assert_line(
        &text,
        &format!("llingr_bandwidth_last_collection_timestamp_seconds{{{LABELS}}} 1700000000.0"),
    );
    let broker = format!("{LABELS},broker_id=\"2\"");
    assert_line(&text, &format!("llingr_bandwidth_broker_received_bytes_total{{{broker}}} 41"));
    assert_line(&text, &format!("llingr_bandwidth_broker_transmitted_bytes_total{{{broker}}} 42"));
    let mut without = reading();
    without.bandwidth = None;
    assert!(!scrape_of(without).contains("llingr_bandwidth_"));
}

#[test]
fn histograms_cumulate_and_end_with_infinity() {
    let text = scrape_of(reading());
    let name = "llingr_engine_process_duration_seconds";
    let bucket = |le: &str, count: u64| {
        assert_line(
            &text,
            &format!("{name}_bucket{{le=\"{le}\",{LABELS},partition=\"0\"}} {count}"),
        );
    };
    bucket("0.001", 1);
    bucket("0.002", 2);
    bucket("16.384", 2);
    bucket("+Inf", 3);
    assert_line(&text, &format!("{name}_count{{{LABELS},partition=\"0\"}} 3"));
    assert_line(&text, &format!("{name}_sum{{{LABELS},partition=\"0\"}} 60.002"));
    let wait = format!(
        "llingr_engine_queue_wait_duration_seconds_bucket{{le=\"0.0001\",{LABELS},partition=\"0\"}} 1"
    );
    assert_line(&text, &wait);
    let bounds = |name: &str| {
        let start = format!("llingr_engine_{name}_bucket{{");
        text.lines()
            .filter(|line| line.starts_with(&start) && line.contains("partition=\"1\""))
            .count()
    };
    assert_eq!(bounds("process_duration_seconds"), 16);
    assert_eq!(bounds("dead_letter_duration_seconds"), 16);
    assert_eq!(bounds("queue_wait_duration_seconds"), 19);
}

#[test]
fn label_values_are_escaped() {
    let mut reading = reading();
    reading.identity.service = "a\"b\\c\nd".into();
    let text = scrape_of(reading);
    assert!(text.contains(r#"service="a\"b\\c\nd""#), "{text}");
}

#[test]
fn families_of_several_sources_are_merged_and_described_once() {
    let metrics = Metrics::registry();
    let mut other = reading();
    other.identity.topic = "payments".into();
    let first = metrics.register_engine("first", Arc::new(Fixed(reading()))).expect("first");
    let second = metrics.register_engine("second", Arc::new(Fixed(other))).expect("second");
    let text = metrics.handle().scrape();
    for topic in ["orders", "payments"] {
        assert!(
            text.contains(&format!("llingr_engine_commits_total{{topic=\"{topic}\"")),
            "{text}"
        );
    }
    assert_eq!(text.matches("# TYPE llingr_engine_commits counter").count(), 1);
    assert_eq!(text.matches("# EOF").count(), 1);
    drop(second);
    assert!(!metrics.handle().scrape().contains("payments"));
    drop(first);
    assert_eq!(metrics.handle().scrape(), "# EOF\n");
}

#[test]
fn every_family_is_rendered_and_every_rendered_family_is_listed() {
    let text = scrape_of(reading());
    let mut rendered: Vec<_> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let mut listed: Vec<_> = DEFINITIONS.iter().map(|definition| definition.name).collect();
    rendered.sort_unstable();
    listed.sort_unstable();
    assert_eq!(rendered, listed);
}

#[test]
fn names_are_unique_and_sources_bounded() {
    let metrics = Metrics::registry();
    let add = |name: &str| metrics.register_engine(name, Arc::new(Fixed(reading())));
    let first = add("engine").expect("first");
    let error = add("engine").map(drop).expect_err("taken");
    assert_eq!(error.kind(), ErrorKind::MetricsSource);
    assert!(error.to_string().contains("engine"), "{error}");
    drop(first);
    let all: Vec<_> = (0..SOURCES_MAX).map(|i| add(&i.to_string()).expect("room")).collect();
    assert_eq!(add("more").map(drop).expect_err("full").kind(), ErrorKind::MetricsSource);
    drop(all);
    drop(add("more").expect("room again"));
}

#[test]
fn a_panicking_source_costs_its_own_values_only() {
    struct Panics;
    impl MetricsSource for Panics {
        fn read(&self) -> Reading {
            panic!("in a source");
        }
    }
    let metrics = Metrics::registry();
    let _bad = metrics.register_engine("bad", Arc::new(Panics)).expect("bad");
    let _good = metrics.register_engine("good", Arc::new(Fixed(reading()))).expect("good");
    let text = metrics.handle().scrape();
    assert!(text.contains("llingr_engine_commits_total") && text.ends_with("# EOF\n"), "{text}");
}

#[test]
fn values_are_read_at_each_scrape() {
    static CALLS: Definition =
        Definition { name: "calls", help: "Calls.", kind: Kind::Counter, labels: &[] };
    struct Counts(AtomicU64);
    impl SampleSource for Counts {
        fn collect(&self, samples: &mut Samples) {
            let count = self.0.fetch_add(1, Ordering::Relaxed) + 1;
            samples.add(&CALLS, &[], Value::Counter(count));
        }
    }
    let metrics = Metrics::registry();
    let _source = metrics.register("counts", Arc::new(Counts(AtomicU64::new(0)))).expect("added");
    let handle = metrics.handle();
    assert_line(&handle.scrape(), "calls_total 1");
    assert_line(&handle.scrape(), "calls_total 2");
}

#[test]
fn handles_and_metrics_can_go_to_any_thread() {
    fn check<T: Send + Sync + Clone + 'static>() {}
    check::<Metrics>();
    check::<MetricsHandle>();
}

/// The page lists all parts, so only a build with them can tell what belongs on it.
#[cfg(feature = "share")]
mod documentation {
    use std::fmt::Write as _;

    use super::*;

    fn kind(kind: Kind) -> String {
        match kind {
            Kind::Counter => "counter".to_owned(),
            Kind::Gauge => "gauge".to_owned(),
            Kind::Histogram(buckets) => format!(
                "histogram, {} bounds from {} ms, doubling",
                buckets.bounds,
                buckets.first_nanos as f64 / 1e6
            ),
        }
    }

    fn page() -> String {
        let mut page = String::from(
            "# Metrics\n\n\
             Generated from the definitions in `src/metrics`; a test fails when it is stale\n\
             (`LLINGR_BLESS=1 cargo test --lib documentation` rewrites it).\n\n\
             Served by `Metrics::serve` or rendered by `MetricsHandle::scrape` in the OpenMetrics\n\
             text format. Counters are since the start of the engine or consumer; a partition that was given\n\
             up keeps its counters and loses its gauges. `llingr_client_*` counts the connections of\n\
             a share consumer's client.\n\n\
             | Series | Type | Labels | Meaning |\n|---|---|---|---|\n",
        );
        let share = crate::share::stats::DEFINITIONS;
        for definition in DEFINITIONS.iter().chain(share.iter()) {
            let suffix = match definition.kind {
                Kind::Counter => "_total",
                _ => "",
            };
            writeln!(
                page,
                "| `{}{suffix}` | {} | {} | {} |",
                definition.name,
                kind(definition.kind),
                definition.labels.join(", "),
                definition.help
            )
            .expect("to a string");
        }
        page
    }

    #[test]
    fn metrics_page_follows_the_definitions() {
        crate::bless::assert_file("docs/metrics.md", &page());
    }
}

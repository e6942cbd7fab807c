//! Metrics over HTTP, and what a liveness and a readiness probe would answer.
//!
//! Runs on the embedded broker, reads its own metrics and ends by itself.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use llingr_kafka::snapshot::State;
use llingr_kafka::{
    AutoOffsetReset, Builder, DeadLetterHandler, DevBroker, Llingr, Message, Metrics, Options,
    ProcessHandler, Traits,
};
use log::LevelFilter;

const RECORDS: usize = 1000;
const LIMIT: Duration = Duration::from_secs(30);

struct Clicks;

impl ProcessHandler for Clicks {
    fn process(&self, message: &Message) -> Result<Traits, Box<dyn Error>> {
        match message.value_str() {
            Some("broken") => Err("a broken click".into()),
            _ => Ok(Traits::none()),
        }
    }
}

struct Dropped;

impl DeadLetterHandler for Dropped {
    fn handle(&self, _: &Message, _: &str) -> Result<(), Box<dyn Error>> {
        Ok(())
    }
}

fn scrape(address: SocketAddr) -> Result<String, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(LIMIT))?;
    write!(stream, "GET /metrics HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("an answer without a body")?;
    if !head.starts_with("HTTP/1.1 200 ") {
        return Err(format!("the metrics' answer: {head}").into());
    }
    Ok(body.to_owned())
}

/// The sum of a series over its partitions.
fn sum(metrics: &str, series: &str) -> f64 {
    let values = metrics.lines().filter(|l| l.starts_with(&format!("{series}{{")));
    values.filter_map(|l| l.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

/// What the probes say, and the metrics after the last record.
struct Seen {
    ready: bool,
    alive: bool,
    metrics: String,
}

fn look(engine: &Llingr, address: SocketAddr) -> Result<Seen, Box<dyn Error>> {
    engine.wait_until_ready(LIMIT);
    let ended = || engine.snapshot().is_ok_and(|s| s.summary.total_processed >= RECORDS as u64);
    if !examples::wait_until(LIMIT, ended) {
        return Err(format!("{RECORDS} records did not end within {LIMIT:?}").into());
    }
    let (ready, health) = (engine.ready(), engine.health());
    println!("readiness: {ready:?}");
    println!("liveness:  {health:?}");
    Ok(Seen {
        ready: ready.ready,
        // A service is restarted when it failed or stands still.
        alive: health.state != State::Failed && !health.is_stalled(Duration::from_secs(300)),
        metrics: scrape(address)?,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    examples::print_log(LevelFilter::Warn);
    let metrics = Metrics::serve("127.0.0.1:0", "/metrics")?;
    let address = metrics.local_addr().ok_or("the metrics are not served")?;
    println!("metrics at http://{address}/metrics");

    let broker = DevBroker::start([("clicks", 4)])?;
    let clicks = (0..RECORDS)
        .map(|n| (format!("visitor-{}", n % 50), if n % 100 == 99 { "broken" } else { "click" }));
    broker.produce("clicks", clicks)?;

    let engine = Builder::new("clicks", Clicks, Dropped)
        .brokers(broker.bootstrap())
        .consumer_group("counting")
        .service("clicks", "web")
        .options(Options::new().auto_offset_reset(AutoOffsetReset::Earliest))
        .metrics(&metrics)
        .build()?;
    let watched = engine.clone();
    let watcher = thread::spawn(move || {
        let seen = look(&watched, address).map_err(|e| e.to_string());
        watched.stop();
        seen
    });
    engine.run()?;
    let seen = watcher.join().map_err(|_| "the watcher panicked")??;

    let shown = ["processed_total", "dead_lettered_total", "lag", "state"];
    for line in seen.metrics.lines() {
        if shown.iter().any(|name| line.starts_with(&format!("llingr_engine_{name}{{"))) {
            println!("{line}");
        }
    }
    let processed = sum(&seen.metrics, "llingr_engine_processed_total");
    let dead = sum(&seen.metrics, "llingr_engine_dead_lettered_total");
    if !seen.ready || !seen.alive || processed != RECORDS as f64 || dead != RECORDS as f64 / 100.0 {
        return Err(format!("processed {processed}, dead-lettered {dead}: this is a bug").into());
    }
    println!("{RECORDS} records counted, {dead} of them dead letters");
    Ok(())
}

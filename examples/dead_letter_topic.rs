//! Records whose handler fails for good go to a dead-letter topic; a second
//! engine then reads the letters as any other topic.
//!
//! Runs on the embedded broker and ends by itself.

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use llingr_kafka::{
    AutoOffsetReset, Builder, DeadLetterHandler, DeadLetterTopic, DevBroker, Llingr, Message,
    Options, ProcessHandler, RetryDecision, RetryPolicy, Traits, dead_letter_headers,
};
use log::LevelFilter;

const READINGS: usize = 40;
/// These readings are no numbers.
const BROKEN: [usize; 3] = [7, 20, 33];
const LIMIT: Duration = Duration::from_secs(30);

struct Readings;

impl ProcessHandler for Readings {
    fn process(&self, message: &Message) -> Result<Traits, Box<dyn Error>> {
        let text = message.value_str().ok_or("a reading has a value")?;
        let _: f64 = text.parse().map_err(|e| format!("{text:?}: {e}"))?;
        Ok(Traits::none())
    }
}

/// A letter: where it came from, its value, attempts and error.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Letter {
    key: String,
    value: String,
    attempts: String,
    error: String,
    source: String,
}

struct Letters(Arc<Mutex<Vec<Letter>>>);

impl ProcessHandler for Letters {
    fn process(&self, message: &Message) -> Result<Traits, Box<dyn Error>> {
        let headers = message.headers();
        let header = |name: &str| {
            let value = headers.find(name).and_then(|h| h.value);
            value.map(|v| String::from_utf8_lossy(v).into_owned()).unwrap_or_default()
        };
        use dead_letter_headers::*;
        self.0.lock().unwrap().push(Letter {
            key: message.key_str().unwrap_or_default().to_owned(),
            value: message.value_str().unwrap_or_default().to_owned(),
            attempts: header(ATTEMPTS),
            error: header(ERROR),
            source: format!("{}[{}]@{}", header(TOPIC), header(PARTITION), header(OFFSET)),
        });
        Ok(Traits::none())
    }
}

/// A letter that cannot be read has nowhere to go: an error stops the engine.
struct Nowhere;

impl DeadLetterHandler for Nowhere {
    fn handle(&self, _: &Message, error: &str) -> Result<(), Box<dyn Error>> {
        Err(error.into())
    }
}

/// Runs until `records` have ended, one way or the other.
fn run_for(engine: Llingr, records: usize) -> Result<(), Box<dyn Error>> {
    let watched = engine.clone();
    let watcher = thread::spawn(move || {
        let ended =
            || watched.snapshot().is_ok_and(|s| s.summary.total_processed >= records as u64);
        let all = examples::wait_until(LIMIT, ended);
        watched.stop();
        all
    });
    engine.run()?;
    match watcher.join() {
        Ok(true) => Ok(()),
        _ => Err(format!("{records} records did not end within {LIMIT:?}").into()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    examples::print_log(LevelFilter::Warn);
    let broker = DevBroker::start([("readings", 3), ("readings.dead", 1)])?;
    let readings = (0..READINGS).map(|n| {
        let value = if BROKEN.contains(&n) { format!("#{n}") } else { format!("{n}.5") };
        (format!("meter-{}", n % 5), value)
    });
    broker.produce("readings", readings)?;

    let earliest = || Options::new().auto_offset_reset(AutoOffsetReset::Earliest);
    let engine = Builder::new("readings", Readings, DeadLetterTopic::new("readings.dead"))
        .brokers(broker.bootstrap())
        .consumer_group("meters")
        .options(earliest())
        .retry(
            RetryPolicy::attempts(3)
                .backoff(Duration::from_millis(20), Duration::from_millis(100))
                // What panics once will panic again: no second attempt.
                .decide(|failure| {
                    if failure.panicked {
                        RetryDecision::DeadLetter
                    } else {
                        RetryDecision::Backoff
                    }
                }),
        )
        .build()?;
    run_for(engine, READINGS)?;
    println!("{READINGS} readings done, {} of them to be found in readings.dead:", BROKEN.len());

    let letters = Arc::new(Mutex::new(Vec::new()));
    let engine = Builder::new("readings.dead", Letters(letters.clone()), Nowhere)
        .brokers(broker.bootstrap())
        .consumer_group("clerk")
        .options(earliest())
        .build()?;
    run_for(engine, BROKEN.len())?;

    let mut letters = std::mem::take(&mut *letters.lock().unwrap());
    letters.sort();
    for l in &letters {
        println!(
            "  {} {:?} from {}, {} attempts: {}",
            l.key, l.value, l.source, l.attempts, l.error
        );
    }
    let mut expected: Vec<String> = BROKEN.iter().map(|n| format!("#{n}")).collect();
    expected.sort();
    let mut values: Vec<String> = letters.iter().map(|l| l.value.clone()).collect();
    values.sort();
    let complete = letters.iter().all(|l| {
        l.attempts == "3" && l.error.contains(&l.value) && l.source.starts_with("readings[")
    });
    if values != expected || !complete {
        return Err("the dead-letter topic has not what it should have: this is a bug".into());
    }
    Ok(())
}

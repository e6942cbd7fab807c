//! The whole story in one run: an embedded broker, records with keys, order per
//! key at work on several keys at once, and a record that ends as a dead letter.
//!
//! Needs no Kafka and ends by itself: `cargo run --release --example quickstart`.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use llingr_kafka::{
    AutoOffsetReset, Builder, DeadLetterHandler, DemuxConfig, DevBroker, Message, Options,
    ProcessHandler, RetryPolicy, Traits,
};

const ACCOUNTS: usize = 8;
const PAYMENTS_EACH: usize = 5;

/// What the handlers saw, to be shown at the end.
#[derive(Default)]
struct Seen {
    payments: BTreeMap<String, Vec<i64>>,
    rejected: Vec<String>,
}

struct Payments(Arc<Mutex<Seen>>);

impl ProcessHandler for Payments {
    fn process(&self, message: &Message) -> Result<Traits, Box<dyn Error>> {
        let account = message.key_str().ok_or("a payment needs an account")?;
        let amount: i64 = message.value_str().unwrap_or_default().parse()?;
        std::thread::sleep(Duration::from_millis(20)); // the work
        self.0.lock().unwrap().payments.entry(account.to_owned()).or_default().push(amount);
        Ok(Traits::none())
    }
}

struct Rejected(Arc<Mutex<Seen>>);

impl DeadLetterHandler for Rejected {
    fn handle(&self, message: &Message, error: &str) -> Result<(), Box<dyn Error>> {
        let what = format!("{:?} of {:?}: {error}", message.value_str(), message.key_str());
        self.0.lock().unwrap().rejected.push(what);
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let broker = DevBroker::start([("payments", 6)])?;
    println!("embedded broker at {}", broker.bootstrap());

    let mut payments = Vec::new();
    for n in 1..=PAYMENTS_EACH {
        for account in 0..ACCOUNTS {
            payments.push((format!("account-{account}"), n.to_string()));
        }
    }
    payments.insert(10, ("account-3".into(), "twelve euros".into()));
    broker.produce("payments", payments)?;
    println!("produced {} payments, one of them broken", ACCOUNTS * PAYMENTS_EACH + 1);

    let seen = Arc::new(Mutex::new(Seen::default()));
    let engine = Builder::new("payments", Payments(seen.clone()), Rejected(seen.clone()))
        .brokers(broker.bootstrap())
        .consumer_group("quickstart")
        .options(Options::new().auto_offset_reset(AutoOffsetReset::Earliest))
        .demux(DemuxConfig::default().concurrent_keys(ACCOUNTS))
        .retry(
            RetryPolicy::attempts(2).backoff(Duration::from_millis(50), Duration::from_millis(50)),
        )
        .build()?;

    // A service would stop from its signal watcher; this one when all is done.
    let stop = engine.stopper();
    let watched = seen.clone();
    let started = Instant::now();
    let watcher = std::thread::spawn(move || {
        let all = || {
            let seen = watched.lock().unwrap();
            let good: usize = seen.payments.values().map(Vec::len).sum();
            good == ACCOUNTS * PAYMENTS_EACH && !seen.rejected.is_empty()
        };
        while !all() && started.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(10));
        }
        stop();
    });
    engine.run()?;
    watcher.join().expect("the watcher does not panic");

    let seen = seen.lock().unwrap();
    println!("processed in {:?}:", started.elapsed());
    for (account, amounts) in &seen.payments {
        println!("  {account}: {amounts:?}");
    }
    for what in &seen.rejected {
        println!("dead letter, after 2 attempts: {what}");
    }
    let in_order = seen.payments.values().all(|a| a.is_sorted());
    let complete = seen.payments.values().map(Vec::len).sum::<usize>() == ACCOUNTS * PAYMENTS_EACH;
    if !(in_order && complete && seen.rejected.len() == 1) {
        return Err("something is missing or out of order: this is a bug".into());
    }
    println!("each account in order, accounts side by side, nothing lost");
    Ok(())
}

//! The main function of a service: options from the environment, the log, a
//! stop in order at SIGINT and SIGTERM, an exit code that tells how it ended.
//!
//! Consumes the topic `orders` of `KAFKA_BOOTSTRAP`, or of the embedded broker
//! when that is not set. With `--once` it stops by itself after the records
//! that it put into the embedded broker.

use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use llingr_kafka::{
    AutoOffsetReset, Builder, DeadLetterHandler, DemuxConfig, DevBroker, Message, Options,
    ProcessHandler, RetryPolicy, ShutdownHandler, Traits,
};
use log::LevelFilter;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

const TOPIC: &str = "orders";
const ORDERS: usize = 100;

struct Orders {
    processed: Arc<AtomicUsize>,
    /// Hears of the last of the records of `--once`.
    complete: Option<mpsc::SyncSender<()>>,
}

impl ProcessHandler for Orders {
    fn process(&self, message: &Message) -> Result<Traits, Box<dyn Error>> {
        let customer = message.key_str().ok_or("an order needs a customer")?;
        log::info!("{customer}: {}", message.value_str().unwrap_or_default());
        if self.processed.fetch_add(1, Ordering::Relaxed) + 1 == ORDERS
            && let Some(complete) = &self.complete
        {
            let _ = complete.try_send(());
        }
        Ok(Traits::none())
    }
}

/// Here failures are logged and let go; `dead_letter_topic` keeps them.
struct Logged;

impl DeadLetterHandler for Logged {
    fn handle(&self, message: &Message, error: &str) -> Result<(), Box<dyn Error>> {
        log::error!("given up: {} of partition {}: {error}", message.offset(), message.partition());
        Ok(())
    }
}

struct Ended;

impl ShutdownHandler for Ended {
    fn handle(&self, reason: &str) {
        log::info!("the engine ended: {reason}");
    }
}

fn main() -> ExitCode {
    examples::print_log(LevelFilter::Info);
    match service() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            log::error!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn service() -> Result<(), Box<dyn Error>> {
    let once = env::args().any(|a| a == "--once");
    // Registered before anything else, so that no signal is missed.
    let mut signals = Signals::new([SIGINT, SIGTERM])?;

    let embedded = match env::var("KAFKA_BOOTSTRAP") {
        Ok(_) if once => {
            return Err("--once is for the embedded broker: unset KAFKA_BOOTSTRAP".into());
        }
        Ok(_) => None,
        Err(_) => Some(broker_with_orders()?),
    };
    let bootstrap = match &embedded {
        Some(broker) => broker.bootstrap().to_owned(),
        None => env::var("KAFKA_BOOTSTRAP")?,
    };

    let processed = Arc::new(AtomicUsize::new(0));
    let (complete, completed) = mpsc::sync_channel(1);
    let handler = Orders { processed: processed.clone(), complete: once.then_some(complete) };
    let engine = Builder::new(TOPIC, handler, Logged)
        .brokers(bootstrap)
        .consumer_group("order-service")
        .service("order-service", "billing")
        .options(
            Options::new().client_id("order-service").auto_offset_reset(AutoOffsetReset::Earliest),
        )
        .demux(DemuxConfig::default().drain_timeout(Duration::from_secs(10)))
        .retry(RetryPolicy::attempts(3))
        .shutdown(Ended)
        .build()?;

    let watched = signals.handle();
    let (stop, now) = (engine.stopper(), engine.clone());
    let watcher = thread::spawn(move || {
        let mut stop = Some(stop);
        for signal in signals.forever() {
            match stop.take() {
                Some(stop) => {
                    log::info!("signal {signal}: stopping");
                    // Waits for the end, and the watcher must hear more signals.
                    thread::spawn(stop);
                }
                None => now.emergency_stop(&format!("a second signal: {signal}")),
            }
        }
    });
    if once {
        let stop = engine.stopper();
        thread::spawn(move || {
            if completed.recv().is_ok() {
                stop();
            }
        });
    }

    let result = engine.run();
    watched.close(); // ends the watcher
    watcher.join().map_err(|_| "the signal watcher panicked")?;
    result?;
    let processed = processed.load(Ordering::Relaxed);
    log::info!("{processed} orders processed");
    if once && processed != ORDERS {
        return Err(format!("{processed} of {ORDERS} orders processed: this is a bug").into());
    }
    Ok(())
}

fn broker_with_orders() -> Result<DevBroker, Box<dyn Error>> {
    let broker = DevBroker::start([(TOPIC, 6)])?;
    let orders = (0..ORDERS).map(|n| (format!("customer-{}", n % 10), format!("order {n}")));
    broker.produce(TOPIC, orders)?;
    Ok(broker)
}

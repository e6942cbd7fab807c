//! Work from a queue: a share group hands each job to one of several handlers, a failed one again.
//!
//! Runs on the embedded broker, or on the one that `KAFKA_BOOTSTRAP` names, where the topic `jobs`
//! must exist: `cargo run --release --example share_worker`. Ends by itself.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use llingr_kafka::share::{FailurePolicy, ShareAdmin, ShareConsumer, ShareRecord};
use llingr_kafka::{DevBroker, Options};

const JOBS: usize = 40;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let given = std::env::var("KAFKA_BOOTSTRAP").ok().filter(|brokers| !brokers.is_empty());
    // The embedded broker lives as long as this value.
    let embedded = match &given {
        None => Some(DevBroker::start([("jobs", 3)])?),
        Some(_) => None,
    };
    let brokers = match (&given, &embedded) {
        (Some(brokers), _) => brokers.clone(),
        (None, Some(broker)) => broker.bootstrap().to_owned(),
        (None, None) => return Err("no broker".into()),
    };

    // A new group begins at the end of its topics unless told otherwise.
    let admin = ShareAdmin::new(&brokers, &Options::new())?;
    admin.set_group_config("workers", "share.auto.offset.reset", Some("earliest")).await?;
    if let Some(broker) = &embedded {
        broker.produce("jobs", (0..JOBS).map(|n| (format!("job-{n}"), n.to_string())))?;
    }

    let consumer = ShareConsumer::builder("workers", ["jobs"])
        .brokers(&brokers)
        .on_failure(FailurePolicy::RejectAfter(3))
        .build()
        .await?;
    let done: Arc<Mutex<BTreeMap<String, i16>>> = Arc::default();
    let (finished, stop) = (done.clone(), consumer.stopper());
    let handler = move |record: ShareRecord| {
        let (finished, stop) = (finished.clone(), stop.clone());
        async move {
            let job = String::from_utf8_lossy(record.value().map_or(&[][..], |v| v)).into_owned();
            tokio::time::sleep(Duration::from_millis(5)).await; // the work
            if record.delivery_count() == 1 && job.ends_with('7') {
                return Err(format!("job {job} failed at its first attempt"));
            }
            let mut finished = finished.lock().map_err(|_| "a handler panicked".to_owned())?;
            finished.insert(job, record.delivery_count());
            if finished.len() >= JOBS {
                stop();
            }
            Ok(())
        }
    };
    // A service would call the stopper from its signal watcher.
    let report = consumer.run(handler, 8).await?;
    let done = done.lock().map_err(|_| "a handler panicked")?;
    let twice = done.values().filter(|count| **count > 1).count();
    println!(
        "{} jobs done, {twice} of them at a later attempt; all settled: {}",
        done.len(),
        report.is_ok()
    );
    Ok(())
}

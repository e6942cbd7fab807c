//! A handler for each record, so that a program needs no poll loop.

use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::AckType;
use super::consumer::ShareConsumer;
use super::error::{CommitReport, ShareError};
use super::record::ShareRecord;

/// How long one poll of the runner waits; only bounds how late it sees that nothing came.
const POLL: Duration = Duration::from_secs(1);
/// How long running handlers are waited for when the runner stops.
const DRAIN: Duration = Duration::from_secs(30);

type Decide = dyn Fn(&ShareRecord, &(dyn Error + 'static)) -> AckType + Send + Sync;

/// What becomes of a record whose handler returned an error or panicked.
#[derive(Clone)]
#[non_exhaustive]
pub enum FailurePolicy {
    /// Handed out again, until the group's delivery limit. The default.
    Release,
    /// Archived at once, and copied to the group's dead-letter topic if it has one.
    Reject,
    /// Released until it was delivered this often, then rejected.
    RejectAfter(i16),
    /// The program decides. [`AckType::Renew`] leaves the record to whatever acknowledges it
    /// later.
    Decide(Arc<Decide>),
}

impl FailurePolicy {
    fn ack(&self, record: &ShareRecord, error: &(dyn Error + 'static)) -> AckType {
        match self {
            Self::Release => AckType::Release,
            Self::Reject => AckType::Reject,
            Self::RejectAfter(limit) if record.delivery_count() >= *limit => AckType::Reject,
            Self::RejectAfter(_) => AckType::Release,
            Self::Decide(decide) => {
                catch_unwind(AssertUnwindSafe(|| decide(record, error))).unwrap_or(AckType::Release)
            }
        }
    }
}

impl fmt::Debug for FailurePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Release => f.write_str("Release"),
            Self::Reject => f.write_str("Reject"),
            Self::RejectAfter(limit) => write!(f, "RejectAfter({limit})"),
            Self::Decide(_) => f.write_str("Decide"),
        }
    }
}

/// What stands for the error of a handler that panicked.
#[derive(Debug, thiserror::Error)]
#[error("the handler panicked: {0}")]
struct Panicked(String);

impl ShareConsumer {
    /// Calls `handler` for each record, up to `concurrency` at once, until
    /// [`stopper`](ShareConsumer::stopper) is called or the membership ends; then waits for the
    /// running handlers (30 s at most), releases what was not begun and closes.
    ///
    /// `Ok` accepts the record. `Err` and a panic go by
    /// [`on_failure`](super::ShareConsumerBuilder::on_failure). Each record is acknowledged by itself,
    /// whatever the acknowledgement mode says. There is no order among records.
    ///
    /// Handlers run on the tokio runtime and must not block it.
    ///
    /// # Errors
    /// The fatal error that ended it, and those of [`close`](ShareConsumer::close). Errors that
    /// pass are logged.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the running handlers; their records are handed out again when
    /// their locks end.
    pub async fn run<F, Fut, E>(
        &self,
        handler: F,
        concurrency: usize,
    ) -> Result<CommitReport, ShareError>
    where
        F: Fn(ShareRecord) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        if concurrency == 0 {
            return Err(ShareError::Config("run needs a concurrency of at least 1".into()));
        }
        self.inner.shared.lock().explicit = true;
        let handler = Arc::new(handler);
        let slots = Arc::new(Semaphore::new(concurrency));
        let mut running = JoinSet::new();
        let mut stop = self.inner.stop.subscribe();
        let outcome = loop {
            if *stop.borrow_and_update() {
                break Ok(());
            }
            let records = tokio::select! {
                _ = stop.changed() => continue,
                records = self.poll(POLL) => records,
            };
            let records = match records {
                Ok(records) => records,
                Err(error) if error.is_fatal() => break Err(error),
                // It was logged when it was reported, and concerns some records alone.
                Err(_) => continue,
            };
            for record in records {
                let slot = tokio::select! {
                    _ = stop.wait_for(|stop| *stop) => None,
                    slot = slots.clone().acquire_owned() => slot.ok(),
                };
                let Some(slot) = slot else {
                    // Not begun: somebody else may have it at once.
                    drop(self.acknowledge(&record, AckType::Release));
                    continue;
                };
                while running.try_join_next().is_some() {}
                let (consumer, handler) = (self.clone(), handler.clone());
                running.spawn(async move {
                    consumer.handle(&*handler, record).await;
                    drop(slot);
                });
            }
        };
        let drained = async { while running.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN, drained).await.is_err() {
            log::warn!(
                target: crate::LOG_TARGET,
                "{} handlers still ran after {DRAIN:?} and were cut off", running.len()
            );
            running.shutdown().await;
        }
        let report = self.close(DRAIN).await;
        outcome.and(report)
    }

    async fn handle<F, Fut, E>(&self, handler: &F, record: ShareRecord)
    where
        F: Fn(ShareRecord) -> Fut,
        Fut: Future<Output = Result<(), E>>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let error: Box<dyn Error + Send + Sync> = match guarded(handler, record.clone()).await {
            Ok(Ok(())) => {
                self.settle(&record, AckType::Accept);
                return;
            }
            Ok(Err(error)) => error.into(),
            Err(panic) => Box::new(panic),
        };
        let ack = self.inner.shared.settings.failure.ack(&record, &*error);
        log::warn!(
            target: crate::LOG_TARGET,
            "record {}-{} offset {}, delivery {}: {error}; {ack:?}",
            record.topic(), record.partition(), record.offset(), record.delivery_count()
        );
        self.settle(&record, ack);
    }

    fn settle(&self, record: &ShareRecord, ack: AckType) {
        if let Err(error) = self.acknowledge(record, ack) {
            log::warn!(target: crate::LOG_TARGET, "{ack:?} came too late: {error}");
        }
    }

    /// A function that ends [`run`](ShareConsumer::run), to be called from anywhere, a signal
    /// watcher's thread for example; harmless when repeated.
    pub fn stopper(&self) -> impl Fn() + Clone + Send + Sync + 'static {
        let stop = self.inner.stop.clone();
        move || {
            stop.send_replace(true);
        }
    }
}

/// Runs a handler and turns its panic into an error.
async fn guarded<F, Fut, T>(handler: &F, record: ShareRecord) -> Result<T, Panicked>
where
    F: Fn(ShareRecord) -> Fut,
    Fut: Future<Output = T>,
{
    let text = |panic: Box<dyn std::any::Any + Send>| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        Panicked(
            text.or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "no text".to_owned()),
        )
    };
    let future = catch_unwind(AssertUnwindSafe(|| handler(record))).map_err(text)?;
    let mut future = pin!(future);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => std::task::Poll::Ready(Err(text(panic))),
    })
    .await
}

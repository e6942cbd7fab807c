//! Connections by broker and purpose, opened on demand.
//!
//! Purposes are kept apart because Kafka answers one connection's requests one after the other: a
//! heartbeat must not wait behind a fetch. One attempt per (broker, purpose) runs at a time;
//! others wait for its outcome, and a failed broker is left alone for a growing backoff.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use super::backoff::{Backoff, BackoffPolicy};
use super::connection::{Connection, Dialer};
use super::error::{Error, Result};

/// What a connection is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// Metadata, coordinator lookups, admin requests: short ones that may wait for each other.
    General,
    /// Group and transaction coordinators.
    Coordinator,
    /// Record batches of the producer with this number.
    Produce(u64),
    /// Long polls of the fetcher with this number.
    Fetch(u64),
    /// The share session of the member with this number; the broker ties it to the connection.
    #[allow(dead_code, reason = "for share groups and streams; tests use it already")]
    Share(u64),
}

/// Where a broker listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Endpoint {
    pub(crate) host: Arc<str>,
    pub(crate) port: u16,
}

/// Opens a connection; replaced in tests by an in-memory cluster.
pub(crate) trait Dial: Send + Sync + 'static {
    fn dial<'a>(
        &'a self,
        endpoint: &'a Endpoint,
    ) -> Pin<Box<dyn Future<Output = Result<Connection>> + Send + 'a>>;
}

impl Dial for Dialer {
    fn dial<'a>(
        &'a self,
        endpoint: &'a Endpoint,
    ) -> Pin<Box<dyn Future<Output = Result<Connection>> + Send + 'a>> {
        Box::pin(self.connect(&endpoint.host, endpoint.port))
    }
}

pub(crate) struct Pool {
    dialer: Arc<dyn Dial>,
    reconnect: BackoffPolicy,
    lines: Mutex<HashMap<(Endpoint, Purpose), Arc<Line>>>,
    opened: AtomicU64,
    failed: AtomicU64,
}

/// What became of a pool's connections.
#[cfg(feature = "share")]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Connections {
    /// Opened and logged in, since the start.
    pub(crate) opened: u64,
    /// Attempts that failed, since the start.
    pub(crate) failed: u64,
    /// Open now.
    pub(crate) open: u64,
}

type Line = tokio::sync::Mutex<LineState>;

struct LineState {
    connection: Option<Connection>,
    backoff: Backoff,
    failed: Option<(Instant, Error)>,
}

impl Pool {
    pub(crate) fn new(dialer: Arc<dyn Dial>, reconnect: BackoffPolicy) -> Self {
        Self {
            dialer,
            reconnect,
            lines: Mutex::default(),
            opened: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }
    }

    /// The open connection, or a new one.
    ///
    /// # Errors
    /// Why the broker cannot be reached. A broker in backoff is waited for; if that would take
    /// longer than the deadline, the last failure is returned at once.
    ///
    /// # Cancel safety
    /// Dropping the future abandons an attempt that it made itself; others start their own.
    pub(crate) async fn get(
        &self,
        endpoint: &Endpoint,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<Connection> {
        let started = Instant::now();
        let line = self.line(endpoint, purpose);
        let attempt = async {
            let mut line = line.lock().await;
            if let Some(open) = line.connection.as_ref().filter(|open| !open.is_broken()) {
                return Ok(open.clone());
            }
            line.connection = None;
            if let Some((until, error)) = line.failed.clone() {
                if until >= deadline {
                    return Err(error);
                }
                tokio::time::sleep_until(until).await;
            }
            match self.dialer.dial(endpoint).await {
                Ok(connection) => {
                    self.opened.fetch_add(1, Relaxed);
                    line.backoff.reset();
                    line.failed = None;
                    line.connection = Some(connection.clone());
                    Ok(connection)
                }
                Err(error) => {
                    self.failed.fetch_add(1, Relaxed);
                    let delay = line.backoff.next_delay();
                    line.failed = Some((Instant::now() + delay, error.clone()));
                    Err(error)
                }
            }
        };
        match tokio::time::timeout_at(deadline, attempt).await {
            Ok(result) => result,
            Err(_) => Err(Error::timeout(
                format!("connecting to broker {}:{}", endpoint.host, endpoint.port),
                started.elapsed(),
            )),
        }
    }

    /// Closes the connections of one purpose and forgets them.
    pub(crate) async fn release(&self, purpose: Purpose) {
        let lines: Vec<_> = {
            let mut lines = self.lines();
            let keys: Vec<_> =
                lines.keys().filter(|(_, other)| *other == purpose).cloned().collect();
            keys.iter().filter_map(|key| lines.remove(key)).collect()
        };
        close(lines).await;
    }

    /// Closes everything.
    pub(crate) async fn close(&self) {
        let lines = std::mem::take(&mut *self.lines()).into_values().collect();
        close(lines).await;
    }

    fn line(&self, endpoint: &Endpoint, purpose: Purpose) -> Arc<Line> {
        let mut lines = self.lines();
        let key = (endpoint.clone(), purpose);
        if let Some(line) = lines.get(&key) {
            return line.clone();
        }
        // Brokers that moved or left would stay here for ever: drop what is neither in use nor
        // open nor in backoff whenever something new comes.
        lines.retain(|_, line| match line.try_lock() {
            Ok(state) => {
                state.connection.as_ref().is_some_and(|open| !open.is_broken())
                    || state.failed.as_ref().is_some_and(|(until, _)| *until > Instant::now())
            }
            Err(_) => true,
        });
        let state =
            LineState { connection: None, backoff: Backoff::new(self.reconnect), failed: None };
        let line = Arc::new(Line::new(state));
        lines.insert(key, line.clone());
        line
    }

    /// Counts; a line that is being connected counts as closed.
    #[cfg(feature = "share")]
    pub(crate) fn connections(&self) -> Connections {
        let is_open = |line: &Arc<Line>| {
            line.try_lock()
                .is_ok_and(|state| state.connection.as_ref().is_some_and(|c| !c.is_broken()))
        };
        let open = self.lines().values().filter(|line| is_open(line)).count() as u64;
        Connections { opened: self.opened.load(Relaxed), failed: self.failed.load(Relaxed), open }
    }

    fn lines(&self) -> std::sync::MutexGuard<'_, HashMap<(Endpoint, Purpose), Arc<Line>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn close(lines: Vec<Arc<Line>>) {
    for line in lines {
        let connection = line.lock().await.connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }
}

//! The client as its users hold it: connections by role, and calls that are tried again.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::Instant;

use super::backoff::Backoff;
use super::config::Config;
use super::connection::{Connection, Dialer, Settings, Throttled};
use super::coordinator::{CoordinatorKind, Coordinators, distrusts_coordinator};
use super::error::{Error, ErrorCode, Result};
use super::metadata::{Broker, Metadata, MetadataSettings, Refresher, Snapshot, Topic, TopicKey};
use super::pool::{Dial, Endpoint, Pool, Purpose};
use super::retry::{self, Before, Verdict};
use super::tls::Tls;
use crate::wire::Request;

/// Tries an async block until success, a final error, or the deadline; then the last error is the
/// result. As cancel safe as the block. A macro, because the future of a function that takes an
/// async closure could not be moved between threads.
macro_rules! retrying {
    ($client:expr, $deadline:expr, $attempt:block) => {{
        let mut attempts = $client.attempts($deadline);
        loop {
            let outcome: $crate::client::error::Result<_> = async $attempt.await;
            match outcome {
                Ok(value) => break Ok(value),
                Err(error) => {
                    if let Err(error) = attempts.pause(error).await {
                        break Err(error);
                    }
                }
            }
        }
    }};
}
pub(crate) use retrying;

/// Pauses between the attempts of one call.
pub(crate) struct Attempts<'a> {
    metadata: &'a Metadata,
    backoff: Backoff,
    deadline: Instant,
}

impl Attempts<'_> {
    /// Waits before the next attempt, and has metadata refreshed where that may help.
    ///
    /// # Errors
    /// The error itself, if another attempt cannot help or would come too late.
    pub(crate) async fn pause(&mut self, error: Error) -> Result<()> {
        let Verdict::Retry(before) = retry::decide(&error) else { return Err(error) };
        if matches!(before, Before::Metadata | Before::Reconnect | Before::Rebootstrap) {
            self.metadata.request_refresh();
        }
        let wake = Instant::now() + self.backoff.next_delay();
        if wake >= self.deadline {
            return Err(error);
        }
        log::debug!(target: crate::LOG_TARGET, "trying again: {error}");
        tokio::time::sleep_until(wake).await;
        Ok(())
    }
}

/// Requests in flight on one connection. Idempotent producing allows five; nobody needs more.
const MAX_IN_FLIGHT: usize = 5;

/// A client of one cluster; clones share its connections. Dropping the last clone stops its task
/// and closes its connections.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    config: Config,
    pool: Arc<Pool>,
    metadata: Metadata,
    coordinators: Coordinators,
    _refresher: Refresher,
    next_owner: AtomicU64,
}

impl Client {
    /// Prepares a client; nothing is sent before it is used. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// [`Error::Config`] naming a wrong TLS setting.
    pub fn new(config: Config) -> Result<Self> {
        let tls = config.tls.as_ref().map(Tls::new).transpose()?;
        let settings = Settings {
            client_id: config.client_id.as_str().into(),
            sasl: config.sasl.clone(),
            max_in_flight: MAX_IN_FLIGHT,
            max_frame_bytes: config.max_frame_bytes,
            io_timeout: config.request_timeout,
            max_idle: config.max_idle,
        };
        let dialer =
            Dialer { settings: Arc::new(settings), tls, setup_timeout: config.connect_timeout };
        Ok(Self::with_dialer(config, Arc::new(dialer)))
    }

    pub(crate) fn with_dialer(config: Config, dialer: Arc<dyn Dial>) -> Self {
        let pool = Arc::new(Pool::new(dialer, config.reconnect_policy()));
        let bootstrap = config
            .bootstrap
            .iter()
            .map(|(host, port)| Endpoint { host: host.as_str().into(), port: *port });
        let settings = MetadataSettings {
            bootstrap: bootstrap.collect(),
            max_age: config.metadata_max_age,
            request_timeout: config.request_timeout,
            retry: config.retry_policy(),
            auto_create_topics: config.auto_create_topics,
        };
        let (metadata, refresher) = Metadata::start(settings, pool.clone());
        Self(Arc::new(Inner {
            config,
            pool,
            metadata,
            coordinators: Coordinators::default(),
            _refresher: refresher,
            next_owner: AtomicU64::new(1),
        }))
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// Waits until a broker answered, and tells why none does.
    ///
    /// # Errors
    /// A refused login or certificate at once; anything else at the deadline. Cancel safe.
    pub async fn ready(&self, deadline: Instant) -> Result<()> {
        self.brokers(deadline).await.map(drop)
    }

    /// Closes all connections and waits for their tasks. Calls that still run fail.
    pub async fn close(&self) {
        self.0.pool.close().await;
    }

    /// Number of the connection that short requests to the controller use; it changes when that
    /// connection is replaced. For tests of renewed logins.
    #[doc(hidden)]
    pub async fn general_generation(&self) -> Option<u64> {
        let snapshot = self.0.metadata.snapshot();
        let broker = snapshot.brokers.get(&snapshot.controller_id)?;
        let deadline = self.api_deadline();
        let open = self.0.pool.get(&broker.endpoint, Purpose::General, deadline).await.ok()?;
        Some(open.generation())
    }

    /// What became of the connections.
    #[cfg(feature = "share")]
    pub(crate) fn connections(&self) -> super::pool::Connections {
        self.0.pool.connections()
    }

    pub(crate) fn metadata(&self) -> &Metadata {
        &self.0.metadata
    }

    /// A number for a producer, fetcher or member to label its connections with.
    pub(crate) fn next_owner(&self) -> u64 {
        self.0.next_owner.fetch_add(1, Ordering::Relaxed)
    }

    /// The end of a call that starts now, by `default.api.timeout.ms`.
    pub(crate) fn api_deadline(&self) -> Instant {
        Instant::now() + self.0.config.api_timeout
    }

    /// The end of one request that starts now, by `request.timeout.ms`, within `overall`.
    pub(crate) fn request_deadline(&self, overall: Instant) -> Instant {
        overall.min(Instant::now() + self.0.config.request_timeout)
    }

    /// The topic, waiting until a broker knows it. See [`Metadata::topic`].
    pub(crate) async fn topic(&self, name: &str, deadline: Instant) -> Result<Arc<Topic>> {
        self.0.metadata.topic(TopicKey::Name(name.into()), deadline).await
    }

    /// A snapshot with brokers in it.
    pub(crate) async fn brokers(&self, deadline: Instant) -> Result<Arc<Snapshot>> {
        let mut seen = self.0.metadata.subscribe();
        loop {
            let snapshot = seen.borrow_and_update().clone();
            if !snapshot.brokers.is_empty() {
                return Ok(snapshot);
            }
            if let Some(error) = &snapshot.last_error
                && !retry::decide(error).is_retry()
            {
                return Err(error.clone());
            }
            self.0.metadata.request_refresh();
            let changed = tokio::time::timeout_at(deadline, seen.changed()).await;
            if changed.is_err() {
                let what = "a broker's first answer";
                let started = self.0.config.api_timeout;
                return Err(snapshot
                    .last_error
                    .clone()
                    .unwrap_or_else(|| Error::timeout(what, started)));
            }
        }
    }

    /// A connection to any broker.
    pub(crate) async fn any(&self, deadline: Instant) -> Result<Connection> {
        let snapshot = self.brokers(deadline).await?;
        let mut brokers: Vec<&Broker> = snapshot.brokers.values().collect();
        fastrand::shuffle(&mut brokers);
        let mut last = Error::Closed;
        for broker in brokers {
            match self.0.pool.get(&broker.endpoint, Purpose::General, deadline).await {
                Ok(connection) => return Ok(connection),
                Err(error) => last = error,
            }
        }
        self.0.metadata.request_refresh();
        Err(last)
    }

    /// A connection to the broker with this id.
    ///
    /// # Errors
    /// A retriable one if metadata does not know the broker, and why it cannot be reached.
    pub(crate) async fn node(
        &self,
        id: i32,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<Connection> {
        let snapshot = self.0.metadata.snapshot();
        let Some(broker) = snapshot.brokers.get(&id) else {
            self.0.metadata.request_refresh();
            return Err(Error::broker(
                ErrorCode::BrokerNotAvailable,
                format!("broker {id} is not among the brokers of the cluster"),
            ));
        };
        let result = self.0.pool.get(&broker.endpoint, purpose, deadline).await;
        if result.is_err() {
            // It may have moved, or its partitions have.
            self.0.metadata.request_refresh();
        }
        result
    }

    /// Closes the connections that carry this label.
    pub(crate) async fn release(&self, purpose: Purpose) {
        self.0.pool.release(purpose).await;
    }

    /// The attempts of a call that ends by `deadline`; see [`retrying`].
    pub(crate) fn attempts(&self, deadline: Instant) -> Attempts<'_> {
        let backoff = Backoff::new(self.0.config.retry_policy());
        Attempts { metadata: &self.0.metadata, backoff, deadline }
    }

    /// Asks any broker until `check` accepts the answer.
    pub(crate) async fn call_any<R>(
        &self,
        request: &R,
        deadline: Instant,
        check: impl Fn(&R::Response) -> Result<()>,
    ) -> Result<R::Response>
    where
        R: Request,
        R::Response: Throttled,
    {
        retrying!(self, deadline, {
            let connection = self.any(deadline).await?;
            let response = connection.call(request, self.request_deadline(deadline)).await?;
            check(&response).map(|()| response)
        })
    }

    /// Asks the coordinator, looking it up again whenever an answer says so, until `check`
    /// accepts the answer.
    pub(crate) async fn call_coordinator<R>(
        &self,
        kind: CoordinatorKind,
        key: &str,
        request: &R,
        deadline: Instant,
        check: impl Fn(&R::Response) -> Result<()>,
    ) -> Result<R::Response>
    where
        R: Request,
        R::Response: Throttled,
    {
        self.call_coordinator_within(kind, key, request, 0..=i16::MAX, deadline, check).await
    }

    /// As [`Client::call_coordinator`], at a version within `versions`.
    pub(crate) async fn call_coordinator_within<R>(
        &self,
        kind: CoordinatorKind,
        key: &str,
        request: &R,
        versions: RangeInclusive<i16>,
        deadline: Instant,
        check: impl Fn(&R::Response) -> Result<()>,
    ) -> Result<R::Response>
    where
        R: Request,
        R::Response: Throttled,
    {
        retrying!(self, deadline, {
            let (node, connection) = self.coordinator(kind, key, deadline).await?;
            let limit = self.request_deadline(deadline);
            let answer = async {
                let version = connection.version_within::<R>(versions.clone())?;
                connection.send_at(request, version, limit).await?.answer().await
            };
            let answer = answer.await;
            let result = answer.and_then(|response| check(&response).map(|()| response));
            result.inspect_err(|error| self.distrust_coordinator(kind, key, node, error))
        })
    }

    /// The coordinator's node id and a connection to it; one attempt.
    pub(crate) async fn coordinator(
        &self,
        kind: CoordinatorKind,
        key: &str,
        deadline: Instant,
    ) -> Result<(i32, Connection)> {
        let broker = match self.0.coordinators.cached(kind, key) {
            Some(broker) => broker,
            None => {
                let connection = self.any(deadline).await?;
                let deadline = self.request_deadline(deadline);
                self.0.coordinators.find(&connection, kind, key, deadline).await?
            }
        };
        match self.0.pool.get(&broker.endpoint, Purpose::Coordinator, deadline).await {
            Ok(connection) => Ok((broker.id, connection)),
            Err(error) => {
                self.0.coordinators.evict(kind, key, broker.id);
                Err(error)
            }
        }
    }

    /// Forgets the coordinator if the error says that this node is none.
    pub(crate) fn distrust_coordinator(
        &self,
        kind: CoordinatorKind,
        key: &str,
        node: i32,
        error: &Error,
    ) {
        if distrusts_coordinator(error) {
            self.0.coordinators.evict(kind, key, node);
        }
    }
}

//! Metrics: what is measured is read at each scrape, nothing is pushed.
//!
//! The parts count for themselves and register a source here; a scrape asks
//! every source for its present values and renders them together. So no record
//! pays for labels, look-ups or locks of a registry.

#[cfg(any(feature = "engine", test))]
pub(crate) mod reading;
pub(crate) mod render;
mod serve;

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{ErrorKind, LlingrError};
#[cfg(any(feature = "engine", test))]
use reading::Reading;
use render::Samples;

/// Content type of what [`MetricsHandle::scrape`] returns, for a program that
/// serves it itself.
pub const OPENMETRICS_CONTENT_TYPE: &str =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Most sources of one `Metrics`: far above what a process has parts for, so that
/// a leak of sources is found.
const SOURCES_MAX: usize = 64;

/// Where the metrics of one or several parts come together.
///
/// Give a clone to each builder whose metrics you want. `docs/metrics.md` lists
/// all of them.
///
/// # Examples
///
/// Served over HTTP by this crate, from a thread of its own:
///
/// ```
/// # fn main() -> Result<(), llingr_kafka::LlingrError> {
/// use llingr_kafka::Metrics;
///
/// let metrics = Metrics::serve("127.0.0.1:0", "/metrics")?;
/// println!("metrics at http://{}/metrics", metrics.local_addr().expect("served"));
/// # Ok(())
/// # }
/// ```
///
/// Or rendered into a server that the program has anyway:
///
/// ```
/// use llingr_kafka::{Metrics, OPENMETRICS_CONTENT_TYPE};
///
/// let metrics = Metrics::registry();
/// let handle = metrics.handle();
/// // In the route: content type OPENMETRICS_CONTENT_TYPE, body handle.scrape().
/// assert!(handle.scrape().ends_with("# EOF\n"));
/// # let _ = OPENMETRICS_CONTENT_TYPE;
/// ```
#[derive(Clone)]
pub struct Metrics {
    inner: Arc<Inner>,
}

struct Inner {
    sources: Arc<Sources>,
    server: Option<serve::Server>,
}

impl Metrics {
    /// Metrics without a server; see [`handle`](Metrics::handle).
    pub fn registry() -> Metrics {
        Metrics { inner: Arc::new(Inner { sources: Arc::default(), server: None }) }
    }

    /// Metrics served over HTTP at `addr` (`"0.0.0.0:9090"`, port 0 = any) under
    /// `path` (`"/metrics"`).
    ///
    /// Only GET of this path is answered (otherwise 404, 405); a query is ignored.
    /// One request is answered for each connection, at most 8 connections are open
    /// at once, and a client that sends or reads too slowly is cut off after
    /// some seconds. There is no TLS: bind to an address that only your scraper
    /// reaches.
    ///
    /// The server runs until [`close`](Metrics::close), or until the last clone of
    /// this value, those inside of builders and running parts included, is dropped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MetricsServer`] when the address cannot be bound or the path
    /// does not start with `/`; the text names it.
    pub fn serve(
        addr: impl ToSocketAddrs + fmt::Display,
        path: impl Into<String>,
    ) -> Result<Metrics, LlingrError> {
        let sources = Arc::<Sources>::default();
        let content = {
            let sources = Arc::clone(&sources);
            move || sources.scrape()
        };
        let server = serve::Server::start(addr, path.into(), content)?;
        Ok(Metrics { inner: Arc::new(Inner { sources, server: Some(server) }) })
    }

    /// A handle that renders the metrics.
    pub fn handle(&self) -> MetricsHandle {
        MetricsHandle { sources: Arc::clone(&self.inner.sources) }
    }

    /// The address that is served, with the real port; `None` without a server.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.inner.server.as_ref().map(serve::Server::local_addr)
    }

    /// Stops the server and waits for its threads; harmless when repeated or when
    /// there is none. Connections in progress are cut.
    pub fn close(&self) {
        if let Some(server) = &self.inner.server {
            server.stop();
        }
    }

    /// Registers an engine under a name, until the returned guard is dropped.
    #[cfg(any(feature = "engine", test))]
    pub(crate) fn register_engine(
        &self,
        name: &str,
        source: Arc<dyn MetricsSource>,
    ) -> Result<Registration, LlingrError> {
        self.register(name, Arc::new(EngineSource(source)))
    }

    /// Registers a source under a name that no other has, until the returned guard is dropped.
    pub(crate) fn register(
        &self,
        name: &str,
        source: Arc<dyn SampleSource>,
    ) -> Result<Registration, LlingrError> {
        self.inner.sources.add(name, source)?;
        Ok(Registration {
            // Holds the server too: it lives as long as something is measured.
            metrics: self.clone(),
            name: name.to_owned(),
        })
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics")
            .field("local_addr", &self.local_addr())
            .field("sources", &self.inner.sources.names())
            .finish()
    }
}

/// Renders the metrics of a [`Metrics`]; cheap to clone, usable from any thread.
#[derive(Clone)]
pub struct MetricsHandle {
    sources: Arc<Sources>,
}

impl MetricsHandle {
    /// All metrics in the OpenMetrics text format, to be served with
    /// [`OPENMETRICS_CONTENT_TYPE`]. Before anything was built, and after
    /// everything ended, only the end mark `# EOF`.
    pub fn scrape(&self) -> String {
        self.sources.scrape()
    }
}

impl fmt::Debug for MetricsHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetricsHandle").field("sources", &self.sources.names()).finish()
    }
}

/// The engine's side: gives its present values. Called at each scrape, from the thread that
/// scrapes.
#[cfg(any(feature = "engine", test))]
pub(crate) trait MetricsSource: Send + Sync {
    fn read(&self) -> Reading;
}

/// What any part registers: adds its samples. Several sources may add to one family.
pub(crate) trait SampleSource: Send + Sync {
    fn collect(&self, samples: &mut Samples);
}

#[cfg(any(feature = "engine", test))]
struct EngineSource(Arc<dyn MetricsSource>);

#[cfg(any(feature = "engine", test))]
impl SampleSource for EngineSource {
    fn collect(&self, samples: &mut Samples) {
        self.0.read().collect(samples);
    }
}

/// Removes its source when dropped.
#[must_use = "the source is removed when this is dropped"]
pub(crate) struct Registration {
    metrics: Metrics,
    name: String,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.metrics.inner.sources.remove(&self.name);
    }
}

type Named = (String, Arc<dyn SampleSource>);

#[derive(Default)]
struct Sources {
    list: Mutex<Vec<Named>>,
}

impl Sources {
    fn add(&self, name: &str, source: Arc<dyn SampleSource>) -> Result<(), LlingrError> {
        let mut list = self.lock();
        if list.iter().any(|(other, _)| other == name) {
            return Err(LlingrError::new(
                ErrorKind::MetricsSource,
                format!(
                    "metrics already have a source named {name:?}: end it first, or use another Metrics"
                ),
            ));
        }
        if list.len() >= SOURCES_MAX {
            return Err(LlingrError::new(
                ErrorKind::MetricsSource,
                format!("metrics already have {SOURCES_MAX} sources: use another Metrics"),
            ));
        }
        list.push((name.to_owned(), source));
        Ok(())
    }

    fn remove(&self, name: &str) {
        self.lock().retain(|(other, _)| other != name);
    }

    fn names(&self) -> Vec<String> {
        self.lock().iter().map(|(name, _)| name.clone()).collect()
    }

    fn scrape(&self) -> String {
        // Sources are read outside the lock: one that is slow must not hold up a build or an end.
        let list = self.lock().clone();
        render::render(&list)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Named>> {
        // The list is whole between any two operations, so a panic elsewhere does not matter.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;

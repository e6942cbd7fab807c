//! One connection to one broker.
//!
//! # Tasks
//! A connection owns two tasks, aborted when its last handle is dropped and joined by
//! [`Connection::close`]:
//! - the *writer* negotiates versions, logs in, then writes frames in the order in which they
//!   were queued. It also re-authenticates (KIP-368): frames queued meanwhile wait, answers to
//!   frames written before still arrive;
//! - the *reader* cuts the stream into frames and hands each to the slot of its correlation id.
//!
//! # Slots
//! Each request in flight has a slot and a permit; the permits bound slots and queue alike.
//! 1. Slot and frame are entered under one lock, so the order of calls is the order on the wire.
//! 2. The writer drops a frame whose caller went away before it was begun, and frees its slot.
//! 3. A frame once begun is written to its end whatever its caller does. Its slot and permit stay
//!    until the answer came, because the broker is busy with it; the answer is then discarded.
//! 4. The first failure is kept. It goes to every slot and to every later call, and ends both
//!    tasks: a stream that lost its place cannot be trusted again.
//!
//! A request that is not answered within the request timeout (or its own deadline, if that is
//! later) breaks the connection: Kafka answers in order, so everything behind it is stuck as
//! well. A caller with a shorter deadline gives up alone, because what it waited behind may be a
//! long poll of somebody else.

mod io;
mod login;
mod open;
mod throttle;
mod versions;

pub(crate) use open::Dialer;
pub(crate) use throttle::Throttled;
pub(crate) use versions::ApiVersions;

use std::collections::HashMap;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::error::{Error, Result};
use super::retry::{Verdict, decide};
use super::sasl::SaslConfig;
use crate::wire::messages::ResponseHeader;
use crate::wire::{Message as _, Request};

/// What a connection needs to know; shared by all connections of a client.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) client_id: Arc<str>,
    pub(crate) sasl: Option<SaslConfig>,
    /// Requests written or queued at one time.
    pub(crate) max_in_flight: usize,
    /// Larger answers break the connection instead of filling the memory.
    pub(crate) max_frame_bytes: usize,
    /// Limit for one write and for each step of a login.
    pub(crate) io_timeout: Duration,
    /// Connections without a request for this long are closed.
    pub(crate) max_idle: Duration,
}

/// A handle; clones share the connection.
#[derive(Clone)]
pub(crate) struct Connection {
    shared: Arc<Shared>,
    _tasks: Arc<Tasks>,
}

/// A request on its way. Dropping it abandons the answer, not the frame.
pub(crate) struct InFlight<R: Request> {
    shared: Arc<Shared>,
    answer: oneshot::Receiver<Result<Bytes>>,
    version: i16,
    deadline: Instant,
    started: Instant,
    request: PhantomData<fn() -> R>,
}

struct Shared {
    broker: Arc<str>,
    generation: u64,
    settings: Arc<Settings>,
    versions: OnceLock<ApiVersions>,
    permits: Arc<Semaphore>,
    state: Mutex<State>,
    broken: watch::Sender<bool>,
}

struct State {
    slots: HashMap<i32, Slot>,
    next_id: i32,
    failure: Option<Error>,
    queue: mpsc::Sender<Frame>,
    last_used: Instant,
    throttled_until: Option<Instant>,
}

struct Slot {
    api: &'static str,
    since: Instant,
    /// When a missing answer means that the stream is stuck.
    overdue_at: Instant,
    answer: oneshot::Sender<Result<Bytes>>,
    _permit: Option<OwnedSemaphorePermit>,
}

struct Frame {
    id: i32,
    bytes: Bytes,
}

struct Tasks {
    reader: Mutex<Option<JoinHandle<()>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// Numbers connections across the process, so that a session can tell its own from a later one.
static GENERATION: AtomicU64 = AtomicU64::new(1);

impl Connection {
    /// Starts the tasks on an open stream, negotiates versions and logs in.
    ///
    /// # Cancel safety
    /// Dropping the future closes the stream.
    pub(crate) async fn start<S>(
        broker: Arc<str>,
        settings: Arc<Settings>,
        stream: S,
    ) -> Result<Self>
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        let (reader, writer) = tokio::io::split(stream);
        Self::start_split(broker, settings, reader, writer).await
    }

    pub(crate) async fn start_split<R, W>(
        broker: Arc<str>,
        settings: Arc<Settings>,
        reader: R,
        writer: W,
    ) -> Result<Self>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (queue, frames) = mpsc::channel(settings.max_in_flight);
        let shared = Arc::new(Shared {
            broker,
            generation: GENERATION.fetch_add(1, Ordering::Relaxed),
            versions: OnceLock::new(),
            permits: Arc::new(Semaphore::new(settings.max_in_flight)),
            settings,
            state: Mutex::new(State {
                slots: HashMap::new(),
                next_id: 1,
                failure: None,
                queue,
                last_used: Instant::now(),
                throttled_until: None,
            }),
            broken: watch::channel(false).0,
        });
        let (ready, is_ready) = oneshot::channel();
        let tasks = Tasks {
            reader: Mutex::new(Some(tokio::spawn(io::read(shared.clone(), reader)))),
            writer: Mutex::new(Some(tokio::spawn(io::write(
                shared.clone(),
                writer,
                frames,
                ready,
            )))),
        };
        let connection = Self { shared, _tasks: Arc::new(tasks) };
        match is_ready.await {
            Ok(Ok(())) => Ok(connection),
            // The broker's word; that it hung up as well tells less.
            Ok(Err(refused)) if decide(&refused) == Verdict::Fail => Err(refused),
            Ok(Err(error)) => Err(connection.shared.state().failure.clone().unwrap_or(error)),
            // The writer drops `ready` unsent only after a failure was recorded.
            Err(_) => Err(connection.shared.failure()),
        }
    }

    /// Address as `host:port`.
    pub(crate) fn broker(&self) -> &Arc<str> {
        &self.shared.broker
    }

    /// Differs between any two connections of the process. Broker-side sessions bound to a
    /// connection compare it.
    pub(crate) fn generation(&self) -> u64 {
        self.shared.generation
    }

    pub(crate) fn is_broken(&self) -> bool {
        *self.shared.broken.borrow()
    }

    /// Resolves when the connection is no longer usable, with the reason. Cancel safe.
    #[allow(dead_code, reason = "for share groups and streams; tests use it already")]
    pub(crate) async fn broken(&self) -> Error {
        let mut broken = self.shared.broken.subscribe();
        // The sender lives in `shared`, which this handle keeps.
        let _ = broken.wait_for(|broken| *broken).await;
        self.shared.failure()
    }

    /// The version both sides know, within `range`.
    pub(crate) fn version_within<R: Request>(&self, range: RangeInclusive<i16>) -> Result<i16> {
        let versions = self.shared.versions.get().ok_or(Error::Closed)?;
        versions.negotiate::<R>(&self.shared.broker, range)
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Cancel safety
    /// See [`Connection::send`] and [`InFlight::answer`].
    pub(crate) async fn call<R>(&self, request: &R, deadline: Instant) -> Result<R::Response>
    where
        R: Request,
        R::Response: Throttled,
    {
        self.send(request, deadline).await?.answer().await
    }

    /// Queues a request at the newest common version. When this returns, its place on the wire is
    /// fixed: requests sent one after the other arrive in that order.
    ///
    /// # Cancel safety
    /// Until it returns, dropping the future leaves no trace.
    pub(crate) async fn send<R: Request>(
        &self,
        request: &R,
        deadline: Instant,
    ) -> Result<InFlight<R>> {
        let version = self.version_within::<R>(R::MIN_VERSION..=R::MAX_VERSION)?;
        self.send_at(request, version, deadline).await
    }

    /// As [`Connection::send_at`], if there is a free place now and no throttle; for callers that
    /// must not wait.
    pub(crate) fn try_send_at<R: Request>(
        &self,
        request: &R,
        version: i16,
        deadline: Instant,
    ) -> Result<Option<InFlight<R>>> {
        if self.shared.throttled_until().is_some() {
            return Ok(None);
        }
        let Ok(permit) = self.shared.permits.clone().try_acquire_owned() else {
            return if self.is_broken() { Err(self.shared.failure()) } else { Ok(None) };
        };
        let answer = self.shared.enqueue(request, version, deadline, permit)?;
        Ok(Some(InFlight {
            shared: self.shared.clone(),
            answer,
            version,
            deadline,
            started: Instant::now(),
            request: PhantomData,
        }))
    }

    /// Until when the broker wants to be left alone.
    pub(crate) fn throttled_until(&self) -> Option<Instant> {
        self.shared.throttled_until()
    }

    /// Finalized level of a cluster feature; 0 if the cluster has none.
    pub(crate) fn feature(&self, name: &str) -> i16 {
        self.shared.versions.get().map_or(0, |versions| versions.feature(name))
    }

    /// As [`Connection::send`], at a version that [`Connection::version_within`] gave.
    pub(crate) async fn send_at<R: Request>(
        &self,
        request: &R,
        version: i16,
        deadline: Instant,
    ) -> Result<InFlight<R>> {
        let started = Instant::now();
        let permit = self.permit(R::NAME, started, deadline).await?;
        let answer = self.shared.enqueue(request, version, deadline, permit)?;
        Ok(InFlight {
            shared: self.shared.clone(),
            answer,
            version,
            deadline,
            started,
            request: PhantomData,
        })
    }

    async fn permit(
        &self,
        api: &'static str,
        started: Instant,
        deadline: Instant,
    ) -> Result<OwnedSemaphorePermit> {
        let ready = async {
            // Throttle first: a permit held while waiting would starve requests of the same kind.
            while let Some(until) = self.shared.throttled_until() {
                tokio::time::sleep_until(until).await;
            }
            self.shared.permits.clone().acquire_owned().await
        };
        match tokio::time::timeout_at(deadline, ready).await {
            Ok(Ok(permit)) => Ok(permit),
            // The semaphore is closed together with the connection.
            Ok(Err(_)) => Err(self.shared.failure()),
            Err(_) => {
                self.shared.break_if_overdue();
                Err(self.shared.timeout(api, started))
            }
        }
    }

    /// Breaks the connection on purpose and waits for its tasks.
    pub(crate) async fn close(&self) {
        self.shared.fail(Error::disconnected(&self.shared.broker, "closed by this client"));
        for task in [&self._tasks.reader, &self._tasks.writer] {
            let task = lock(task).take();
            if let Some(task) = task {
                // Both end by themselves: every wait in them is joined with `broken`.
                let _ = task.await;
            }
        }
    }
}

impl<R> InFlight<R>
where
    R: Request,
    R::Response: Throttled,
{
    /// Version in use, which the answer shares.
    #[cfg(test)]
    pub(crate) fn version(&self) -> i16 {
        self.version
    }

    /// Waits for the answer until the deadline given at sending.
    ///
    /// # Cancel safety
    /// Dropping the future abandons the answer: it is discarded when it comes. A frame not yet
    /// begun is not sent. The caller must treat the request as possibly executed.
    pub(crate) async fn answer(mut self) -> Result<R::Response> {
        let mut frame = match tokio::time::timeout_at(self.deadline, &mut self.answer).await {
            Ok(Ok(frame)) => frame?,
            Ok(Err(_)) => return Err(self.shared.failure()),
            Err(_) => {
                self.shared.break_if_overdue();
                return Err(self.shared.timeout(R::NAME, self.started));
            }
        };
        let response = decode::<R>(self.version, &mut frame).map_err(|cause| {
            let error = Error::malformed(&self.shared.broker, R::NAME, cause);
            self.shared.fail(error.clone());
            error
        })?;
        self.shared.throttle(response.throttle_time_ms());
        Ok(response)
    }
}

fn decode<R: Request>(version: i16, frame: &mut Bytes) -> crate::wire::Result<R::Response> {
    ResponseHeader::decode(R::response_header_version(version), frame)?;
    <R::Response as crate::wire::Message>::decode(version, frame)
}

impl Shared {
    fn enqueue<R: Request>(
        &self,
        request: &R,
        version: i16,
        deadline: Instant,
        permit: OwnedSemaphorePermit,
    ) -> Result<oneshot::Receiver<Result<Bytes>>> {
        // Encoded outside the lock; the id, which needs it, is put in afterwards.
        let mut bytes = self.encode(request, version, 0)?;
        let (answer, receiver) = oneshot::channel();
        let mut state = self.state();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        let id = state.take_id();
        set_correlation_id(&mut bytes, id);
        let slot = self.slot(R::NAME, deadline, answer, Some(permit));
        state.slots.insert(id, slot);
        state.last_used = Instant::now();
        // As many places as permits; a full or closed queue means the connection is going down.
        if state.queue.try_send(Frame { id, bytes: bytes.freeze() }).is_err() {
            state.slots.remove(&id);
            drop(state);
            return Err(self.failure());
        }
        Ok(receiver)
    }

    fn encode<R: Request>(&self, request: &R, version: i16, id: i32) -> Result<BytesMut> {
        let mut bytes = BytesMut::new();
        request.encode_frame(version, id, &self.settings.client_id, &mut bytes).map_err(
            |error| {
                Error::state(format!(
                    "{} cannot be sent to broker {}: {error}",
                    R::NAME,
                    self.broker
                ))
            },
        )?;
        Ok(bytes)
    }

    /// Enters a slot without a frame, for the writer's own requests.
    fn register(&self, api: &'static str) -> Result<(i32, oneshot::Receiver<Result<Bytes>>)> {
        let (answer, receiver) = oneshot::channel();
        let mut state = self.state();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        let id = state.take_id();
        let slot = self.slot(api, Instant::now(), answer, None);
        state.slots.insert(id, slot);
        Ok((id, receiver))
    }

    fn slot(
        &self,
        api: &'static str,
        deadline: Instant,
        answer: oneshot::Sender<Result<Bytes>>,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Slot {
        let since = Instant::now();
        let overdue_at = deadline.max(since + self.settings.io_timeout);
        Slot { api, since, overdue_at, answer, _permit: permit }
    }

    /// The reason to break the connection, if some answer is overdue.
    fn overdue(&self) -> Option<Error> {
        let now = Instant::now();
        let state = self.state();
        let slot = state.slots.values().find(|slot| slot.overdue_at <= now)?;
        Some(self.timeout(slot.api, slot.since))
    }

    fn break_if_overdue(&self) {
        if let Some(error) = self.overdue() {
            self.fail(error);
        }
    }

    /// Whether the frame still has somebody who waits; if not, its slot is freed.
    fn begin(&self, id: i32) -> bool {
        let mut state = self.state();
        let wanted = state.slots.get(&id).is_some_and(|slot| !slot.answer.is_closed());
        if !wanted {
            state.slots.remove(&id);
        }
        wanted
    }

    /// Gives an answer to its slot. An answer nobody asked for means the stream lost its place.
    fn deliver(&self, id: i32, frame: Bytes) -> Result<()> {
        let slot = {
            let mut state = self.state();
            state.last_used = Instant::now();
            state.slots.remove(&id)
        };
        match slot {
            Some(slot) => {
                // Nobody there: the caller went away after the frame was begun.
                let _ = slot.answer.send(Ok(frame));
                Ok(())
            }
            None => Err(Error::disconnected(
                &self.broker,
                format!("it answered request {id}, which was not asked"),
            )),
        }
    }

    /// Breaks the connection; the first reason stays.
    fn fail(&self, error: Error) {
        let slots = {
            let mut state = self.state();
            if state.failure.is_some() {
                return;
            }
            state.failure = Some(error.clone());
            std::mem::take(&mut state.slots)
        };
        self.permits.close();
        for slot in slots.into_values() {
            let _ = slot.answer.send(Err(error.clone()));
        }
        self.broken.send_replace(true);
    }

    fn failure(&self) -> Error {
        self.state().failure.clone().unwrap_or(Error::Closed)
    }

    fn throttle(&self, throttle_ms: i32) {
        let Ok(ms @ 1..) = u64::try_from(throttle_ms) else { return };
        // Brokers mute a client for at most a quota window; a larger value is a broken broker.
        let until = Instant::now() + Duration::from_millis(ms).min(MAX_THROTTLE);
        let mut state = self.state();
        state.throttled_until = state.throttled_until.max(Some(until));
    }

    fn throttled_until(&self) -> Option<Instant> {
        self.state().throttled_until.filter(|until| *until > Instant::now())
    }

    fn timeout(&self, api: &'static str, started: Instant) -> Error {
        Error::timeout(format!("{api} at broker {}", self.broker), started.elapsed())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    fn take_id(&mut self) -> i32 {
        let id = self.next_id;
        self.next_id = self.next_id.checked_add(1).unwrap_or(1);
        id
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        for task in [&self.reader, &self.writer] {
            if let Some(task) = lock(task).take() {
                task.abort();
            }
        }
    }
}

const MAX_THROTTLE: Duration = Duration::from_secs(60);
/// The id follows size (4), API key (2) and version (2) in every request header.
const CORRELATION_ID_AT: usize = 8;

fn set_correlation_id(frame: &mut BytesMut, id: i32) {
    frame[CORRELATION_ID_AT..CORRELATION_ID_AT + 4].copy_from_slice(&id.to_be_bytes());
}

/// No code panics while it holds one of these locks, so what a poisoned one guards is sound.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

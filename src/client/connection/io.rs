//! The two tasks of a connection. Every wait in them ends when the connection breaks.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::{Error, Frame, Result, Shared, decode, login, set_correlation_id};
use crate::wire::Request;

/// Smallest room offered to a read; answers up to this size need one allocation.
const READ_CHUNK: usize = 64 * 1024;
/// Room reserved at once on the word of a frame's size. A larger frame grows as its bytes come,
/// so a false size costs no more than this.
const TRUSTED_FRAME: usize = 16 * 1024 * 1024;

pub(super) async fn read<R: AsyncRead + Unpin>(shared: Arc<Shared>, stream: R) {
    let mut broken = shared.broken.subscribe();
    tokio::select! {
        error = read_frames(&shared, stream) => shared.fail(error),
        error = watch_clock(&shared) => shared.fail(error),
        _ = broken.wait_for(|broken| *broken) => {}
    }
}

async fn read_frames<R: AsyncRead + Unpin>(shared: &Shared, mut stream: R) -> Error {
    let mut buffer = BytesMut::new();
    loop {
        match next_frame(shared, &mut stream, &mut buffer).await {
            Ok(frame) => {
                let id = i32::from_be_bytes([frame[0], frame[1], frame[2], frame[3]]);
                if let Err(error) = shared.deliver(id, frame) {
                    return error;
                }
            }
            Err(error) => return error,
        }
    }
}

/// Reads until a whole frame is there and cuts it off, without its size.
async fn next_frame<R: AsyncRead + Unpin>(
    shared: &Shared,
    stream: &mut R,
    buffer: &mut BytesMut,
) -> Result<Bytes> {
    loop {
        let missing = match frame_size(shared, buffer)? {
            Some(size) if buffer.len() >= 4 + size => {
                buffer.advance(4);
                return Ok(buffer.split_to(size).freeze());
            }
            Some(size) => 4 + size - buffer.len(),
            None => 4,
        };
        buffer.reserve(missing.clamp(READ_CHUNK, TRUSTED_FRAME.max(buffer.len())));
        match stream.read_buf(buffer).await {
            Ok(0) => return Err(Error::disconnected(&shared.broker, hang_up(shared))),
            Ok(_) => {}
            Err(error) => return Err(Error::io(&shared.broker, &error)),
        }
    }
}

/// A listener of another protocol just hangs up, which explains nothing to whoever reads it.
fn hang_up(shared: &Shared) -> &'static str {
    match shared.versions.get() {
        Some(_) => "the broker closed it",
        None => {
            "the broker closed it before its first answer; check that security.protocol fits the \
             listener"
        }
    }
}

fn frame_size(shared: &Shared, buffer: &[u8]) -> Result<Option<usize>> {
    let Some(size) = buffer.first_chunk::<4>() else { return Ok(None) };
    let size = i32::from_be_bytes(*size);
    let limit = shared.settings.max_frame_bytes;
    match usize::try_from(size) {
        // Every answer starts with a correlation id.
        Ok(size) if size >= 4 && size <= limit => Ok(Some(size)),
        _ => Err(Error::disconnected(
            &shared.broker,
            format!(
                "it sent a frame of {size} bytes, allowed are 4 to {limit}; if the port is right, \
                 check that security.protocol fits the listener"
            ),
        )),
    }
}

/// Resolves when an answer is overdue, also one that nobody waits for any more, or when nothing
/// was asked for the whole idle time.
async fn watch_clock(shared: &Shared) -> Error {
    let max_idle = shared.settings.max_idle;
    loop {
        if let Some(error) = shared.overdue() {
            return error;
        }
        // A request sent while this sleeps is overdue no earlier than after the time-out.
        let soon = Instant::now() + shared.settings.io_timeout;
        let due = {
            let state = shared.state();
            let overdue_at = state.slots.values().map(|slot| slot.overdue_at).min();
            overdue_at.unwrap_or(state.last_used + max_idle)
        };
        if due <= Instant::now() {
            return Error::disconnected(&shared.broker, format!("idle for {max_idle:?}"));
        }
        tokio::time::sleep_until(due.min(soon)).await;
    }
}

/// What the writer task works with.
pub(super) struct Writer<W> {
    pub(super) shared: Arc<Shared>,
    stream: W,
}

pub(super) async fn write<W: AsyncWrite + Unpin>(
    shared: Arc<Shared>,
    stream: W,
    frames: mpsc::Receiver<Frame>,
    ready: oneshot::Sender<Result<()>>,
) {
    let mut broken = shared.broken.subscribe();
    let mut writer = Writer { shared: shared.clone(), stream };
    tokio::select! {
        // A broker that refuses a login hangs up right behind its answer. The reader has then
        // delivered the answer and broken the connection before this task runs again: the answer
        // must come first, as the hang-up alone looks like something to try again.
        biased;
        Err(error) = writer.run(frames, ready) => shared.fail(error),
        _ = broken.wait_for(|broken| *broken) => {}
    }
    // A courtesy to the broker; the stream may be dead, and nobody waits for it.
    let _ = tokio::time::timeout(Duration::from_millis(100), writer.stream.shutdown()).await;
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    async fn run(
        &mut self,
        mut frames: mpsc::Receiver<Frame>,
        ready: oneshot::Sender<Result<()>>,
    ) -> Result<std::convert::Infallible> {
        // Sending fails when nobody waits any more; the handle's drop ends this task.
        let mut login_until = match self.open().await {
            Ok(login_until) => {
                let _ = ready.send(Ok(()));
                login_until
            }
            Err(error) => {
                let _ = ready.send(Err(error.clone()));
                return Err(error);
            }
        };
        loop {
            let mut renew = pin!(sleep_until_some(login_until));
            let frame = tokio::select! {
                biased;
                () = &mut renew => None,
                frame = frames.recv() => Some(frame.ok_or(Error::Closed)?),
            };
            match frame {
                Some(frame) => self.write_queued(frame, &mut frames).await?,
                None => login_until = login::log_in(self).await?,
            }
        }
    }

    /// What comes before the first request. Returns when to log in again.
    async fn open(&mut self) -> Result<Option<Instant>> {
        let versions = login::negotiate(self).await?;
        let _ = self.shared.versions.set(versions);
        login::log_in(self).await
    }

    /// Writes one frame and those queued behind it, then flushes once.
    async fn write_queued(
        &mut self,
        first: Frame,
        frames: &mut mpsc::Receiver<Frame>,
    ) -> Result<()> {
        let mut next = Some(first);
        while let Some(frame) = next {
            if self.shared.begin(frame.id) {
                self.write_frame(&frame.bytes).await?;
            }
            next = frames.try_recv().ok();
        }
        self.flush().await
    }

    async fn write_frame(&mut self, bytes: &[u8]) -> Result<()> {
        let timeout = self.shared.settings.io_timeout;
        let broker = self.shared.broker.clone();
        bounded(&broker, timeout, self.stream.write_all(bytes)).await
    }

    async fn flush(&mut self) -> Result<()> {
        let timeout = self.shared.settings.io_timeout;
        let broker = self.shared.broker.clone();
        bounded(&broker, timeout, self.stream.flush()).await
    }

    /// Sends a request of the connection's own and waits for the undecoded answer.
    pub(super) async fn exchange<R: Request>(
        &mut self,
        request: &R,
        version: i16,
    ) -> Result<Bytes> {
        let (id, answer) = self.shared.register(R::NAME)?;
        let mut bytes = self.shared.encode(request, version, 0)?;
        set_correlation_id(&mut bytes, id);
        let started = Instant::now();
        self.write_frame(&bytes).await?;
        self.flush().await?;
        match tokio::time::timeout(self.shared.settings.io_timeout, answer).await {
            Ok(Ok(frame)) => frame,
            Ok(Err(_)) => Err(self.shared.failure()),
            Err(_) => Err(self.shared.timeout(R::NAME, started)),
        }
    }

    /// As [`Writer::exchange`], decoded.
    pub(super) async fn call<R: Request>(
        &mut self,
        request: &R,
        version: i16,
    ) -> Result<R::Response> {
        let mut frame = self.exchange(request, version).await?;
        decode::<R>(version, &mut frame)
            .map_err(|cause| Error::malformed(&self.shared.broker, R::NAME, cause))
    }
}

async fn bounded(
    broker: &Arc<str>,
    timeout: Duration,
    write: impl Future<Output = std::io::Result<()>>,
) -> Result<()> {
    match tokio::time::timeout(timeout, write).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(Error::io(broker, &error)),
        Err(_) => {
            Err(Error::disconnected(broker, format!("it did not take our bytes for {timeout:?}")))
        }
    }
}

async fn sleep_until_some(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

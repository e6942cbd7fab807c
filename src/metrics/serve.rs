//! A small HTTP server for one page.
//!
//! Written here because a scrape needs very little of HTTP, and because every
//! resource a client can take must have a bound: connections, bytes of a
//! request, and the time for request and answer as a whole.

use std::cell::Cell;
use std::fmt;
use std::io::{self, ErrorKind as IoErrorKind, Read, Write};
use std::net::{
    IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::OPENMETRICS_CONTENT_TYPE;
use crate::LOG_TARGET;
use crate::error::{ErrorKind, LlingrError};

/// Connections served at once; more are turned away.
const CONNECTIONS_MAX: usize = 8;
/// Bytes of a request line with its headers.
const REQUEST_BYTES_MAX: usize = 8 * 1024;
/// Bytes after the request that are read and dropped, so that the answer is not lost by a reset.
const LEFTOVER_BYTES_MAX: usize = 64 * 1024;

thread_local! {
    /// Whether this thread serves a connection.
    static SCRAPING: Cell<bool> = const { Cell::new(false) };
}

/// How long a client may take; shortened by tests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// For the whole request to arrive.
    pub(super) request: Duration,
    /// For the whole answer to be taken.
    pub(super) answer: Duration,
    /// For the client to close after the answer.
    pub(super) linger: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            request: Duration::from_secs(5),
            answer: Duration::from_secs(10),
            linger: Duration::from_secs(1),
        }
    }
}

/// The running server; stops and joins its threads when dropped.
#[derive(Debug)]
pub(super) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    path: String,
    content: Box<dyn Fn() -> String + Send + Sync>,
    limits: Limits,
    stop: AtomicBool,
    /// Streams being served, so that a stop can cut them.
    open: Mutex<Vec<(u64, TcpStream)>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Server {
    pub(super) fn start(
        addr: impl ToSocketAddrs + fmt::Display,
        path: String,
        content: impl Fn() -> String + Send + Sync + 'static,
    ) -> Result<Server, LlingrError> {
        Server::start_with(addr, path, content, Limits::default())
    }

    pub(super) fn start_with(
        addr: impl ToSocketAddrs + fmt::Display,
        path: String,
        content: impl Fn() -> String + Send + Sync + 'static,
        limits: Limits,
    ) -> Result<Server, LlingrError> {
        let usable = |c: char| c.is_ascii_graphic() && !matches!(c, '?' | '#');
        if !path.starts_with('/') || !path.chars().all(usable) {
            return Err(LlingrError::new(
                ErrorKind::MetricsServer,
                format!("metrics path {path:?} must start with '/' and have no space, '?' or '#'"),
            ));
        }
        let failed = |error: io::Error| {
            LlingrError::new(
                ErrorKind::MetricsServer,
                format!("metrics cannot be served at {addr}: {error}"),
            )
            .with_source(error)
        };
        let listener = TcpListener::bind(&addr).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared {
            path,
            content: Box::new(content),
            limits,
            stop: AtomicBool::new(false),
            open: Mutex::default(),
        });
        let accepting = thread::Builder::new()
            .name("llingr-metrics".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || accept(&listener, &shared)
            })
            .map_err(failed)?;
        log::info!(target: LOG_TARGET, "metrics are served at http://{address}{}", shared.path);
        Ok(Server { address, shared, accepting: Mutex::new(Some(accepting)) })
    }

    pub(super) fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting, cuts open connections and joins all threads.
    pub(super) fn stop(&self) {
        // Held to the end, so that a second caller returns only when all is over.
        let mut accepting = lock(&self.accepting);
        let Some(thread) = accepting.take() else {
            return;
        };
        self.shared.stop.store(true, Ordering::SeqCst);
        if SCRAPING.get() {
            // The last owner went away inside a scrape: joining would wait for ourselves. The flag
            // ends the server with its next connection.
            return;
        }
        for (_, stream) in lock(&self.shared.open).iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // Only a connection wakes a thread that accepts.
        let woken = TcpStream::connect_timeout(&reachable(self.address), Duration::from_secs(1));
        if woken.is_err() && !thread.is_finished() {
            log::warn!(
                target: LOG_TARGET,
                "metrics: {} cannot be reached from here, so its thread ends with the next connection",
                self.address
            );
            return;
        }
        if thread.join().is_err() {
            log::error!(target: LOG_TARGET, "metrics: the server's thread panicked");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// An address by which this machine reaches its own listener.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Every guarded value is whole between two operations.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut workers: Vec<JoinHandle<()>> = Vec::new();
    let mut last_warning: Option<Instant> = None;
    let mut next_id = 0u64;
    loop {
        let accepted = listener.accept();
        if shared.stop.load(Ordering::SeqCst) {
            break;
        }
        workers.retain(|worker| !worker.is_finished());
        let problem = match accepted {
            Ok((stream, _)) if workers.len() >= CONNECTIONS_MAX => {
                turn_away(stream);
                continue;
            }
            Ok((stream, _)) => {
                next_id += 1;
                match start_worker(stream, next_id, shared) {
                    Ok(worker) => {
                        workers.push(worker);
                        continue;
                    }
                    Err(error) => error,
                }
            }
            Err(error) if error.kind() == IoErrorKind::Interrupted => continue,
            Err(error) => error,
        };
        // Out of file descriptors or threads: neither spin nor fill the log.
        if last_warning.is_none_or(|at| at.elapsed() > Duration::from_secs(60)) {
            log::warn!(target: LOG_TARGET, "metrics: a connection was lost: {problem}");
            last_warning = Some(Instant::now());
        }
        thread::sleep(Duration::from_millis(50));
    }
    for worker in workers {
        // Its panic was caught and logged inside.
        let _ = worker.join();
    }
}

fn start_worker(stream: TcpStream, id: u64, shared: &Arc<Shared>) -> io::Result<JoinHandle<()>> {
    lock(&shared.open).push((id, stream.try_clone()?));
    if shared.stop.load(Ordering::SeqCst) {
        // Stop ran before the stream was in the list; it would not have cut it.
        let _ = stream.shutdown(Shutdown::Both);
    }
    let worker = thread::Builder::new().name("llingr-scrape".to_owned()).spawn({
        let shared = Arc::clone(shared);
        move || {
            SCRAPING.set(true);
            let served = catch_unwind(AssertUnwindSafe(|| serve(stream, &shared)));
            match served {
                Ok(Ok(())) => {}
                Ok(Err(error)) => log::debug!(target: LOG_TARGET, "metrics: {error}"),
                Err(_) => log::error!(target: LOG_TARGET, "metrics: a scrape panicked"),
            }
            lock(&shared.open).retain(|(other, _)| *other != id);
        }
    });
    if worker.is_err() {
        lock(&shared.open).retain(|(other, _)| *other != id);
    }
    worker
}

/// Says that all places are taken, without waiting for anything.
fn turn_away(mut stream: TcpStream) {
    let answer =
        answer("503 Service Unavailable", "", "text/plain", "all connections are in use\n");
    if stream.set_nonblocking(true).is_ok() {
        let _ = stream.write(answer.as_bytes());
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let answer = match read_request(&mut stream, shared.limits.request)? {
        Request::Line(line) => respond(&line, shared),
        Request::TooLarge => {
            answer("431 Request Header Fields Too Large", "", "text/plain", "request too large\n")
        }
        Request::Closed => return Ok(()),
    };
    write_all(&mut stream, answer.as_bytes(), shared.limits.answer)?;
    stream.shutdown(Shutdown::Write)?;
    drop_leftovers(&mut stream, shared.limits.linger);
    Ok(())
}

fn respond(line: &str, shared: &Shared) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let (method, target) = match words[..] {
        [method, target, version] if version.starts_with("HTTP/1.") && !method.is_empty() => {
            (method, target)
        }
        _ => {
            return answer("400 Bad Request", "", "text/plain", "not an HTTP/1 request\n");
        }
    };
    if path_of(target) != Some(shared.path.as_str()) {
        return answer("404 Not Found", "", "text/plain", "not found\n");
    }
    if method != "GET" {
        return answer("405 Method Not Allowed", "Allow: GET\r\n", "text/plain", "only GET\n");
    }
    answer("200 OK", "", OPENMETRICS_CONTENT_TYPE, &(shared.content)())
}

/// The path of a request target: `/metrics?x` or `http://host/metrics?x`.
fn path_of(target: &str) -> Option<&str> {
    let path = match target.strip_prefix("http://") {
        Some(rest) => &rest[rest.find('/')?..],
        None => target,
    };
    path.split('?').next()
}

fn answer(status: &str, headers: &str, content_type: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n{headers}Connection: close\r\n\r\n{body}",
        body.len()
    )
}

enum Request {
    Line(String),
    TooLarge,
    /// Nothing, or not a whole request, came before the client closed.
    Closed,
}

/// Reads up to the empty line after the headers; the headers themselves do not matter.
fn read_request(stream: &mut TcpStream, limit: Duration) -> io::Result<Request> {
    let deadline = Instant::now() + limit;
    let mut request = Vec::new();
    let mut chunk = [0u8; 1024];
    while !is_complete(&request) {
        if request.len() >= REQUEST_BYTES_MAX {
            return Ok(Request::TooLarge);
        }
        stream.set_read_timeout(Some(remaining(deadline)?))?;
        match stream.read(&mut chunk) {
            Ok(0) => return Ok(Request::Closed),
            Ok(read) => request.extend_from_slice(&chunk[..read]),
            Err(error) if error.kind() == IoErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let line = request.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(Request::Line(String::from_utf8_lossy(line).trim_end_matches('\r').to_owned()))
}

fn is_complete(request: &[u8]) -> bool {
    request.windows(4).any(|window| window == b"\r\n\r\n")
        || request.windows(2).any(|window| window == b"\n\n")
}

/// As `Write::write_all`, but the limit is for the whole, not for each piece: a client that takes
/// one byte a second must not hold its place for hours.
fn write_all(stream: &mut TcpStream, mut bytes: &[u8], limit: Duration) -> io::Result<()> {
    let deadline = Instant::now() + limit;
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(remaining(deadline)?))?;
        // The system's time limit is for one call, which may take in a large piece slowly.
        let piece = &bytes[..bytes.len().min(16 * 1024)];
        match stream.write(piece) {
            Ok(0) => return Err(IoErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == IoErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn drop_leftovers(stream: &mut TcpStream, limit: Duration) {
    let deadline = Instant::now() + limit;
    let mut chunk = [0u8; 4096];
    let mut total = 0;
    while total < LEFTOVER_BYTES_MAX {
        let Ok(time) = remaining(deadline) else {
            return;
        };
        if stream.set_read_timeout(Some(time)).is_err() {
            return;
        }
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return,
            Ok(read) => total += read,
        }
    }
}

fn remaining(deadline: Instant) -> io::Result<Duration> {
    let time = deadline.saturating_duration_since(Instant::now());
    // The socket options take no zero and count in microseconds.
    if time < Duration::from_micros(1) {
        return Err(io::Error::new(IoErrorKind::TimedOut, "the client took too long"));
    }
    Ok(time)
}

#[cfg(test)]
mod tests;

//! A test function run in a process of its own, to be killed, frozen and
//! measured.
//!
//! The parent runs its own executable again with `--exact NAME`. The test of
//! that name begins with
//!
//! ```ignore
//! if let Some(side) = child_side() {
//!     return consume(&side); // in the child
//! }
//! let child = Child::spawn("name_of_this_test", &args); // in the parent
//! ```
//!
//! The child tells what happens as events, over a socket: an event has left
//! the child when `emit` returns, so that a kill right after it loses nothing.
//! The parent may send values back, over standard input.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::guard::{Guarded, Output, remove_with_process};
use super::{kafka_dir, tail, unique};

const VARIABLE: &str = "LLINGR_CHILD";
/// The event that [`child_side`] sends.
const HELLO: &str = "hello";

/// Something that a child tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) data: Value,
}

impl Event {
    /// The data in a form of the test's own.
    #[track_caller]
    pub(crate) fn data<T: DeserializeOwned>(&self) -> T {
        serde_json::from_value(self.data.clone())
            .unwrap_or_else(|e| panic!("event {} has other data ({e}): {}", self.name, self.data))
    }
}

#[derive(Serialize, Deserialize)]
struct Setup {
    socket: PathBuf,
    args: Value,
}

/// A child process, seen from its parent. Killed when dropped.
pub(crate) struct Child {
    name: String,
    process: Guarded,
    input: Mutex<Option<ChildStdin>>,
    events: Arc<Mutex<Vec<Event>>>,
    reader: Option<JoinHandle<()>>,
    log: PathBuf,
}

impl Child {
    /// Runs the test `name` (with its module path, as the test list shows it)
    /// in a child. Panics if it does not call [`child_side`].
    #[track_caller]
    pub(crate) fn spawn(name: &str, args: &impl Serialize) -> Self {
        Self::spawn_with_env(name, args, &[])
    }

    /// The same with environment variables for the child.
    #[track_caller]
    pub(crate) fn spawn_with_env(name: &str, args: &impl Serialize, env: &[(&str, &str)]) -> Self {
        // In the folder for temporary files: a socket's path is at most some
        // hundred characters long.
        let socket = std::env::temp_dir().join(unique("llingr-child"));
        let listener = UnixListener::bind(&socket)
            .unwrap_or_else(|e| panic!("cannot bind {}: {e}", socket.display()));
        remove_with_process(&socket);
        listener.set_nonblocking(true).unwrap_or_else(|e| panic!("{}: {e}", socket.display()));
        let log = kafka_dir().join("run").join(unique("child-log"));
        std::fs::create_dir_all(kafka_dir().join("run"))
            .unwrap_or_else(|e| panic!("{}: {e}", log.display()));
        let file =
            File::create(&log).unwrap_or_else(|e| panic!("cannot create {}: {e}", log.display()));
        remove_with_process(&log);

        let program = std::env::current_exe()
            .unwrap_or_else(|e| panic!("the test does not find itself: {e}"));
        let setup = Setup {
            socket: socket.clone(),
            args: serde_json::to_value(args)
                .unwrap_or_else(|e| panic!("the child's arguments: {e}")),
        };
        let setup =
            serde_json::to_string(&setup).unwrap_or_else(|e| panic!("the child's arguments: {e}"));
        let mut command = Command::new(program);
        command
            .args(["--exact", name, "--include-ignored", "--nocapture", "--test-threads=1"])
            .env(VARIABLE, setup);
        command.envs(env.iter().copied());
        let (process, input) =
            Guarded::spawn(&format!("child {name}"), &command, Output::File(file));
        let mut child = Self {
            name: name.to_owned(),
            process,
            input: Mutex::new(Some(input)),
            events: Arc::default(),
            reader: None,
            log,
        };
        let stream = child.accept(&listener);
        let _ = std::fs::remove_file(&socket);
        let events = Arc::clone(&child.events);
        let read = move || {
            for line in BufReader::new(stream).lines() {
                let Ok(line) = line else { break };
                // A line cut off by a kill is no event.
                let Ok(event) = serde_json::from_str(&line) else {
                    break;
                };
                lock(&events).push(event);
            }
        };
        child.reader = Some(std::thread::spawn(read));
        child.wait_event(HELLO, Duration::from_secs(60));
        child
    }

    #[track_caller]
    fn accept(&self, listener: &UnixListener) -> UnixStream {
        let start = Instant::now();
        loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    stream
                        .set_nonblocking(false)
                        .unwrap_or_else(|e| panic!("child {}: {e}", self.name));
                    return stream;
                }
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(e) => panic!("child {}: accept: {e}", self.name),
            }
            if let Some(status) = self.process.exited() {
                panic!(
                    "child {} ended without a word, {status}: is there a test of that name, and does it \
                     begin with child_side()?\n{}",
                    self.name,
                    self.output()
                );
            }
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "child {} does not begin",
                self.name
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// All events so far.
    pub(crate) fn events(&self) -> Vec<Event> {
        lock(&self.events).clone()
    }

    /// How many events of a name there are so far.
    pub(crate) fn count(&self, name: &str) -> usize {
        lock(&self.events).iter().filter(|e| e.name == name).count()
    }

    /// Waits until `probe` finds what it looks for in all events so far, which
    /// it sees again and again. Panics with the child's output when `limit`
    /// has passed, or when the child has ended and it is not there.
    #[track_caller]
    pub(crate) fn wait_events<T>(
        &self,
        what: &str,
        limit: Duration,
        mut probe: impl FnMut(&[Event]) -> Option<T>,
    ) -> T {
        let start = Instant::now();
        loop {
            // Looked at before the events: what came before the end counts.
            let ended = self.reader.as_ref().is_none_or(JoinHandle::is_finished);
            if let Some(found) = probe(&lock(&self.events)) {
                return found;
            }
            let seen = || {
                let events = lock(&self.events);
                let last: Vec<String> =
                    events.iter().rev().take(5).map(|e| format!("{e:?}")).collect();
                format!(
                    "{} events, the last ones first: {}\n{}",
                    events.len(),
                    last.join(", "),
                    self.output()
                )
            };
            assert!(!ended, "child {} ended without {what}; {}", self.name, seen());
            assert!(
                start.elapsed() < limit,
                "child {}: waited {limit:?} in vain for {what}; {}",
                self.name,
                seen()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for the first event of a name.
    #[track_caller]
    pub(crate) fn wait_event(&self, name: &str, limit: Duration) -> Event {
        self.wait_events(&format!("event {name}"), limit, |all| {
            all.iter().find(|e| e.name == name).cloned()
        })
    }

    /// Waits until there are at least `n` events of a name.
    #[track_caller]
    pub(crate) fn wait_count(&self, name: &str, n: usize, limit: Duration) {
        self.wait_events(&format!("{n} events {name}"), limit, |all| {
            (all.iter().filter(|e| e.name == name).count() >= n).then_some(())
        });
    }

    /// Sends a value, which the child gets by [`ChildSide::receive`].
    #[track_caller]
    pub(crate) fn send(&self, value: &impl Serialize) {
        let line =
            serde_json::to_string(value).unwrap_or_else(|e| panic!("child {}: {e}", self.name));
        let mut input = lock(&self.input);
        let input =
            input.as_mut().unwrap_or_else(|| panic!("child {}: its input was closed", self.name));
        writeln!(input, "{line}")
            .unwrap_or_else(|e| panic!("child {}: it does not listen: {e}", self.name));
    }

    /// Ends the values: the child's [`ChildSide::receive`] gives `None`.
    pub(crate) fn close_input(&self) {
        lock(&self.input).take();
    }

    /// SIGKILL. All that the child emitted is among the events afterwards.
    pub(crate) fn kill9(&mut self) -> ExitStatus {
        let status = self.process.kill9();
        self.drain();
        status
    }

    /// SIGTERM.
    #[track_caller]
    pub(crate) fn terminate(&self) {
        self.process.terminate();
    }

    /// SIGSTOP; returns when all threads stand still.
    #[track_caller]
    pub(crate) fn freeze(&self) {
        self.process.freeze();
    }

    /// SIGCONT.
    #[track_caller]
    pub(crate) fn thaw(&self) {
        self.process.thaw();
    }

    /// Waits for the end. All events are there afterwards.
    #[track_caller]
    pub(crate) fn wait_exit(&mut self, limit: Duration) -> ExitStatus {
        let Some(status) = self.process.wait(limit) else {
            panic!("child {} has not ended after {limit:?}\n{}", self.name, self.output());
        };
        self.drain();
        status
    }

    /// Waits for the end and panics with the output if it was no success.
    #[track_caller]
    pub(crate) fn wait_success(&mut self, limit: Duration) {
        let status = self.wait_exit(limit);
        assert!(status.success(), "child {} failed, {status}\n{}", self.name, self.output());
    }

    /// The exit status if the child has ended.
    pub(crate) fn exited(&self) -> Option<ExitStatus> {
        self.process.exited()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The largest resident memory so far, in bytes.
    #[track_caller]
    pub(crate) fn peak_rss(&self) -> u64 {
        self.process.status_field("VmHWM") * 1024
    }

    /// The resident memory now, in bytes.
    #[track_caller]
    pub(crate) fn rss(&self) -> u64 {
        self.process.status_field("VmRSS") * 1024
    }

    /// The number of threads now.
    #[track_caller]
    pub(crate) fn threads(&self) -> u64 {
        self.process.status_field("Threads")
    }

    /// The end of the child's standard output and errors.
    pub(crate) fn output(&self) -> String {
        tail(&self.log, 60)
    }

    fn drain(&mut self) {
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("last output of child {}:\n{}", self.name, self.output());
            // The beginning counts too where a run-time system tells its end.
            let kept = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
                .join(format!("{}.txt", unique("failed-child")));
            if std::fs::copy(&self.log, &kept).is_ok() {
                eprintln!("all of it: {}", kept.display());
            }
        }
        let _ = std::fs::remove_file(&self.log);
    }
}

/// The child's end of the connection. Clones share it.
#[derive(Clone)]
pub(crate) struct ChildSide {
    args: Arc<Value>,
    stream: Arc<Mutex<UnixStream>>,
}

/// In a child, what the parent gave it; otherwise `None`.
pub(crate) fn child_side() -> Option<ChildSide> {
    let setup = std::env::var(VARIABLE).ok()?;
    let setup: Setup = serde_json::from_str(&setup).unwrap_or_else(|e| panic!("{VARIABLE}: {e}"));
    let stream = UnixStream::connect(&setup.socket)
        .unwrap_or_else(|e| panic!("{VARIABLE}: {}: {e}", setup.socket.display()));
    let side = ChildSide { args: Arc::new(setup.args), stream: Arc::new(Mutex::new(stream)) };
    side.emit(HELLO, Value::Null);
    Some(side)
}

impl ChildSide {
    /// The arguments of [`Child::spawn`].
    #[track_caller]
    pub(crate) fn args<T: DeserializeOwned>(&self) -> T {
        serde_json::from_value((*self.args).clone()).unwrap_or_else(|e| {
            panic!("the child's arguments have another form ({e}): {}", self.args)
        })
    }

    /// Tells the parent. It has left this process on return.
    pub(crate) fn emit(&self, name: &str, data: impl Serialize) {
        let data = serde_json::to_value(data).unwrap_or_else(|e| panic!("event {name}: {e}"));
        let event = Event { name: name.to_owned(), data };
        let mut line = serde_json::to_vec(&event).unwrap_or_else(|e| panic!("event {name}: {e}"));
        line.push(b'\n');
        if lock(&self.stream).write_all(&line).is_err() {
            // The parent is gone, and nobody is left to tell.
            std::process::exit(1);
        }
    }

    /// Waits for the next value that the parent sends; `None` when it has
    /// closed the input.
    pub(crate) fn receive<T: DeserializeOwned>(&self) -> Option<T> {
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(
                serde_json::from_str(&line)
                    .unwrap_or_else(|e| panic!("from the parent ({e}): {line}")),
            ),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

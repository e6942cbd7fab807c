//! The `kafkatool` program: built once, and one process of it per test process.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::conn::Conn;
use super::dist::{require, run};
use super::guard::{Guarded, Output};
use super::kafka_dir;
use super::tool::ToolError;

/// The program, built on first use. Test processes that come at the same time
/// wait for each other.
pub(super) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(build)
}

fn build() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kafkatool");
    let dir = kafka_dir().join("tool");
    std::fs::create_dir_all(&dir)
        .unwrap_or_else(|e| panic!("cannot create {}: {e}", dir.display()));
    // Named by its source: a running program is never overwritten.
    let program = dir.join(format!("kafkatool-{:016x}", source_hash(&source)));
    let lock_path = dir.join("build.lock");
    let lock = File::create(&lock_path)
        .unwrap_or_else(|e| panic!("cannot create {}: {e}", lock_path.display()));
    lock.lock().unwrap_or_else(|e| panic!("cannot lock {}: {e}", lock_path.display()));
    if program.is_file() {
        return program;
    }
    require("go", "version", "Go, the version that tests/kafkatool/go.mod names or newer");
    let partial = dir.join("kafkatool.partial");
    let mut go = Command::new("go");
    go.current_dir(&source)
        .env("CGO_ENABLED", "0")
        .args(["build", "-trimpath", "-o"])
        .arg(&partial)
        .arg(".");
    run("go build of tests/kafkatool", &mut go);
    std::fs::rename(&partial, &program)
        .unwrap_or_else(|e| panic!("cannot rename {}: {e}", partial.display()));
    program
}

fn source_hash(source: &Path) -> u64 {
    let mut files: Vec<PathBuf> = std::fs::read_dir(source)
        .unwrap_or_else(|e| panic!("cannot list {}: {e}", source.display()))
        .flatten()
        .map(|entry| entry.path())
        .filter(|p| p.is_file())
        .collect();
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        file.file_name().hash(&mut hasher);
        std::fs::read(&file)
            .unwrap_or_else(|e| panic!("cannot read {}: {e}", file.display()))
            .hash(&mut hasher);
    }
    hasher.finish()
}

/// What the tool answers on one line.
#[derive(Deserialize)]
struct Reply {
    id: u64,
    ok: Option<Value>,
    error: Option<ToolError>,
}

type Answer = Result<Value, ToolError>;
/// Who waits for which request; `None` once the tool has ended.
type Waiting = Arc<Mutex<Option<HashMap<u64, Sender<Answer>>>>>;

/// The one process of this test process. It ends by itself at the end of its
/// input.
pub(super) struct ToolProcess {
    input: Mutex<(ChildStdin, u64)>,
    waiting: Waiting,
    _process: Guarded,
}

impl ToolProcess {
    pub(super) fn get() -> &'static Self {
        static PROCESS: OnceLock<ToolProcess> = OnceLock::new();
        PROCESS.get_or_init(Self::start)
    }

    fn start() -> Self {
        let (process, input) = Guarded::spawn("kafkatool", &Command::new(program()), Output::Piped);
        let output = process.take_stdout().expect("standard output is a pipe");
        let waiting: Waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        let shared = Arc::clone(&waiting);
        let read = move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { break };
                let reply: Reply = serde_json::from_str(&line).unwrap_or_else(|e| {
                    panic!("kafkatool answers what is no reply ({e}): {line:.200}")
                });
                let answer = match reply.error {
                    Some(error) => Err(error),
                    None => Ok(reply.ok.unwrap_or(Value::Null)),
                };
                let mut waiting = shared.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(sender) = waiting.as_mut().and_then(|w| w.remove(&reply.id)) {
                    // The receiver may have given up; that is its right.
                    let _ = sender.send(answer);
                }
            }
            // Dropping the senders wakes everybody who still waits.
            shared.lock().unwrap_or_else(PoisonError::into_inner).take();
        };
        std::thread::Builder::new()
            .name("kafkatool-replies".to_owned())
            .spawn(read)
            .unwrap_or_else(|e| panic!("cannot start a thread: {e}"));
        Self { input: Mutex::new((input, 0)), waiting, _process: process }
    }

    /// Sends a request; the answer comes by the receiver.
    pub(super) fn send(
        &self,
        op: &str,
        conn: &Conn,
        args: &Value,
        limit: Duration,
    ) -> Receiver<Answer> {
        let (sender, receiver) = channel();
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let (pipe, last) = &mut *input;
        *last += 1;
        let id = *last;
        match self.waiting.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(waiting) => waiting.insert(id, sender),
            None => panic!("kafkatool has ended; its errors are in this test's output"),
        };
        let request = serde_json::json!({
            "id": id, "op": op, "conn": conn, "args": args, "limit_ms": limit.as_millis() as u64,
        });
        writeln!(pipe, "{request}").unwrap_or_else(|e| panic!("kafkatool has ended: {e}"));
        receiver
    }
}

/// Waits for an answer. The tool keeps the limit itself; the time on top is
/// for its answer to arrive.
pub(super) fn receive(op: &str, receiver: &Receiver<Answer>, limit: Duration) -> Answer {
    match receiver.recv_timeout(limit + Duration::from_secs(30)) {
        Ok(answer) => answer,
        Err(RecvTimeoutError::Timeout) => panic!("kafkatool does not answer {op} within {limit:?}"),
        Err(RecvTimeoutError::Disconnected) => panic!("kafkatool ended during {op}"),
    }
}

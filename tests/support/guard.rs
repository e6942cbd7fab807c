//! Processes that never outlive the test process, however that ends.
//!
//! One shell per test process, the watchdog, holds the read end of a pipe. It
//! is told the ids of the processes and the folders that the test made; when
//! the pipe closes, because the test process ended or was killed, it kills the
//! ones and removes the others. A process is started behind a gate: it waits
//! for a line before it becomes the real program, and that line is sent only
//! after the watchdog was told of it. So there is no moment at which a kill of
//! the test leaves something behind. This needs neither `unsafe` nor a parent
//! death signal.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::wait_until;

const WATCHDOG: &str = r#"
trap '' INT TERM HUP
pids=
while read -r verb arg; do
  case $verb in
    pid) pids="$pids $arg" ;;
    gone)
      left=
      for p in $pids; do [ "$p" = "$arg" ] || left="$left $p"; done
      pids=$left ;;
    dir) set -- "$@" "$arg" ;;
  esac
done
for p in $pids; do kill -9 "$p" 2>/dev/null; done
for p in $pids; do
  n=0
  while kill -0 "$p" 2>/dev/null && [ $n -lt 50 ]; do sleep 0.1; n=$((n + 1)); done
done
[ $# -eq 0 ] || rm -rf -- "$@"
"#;

const GATE: &str = r#"read -r go || exit 1; exec "$@""#;

/// A process that ends at the latest with the test process.
pub(super) struct Guarded {
    name: String,
    pid: u32,
    child: Mutex<Child>,
}

/// Where a guarded process writes its output.
pub(super) enum Output {
    /// Both streams to the end of one file.
    File(File),
    /// Standard output to a pipe that the caller reads, errors to the test's own.
    Piped,
}

impl Guarded {
    /// Starts `command` (program, arguments and environment; its standard
    /// streams are set here). `name` is for panics.
    pub(super) fn spawn(name: &str, command: &Command, output: Output) -> (Self, ChildStdin) {
        let mut gated = Command::new("sh");
        gated.args(["-c", GATE, "sh"]).arg(command.get_program()).args(command.get_args());
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => gated.env(key, value),
                None => gated.env_remove(key),
            };
        }
        // A group of its own: Ctrl-C reaches the test, and the end of the
        // test reaches this process.
        gated.process_group(0).stdin(Stdio::piped());
        match output {
            Output::File(file) => {
                let copy = file.try_clone().unwrap_or_else(|e| panic!("{name}: log file: {e}"));
                gated.stdout(file).stderr(copy);
            }
            Output::Piped => {
                gated.stdout(Stdio::piped()).stderr(Stdio::inherit());
            }
        }
        let mut child = gated.spawn().unwrap_or_else(|e| panic!("cannot start {name}: {e}"));
        let pid = child.id();
        tell("pid", pid.to_string());
        let mut stdin = child.stdin.take().expect("stdin was set to a pipe above");
        writeln!(stdin, "go").unwrap_or_else(|e| panic!("cannot start {name}: {e}"));
        let guarded = Self { name: name.to_owned(), pid, child: Mutex::new(child) };
        (guarded, stdin)
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// The read end of standard output, once, for [`Output::Piped`].
    pub(super) fn take_stdout(&self) -> Option<std::process::ChildStdout> {
        self.lock().stdout.take()
    }

    /// The exit status, if the process has ended.
    pub(super) fn exited(&self) -> Option<ExitStatus> {
        let status = self.lock().try_wait().unwrap_or_else(|e| panic!("{}: wait: {e}", self.name));
        if status.is_some() {
            tell("gone", self.pid.to_string());
        }
        status
    }

    /// The exit status, or `None` when the process still runs after `limit`.
    pub(super) fn wait(&self, limit: Duration) -> Option<ExitStatus> {
        let start = Instant::now();
        loop {
            let status = self.exited();
            if status.is_some() || start.elapsed() >= limit {
                return status;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// SIGKILL; returns when the process is gone. No error if it was already.
    pub(super) fn kill9(&self) -> ExitStatus {
        let mut child = self.lock();
        let status = child.kill().and_then(|()| child.wait());
        tell("gone", self.pid.to_string());
        status.unwrap_or_else(|e| panic!("{}: kill: {e}", self.name))
    }

    /// SIGTERM.
    #[track_caller]
    pub(super) fn terminate(&self) {
        self.signal("TERM");
    }

    /// SIGSTOP; returns when every thread stands still.
    #[track_caller]
    pub(super) fn freeze(&self) {
        self.signal("STOP");
        wait_until(&format!("{} to stand still", self.name), Duration::from_secs(10), || {
            self.states().iter().all(|s| *s == 'T')
        });
    }

    /// SIGCONT; returns when the process runs again.
    #[track_caller]
    pub(super) fn thaw(&self) {
        self.signal("CONT");
        wait_until(&format!("{} to run again", self.name), Duration::from_secs(10), || {
            self.states().iter().all(|s| *s != 'T')
        });
    }

    /// A number from /proc/PID/status (`VmHWM` in kB, `Threads`, ...).
    #[track_caller]
    pub(super) fn status_field(&self, field: &str) -> u64 {
        let path = format!("/proc/{}/status", self.pid);
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {path}: {e}", self.name));
        text.lines()
            .find_map(|l| {
                l.strip_prefix(field)?.strip_prefix(':')?.split_whitespace().next()?.parse().ok()
            })
            .unwrap_or_else(|| {
                panic!("{}: {path} has no {field}; has the process ended?", self.name)
            })
    }

    /// The state letter of each thread.
    fn states(&self) -> Vec<char> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid));
        tasks
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|t| std::fs::read_to_string(t.path().join("stat")).ok())
            // The name before the state is in parentheses and may hold any character.
            .filter_map(|s| s.rsplit_once(')')?.1.trim_start().chars().next())
            .collect()
    }

    #[track_caller]
    fn signal(&self, signal: &str) {
        // The lock keeps the id from being reaped, and so from being reused.
        let mut child = self.lock();
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => {
                panic!("{} is to get SIG{signal} but has ended: {status}", self.name)
            }
            Err(e) => panic!("{}: wait: {e}", self.name),
        }
        send_signal(self.pid, signal);
    }

    fn lock(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        if matches!(child.try_wait(), Ok(None)) {
            let _ = child.kill();
            let _ = child.wait();
        }
        tell("gone", self.pid.to_string());
    }
}

/// Sends a signal by name. The shell's own `kill` is used because every other
/// safe way is a dependency.
pub(super) fn send_signal(pid: u32, signal: &str) {
    let status = Command::new("sh")
        .args(["-c", &format!("kill -{signal} {pid}")])
        .stderr(Stdio::null())
        .status();
    assert!(status.is_ok_and(|s| s.success()), "cannot send SIG{signal} to process {pid}");
}

/// Has a folder removed when the test process ends without having done so.
pub(super) fn remove_with_process(dir: &Path) {
    tell("dir", dir.as_os_str());
}

/// Sends one line to the watchdog. Written to the pipe, it is read even if
/// this process dies at once.
#[expect(
    clippy::zombie_processes,
    reason = "the watchdog outlives this process: that is its purpose"
)]
fn tell(verb: &str, arg: impl AsRef<OsStr>) {
    static WATCHDOG_INPUT: OnceLock<Mutex<ChildStdin>> = OnceLock::new();
    let input = WATCHDOG_INPUT.get_or_init(|| {
        let mut watchdog = Command::new("sh")
            .args(["-c", WATCHDOG, "sh"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start the shell that cleans up after tests: {e}"));
        Mutex::new(watchdog.stdin.take().expect("stdin was set to a pipe above"))
    });
    let mut line = verb.as_bytes().to_vec();
    line.push(b' ');
    line.extend_from_slice(arg.as_ref().as_encoded_bytes());
    line.push(b'\n');
    let written = input.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line);
    // In a drop during a panic there is nothing better to do than to go on.
    if let Err(e) = written
        && !std::thread::panicking()
    {
        panic!("the shell that cleans up after tests is gone: {e}");
    }
}

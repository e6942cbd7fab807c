//! The harness of the integration tests: a real Apache Kafka, an admin tool
//! that shares no code with the library, and test processes that can be
//! killed and frozen. Include it with `mod support;`.
//!
//! - [`shared_broker`]: one broker for all test binaries of a run. The first
//!   choice; give topics and groups [`unique`] names.
//! - [`Cluster`]: one or three brokers of a test's own, to stop, kill, freeze
//!   and restart, with security listeners and ACLs by option.
//! - [`Tool`]: topics, records, transactions, groups, offsets, ACLs, leaders.
//! - [`Child`]: a test function run in a process of its own.
//! - [`Proxy`]: a way to a broker that can be cut on one side.
//! - [`JavaPeer`]: a program of Kafka's own.
//!
//! What a test starts ends with it, also when it panics or is killed (see
//! `guard`). The signals and the readings from /proc are Linux's.

#![allow(
    dead_code,
    unused_imports,
    reason = "each test binary includes the whole harness and uses a part of it"
)]

mod certs;
mod child;
mod cluster;
mod conn;
mod dist;
mod guard;
mod java;
mod ports;
mod properties;
mod proxy;
mod shared;
mod tool;
mod tool_process;
mod tool_types;

pub(crate) use certs::{Certs, Identity};
pub(crate) use child::{Child, ChildSide, Event, child_side};
pub(crate) use cluster::{Cluster, ClusterBuilder};
pub(crate) use conn::{
    Conn, Listener, Login, Mechanism, OTHER_USER, PASSWORD, Sasl, Tls, USER, unsecured_token,
};
pub(crate) use dist::KafkaVersion;
pub(crate) use java::JavaPeer;
pub(crate) use proxy::Proxy;
pub(crate) use shared::{SharedBroker, shared_broker, shared_secure_broker};
pub(crate) use tool::{Pending, Tool, ToolError, Transaction};
pub(crate) use tool_types::*;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long tests wait for something that should happen soon. Long enough for
/// two busy cores; only a failing test waits it out.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// A name that no other test, process or run uses, starting with `prefix`.
pub(crate) fn unique(prefix: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}-{:x}-{}-{n}", since.as_micros(), std::process::id())
}

/// Calls `probe` until it gives a value, and panics naming `what` when that
/// takes longer than `limit`.
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, limit: Duration, mut probe: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = probe() {
            return value;
        }
        assert!(start.elapsed() < limit, "waited {limit:?} in vain for {what}");
        // The pause between two looks at a condition, not the wait itself.
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Calls `condition` until it holds, and panics naming `what` when that takes
/// longer than `limit`.
#[track_caller]
pub(crate) fn wait_until(what: &str, limit: Duration, mut condition: impl FnMut() -> bool) {
    wait_for(what, limit, || condition().then_some(()));
}

/// The folder under `target/` where the harness keeps everything.
fn kafka_dir() -> PathBuf {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let dir = tmp.parent().unwrap_or(tmp).join("kafka");
    std::fs::create_dir_all(&dir)
        .unwrap_or_else(|e| panic!("cannot create {}: {e}", dir.display()));
    dir
}

/// The last lines of a file, for a panic's text.
fn tail(path: &Path, lines: usize) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// Held by tests that load the machine, such as those with three brokers, so
/// that a test binary runs one of them at a time.
pub(crate) fn one_at_a_time() -> std::sync::MutexGuard<'static, ()> {
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

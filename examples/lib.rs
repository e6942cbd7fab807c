//! What the examples share: a log that prints, and a wait.

use std::time::{Duration, Instant};

use log::{LevelFilter, Log, Metadata, Record};

struct Stderr;

impl Log for Stderr {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        eprintln!("{:5} {}: {}", record.level(), record.target(), record.args());
    }

    fn flush(&self) {}
}

/// Prints what the `log` facade gets, up to this level, to standard error.
pub fn print_log(level: LevelFilter) {
    // Fails only when a log was set before: then that one is used.
    if log::set_logger(&Stderr).is_ok() {
        log::set_max_level(level);
    }
}

/// Waits until `condition` holds; false when that takes longer than `limit`.
pub fn wait_until(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

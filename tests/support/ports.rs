//! Free TCP ports that stay free while a broker is down between kill and
//! restart.

use std::fs::{File, TryLockError};
use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

use super::kafka_dir;

/// Below the range from which Linux takes the ports of outgoing connections
/// (from 32768), so that a stopped broker's port is not handed to a client.
const FIRST: u16 = 18_000;
const COUNT: u16 = 14_000;

/// A port that no other test process of this target folder uses, for as long
/// as this value lives.
pub(super) struct Port {
    number: u16,
    _lock: File,
}

impl Port {
    pub(super) fn number(&self) -> u16 {
        self.number
    }

    /// Reserves a port: locked against other test processes, and bound once
    /// to see that nothing else uses it.
    pub(super) fn free() -> Self {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let dir = kafka_dir().join("ports");
        std::fs::create_dir_all(&dir)
            .unwrap_or_else(|e| panic!("cannot create {}: {e}", dir.display()));
        // Spread by process, so that other checkouts' tests seldom try the same.
        let base = std::process::id().wrapping_mul(7919) % u32::from(COUNT);
        for _ in 0..COUNT {
            let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
            let number = FIRST + ((base + step) % u32::from(COUNT)) as u16;
            let path = dir.join(number.to_string());
            let lock = File::create(&path)
                .unwrap_or_else(|e| panic!("cannot create {}: {e}", path.display()));
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(e)) => panic!("cannot lock {}: {e}", path.display()),
            }
            if TcpListener::bind(("127.0.0.1", number)).is_ok() {
                return Self { number, _lock: lock };
            }
        }
        panic!("no free port between {FIRST} and {}", FIRST + COUNT);
    }
}

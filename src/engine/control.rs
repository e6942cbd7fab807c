//! The one Rust thread that enters Go.
//!
//! A thread that has called into Go is known to Go's runtime from then on. If
//! it ends, Rust takes its alternate signal stack away while Go may still
//! deliver a signal to it. So all exports are called by one thread that is
//! started once and never ends.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};

use super::block::POISON;
use super::sys;
use crate::error::{ErrorKind, LlingrError};

type Call = Box<dyn FnOnce() + Send>;

static CALLS: OnceLock<Mutex<Sender<Call>>> = OnceLock::new();

fn calls() -> Result<Sender<Call>, LlingrError> {
    static START: Mutex<()> = Mutex::new(());
    if let Some(calls) = CALLS.get() {
        return Ok(calls.lock().expect(POISON).clone());
    }
    let _one = START.lock().expect(POISON);
    if let Some(calls) = CALLS.get() {
        return Ok(calls.lock().expect(POISON).clone());
    }
    let (sender, receiver) = channel::<Call>();
    std::thread::Builder::new()
        .name("llingr-control".into())
        .spawn(move || receiver.into_iter().for_each(|call| call()))
        .map_err(|e| {
            LlingrError::new(
                ErrorKind::Runtime,
                format!("the control thread could not be started: {e}"),
            )
        })?;
    let _ = CALLS.set(Mutex::new(sender.clone()));
    Ok(sender)
}

/// Runs `call` on the control thread and waits for its result.
fn on_control<R: Send + 'static>(
    call: impl FnOnce() -> R + Send + 'static,
) -> Result<R, LlingrError> {
    let (answer, result) = std::sync::mpsc::sync_channel(1);
    let sent = calls()?.send(Box::new(move || {
        let _ = answer.send(call());
    }));
    sent.ok()
        .and_then(|()| result.recv().ok())
        .ok_or_else(|| LlingrError::new(ErrorKind::Panic, "the control thread is gone"))
}

/// Runs `call` on the control thread and does not wait.
fn post(call: impl FnOnce() + Send + 'static) {
    if let Ok(calls) = calls() {
        let _ = calls.send(Box::new(call));
    }
}

fn checked(code: i32, error: &sys::llingr_error) -> Result<(), LlingrError> {
    if code == 0 {
        return Ok(());
    }
    let len = (error.len as usize).min(error.text.len());
    let text: Vec<u8> = error.text[..len].iter().map(|&c| c.cast_unsigned()).collect();
    Err(LlingrError::from_engine(code, &text))
}

fn no_error() -> Box<sys::llingr_error> {
    Box::new(sys::llingr_error { len: 0, text: [0; 2044] })
}

/// The host functions on their way to the control thread.
struct Table(sys::llingr_host);

// SAFETY: the table holds function pointers and the pointer of an Arc<Host>,
// and Host is Send and Sync.
unsafe impl Send for Table {}

/// Whether the linked archive speaks this crate's version of the boundary.
pub(crate) fn check_version(found: u32) -> Result<(), LlingrError> {
    if found == sys::LLINGR_ABI_VERSION {
        return Ok(());
    }
    Err(LlingrError::new(
        ErrorKind::AbiMismatch,
        format!(
            "the linked engine archive has ABI version {found}, this crate needs {}; rebuild the archive from the crate's go/ folder, or unset LLINGR_LIB_DIR",
            sys::LLINGR_ABI_VERSION
        ),
    ))
}

/// The engine that exists, counted up; 0: none. Used on the control thread
/// alone, where calls follow one another: so a handle whose engine has gone
/// never reaches the next one.
static CURRENT: AtomicU64 = AtomicU64::new(0);

/// One engine, as long as it exists.
#[derive(Clone, Copy)]
pub(crate) struct Engine(u64);

impl Engine {
    pub(crate) fn new(table: sys::llingr_host, config: String) -> Result<Engine, LlingrError> {
        let table = Table(table);
        on_control(move || {
            let mut table = table;
            let table = &mut table.0;
            // SAFETY: takes no arguments and never fails.
            check_version(unsafe { sys::llingr_abi_version() })?;
            let mut config = config.into_bytes();
            let mut error = no_error();
            // SAFETY: table, config and error live through the call; the engine
            // copies what it keeps of them.
            let code = unsafe {
                sys::llingr_engine_new(table, config.as_mut_ptr(), config.len(), &mut *error)
            };
            checked(code, &error)?;
            static COUNT: AtomicU64 = AtomicU64::new(0);
            let engine = Engine(COUNT.fetch_add(1, Ordering::Relaxed) + 1);
            CURRENT.store(engine.0, Ordering::Relaxed);
            Ok(engine)
        })?
    }

    fn is_current(self) -> Result<(), LlingrError> {
        if CURRENT.load(Ordering::Relaxed) == self.0 {
            return Ok(());
        }
        Err(LlingrError::new(ErrorKind::NoEngine, "this engine has ended"))
    }

    pub(crate) fn start(self) -> Result<(), LlingrError> {
        on_control(move || {
            self.is_current()?;
            let mut error = no_error();
            // SAFETY: error lives through the call.
            let code = unsafe { sys::llingr_engine_start(&mut *error) };
            checked(code, &error)
        })?
    }

    pub(crate) fn stop(self) {
        post(move || {
            if self.is_current().is_ok() {
                // SAFETY: takes no arguments.
                unsafe { sys::llingr_engine_stop() };
            }
        });
    }

    pub(crate) fn emergency_stop(self, reason: String) {
        post(move || {
            if self.is_current().is_ok() {
                let mut reason = reason.into_bytes();
                // SAFETY: reason lives through the call.
                unsafe { sys::llingr_engine_emergency_stop(reason.as_mut_ptr(), reason.len()) };
            }
        });
    }

    pub(crate) fn pause(self, partition: i32, paused: bool) -> Result<(), LlingrError> {
        on_control(move || {
            self.is_current()?;
            let mut error = no_error();
            // SAFETY: error lives through the call.
            let code = unsafe { sys::llingr_engine_pause(partition, paused.into(), &mut *error) };
            checked(code, &error)
        })?
    }

    pub(crate) fn status(self) -> Result<Vec<u8>, LlingrError> {
        on_control(move || {
            self.is_current()?;
            // SAFETY: both places live through the call.
            filled(|out, error| unsafe { sys::llingr_engine_status(out, error) })
        })?
    }

    pub(crate) fn free(self) -> Result<(), LlingrError> {
        on_control(move || {
            self.is_current()?;
            let mut error = no_error();
            // SAFETY: error lives through the call.
            let code = unsafe { sys::llingr_engine_free(&mut *error) };
            checked(code, &error)?;
            CURRENT.store(0, Ordering::Relaxed);
            Ok(())
        })?
    }
}

/// Calls `f`, which fills a buffer, and takes the buffer's bytes.
fn filled(
    f: impl FnOnce(&mut sys::llingr_buffer, &mut sys::llingr_error) -> i32,
) -> Result<Vec<u8>, LlingrError> {
    let mut buffer = sys::llingr_buffer { ptr: std::ptr::null_mut(), len: 0 };
    let mut error = no_error();
    let code = f(&mut buffer, &mut error);
    let bytes = if buffer.ptr.is_null() {
        Vec::new()
    } else {
        // SAFETY: an export filled the buffer with `len` bytes.
        unsafe { std::slice::from_raw_parts(buffer.ptr, buffer.len) }.to_vec()
    };
    // SAFETY: null, or filled by an export and freed once.
    unsafe { sys::llingr_buffer_free(&mut buffer) };
    checked(code, &error).map(|()| bytes)
}

#[cfg(feature = "dev-broker")]
pub(crate) mod devbroker {
    use super::*;

    pub(crate) fn start(config: String) -> Result<Vec<u8>, LlingrError> {
        on_control(move || {
            let mut config = config.into_bytes();
            // SAFETY: all places live through the call.
            filled(|out, error| unsafe {
                sys::llingr_devbroker_start(config.as_mut_ptr(), config.len(), out, error)
            })
        })?
    }

    pub(crate) fn produce(records: String) -> Result<(), LlingrError> {
        on_control(move || {
            let mut records = records.into_bytes();
            let mut error = no_error();
            // SAFETY: records and error live through the call.
            let code = unsafe {
                sys::llingr_devbroker_produce(records.as_mut_ptr(), records.len(), &mut *error)
            };
            checked(code, &error)
        })?
    }

    pub(crate) fn stop() -> Result<(), LlingrError> {
        on_control(|| {
            // SAFETY: takes no arguments.
            checked(unsafe { sys::llingr_devbroker_stop() }, &no_error())
        })?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_of_the_boundary_is_refused_with_the_remedy() {
        assert!(check_version(sys::LLINGR_ABI_VERSION).is_ok());
        let error = check_version(sys::LLINGR_ABI_VERSION + 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AbiMismatch);
        assert!(error.text().contains("LLINGR_LIB_DIR"), "{error}");
    }
}

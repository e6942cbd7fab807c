//! The host's side of the boundary: the functions that the engine calls.
//!
//! Every function runs under the same guard: a panic becomes
//! `LLINGR_HOST_PANIC` and never unwinds into Go. `ctx` is an `Arc<Host>` that
//! was turned into a pointer by [`Host::table`] and is taken back by
//! [`Host::reclaim`] after `llingr_engine_free`.

use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};

use super::block::{Block, POISON};
use super::deadletter::LetterBox;
use super::events::Event;
use super::guard::contained;
use super::observe::Observer;
use super::sys;
use super::timer::Timer;
use super::work::{Dispatch, Refused};
use crate::options::TokenProvider;
use crate::snapshot::State;

/// How the engine ended.
#[derive(Debug, Clone)]
pub(crate) struct End {
    pub(crate) code: i32,
    pub(crate) reason: String,
}

/// What the engine said about itself.
#[derive(Default)]
struct Said {
    state: Option<(State, Option<String>)>,
    end: Option<End>,
}

pub(crate) struct Host {
    pub(crate) dispatch: Arc<Dispatch>,
    pub(crate) timer: Arc<Timer>,
    pub(crate) letters: Arc<LetterBox>,
    token: Option<Arc<TokenProvider>>,
    said: Mutex<Said>,
    changed: Condvar,
    /// Events that the engine has not returned from yet: their data must live
    /// until its next call.
    lent: Mutex<Vec<Event>>,
    observer: OnceLock<Weak<Observer>>,
}

impl Host {
    pub(crate) fn new(
        dispatch: Arc<Dispatch>,
        timer: Arc<Timer>,
        letters: Arc<LetterBox>,
        token: Option<Arc<TokenProvider>>,
    ) -> Arc<Host> {
        Arc::new(Host {
            dispatch,
            timer,
            letters,
            token,
            said: Mutex::default(),
            changed: Condvar::new(),
            lent: Mutex::default(),
            observer: OnceLock::new(),
        })
    }

    /// Lets the observer look in about every second, from the engine's pump.
    pub(crate) fn observe(&self, observer: &Arc<Observer>) {
        let _ = self.observer.set(Arc::downgrade(observer));
    }

    /// The functions for the engine. Keeps the host alive until `reclaim`.
    pub(crate) fn table(self: &Arc<Self>) -> sys::llingr_host {
        sys::llingr_host {
            struct_size: size_of::<sys::llingr_host>(),
            ctx: Arc::into_raw(self.clone()).cast_mut().cast(),
            assigned: Some(assigned),
            block_acquire: Some(block_acquire),
            block_release: Some(block_release),
            submit: Some(submit),
            events: Some(events),
            revoke: Some(revoke),
            drained: Some(drained),
            released: Some(released),
            pause: Some(pause),
            produced: Some(produced),
            log: Some(log_line),
            state: Some(state),
            ended: Some(ended),
            oauth_token: self.token.as_ref().map(|_| oauth_token as _),
            buffer_free: Some(buffer_free),
        }
    }

    /// Takes back what `table` lent.
    ///
    /// # Safety
    /// `table` must come from [`Host::table`], be reclaimed once, and the engine
    /// must have promised not to call any more.
    pub(crate) unsafe fn reclaim(table: &sys::llingr_host) {
        // SAFETY: the caller's contract; the pointer came from Arc::into_raw.
        drop(unsafe { Arc::from_raw(table.ctx.cast_const().cast::<Host>()) });
    }

    pub(crate) fn state(&self) -> (State, Option<String>) {
        let said = self.said.lock().expect(POISON);
        said.state.clone().unwrap_or((State::Built, None))
    }

    pub(crate) fn end(&self) -> Option<End> {
        self.said.lock().expect(POISON).end.clone()
    }

    /// Waits for the end, without a limit or with one.
    pub(crate) fn wait_for_end(&self, limit: Option<Duration>) -> Option<End> {
        self.wait(limit, |said| said.end.clone())
    }

    /// Waits until the state is one that `wanted` accepts, or the end.
    pub(crate) fn wait_for_state(
        &self,
        limit: Duration,
        wanted: impl Fn(State) -> bool,
    ) -> Option<State> {
        self.wait(Some(limit), |said| {
            let state = said.state.as_ref().map_or(State::Built, |s| s.0);
            (wanted(state) || said.end.is_some()).then_some(state)
        })
    }

    fn wait<T>(&self, limit: Option<Duration>, f: impl Fn(&Said) -> Option<T>) -> Option<T> {
        let deadline = limit.map(|l| Instant::now() + l);
        let mut said = self.said.lock().expect(POISON);
        loop {
            if let Some(found) = f(&said) {
                return Some(found);
            }
            said = match deadline {
                None => self.changed.wait(said).expect(POISON),
                Some(at) => {
                    let left = at.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return None;
                    }
                    self.changed.wait_timeout(said, left).expect(POISON).0
                }
            };
        }
    }

    fn say(&self, f: impl FnOnce(&mut Said)) {
        f(&mut self.said.lock().expect(POISON));
        self.changed.notify_all();
    }
}

/// Runs a host function's body on the host that `ctx` stands for.
fn guarded<R>(ctx: *mut c_void, on_panic: R, body: impl FnOnce(&Host) -> R) -> R {
    // SAFETY: the engine passes back the ctx of Host::table, which is alive
    // until `reclaim`, after which the engine does not call.
    let Some(host) = (unsafe { ctx.cast::<Host>().as_ref() }) else {
        return on_panic;
    };
    match contained(|| body(host)) {
        Ok(r) => r,
        Err(panic) => {
            let _ = contained(
                || log::error!(target: crate::LOG_TARGET, "panic in a host function: {panic}"),
            );
            on_panic
        }
    }
}

/// A text of the engine's.
///
/// # Safety
/// `ptr` must be null or point to `len` readable bytes.
unsafe fn text(ptr: *const u8, len: usize) -> String {
    if ptr.is_null() || len == 0 {
        return String::new();
    }
    // SAFETY: the caller's contract.
    let bytes = unsafe { std::slice::from_raw_parts(ptr, len) };
    super::guard::bounded(String::from_utf8_lossy(bytes).into_owned())
}

fn micros(us: i64) -> Duration {
    Duration::from_micros(u64::try_from(us).unwrap_or(0))
}

fn code(result: Result<(), Refused>) -> i32 {
    match result {
        Ok(()) => 0,
        Err(why) => {
            log::error!(target: crate::LOG_TARGET, "the host refused a call of the engine: {why:?}");
            sys::LLINGR_HOST_ERR
        }
    }
}

unsafe extern "C" fn assigned(ctx: *mut c_void, assignment: u32, partition: i32) -> i32 {
    guarded(ctx, sys::LLINGR_HOST_PANIC, |host| {
        host.dispatch.assigned(assignment, partition);
        0
    })
}

unsafe extern "C" fn block_acquire(
    ctx: *mut c_void,
    min_len: usize,
    capacity: *mut usize,
) -> *mut u8 {
    guarded(ctx, std::ptr::null_mut(), |host| {
        if capacity.is_null() {
            return std::ptr::null_mut();
        }
        let Some(block) = host.dispatch.blocks.acquire(min_len) else {
            return std::ptr::null_mut();
        };
        let (ptr, size) = block.into_raw();
        // SAFETY: checked for null; the engine passes a place for one size_t.
        unsafe { capacity.write(size) };
        ptr
    })
}

unsafe extern "C" fn block_release(ctx: *mut c_void, block: *mut u8, capacity: usize) {
    guarded(ctx, (), |host| {
        // SAFETY: the engine returns a block that block_acquire gave out, once.
        if let Some(block) = unsafe { Block::from_raw(block, capacity, 0) } {
            host.dispatch.blocks.release(block);
        }
    });
}

unsafe extern "C" fn submit(
    ctx: *mut c_void,
    assignment: u32,
    first_seq: u64,
    block: *mut u8,
    len: usize,
    capacity: usize,
    count: u32,
) -> i32 {
    guarded(ctx, sys::LLINGR_HOST_PANIC, |host| {
        // SAFETY: the engine hands over a block that block_acquire gave out,
        // with its first `len` bytes written.
        let Some(block) = (unsafe { Block::from_raw(block, capacity, len) }) else {
            return sys::LLINGR_HOST_ERR;
        };
        match host.dispatch.submit(assignment, first_seq, block, count) {
            Ok(()) => 0,
            Err((why, block)) => {
                let _ = block.into_raw(); // stays with the engine
                code(Err(why))
            }
        }
    })
}

unsafe extern "C" fn events(
    ctx: *mut c_void,
    out: *mut sys::llingr_event,
    max: u32,
    wait_us: i64,
    urgent: i32,
) -> i32 {
    guarded(ctx, sys::LLINGR_HOST_PANIC, |host| {
        if out.is_null() || max == 0 {
            return sys::LLINGR_HOST_ERR;
        }
        if let Some(observer) = host.observer.get().and_then(Weak::upgrade) {
            observer.look();
        }
        let mut lent = host.lent.lock().expect(POISON);
        lent.clear();
        host.dispatch.events.collect(&mut lent, max as usize, micros(wait_us), urgent != 0);
        for (i, event) in lent.iter().enumerate() {
            // SAFETY: collect gives at most `max` events, and `out` has room
            // for that many.
            unsafe { out.add(i).write(raw(event)) };
        }
        lent.len() as i32
    })
}

fn raw(event: &Event) -> sys::llingr_event {
    let data = |kind, assignment, first, data: &[u8]| sys::llingr_event {
        kind,
        assignment,
        first,
        count: data.len() as u64,
        bytes: 0,
        data: data.as_ptr(),
    };
    match event {
        Event::Ended(e) => sys::llingr_event {
            kind: sys::LLINGR_EVENT_DONE,
            assignment: e.assignment,
            first: e.first,
            count: e.count,
            bytes: e.bytes,
            data: std::ptr::null(),
        },
        Event::Letter(l) => data(sys::LLINGR_EVENT_PRODUCE, l.topic, l.token, &l.record),
        Event::Fatal(reason) => data(sys::LLINGR_EVENT_FATAL, 0, 0, reason.as_bytes()),
    }
}

unsafe extern "C" fn revoke(ctx: *mut c_void, assignment: u32) -> i32 {
    guarded(ctx, sys::LLINGR_HOST_PANIC, |host| code(host.dispatch.revoke(assignment)))
}

unsafe extern "C" fn drained(ctx: *mut c_void, assignment: u32, wait_us: i64) -> i32 {
    guarded(ctx, sys::LLINGR_HOST_PANIC, |host| {
        match host.dispatch.drained(assignment, micros(wait_us)) {
            Ok(running) => i32::try_from(running).unwrap_or(i32::MAX),
            Err(why) => code(Err(why)),
        }
    })
}

unsafe extern "C" fn released(ctx: *mut c_void, assignment: u32) -> i32 {
    guarded(ctx, sys::LLINGR_HOST_PANIC, |host| {
        let result = host.dispatch.released(assignment);
        host.timer.forget(assignment);
        code(result)
    })
}

unsafe extern "C" fn pause(ctx: *mut c_void, assignment: u32, paused: i32) -> i32 {
    guarded(ctx, sys::LLINGR_HOST_PANIC, |host| code(host.dispatch.pause(assignment, paused != 0)))
}

unsafe extern "C" fn produced(
    ctx: *mut c_void,
    token: u64,
    result: i32,
    ptr: *const u8,
    len: usize,
) {
    guarded(ctx, (), |host| {
        // SAFETY: the engine passes a text of `len` bytes, or null.
        let text = unsafe { text(ptr, len) };
        host.letters.answer(token, if result == 0 { Ok(()) } else { Err(text) });
    });
}

unsafe extern "C" fn log_line(ctx: *mut c_void, level: i32, ptr: *const u8, len: usize) {
    guarded(ctx, (), |_| {
        // SAFETY: the engine passes a text of `len` bytes, or null.
        let text = unsafe { text(ptr, len) };
        let level = match u32::try_from(level) {
            Ok(sys::LLINGR_LOG_ERROR) => log::Level::Error,
            Ok(sys::LLINGR_LOG_WARN) => log::Level::Warn,
            Ok(sys::LLINGR_LOG_DEBUG) => log::Level::Debug,
            _ => log::Level::Info,
        };
        log::log!(target: crate::LOG_TARGET, level, "{text}");
    });
}

unsafe extern "C" fn state(ctx: *mut c_void, state: i32, ptr: *const u8, len: usize) {
    guarded(ctx, (), |host| {
        // SAFETY: the engine passes a text of `len` bytes, or null.
        let cause = unsafe { text(ptr, len) };
        let Some(state) = State::from_code(state) else { return };
        if state == State::Failed {
            // Nothing waits in an emergency: not even queued records start.
            host.dispatch.die();
        }
        host.say(|said| said.state = Some((state, Some(cause).filter(|c| !c.is_empty()))));
    });
}

unsafe extern "C" fn ended(ctx: *mut c_void, result: i32, ptr: *const u8, len: usize) {
    guarded(ctx, (), |host| {
        // SAFETY: the engine passes a text of `len` bytes, or null.
        let reason = unsafe { text(ptr, len) };
        host.dispatch.die();
        host.letters.close();
        host.say(|said| {
            said.end.get_or_insert(End { code: result, reason });
        });
    });
}

unsafe extern "C" fn oauth_token(ctx: *mut c_void, out: *mut sys::llingr_buffer) -> i32 {
    guarded(ctx, sys::LLINGR_HOST_PANIC, |host| {
        let (Some(provider), false) = (&host.token, out.is_null()) else {
            return sys::LLINGR_HOST_ERR;
        };
        let (result, bytes) = match contained(|| provider()) {
            Ok(Ok(token)) => {
                let json = serde_json::json!({
                    "token": token.token(),
                    "extensions": token.extensions(),
                });
                (0, json.to_string())
            }
            Ok(Err(e)) => (sys::LLINGR_HOST_ERR, format!("the token callback failed: {e}")),
            Err(_) => (sys::LLINGR_HOST_ERR, "the token callback panicked".to_owned()),
        };
        let bytes = bytes.into_bytes().into_boxed_slice();
        let len = bytes.len();
        let ptr = Box::into_raw(bytes).cast::<u8>();
        // SAFETY: checked for null above; room for one buffer.
        unsafe { out.write(sys::llingr_buffer { ptr, len }) };
        result
    })
}

unsafe extern "C" fn buffer_free(ctx: *mut c_void, buffer: *mut sys::llingr_buffer) {
    guarded(ctx, (), |_| {
        // SAFETY: null, or the buffer that oauth_token filled.
        let Some(buffer) = (unsafe { buffer.as_mut() }) else { return };
        if !buffer.ptr.is_null() {
            let slice = std::ptr::slice_from_raw_parts_mut(buffer.ptr, buffer.len);
            // SAFETY: ptr and len come from Box::into_raw in oauth_token.
            drop(unsafe { Box::from_raw(slice) });
            buffer.ptr = std::ptr::null_mut();
            buffer.len = 0;
        }
    });
}

#[cfg(test)]
mod tests;

//! The exports of `include/llingr.h`, called as a foreign host would call them:
//! mutated bytes, null pointers, huge lengths, incomplete hosts, any order. An
//! error code each time, never a crash.
//!
//! Memory errors show under AddressSanitizer, whose runtime comes with the
//! stable toolchain. Go installs its own handler for SIGSEGV, and leaks of a
//! process that ends with Go's threads running mean nothing:
//!
//! ```text
//! RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address \
//! ASAN_OPTIONS=detect_leaks=0:handle_segv=0:use_sigaltstack=0 \
//!   cargo test --target x86_64-unknown-linux-gnu --target-dir target/asan --test engine_boundary
//! ```
//!
//! The same with `--lib engine::host` covers the functions that Go calls. With
//! `GOEXPERIMENT=cgocheck2` and a target directory of its own, Go checks its
//! pointer rules at every write.
#![cfg(feature = "engine")]

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};

use llingr_kafka as _; // links the archive

#[path = "../src/engine/sys.rs"]
mod sys;

#[path = "support/mutate.rs"]
mod mutate;

use mutate::Mutator;

const ROUNDS: usize = 10_000;

/// Runs `f` on the one thread that enters Go (see THREADS in the header), and
/// keeps tests from meddling with each other's engine.
fn on_go_thread<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    type Call = Box<dyn FnOnce() + Send>;
    static CALLS: OnceLock<Mutex<Sender<Call>>> = OnceLock::new();
    let calls = CALLS.get_or_init(|| {
        let (sender, receiver) = channel::<Call>();
        std::thread::spawn(move || receiver.into_iter().for_each(|call| call()));
        Mutex::new(sender)
    });
    let (answer, result) = channel();
    let call = move || {
        let _ = answer.send(std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)));
    };
    calls.lock().unwrap_or_else(PoisonError::into_inner).send(Box::new(call)).expect("runs");
    match result.recv().expect("the call ran") {
        Ok(r) => r,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// A host that takes blocks and reports nothing.
mod host {
    use super::*;

    pub(crate) fn table() -> sys::llingr_host {
        sys::llingr_host {
            struct_size: size_of::<sys::llingr_host>(),
            ctx: null_mut(),
            assigned: Some(assigned),
            block_acquire: Some(block_acquire),
            block_release: Some(block_release),
            submit: Some(submit),
            events: Some(events),
            revoke: Some(of_assignment),
            drained: Some(drained),
            released: Some(of_assignment),
            pause: Some(pause),
            produced: Some(produced),
            log: Some(text),
            state: Some(text),
            ended: Some(ended),
            oauth_token: None,
            buffer_free: Some(buffer_free),
        }
    }

    pub(crate) static ENDED: Mutex<Vec<(i32, String)>> = Mutex::new(Vec::new());

    unsafe extern "C" fn assigned(_: *mut c_void, _: u32, _: i32) -> i32 {
        0
    }
    unsafe extern "C" fn block_acquire(
        _: *mut c_void,
        min: usize,
        capacity: *mut usize,
    ) -> *mut u8 {
        // SAFETY: the engine passes a place for the size; malloc takes any size.
        unsafe {
            capacity.write(min);
            libc::malloc(min).cast()
        }
    }
    unsafe extern "C" fn block_release(_: *mut c_void, block: *mut u8, _: usize) {
        // SAFETY: a block of block_acquire, returned once.
        unsafe { libc::free(block.cast()) }
    }
    unsafe extern "C" fn submit(
        _: *mut c_void,
        _: u32,
        _: u64,
        block: *mut u8,
        len: usize,
        capacity: usize,
        _: u32,
    ) -> i32 {
        assert!(len <= capacity);
        // SAFETY: a block of block_acquire, handed over once.
        unsafe { libc::free(block.cast()) };
        0
    }
    unsafe extern "C" fn events(
        _: *mut c_void,
        _: *mut sys::llingr_event,
        _: u32,
        wait_us: i64,
        _: i32,
    ) -> i32 {
        // What the contract asks of a host without events.
        std::thread::sleep(std::time::Duration::from_micros(wait_us.clamp(0, 50_000) as u64));
        0
    }
    unsafe extern "C" fn of_assignment(_: *mut c_void, _: u32) -> i32 {
        0
    }
    unsafe extern "C" fn drained(_: *mut c_void, _: u32, _: i64) -> i32 {
        0
    }
    unsafe extern "C" fn pause(_: *mut c_void, _: u32, _: i32) -> i32 {
        0
    }
    unsafe extern "C" fn produced(_: *mut c_void, _: u64, _: i32, ptr: *const u8, len: usize) {
        // SAFETY: the engine's text.
        unsafe { read(ptr, len) };
    }
    unsafe extern "C" fn text(_: *mut c_void, _: i32, ptr: *const u8, len: usize) {
        // SAFETY: the engine's text.
        unsafe { read(ptr, len) };
    }
    unsafe extern "C" fn ended(_: *mut c_void, code: i32, ptr: *const u8, len: usize) {
        // SAFETY: the engine's text.
        let reason = unsafe { read(ptr, len) };
        ENDED.lock().unwrap_or_else(PoisonError::into_inner).push((code, reason));
    }
    unsafe extern "C" fn buffer_free(_: *mut c_void, _: *mut sys::llingr_buffer) {}

    /// Reads every byte, for the sanitizer.
    unsafe fn read(ptr: *const u8, len: usize) -> String {
        if len == 0 {
            return String::new();
        }
        // SAFETY: the caller's contract.
        String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(ptr, len) }).into_owned()
    }
}

fn no_error() -> Box<sys::llingr_error> {
    Box::new(sys::llingr_error { len: u32::MAX, text: [0x55; 2044] })
}

/// The text of a failed call: filled, within its room, valid UTF-8.
fn text_of(error: &sys::llingr_error) -> String {
    assert!(error.len as usize <= error.text.len(), "length {}", error.len);
    let bytes: Vec<u8> =
        error.text[..error.len as usize].iter().map(|&c| c.cast_unsigned()).collect();
    let text = String::from_utf8(bytes).expect("the error's text is UTF-8");
    assert!(!text.is_empty(), "an error without a text");
    text
}

/// Calls an export with bytes in an allocation of exactly their size, so that
/// the sanitizer sees a read beyond them.
fn with_bytes<R>(bytes: &[u8], f: impl FnOnce(*mut u8, usize) -> R) -> R {
    let mut exact = bytes.to_vec().into_boxed_slice();
    let before = exact.clone();
    let r = f(if exact.is_empty() { null_mut() } else { exact.as_mut_ptr() }, exact.len());
    assert!(exact == before, "the input was modified");
    r
}

fn engine_new(table: &mut sys::llingr_host, config: &[u8]) -> (i32, Box<sys::llingr_error>) {
    let mut error = no_error();
    let code = with_bytes(config, |ptr, len| {
        // SAFETY: table, bytes and error live through the call.
        unsafe { sys::llingr_engine_new(table, ptr, len, &mut *error) }
    });
    (code, error)
}

/// A configuration that two things keep from being used, so that no mutation
/// of one of them reaches the network.
fn unusable_config() -> Vec<u8> {
    serde_json::json!({
        "brokers": ["127.0.0.1:1"], "topic": "orders", "group": "billing",
        "options": {"no.such.option": "x", "session.timeout.ms": "6000"},
        "deadLetterTopics": ["orders.dead"],
        "engine": {
            "maxHeldRecords": -7, "maxHeldBytes": 1000000, "maxRunAheadPerPartition": 1000,
            "commitIntervalMs": 100, "drainTimeoutMs": 1000, "assignmentTimeoutMs": 0,
            "commitMetadata": true,
        },
    })
    .to_string()
    .into_bytes()
}

#[test]
fn ten_thousand_mutated_configurations_are_refused() {
    on_go_thread(|| {
        let mut mutator = Mutator::new(1);
        let seed = unusable_config();
        for _ in 0..ROUNDS {
            let config = mutator.text(&seed);
            let (code, error) = engine_new(&mut host::table(), &config);
            assert_eq!(code, sys::LLINGR_ERR_CONFIG, "{:?}", String::from_utf8_lossy(&config));
            text_of(&error);
        }
    });
}

#[test]
fn null_pointers_and_huge_lengths_are_refused() {
    on_go_thread(|| {
        let mut byte = [b'{'];
        let mut error = no_error();
        let mut table = host::table();
        // SAFETY: null and lengths beyond the limit are what the exports check
        // before they read; `byte` and `error` live through the calls.
        unsafe {
            for (ptr, len) in [
                (null_mut(), 1),
                (null_mut(), usize::MAX),
                (byte.as_mut_ptr(), (64 << 20) + 1),
                (byte.as_mut_ptr(), usize::MAX),
                (byte.as_mut_ptr(), isize::MAX as usize),
            ] {
                let refused = sys::LLINGR_ERR_ARGUMENT;
                assert_eq!(sys::llingr_engine_new(&mut table, ptr, len, &mut *error), refused);
                assert!(text_of(&error).contains("argument"), "{}", text_of(&error));
                assert_eq!(sys::llingr_engine_new(&mut table, ptr, len, null_mut()), refused);
                assert_eq!(sys::llingr_engine_emergency_stop(ptr, len), refused);
                let mut out = sys::llingr_buffer { ptr: null_mut(), len: 0 };
                assert_eq!(sys::llingr_devbroker_start(ptr, len, &mut out, &mut *error), refused);
                assert!(out.ptr.is_null());
                assert_eq!(sys::llingr_devbroker_produce(ptr, len, &mut *error), refused);
                assert_eq!(sys::llingr_devbroker_produce(ptr, len, null_mut()), refused);
            }
            // Nothing at all is no JSON.
            let code = sys::llingr_engine_new(&mut table, null_mut(), 0, &mut *error);
            assert_eq!(code, sys::LLINGR_ERR_CONFIG);
            sys::llingr_buffer_free(null_mut());
            let mut empty = sys::llingr_buffer { ptr: null_mut(), len: 7 };
            sys::llingr_buffer_free(&mut empty);
        }
    });
}

#[test]
fn a_host_of_another_shape_is_refused() {
    on_go_thread(|| {
        let config = unusable_config();
        let mut error = no_error();
        with_bytes(&config, |ptr, len| {
            // SAFETY: a null host is refused before it is read.
            let code = unsafe { sys::llingr_engine_new(null_mut(), ptr, len, &mut *error) };
            assert_eq!(code, sys::LLINGR_ERR_ABI);
        });
        let size = size_of::<sys::llingr_host>();
        for wrong in [0, 1, size - 8, size - 1, size + 1, size + 8, usize::MAX] {
            let mut table = host::table();
            table.struct_size = wrong;
            let (code, error) = engine_new(&mut table, &config);
            assert_eq!(code, sys::LLINGR_ERR_ABI);
            assert!(text_of(&error).contains(&size.to_string()), "{}", text_of(&error));
        }
        type Leave = fn(&mut sys::llingr_host);
        let missing: &[Leave] = &[
            |h| h.assigned = None,
            |h| h.block_acquire = None,
            |h| h.block_release = None,
            |h| h.submit = None,
            |h| h.events = None,
            |h| h.revoke = None,
            |h| h.drained = None,
            |h| h.released = None,
            |h| h.pause = None,
            |h| h.produced = None,
            |h| h.log = None,
            |h| h.state = None,
            |h| h.ended = None,
            |h| h.buffer_free = None,
        ];
        // All functions but oauth_token, which may be missing.
        assert_eq!(missing.len() + 1, members().iter().filter(|m| m.starts_with('(')).count());
        for leave in missing {
            let mut table = host::table();
            leave(&mut table);
            let (code, error) = engine_new(&mut table, &config);
            assert_eq!(code, sys::LLINGR_ERR_ABI);
            assert!(text_of(&error).contains("null"), "{}", text_of(&error));
        }
        let (code, _) = engine_new(&mut host::table(), &config);
        assert_eq!(code, sys::LLINGR_ERR_CONFIG, "a complete host passes");
    });
}

#[test]
fn without_an_engine_each_call_says_so() {
    on_go_thread(|| {
        for _ in 0..3 {
            assert_all_refused_without_engine();
        }
        // Nor does a failed attempt leave one behind.
        let (code, _) = engine_new(&mut host::table(), b"{}");
        assert_eq!(code, sys::LLINGR_ERR_CONFIG);
        assert_all_refused_without_engine();
        let mut mutator = Mutator::new(2);
        for _ in 0..ROUNDS {
            let reason = mutator.bytes(b"the handler gave up: \xc3\xa4\xf0\x9f\xa6\x80");
            // SAFETY: the bytes live through the call.
            let code =
                with_bytes(&reason, |p, n| unsafe { sys::llingr_engine_emergency_stop(p, n) });
            assert_eq!(code, sys::LLINGR_ERR_NO_ENGINE);
        }
    });
}

fn assert_all_refused_without_engine() {
    let none = sys::LLINGR_ERR_NO_ENGINE;
    let mut error = no_error();
    let mut out = sys::llingr_buffer { ptr: null_mut(), len: 0 };
    // SAFETY: the places live through the calls; null errors are allowed.
    unsafe {
        assert_eq!(sys::llingr_engine_start(&mut *error), none);
        text_of(&error);
        assert_eq!(sys::llingr_engine_start(null_mut()), none);
        assert_eq!(sys::llingr_engine_stop(), none);
        assert_eq!(sys::llingr_engine_emergency_stop(null_mut(), 0), none);
        assert_eq!(sys::llingr_engine_pause(-1, 1, &mut *error), none);
        assert_eq!(sys::llingr_engine_pause(i32::MIN, i32::MIN, null_mut()), none);
        assert_eq!(sys::llingr_engine_status(&mut out, &mut *error), none);
        assert_eq!(sys::llingr_engine_status(null_mut(), null_mut()), none);
        assert_eq!(sys::llingr_engine_free(&mut *error), none);
        assert_eq!(sys::llingr_engine_free(null_mut()), none);
    }
    assert!(out.ptr.is_null());
}

#[test]
fn a_long_error_is_cut_at_a_character() {
    on_go_thread(|| {
        let mut config: serde_json::Value =
            serde_json::from_slice(&unusable_config()).expect("JSON");
        config["engine"]["maxHeldRecords"] = 5.into();
        for shift in 0..4 {
            // A text of wide characters, at every alignment to the room.
            let name = format!("{}{}", "x".repeat(shift), "\u{1f980}".repeat(1000));
            config["options"] = serde_json::json!({ name: "1" });
            let (code, error) = engine_new(&mut host::table(), config.to_string().as_bytes());
            assert_eq!(code, sys::LLINGR_ERR_CONFIG);
            text_of(&error);
        }
    });
}

#[cfg(not(feature = "dev-broker"))]
#[test]
fn without_its_feature_the_embedded_broker_is_unsupported() {
    on_go_thread(|| {
        let mut error = no_error();
        let mut out = sys::llingr_buffer { ptr: null_mut(), len: 0 };
        // SAFETY: the places live through the calls.
        unsafe {
            let no = sys::LLINGR_ERR_UNSUPPORTED;
            assert_eq!(sys::llingr_devbroker_start(null_mut(), 0, &mut out, &mut *error), no);
            assert_eq!(sys::llingr_devbroker_produce(null_mut(), 0, &mut *error), no);
            assert_eq!(sys::llingr_devbroker_stop(), no);
        }
        assert!(text_of(&error).contains("dev-broker"), "{}", text_of(&error));
    });
}

#[cfg(feature = "dev-broker")]
mod with_a_broker {
    use super::*;
    use std::time::{Duration, Instant};

    fn start(config: &[u8]) -> Result<String, (i32, String)> {
        let mut error = no_error();
        let mut out = sys::llingr_buffer { ptr: null_mut(), len: 0 };
        let code = with_bytes(config, |ptr, len| {
            // SAFETY: all places live through the call.
            unsafe { sys::llingr_devbroker_start(ptr, len, &mut out, &mut *error) }
        });
        if code != 0 {
            assert!(out.ptr.is_null(), "an error came with a buffer");
            return Err((code, text_of(&error)));
        }
        let answer: serde_json::Value = serde_json::from_slice(&take(&mut out)).expect("JSON");
        Ok(answer["bootstrap"].as_str().expect("an address").to_owned())
    }

    /// The bytes of a buffer, which is freed (twice: the second does nothing).
    fn take(buffer: &mut sys::llingr_buffer) -> Vec<u8> {
        // SAFETY: an export filled it.
        let bytes = unsafe { std::slice::from_raw_parts(buffer.ptr, buffer.len) }.to_vec();
        // SAFETY: filled by an export.
        unsafe { sys::llingr_buffer_free(buffer) };
        assert!(buffer.ptr.is_null() && buffer.len == 0);
        // SAFETY: null is allowed.
        unsafe { sys::llingr_buffer_free(buffer) };
        bytes
    }

    fn produce(records: &[u8]) -> i32 {
        let mut error = no_error();
        let code = with_bytes(records, |ptr, len| {
            // SAFETY: all places live through the call.
            unsafe { sys::llingr_devbroker_produce(ptr, len, &mut *error) }
        });
        if code != 0 {
            text_of(&error);
        }
        code
    }

    fn stop() -> i32 {
        // SAFETY: takes no arguments.
        unsafe { sys::llingr_devbroker_stop() }
    }

    const TOPICS: &[u8] = br#"{"topics":[{"name":"orders","partitions":2},{"name":"orders.dead","partitions":1}],"seed":[{"topic":"orders","key":"k","value":"v"}]}"#;

    #[test]
    fn ten_thousand_mutations_of_the_brokers_start() {
        on_go_thread(|| {
            let mut mutator = Mutator::new(3);
            let (mut refused, mut started) = (0, 0);
            while refused < ROUNDS {
                // A start that works costs its time: after some of them, all inputs get
                // a fault that a mutation seldom mends.
                let mut config = mutator.text(TOPICS);
                if started >= 40 {
                    config.extend_from_slice(b" {");
                }
                match start(&config) {
                    Ok(_) => {
                        started += 1;
                        assert_eq!(stop(), 0);
                    }
                    Err((code, _)) => {
                        refused += 1;
                        assert_eq!(code, sys::LLINGR_ERR_BROKER);
                    }
                }
            }
            assert_eq!(stop(), sys::LLINGR_ERR_BROKER, "none runs");
        });
    }

    #[test]
    fn ten_thousand_mutations_of_records() {
        on_go_thread(|| {
            let seed = br#"[{"topic":"orders","partition":1,"key":"k","value":"v","headers":[{"name":"h","value":"1"}],"timestamp":1700000000000}]"#;
            assert_eq!(produce(seed), sys::LLINGR_ERR_BROKER, "none runs");
            start(TOPICS).expect("starts");
            assert_eq!(start(TOPICS).expect_err("one runs").0, sys::LLINGR_ERR_BROKER);
            let mut mutator = Mutator::new(4);
            let mut refused = 0;
            for _ in 0..ROUNDS {
                match produce(&mutator.text(seed)) {
                    0 => {}
                    code => {
                        assert_eq!(code, sys::LLINGR_ERR_BROKER);
                        refused += 1;
                    }
                }
            }
            assert!(refused > ROUNDS / 2, "only {refused} were refused");
            assert_eq!(stop(), 0);
        });
    }

    fn usable_config(bootstrap: &str) -> Vec<u8> {
        let mut config: serde_json::Value =
            serde_json::from_slice(&unusable_config()).expect("JSON");
        config["brokers"] = serde_json::json!([bootstrap]);
        config["options"] = serde_json::json!({"auto.offset.reset": "earliest"});
        config["engine"]["maxHeldRecords"] = 1000.into();
        config.to_string().into_bytes()
    }

    fn status() -> serde_json::Value {
        let mut error = no_error();
        let mut out = sys::llingr_buffer { ptr: null_mut(), len: 0 };
        // SAFETY: the places live through the call.
        let code = unsafe { sys::llingr_engine_status(&mut out, &mut *error) };
        assert_eq!(code, 0);
        serde_json::from_slice(&take(&mut out)).expect("the status is JSON")
    }

    fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < Duration::from_secs(60), "waited in vain for {what}");
            std::thread::yield_now();
        }
    }

    fn endings() -> Vec<(i32, String)> {
        host::ENDED.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    #[test]
    fn calls_in_the_wrong_order() {
        on_go_thread(|| {
            let bootstrap = start(TOPICS).expect("starts");
            let config = usable_config(&bootstrap);
            let state = sys::LLINGR_ERR_STATE;
            let mut error = no_error();
            // SAFETY: all places live through the calls.
            unsafe {
                // Built, and freed without a start.
                let (code, e) = engine_new(&mut host::table(), &config);
                assert_eq!(code, 0, "{:?}", e.len);
                let (code, e) = engine_new(&mut host::table(), &config);
                assert_eq!(code, sys::LLINGR_ERR_ALREADY);
                assert!(text_of(&e).contains("exists"));
                assert_eq!(status()["state"], "built");
                assert_eq!(
                    sys::llingr_engine_status(null_mut(), &mut *error),
                    sys::LLINGR_ERR_ARGUMENT
                );
                assert_eq!(sys::llingr_engine_pause(-2, 1, &mut *error), sys::LLINGR_ERR_ARGUMENT);
                assert_eq!(sys::llingr_engine_pause(0, 1, &mut *error), state);
                assert_eq!(sys::llingr_engine_free(&mut *error), 0);
                assert_all_refused_without_engine();

                // Stopped before its start.
                assert_eq!(engine_new(&mut host::table(), &config).0, 0);
                assert_eq!(sys::llingr_engine_stop(), 0);
                assert_eq!(sys::llingr_engine_stop(), 0);
                assert_eq!(sys::llingr_engine_start(&mut *error), state);
                text_of(&error);
                assert_eq!(sys::llingr_engine_free(null_mut()), 0);

                // A life: started twice, freed while running, stopped, freed twice.
                let before = endings().len();
                assert_eq!(engine_new(&mut host::table(), &config).0, 0);
                assert_eq!(sys::llingr_engine_start(&mut *error), 0);
                assert_eq!(sys::llingr_engine_start(&mut *error), state);
                assert_eq!(sys::llingr_engine_free(&mut *error), state);
                eventually("an assignment", || status()["state"] == "running");
                assert_eq!(sys::llingr_engine_pause(0, 7, &mut *error), 0);
                assert_eq!(sys::llingr_engine_pause(i32::MAX, 1, &mut *error), state);
                assert_eq!(sys::llingr_engine_free(&mut *error), state);
                assert_eq!(sys::llingr_engine_stop(), 0);
                eventually("the end", || endings().len() > before);
                assert_eq!(sys::llingr_engine_stop(), 0);
                assert_eq!(sys::llingr_engine_pause(-1, 1, &mut *error), state);
                assert_eq!(sys::llingr_engine_start(&mut *error), state);
                assert_eq!(sys::llingr_engine_free(&mut *error), 0);
                assert_eq!(sys::llingr_engine_free(&mut *error), sys::LLINGR_ERR_NO_ENGINE);
                assert_eq!(endings().len(), before + 1, "the end is told once");
                assert_eq!(endings()[before], (0, "graceful shutdown".to_owned()));
            }
            assert_eq!(stop(), 0);
        });
    }

    #[test]
    fn mutated_reasons_of_an_emergency_stop() {
        on_go_thread(|| {
            let bootstrap = start(TOPICS).expect("starts");
            let config = usable_config(&bootstrap);
            let mut mutator = Mutator::new(5);
            let mut error = no_error();
            for _ in 0..10 {
                let before = endings().len();
                assert_eq!(engine_new(&mut host::table(), &config).0, 0);
                // SAFETY: error lives through the call.
                assert_eq!(unsafe { sys::llingr_engine_start(&mut *error) }, 0);
                for _ in 0..ROUNDS / 10 {
                    let reason =
                        mutator.bytes(b"gave up: \xc3\xa4\xf0\x9f\xa6\x80 ".repeat(3).as_slice());
                    with_bytes(&reason, |p, n| {
                        // SAFETY: the bytes live through the call.
                        assert_eq!(unsafe { sys::llingr_engine_emergency_stop(p, n) }, 0);
                    });
                }
                eventually("the end", || endings().len() > before);
                assert_eq!(status()["state"], "failed");
                assert!(!endings()[before].1.is_empty() && endings()[before].0 != 0);
                // SAFETY: error lives through the call.
                assert_eq!(unsafe { sys::llingr_engine_free(&mut *error) }, 0);
                assert_eq!(endings().len(), before + 1, "the end is told once");
            }
            assert_eq!(stop(), 0);
        });
    }
}

// The header against both implementations.

fn repository(path: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The header without its comments.
fn header() -> String {
    let mut text = repository("include/llingr.h");
    while let Some(from) = text.find("/*") {
        let to = from + text[from..].find("*/").expect("the comment ends") + 2;
        text.replace_range(from..to, "");
    }
    text
}

/// The functions that the header declares.
fn declared() -> BTreeSet<String> {
    let header = header();
    let mut names = BTreeSet::new();
    for statement in header.rsplit_once("} llingr_host;").expect("the host's struct").1.split(';') {
        if let Some((before, _)) = statement.split_once('(') {
            let name = before.rsplit([' ', '*', '\n']).next().expect("a name");
            assert!(name.starts_with("llingr_"), "unexpected declaration {statement}");
            names.insert(name.to_owned());
        }
    }
    names
}

/// The members of `llingr_host`; functions begin with `(`.
fn members() -> Vec<String> {
    let header = header();
    let body = header.split_once("typedef struct llingr_host {").expect("the struct").1;
    let body = body.split_once("} llingr_host;").expect("its end").0;
    let member = |statement: &str| match statement.split_once("(*") {
        Some((_, rest)) => format!("({}", rest.split_once(')').expect("a name").0),
        None => statement.rsplit([' ', '*']).next().unwrap_or_default().to_owned(),
    };
    body.split(';').map(str::trim).filter(|s| !s.is_empty()).map(member).collect()
}

/// The text from a function's start to the next line that closes a block in
/// the first column.
fn body<'t>(source: &'t str, start: &str) -> &'t str {
    let from = source.find(start).unwrap_or_else(|| panic!("no {start}"));
    let rest = &source[from..];
    let end = rest.find("\n}\n").map_or(rest.len(), |at| at + 3);
    // A function on one line ends there.
    let line = rest.find('\n').unwrap_or(rest.len());
    if rest[..line].trim_end().ends_with('}') { &rest[..line] } else { &rest[..end] }
}

#[test]
fn the_headers_functions_are_gos_exports_and_each_is_guarded() {
    let source = repository("go/cmd/libllingr/exports.go");
    let exported: BTreeSet<String> =
        source.lines().filter_map(|l| l.strip_prefix("//export ")).map(str::to_owned).collect();
    let declared = declared();
    assert!(declared.len() >= 12, "the header's declarations were not found: {declared:?}");
    assert_eq!(declared, exported);
    for name in &declared {
        let body = body(&source, &format!("\nfunc {name}("));
        let constant =
            name == "llingr_abi_version" && body.ends_with("return C.LLINGR_ABI_VERSION }");
        assert!(constant || body.contains("guarded("), "{name} is not guarded:\n{body}");
    }
}

#[test]
fn the_hosts_functions_are_called_through_one_place_and_each_is_guarded() {
    let go = repository("go/cmd/libllingr/host.go");
    let rust = repository("src/engine/host.rs");
    let functions: Vec<String> =
        members().iter().filter_map(|m| m.strip_prefix('(')).map(str::to_owned).collect();
    assert!(functions.len() >= 15, "the struct's functions were not found: {functions:?}");
    for name in &functions {
        assert!(go.contains(&format!("h->{name}(h->ctx")), "Go does not call {name}");
        let table = body(&rust, "    pub(crate) fn table(");
        let entry = table
            .lines()
            .find_map(|l| l.trim().strip_prefix(&format!("{name}: ")))
            .unwrap_or_else(|| panic!("Host::table does not fill {name}"));
        let function = entry
            .split(['(', ')', ',', ' '])
            .find(|w| rust.contains(&format!("unsafe extern \"C\" fn {w}(")))
            .unwrap_or_else(|| panic!("no function stands for {name}: {entry}"));
        let body = body(&rust, &format!("unsafe extern \"C\" fn {function}("));
        assert!(body.contains("guarded(ctx"), "{function} is not guarded:\n{body}");
    }
    assert_eq!(rust.matches("unsafe extern \"C\" fn ").count(), functions.len());
}

use super::*;
use crate::engine::work::KeylessOrder;
use crate::options::OAuthToken;

#[path = "../../../tests/support/mutate.rs"]
mod mutate;

use mutate::Mutator;

const ROUNDS: usize = 10_000;

/// A host as the builder makes it, without executors, called as Go calls it.
struct Rig {
    table: sys::llingr_host,
    host: Arc<Host>,
}

impl Rig {
    fn new(token: Option<Arc<TokenProvider>>) -> Rig {
        let dispatch = Arc::new(Dispatch::new("orders".into(), KeylessOrder::default(), 1, 1000));
        let timer = Timer::new(&dispatch);
        let host = Host::new(dispatch, timer, LetterBox::new(), token);
        Rig { table: host.table(), host }
    }

    fn assigned(&self, id: u32) {
        // SAFETY: the ctx is the table's.
        let code = unsafe { self.table.assigned.expect("set")(self.table.ctx, id, 0) };
        assert_eq!(code, 0);
    }

    /// Hands over bytes as `count` records. A refused block goes back.
    fn submit(&self, id: u32, bytes: &[u8], count: u32) -> i32 {
        let t = &self.table;
        let mut capacity = 0;
        // SAFETY: the ctx is the table's; block and lengths are as the contract
        // asks: only the bytes inside are foreign.
        unsafe {
            let block = t.block_acquire.expect("set")(t.ctx, bytes.len(), &mut capacity);
            assert!(!block.is_null() && capacity >= bytes.len());
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), block, bytes.len());
            let submit = t.submit.expect("set");
            let code = submit(t.ctx, id, 0, block, bytes.len(), capacity, count);
            if code != 0 {
                t.block_release.expect("set")(t.ctx, block, capacity);
            }
            code
        }
    }

    fn forget(&self, id: u32) {
        // SAFETY: the ctx is the table's.
        unsafe {
            assert_eq!(self.table.revoke.expect("set")(self.table.ctx, id), 0);
            assert_eq!(self.table.released.expect("set")(self.table.ctx, id), 0);
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.host.timer.stop();
        // SAFETY: the table is this rig's own, and no call is under way.
        unsafe { Host::reclaim(&self.table) };
    }
}

/// One record in the block format.
fn record(
    offset: i64,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: &[(&str, &[u8])],
) -> Vec<u8> {
    let len = |b: Option<&[u8]>| b.map_or(-1, |b| b.len() as i32);
    let mut out = vec![0; 4];
    out.extend(len(key).to_ne_bytes());
    out.extend(len(value).to_ne_bytes());
    out.extend((headers.len() as u32).to_ne_bytes());
    out.extend(offset.to_ne_bytes());
    out.extend(7_i64.to_ne_bytes());
    out.extend(sys::LLINGR_TIMESTAMP_CREATE.to_ne_bytes());
    out.extend(0_u32.to_ne_bytes());
    out.extend(key.unwrap_or_default());
    out.extend(value.unwrap_or_default());
    for (name, value) in headers {
        out.extend((name.len() as u32).to_ne_bytes());
        out.extend((value.len() as i32).to_ne_bytes());
        out.extend(name.as_bytes());
        out.extend(*value);
    }
    out.resize(out.len().next_multiple_of(8), 0);
    let size = out.len() as u32;
    out[..4].copy_from_slice(&size.to_ne_bytes());
    out
}

#[test]
fn ten_thousand_mutated_blocks_are_taken_whole_or_not_at_all() {
    let rig = Rig::new(None);
    let mut good = record(10, Some(b"key"), Some(b"value"), &[("name", b"1"), ("", b"")]);
    good.extend(record(11, None, None, &[]));
    good.extend(record(13, Some(b""), Some(&[7; 100]), &[("name", &[0xff; 9])]));
    let mut mutator = Mutator::new(1);
    let (mut taken, mut refused) = (0, 0);
    for id in 1..=ROUNDS as u32 {
        rig.assigned(id);
        let block = mutator.bytes(&good);
        let count = [3, 3, 3, 0, 1, 2, 4, u32::MAX][mutator.below(8)];
        match rig.submit(id, &block, count) {
            0 => taken += 1,
            code => {
                assert_eq!(code, sys::LLINGR_HOST_ERR);
                refused += 1;
            }
        }
        rig.forget(id);
    }
    assert!(taken > 500 && refused > 5000, "{taken} taken, {refused} refused");
    // As it was, it is accepted; and only by an assignment that exists.
    rig.assigned(1 << 30);
    assert_eq!(rig.submit(1 << 30, &good, 3), 0);
    assert_eq!(rig.submit(77, &good, 3), sys::LLINGR_HOST_ERR);
    rig.forget(1 << 30);
    assert_eq!(rig.submit(1 << 30, &good, 3), sys::LLINGR_HOST_ERR);
}

#[test]
fn calls_in_any_order_with_any_numbers_answer() {
    let rig = Rig::new(None);
    let t = &rig.table;
    let mut mutator = Mutator::new(2);
    let good = record(1, Some(b"k"), None, &[]);
    // SAFETY: empty, to be overwritten.
    let mut out: [sys::llingr_event; 4] = unsafe { std::mem::zeroed() };
    for _ in 0..ROUNDS {
        let id = [0, 1, 2, 3, u32::MAX][mutator.below(5)];
        let wait = [0, -1, i64::MIN, 1][mutator.below(4)];
        // SAFETY: the ctx is the table's, and `out` has room for what is asked.
        let code = unsafe {
            match mutator.below(8) {
                0 if id > 0 => t.assigned.expect("set")(t.ctx, id, -1),
                1 => rig.submit(id, &good, 1),
                2 => t.revoke.expect("set")(t.ctx, id),
                3 => t.drained.expect("set")(t.ctx, id, wait),
                4 => t.released.expect("set")(t.ctx, id),
                5 => t.pause.expect("set")(t.ctx, id, i32::MIN + mutator.below(3) as i32),
                6 => t.events.expect("set")(t.ctx, out.as_mut_ptr(), 4, wait, -1),
                _ => t.events.expect("set")(t.ctx, out.as_mut_ptr(), 0, i64::MAX, 0),
            }
        };
        assert!(code >= 0 || code == sys::LLINGR_HOST_ERR, "code {code}");
    }
    // SAFETY: a null place is refused.
    let code = unsafe { t.events.expect("set")(t.ctx, std::ptr::null_mut(), 4, 0, 1) };
    assert_eq!(code, sys::LLINGR_HOST_ERR);
    let mut capacity = 0;
    // SAFETY: a null place and a size that cannot be had are refused.
    unsafe {
        let acquire = t.block_acquire.expect("set");
        assert!(acquire(t.ctx, 8, std::ptr::null_mut()).is_null());
        for size in [usize::MAX, isize::MAX as usize, usize::MAX - 7] {
            assert!(acquire(t.ctx, size, &mut capacity).is_null());
        }
        t.block_release.expect("set")(t.ctx, std::ptr::null_mut(), 64);
        let submit = t.submit.expect("set");
        assert_eq!(submit(t.ctx, 1, 0, std::ptr::null_mut(), 8, 8, 1), sys::LLINGR_HOST_ERR);
    }
}

#[test]
fn texts_of_any_bytes_are_heard() {
    let rig = Rig::new(None);
    let t = &rig.table;
    let mut mutator = Mutator::new(3);
    for _ in 0..ROUNDS {
        let text = mutator.bytes("grund: \u{e4}\u{1f980}".as_bytes());
        let number = [0, -1, 1, 4, 7, 99, i32::MIN, i32::MAX][mutator.below(8)];
        let (ptr, len) = (text.as_ptr(), text.len());
        // SAFETY: the ctx is the table's and the text lives through the call.
        unsafe {
            t.produced.expect("set")(t.ctx, number as u64, number, ptr, len);
            t.log.expect("set")(t.ctx, number, ptr, len);
            t.state.expect("set")(t.ctx, number, ptr, len);
            t.state.expect("set")(t.ctx, number, std::ptr::null(), 0);
        }
    }
    assert!(rig.host.end().is_none());
    let long = vec![0xc3; 1 << 20];
    // SAFETY: as above.
    unsafe {
        t.ended.expect("set")(t.ctx, -9, long.as_ptr(), long.len());
        t.ended.expect("set")(t.ctx, 0, std::ptr::null(), 0);
    }
    let end = rig.host.end().expect("told");
    assert_eq!(end.code, -9, "the first end counts");
    assert!(end.reason.len() < 32 << 10, "a reason of {} bytes is kept", end.reason.len());
}

/// What a token callback's answer becomes on Go's side.
fn token(rig: &Rig) -> (i32, String) {
    let t = &rig.table;
    let mut out = sys::llingr_buffer { ptr: std::ptr::null_mut(), len: 0 };
    // SAFETY: the ctx is the table's; the buffer is read before it is freed,
    // and freeing it again does nothing.
    unsafe {
        let code = t.oauth_token.expect("set")(t.ctx, &mut out);
        let text =
            if out.ptr.is_null() { &[][..] } else { std::slice::from_raw_parts(out.ptr, out.len) };
        let text = String::from_utf8(text.to_vec()).expect("UTF-8");
        t.buffer_free.expect("set")(t.ctx, &mut out);
        t.buffer_free.expect("set")(t.ctx, &mut out);
        t.buffer_free.expect("set")(t.ctx, std::ptr::null_mut());
        assert!(out.ptr.is_null());
        (code, text)
    }
}

#[test]
fn tokens_errors_and_panics_of_the_callback() {
    assert!(Rig::new(None).table.oauth_token.is_none());
    let rig = Rig::new(Some(Arc::new(|| Ok(OAuthToken::new("a\"\\\u{1}b").extension("x", "y")))));
    let (code, text) = token(&rig);
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        (code, &json["token"], &json["extensions"]["x"]),
        (0, &"a\"\\\u{1}b".into(), &"y".into())
    );
    // SAFETY: a null place is refused.
    let code = unsafe { rig.table.oauth_token.expect("set")(rig.table.ctx, std::ptr::null_mut()) };
    assert_eq!(code, sys::LLINGR_HOST_ERR);

    let rig = Rig::new(Some(Arc::new(|| Err("the vault is shut".into()))));
    let (code, text) = token(&rig);
    assert!(code == sys::LLINGR_HOST_ERR && text.contains("the vault is shut"), "{code} {text}");

    let rig = Rig::new(Some(Arc::new(|| panic!("secret s3cr3t"))));
    let (code, text) = token(&rig);
    assert!(code == sys::LLINGR_HOST_ERR && text.contains("panicked"), "{code} {text}");
    assert!(!text.contains("s3cr3t"), "the panic's text may hold what the callback knows");
}

#[test]
fn without_its_host_each_function_fails() {
    let rig = Rig::new(Some(Arc::new(|| Ok(OAuthToken::new("t")))));
    let t = &rig.table;
    let null = std::ptr::null_mut();
    let mut capacity = 0;
    let panic = sys::LLINGR_HOST_PANIC;
    // SAFETY: a null ctx is refused before anything else is looked at.
    unsafe {
        assert_eq!(t.assigned.expect("set")(null, 1, 1), panic);
        assert!(t.block_acquire.expect("set")(null, 8, &mut capacity).is_null());
        t.block_release.expect("set")(null, std::ptr::null_mut(), 0);
        assert_eq!(t.submit.expect("set")(null, 1, 0, std::ptr::null_mut(), 0, 0, 0), panic);
        assert_eq!(t.events.expect("set")(null, std::ptr::null_mut(), 0, 0, 0), panic);
        assert_eq!(t.revoke.expect("set")(null, 1), panic);
        assert_eq!(t.drained.expect("set")(null, 1, 0), panic);
        assert_eq!(t.released.expect("set")(null, 1), panic);
        assert_eq!(t.pause.expect("set")(null, 1, 1), panic);
        t.produced.expect("set")(null, 1, 0, std::ptr::null(), 0);
        t.log.expect("set")(null, 1, std::ptr::null(), 0);
        t.state.expect("set")(null, 1, std::ptr::null(), 0);
        t.ended.expect("set")(null, 0, std::ptr::null(), 0);
        assert_eq!(t.oauth_token.expect("set")(null, std::ptr::null_mut()), panic);
        t.buffer_free.expect("set")(null, std::ptr::null_mut());
    }
    assert!(rig.host.end().is_none());
}

/// A panic inside a host function, which a poisoned lock brings about.
#[test]
fn a_panic_becomes_a_code_and_does_not_unwind_into_go() {
    let rig = Rig::new(None);
    let t = &rig.table;
    for lock in ["lent", "said"] {
        let host = rig.host.clone();
        let poisoner = std::thread::spawn(move || {
            let _lent = (lock == "lent").then(|| host.lent.lock());
            let _said = (lock == "said").then(|| host.said.lock());
            panic!("on purpose, with {lock} held");
        });
        assert!(poisoner.join().is_err());
    }
    // SAFETY: the ctx is the table's, and `out` has room for what is asked.
    unsafe {
        let mut out: [sys::llingr_event; 1] = std::mem::zeroed();
        let code = t.events.expect("set")(t.ctx, out.as_mut_ptr(), 1, 0, 1);
        assert_eq!(code, sys::LLINGR_HOST_PANIC);
        t.state.expect("set")(t.ctx, 2, std::ptr::null(), 0);
        t.ended.expect("set")(t.ctx, 0, std::ptr::null(), 0);
    }
    assert_eq!(guarded(t.ctx, -1, |_| panic!("in the body")), -1);
    assert_eq!(guarded(t.ctx, -1, |_| std::panic::panic_any(5)), -1);
    assert_eq!(guarded(t.ctx, -1, |_| 5), 5);
}

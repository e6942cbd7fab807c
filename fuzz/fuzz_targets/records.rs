//! The record-batch decoder, checksums ignored so that damage gets past them.
#![no_main]

#[allow(dead_code, reason = "shared with the tests, which use more of it")]
#[path = "../../tests/wire/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    targets::records(bytes::Bytes::copy_from_slice(data), false);
});

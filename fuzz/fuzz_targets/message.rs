//! Every message decoder; the first two bytes choose which and in what version.
#![no_main]

#[allow(dead_code, reason = "shared with the tests, which use more of it")]
#[path = "../../tests/wire/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::fuzz_message(data));

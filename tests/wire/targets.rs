//! What the fuzzers call, and what the tests call with mutated fixtures. Panics where a
//! decoder breaks a promise.

use bytes::{Bytes, BytesMut};
use llingr_kafka::wire::messages::*;
use llingr_kafka::wire::records::{Batches, ControlRecord, DecodeOptions};
use llingr_kafka::wire::{Message, Result};

/// Largest size that fuzzed batches may decompress to.
pub(crate) const MAX_DECOMPRESSED: usize = 1 << 20;

/// The decoder of one message type.
pub(crate) struct Decoder {
    pub(crate) name: &'static str,
    pub(crate) min: i16,
    pub(crate) max: i16,
    /// Decodes; what was decoded must encode again, and to something that decodes equal.
    pub(crate) check: fn(i16, Bytes) -> Result<Bytes>,
    /// Decodes and drops.
    pub(crate) decode: fn(i16, Bytes) -> bool,
}

const fn decoder<M: Message>() -> Decoder {
    Decoder {
        name: M::NAME,
        min: M::MIN_VERSION,
        max: M::MAX_VERSION,
        check: check::<M>,
        decode: |version, mut bytes| M::decode(version, &mut bytes).is_ok(),
    }
}

fn check<M: Message>(version: i16, mut bytes: Bytes) -> Result<Bytes> {
    let message = M::decode(version, &mut bytes)?;
    let mut buf = BytesMut::new();
    message.encode(version, &mut buf).expect("what was decoded can be encoded");
    let encoded = buf.freeze();
    let back = M::decode(version, &mut encoded.clone()).expect("what was encoded can be decoded");
    assert_eq!(back, message);
    Ok(encoded)
}

/// One decoder for every request, response and header.
pub(crate) fn decoders() -> Vec<Decoder> {
    let mut all = vec![decoder::<RequestHeader>(), decoder::<ResponseHeader>()];
    macro_rules! each {
        ($request:ident, $response:ident) => {
            all.push(decoder::<$request>());
            all.push(decoder::<$response>());
        };
    }
    llingr_kafka::for_each_api!(each);
    all
}

/// Fuzz target: the first two bytes choose decoder and version, the rest is the input.
#[allow(dead_code, reason = "called by the fuzz crate and one of two test binaries")]
pub(crate) fn fuzz_message(data: &[u8]) {
    let Some(([which, version], rest)) = data.split_first_chunk() else {
        return;
    };
    let all = decoders();
    let decoder = &all[usize::from(*which) % all.len()];
    let span = decoder.max - decoder.min + 1;
    let version = decoder.min + i16::from(*version) % span;
    // An error is as good an answer as a message.
    let _ = (decoder.check)(version, Bytes::copy_from_slice(rest));
}

/// Fuzz target: walks everything that can be walked in a records field. Returns how many
/// records it found.
pub(crate) fn records(data: Bytes, check_crc: bool) -> usize {
    let options = DecodeOptions { check_crc, max_decompressed: MAX_DECOMPRESSED };
    let mut found = 0;
    let mut batches = Batches::new(data);
    for batch in &mut batches {
        let Ok(batch) = batch else { continue };
        let Ok(records) = batch.records(&options) else {
            continue;
        };
        for record in records.iter().map_while(Result::ok) {
            assert!(record.offset <= batch.header.last_offset());
            if batch.header.is_control() {
                let _ = ControlRecord::parse(&record);
            }
            let headers = record.headers();
            assert_eq!(headers.len(), headers.count(), "headers were checked before");
            found += 1;
        }
    }
    if let Some(tail) = batches.tail() {
        assert!(tail.needed.is_none_or(|needed| needed > tail.available));
    }
    found
}

//! Random messages come back equal at every version, and broken input is refused.

use bytes::{Bytes, BytesMut};
use llingr_kafka::wire::messages::*;
use llingr_kafka::wire::{Error, Message, Request};
use proptest::prelude::*;

use crate::sample::{Gen, Sample};

fn round_trip<M: Message + Sample>(seed: u64) {
    for version in M::MIN_VERSION..=M::MAX_VERSION {
        let message: M = Gen::new(seed, version).any();
        let mut buf = BytesMut::from(&b"front"[..]);
        message.encode(version, &mut buf).unwrap();
        let bytes = buf.split_off(5).freeze();
        let mut frame = bytes.clone();
        let back = M::decode(version, &mut frame).unwrap();
        assert_eq!(back, message, "{} version {version}", M::NAME);
        assert!(frame.is_empty(), "{} version {version}", M::NAME);
        refuse_cut_off::<M>(version, &bytes);
    }
}

/// No prefix of a message is a message.
fn refuse_cut_off<M: Message>(version: i16, bytes: &Bytes) {
    for len in (0..bytes.len()).step_by(1 + bytes.len() / 50) {
        let mut frame = bytes.slice(..len);
        let error = M::decode(version, &mut frame).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(M::NAME), "{text}");
        assert_eq!(frame.len(), len, "an error must leave the frame alone");
    }
}

fn refuse_other_versions<M: Message>() {
    for version in [M::MIN_VERSION - 1, M::MAX_VERSION + 1] {
        let expected = Error::UnsupportedVersion {
            message: M::NAME,
            version,
            min: M::MIN_VERSION,
            max: M::MAX_VERSION,
        };
        let mut buf = BytesMut::new();
        assert_eq!(M::default().encode(version, &mut buf), Err(expected.clone()));
        assert_eq!(M::decode(version, &mut Bytes::new()), Err(expected));
        assert!(buf.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_message_comes_back_equal_at_every_version(seed: u64) {
        macro_rules! each {
            ($request:ident, $response:ident) => {
                round_trip::<$request>(seed);
                round_trip::<$response>(seed);
            };
        }
        llingr_kafka::for_each_api!(each);
        round_trip::<RequestHeader>(seed);
        round_trip::<ResponseHeader>(seed);
    }
}

#[test]
fn versions_outside_the_range_are_refused() {
    macro_rules! each {
        ($request:ident, $response:ident) => {
            refuse_other_versions::<$request>();
            refuse_other_versions::<$response>();
            assert_eq!($request::MIN_VERSION, $response::MIN_VERSION);
            assert_eq!($request::MAX_VERSION, $response::MAX_VERSION);
        };
    }
    llingr_kafka::for_each_api!(each);
}

#[test]
fn api_keys_are_unique() {
    let mut keys = Vec::new();
    macro_rules! each {
        ($request:ident, $response:ident) => {
            keys.push($request::API_KEY);
        };
    }
    llingr_kafka::for_each_api!(each);
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!((keys.len(), count), (43, 43));
}

//! Messages against the bytes of Kafka's own client, and what single fields must do.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use llingr_kafka::wire::messages::*;
use llingr_kafka::wire::{Error, Message, Request, Uuid};

use crate::fixtures;
use crate::targets;

#[test]
fn messages_of_kafkas_client_are_read_and_written_back_byte_for_byte() {
    let decoders: BTreeMap<_, _> = targets::decoders().into_iter().map(|d| (d.name, d)).collect();
    let mut covered: BTreeMap<&str, Vec<i16>> = BTreeMap::new();
    for entry in fixtures::messages() {
        let decoder = &decoders[entry.name.as_str()];
        if entry.version > decoder.max {
            // Versions that brokers offer only to clients under development.
            assert!(decoder.name.starts_with("InitProducerId") && entry.version == 6);
            continue;
        }
        let written = (decoder.check)(entry.version, entry.bytes.clone())
            .unwrap_or_else(|e| panic!("{} version {}: {e}", entry.name, entry.version));
        assert_eq!(written, entry.bytes, "{} version {}", entry.name, entry.version);
        covered.entry(decoder.name).or_default().push(entry.version);
    }
    for decoder in decoders.values().filter(|d| !d.name.ends_with("Header")) {
        let versions = covered.remove(decoder.name).unwrap_or_default();
        for version in decoder.min..=decoder.max {
            let name = decoder.name;
            assert!(versions.contains(&version), "no fixture of {name} version {version}");
        }
    }
}

#[test]
fn a_field_that_the_version_cannot_carry_is_an_error_and_leaves_the_buffer_alone() {
    let request = ShareFetchRequest { is_renew_ack: true, ..Default::default() };
    let mut buf = BytesMut::from(&b"kept"[..]);
    let error = request.encode(1, &mut buf).unwrap_err();
    let field = "ShareFetchRequest.is_renew_ack";
    assert_eq!(error, Error::FieldNotInVersion { field, version: 1 });
    assert_eq!(&buf[..], b"kept");
    request.encode(2, &mut buf).unwrap();
}

#[test]
fn an_ignorable_field_is_left_out_silently() {
    let request = FetchRequest { rack_id: "rack".to_owned(), ..Default::default() };
    let mut buf = BytesMut::new();
    request.encode(10, &mut buf).unwrap();
    let back = FetchRequest::decode(10, &mut buf.freeze()).unwrap();
    assert_eq!(back, FetchRequest::default());
}

#[test]
fn null_where_the_version_has_none_is_an_error() {
    let request = MetadataRequest { topics: None, ..Default::default() };
    let error = request.encode(0, &mut BytesMut::new()).unwrap_err();
    let field = "MetadataRequest.topics";
    assert_eq!(error, Error::NullField { field, version: 0 });
    request.encode(1, &mut BytesMut::new()).unwrap();
}

#[test]
fn null_records_are_read_though_the_schema_has_none() {
    let response = ShareFetchResponse {
        responses: vec![share_fetch::ShareFetchableTopicResponse {
            topic_id: Uuid([7; 16]),
            partitions: vec![share_fetch::PartitionData::default()],
        }],
        ..Default::default()
    };
    let mut buf = BytesMut::new();
    response.encode(2, &mut buf).unwrap();
    assert_eq!(ShareFetchResponse::decode(2, &mut buf.freeze()), Ok(response));
}

#[test]
fn unknown_tagged_fields_are_skipped() {
    // Throttle time, then two tagged fields that no version knows.
    let bytes = Bytes::from_static(&[0, 0, 0, 5, 0, 0, 2, 40, 1, 9, 41, 2, 8, 8]);
    let response = EndTxnResponse::decode(3, &mut bytes.clone()).unwrap();
    assert_eq!(response.throttle_time_ms, 5);
    let wrong_order = Bytes::from_static(&[0, 0, 0, 5, 0, 0, 2, 41, 1, 9, 40, 2, 8, 8]);
    let error = EndTxnResponse::decode(3, &mut wrong_order.clone()).unwrap_err();
    assert!(error.to_string().contains("ascending order"), "{error}");
}

#[test]
fn a_frame_has_size_header_and_request() {
    let mut buf = BytesMut::new();
    let request = MetadataRequest::default();
    request.encode_frame(12, 99, "me", &mut buf).unwrap();
    let mut frame = buf.freeze();
    let size = frame.split_to(4);
    assert_eq!(size[..], (frame.len() as u32).to_be_bytes());
    let header = RequestHeader::decode(2, &mut frame).unwrap();
    assert_eq!((header.request_api_key, header.request_api_version), (3, 12));
    assert_eq!((header.correlation_id, header.client_id.as_deref()), (99, Some("me")));
    assert_eq!(MetadataRequest::decode(12, &mut frame), Ok(request));
    assert!(frame.is_empty());
}

#[test]
fn header_versions_follow_flexibility_except_for_the_answer_to_api_versions() {
    assert_eq!(MetadataRequest::request_header_version(8), 1);
    assert_eq!(MetadataRequest::request_header_version(9), 2);
    assert_eq!(MetadataRequest::response_header_version(8), 0);
    assert_eq!(MetadataRequest::response_header_version(9), 1);
    assert_eq!(ApiVersionsRequest::request_header_version(3), 2);
    assert_eq!(ApiVersionsRequest::response_header_version(3), 0);
    assert_eq!(SaslHandshakeRequest::request_header_version(1), 1);
}

#[test]
fn credentials_config_values_and_records_are_not_in_debug_output() {
    let request = SaslAuthenticateRequest { auth_bytes: Bytes::from_static(b"hunter2") };
    let config = incremental_alter_configs::AlterableConfig {
        name: "ssl.key.password".to_owned(),
        value: Some("hunter2".to_owned()),
        ..Default::default()
    };
    let records = fetch::PartitionData {
        records: Some(Bytes::from_static(b"hunter2")),
        ..Default::default()
    };
    let text = format!("{request:?} {config:?} {records:?}");
    assert!(!text.contains("hunter2"), "{text}");
    assert!(text.contains("ssl.key.password"), "{text}");
}

#[test]
fn uuids_are_shown_as_kafka_shows_them() {
    assert_eq!(Uuid::ZERO.to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
    assert_eq!(Uuid([0xff; 16]).to_string(), "_____________________w");
    let counting = Uuid(std::array::from_fn(|i| i as u8));
    assert_eq!(counting.to_string(), "AAECAwQFBgcICQoLDA0ODw");
}

#[test]
fn a_length_beyond_the_input_is_named_with_its_place() {
    // A metadata request (version 1) that claims 1000 topics.
    let bytes = Bytes::from_static(&[0, 0, 3, 0xe8]);
    let error = MetadataRequest::decode(1, &mut bytes.clone()).unwrap_err();
    assert_eq!(error.to_string(), "MetadataRequest: array at byte 4 needs 1000 bytes, 0 remain");
}

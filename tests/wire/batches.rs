//! Record batches against the bytes of Kafka's own client.

use bytes::{BufMut, Bytes, BytesMut};
use llingr_kafka::wire::Error;
use llingr_kafka::wire::records::*;
use proptest::prelude::*;

use crate::fixtures;

const TIME: i64 = 1_700_000_000_000;

type Item = (i64, Option<Vec<u8>>, Option<Vec<u8>>, Vec<(&'static str, Option<&'static [u8]>)>);

/// The records of every data batch; `Batches.java` has the same table.
fn items() -> Vec<Item> {
    let large = (0..70_000u32).map(|i| (i / 100 * 31 + i % 7) as u8).collect();
    let bytes = |text: &str| Some(text.as_bytes().to_vec());
    let headers: Vec<(&str, Option<&[u8]>)> = vec![
        ("a", Some(b"1")),
        ("a", Some(b"2")),
        ("null", None),
        ("", Some(b"")),
        ("ä", Some(b"umlaut")),
    ];
    vec![
        (TIME, bytes("key"), bytes("value"), vec![]),
        (TIME + 5, None, bytes("null key"), vec![]),
        (TIME - 1000, bytes("null value"), None, vec![]),
        (TIME, bytes(""), bytes(""), vec![]),
        (TIME + 70_000, bytes("headers"), bytes("v"), headers),
        (TIME + 1, bytes("large"), Some(large), vec![]),
    ]
}

fn batch(name: &str) -> Batch {
    let mut batches = Batches::new(fixtures::read(&format!("batches/{name}.bin")));
    let batch = batches.next().unwrap().unwrap();
    assert!(batches.next().is_none());
    assert_eq!(batches.tail(), None);
    batch
}

fn decode(batch: &Batch) -> BatchRecords {
    batch.records(&DecodeOptions::default()).unwrap()
}

fn assert_items(records: &BatchRecords, base_offset: i64, append_time: Option<i64>) {
    let items = items();
    let mut found = 0;
    for (record, (timestamp, key, value, headers)) in records.iter().zip(&items) {
        let record = record.unwrap();
        assert_eq!(record.offset, base_offset + found);
        assert_eq!(record.timestamp, append_time.unwrap_or(*timestamp));
        assert_eq!(record.key, key.as_deref());
        assert_eq!(record.value, value.as_deref());
        let got: Vec<_> = record.headers().map(|h| (h.name().into_owned(), h.value)).collect();
        let want: Vec<_> = headers.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        assert_eq!(got, want);
        assert_eq!(records.own(&record).as_ref(), record);
        found += 1;
    }
    assert_eq!(found, items.len() as i64);
    assert_eq!(records.iter().count(), items.len());
}

fn build(options: BatchOptions) -> BatchBuilder {
    let mut builder = BatchBuilder::new(options);
    for (timestamp, key, value, headers) in items() {
        let headers =
            headers.iter().map(|(name, value)| HeaderRef { key: name.as_bytes(), value: *value });
        let expected =
            builder.size_with(timestamp, key.as_deref(), value.as_deref(), headers.clone());
        builder.append(timestamp, key.as_deref(), value.as_deref(), headers).unwrap();
        assert_eq!(builder.size(), expected);
    }
    builder
}

fn codecs() -> [Compression; 5] {
    use Compression::*;
    [None, Gzip, Snappy, Lz4, Zstd]
}

#[test]
fn batches_of_kafkas_client_are_read_in_every_compression() {
    for codec in codecs() {
        let batch = batch(&format!("data_{}", codec.name()));
        assert_eq!(batch.header.compression(), Ok(codec));
        assert_eq!(batch.header.base_offset, 1000);
        assert_eq!(batch.header.last_offset(), 1005);
        assert_eq!(batch.header.next_offset(), 1006);
        assert_eq!(batch.header.partition_leader_epoch, 7);
        assert_eq!(batch.header.max_timestamp, TIME + 70_000);
        assert_eq!(batch.header.producer_id, -1);
        assert!(!batch.header.is_control() && !batch.header.is_transactional());
        assert_items(&decode(&batch), 1000, None);
    }
}

#[test]
fn log_append_time_replaces_every_timestamp() {
    let batch = batch("log_append_time");
    assert!(batch.header.is_log_append_time());
    assert_items(&decode(&batch), 5, Some(TIME + 99));
}

#[test]
fn batches_are_built_byte_for_byte_like_kafkas_client() {
    let producer = |transactional| ProducerState {
        producer_id: 4711,
        producer_epoch: 3,
        base_sequence: 42,
        transactional,
    };
    let plain = build(BatchOptions::default()).with_log_position(1000, 7);
    assert_eq!(plain.finish(None).unwrap(), *batch("data_none").bytes());
    for (name, transactional) in [("idempotent", false), ("transactional", true)] {
        let java = batch(name);
        assert_eq!(java.header.is_transactional(), transactional);
        let ours = build(BatchOptions::default()).finish(Some(producer(transactional)));
        assert_eq!(ours.unwrap(), *java.bytes(), "{name}");
    }
}

#[test]
fn what_is_built_is_read_in_every_compression() {
    for compression in codecs() {
        for level in [None, Some(1), Some(9)] {
            let options = BatchOptions { compression, level, capacity: 100 };
            let bytes = build(options).finish(None).unwrap();
            let batch = Batches::new(bytes).next().unwrap().unwrap();
            assert_eq!(batch.header.compression(), Ok(compression));
            assert_items(&decode(&batch), 0, None);
        }
    }
}

/// The other direction: Java reads what is built here. Needs Maven, as the drift test does.
#[test]
fn kafkas_client_reads_what_is_built_in_every_compression() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = root.join("target/wire-batches");
    std::fs::create_dir_all(&dir).unwrap();
    for compression in codecs() {
        let options = BatchOptions { compression, ..Default::default() };
        let bytes = build(options).finish(None).unwrap();
        std::fs::write(dir.join(compression.name()), bytes).unwrap();
    }
    let output = std::process::Command::new("mvn")
        .args(["-q", "-B", "compile", "exec:java"])
        .arg(format!("-Dexec.args=--verify {}", dir.display()))
        .current_dir(root.join("tests/fixtures/java"))
        .output()
        .expect("mvn starts: install Java 17 and Maven");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    for compression in codecs() {
        assert!(text.contains(&format!("verified {}", compression.name())), "{text}");
    }
}

#[test]
fn markers_of_transactions_are_read() {
    for (name, kind) in [("commit", ControlKind::Commit), ("abort", ControlKind::Abort)] {
        let batch = batch(&format!("control_{name}"));
        assert!(batch.header.is_control() && batch.header.is_transactional());
        assert_eq!(batch.header.producer_id, 4711);
        let records = decode(&batch);
        let record = records.iter().next().unwrap().unwrap();
        assert_eq!(record.offset, 77);
        let marker = ControlRecord::parse(&record).unwrap();
        assert_eq!(marker.kind, kind);
        assert_eq!(marker.coordinator_epoch, Some(13));
    }
}

#[test]
fn a_batch_whose_records_were_compacted_away_still_moves_the_offset() {
    let batch = batch("compacted_away");
    assert_eq!(decode(&batch).iter().count(), 0);
    assert_eq!(batch.header.base_offset, 100);
    assert_eq!(batch.header.next_offset(), 110);
}

#[test]
fn old_formats_are_refused_by_name_and_the_rest_is_read() {
    for magic in [0, 1] {
        let mut bytes = BytesMut::new();
        bytes.put(fixtures::read(&format!("batches/magic_{magic}.bin")));
        bytes.put(fixtures::read("batches/data_none.bin"));
        let mut batches = Batches::new(bytes.freeze());
        let error = batches.next().unwrap().unwrap_err();
        assert_eq!(error, Error::UnsupportedMagic { base_offset: 3, magic });
        assert!(error.to_string().contains("log.message.format.version"));
        assert_items(&decode(&batches.next().unwrap().unwrap()), 1000, None);
    }
}

#[test]
fn an_incomplete_last_batch_is_reported_not_refused() {
    let whole = fixtures::read("batches/data_zstd.bin");
    let second = fixtures::read("batches/data_lz4.bin");
    for cut in [1, 11, 12, 17, 61, second.len() - 1] {
        let mut bytes = BytesMut::from(&whole[..]);
        bytes.put_slice(&second[..cut]);
        let mut batches = Batches::new(bytes.freeze());
        assert!(batches.next().unwrap().is_ok());
        assert!(batches.next().is_none());
        let tail = batches.tail().unwrap();
        assert_eq!(tail.available, cut);
        assert_eq!(tail.needed, (cut >= 12).then_some(second.len()));
    }
}

#[test]
fn damage_is_found_by_the_checksum_and_only_looked_for_when_asked() {
    let mut bytes = BytesMut::from(&batch("data_none").bytes()[..]);
    let last = bytes.len() - 1000;
    bytes[last] ^= 1;
    let damaged = Batches::new(bytes.freeze()).next().unwrap().unwrap();
    let error = damaged.records(&DecodeOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Checksum { base_offset: 1000, .. }), "{error}");
    let unchecked = DecodeOptions { check_crc: false, ..Default::default() };
    assert_eq!(damaged.records(&unchecked).unwrap().iter().count(), 6);
}

#[test]
fn a_batch_may_not_decompress_beyond_the_limit() {
    let options = DecodeOptions { max_decompressed: 69_000, ..Default::default() };
    for codec in codecs().into_iter().skip(1) {
        let error = batch(&format!("data_{}", codec.name())).records(&options).unwrap_err();
        let (codec, limit) = (codec.name(), 69_000);
        assert_eq!(error, Error::DecompressedTooLarge { codec, limit });
    }
}

/// Rewrites a header field of a small valid batch and gives what decoding it says.
fn with_field(at: usize, field: &[u8]) -> Result<usize, Error> {
    let mut builder = BatchBuilder::new(BatchOptions::default());
    for _ in 0..3 {
        builder.append(TIME, Some(b"k"), Some(b"v"), std::iter::empty()).unwrap();
    }
    let mut bytes = BytesMut::from(&builder.finish(None).unwrap()[..]);
    bytes[at..at + field.len()].copy_from_slice(field);
    let batch = Batches::new(bytes.freeze()).next().unwrap()?;
    let unchecked = DecodeOptions { check_crc: false, ..Default::default() };
    let records = batch.records(&unchecked)?;
    records.iter().try_fold(0, |count, record| record.map(|_| count + 1))
}

#[test]
fn impossible_headers_and_records_are_refused() {
    const LENGTH: usize = 8;
    const ATTRIBUTES: usize = 21;
    const LAST_OFFSET_DELTA: usize = 23;
    const COUNT: usize = 57;
    const FIRST_RECORD: usize = 61;
    assert_eq!(with_field(COUNT, &3i32.to_be_bytes()), Ok(3));
    for count in [-1, 2, 4, i32::MAX] {
        assert!(with_field(COUNT, &i32::to_be_bytes(count)).is_err(), "{count}");
    }
    for length in [-1, 0, 13, 48] {
        assert!(with_field(LENGTH, &i32::to_be_bytes(length)).is_err(), "{length}");
    }
    assert!(with_field(LAST_OFFSET_DELTA, &1i32.to_be_bytes()).is_err());
    let unknown = with_field(ATTRIBUTES, &5i16.to_be_bytes()).unwrap_err();
    assert_eq!(unknown, Error::UnknownCompression { base_offset: 0, id: 5 });
    assert!(with_field(FIRST_RECORD, &[1]).is_err(), "negative record length");
    assert!(with_field(FIRST_RECORD, &[0x7e]).is_err(), "record longer than the batch");
    assert!(with_field(0, &i64::MAX.to_be_bytes()).is_err(), "offsets beyond the largest");
}

/// Key, value and headers of a record, owned.
type Parts = (Option<Vec<u8>>, Option<Vec<u8>>, Vec<(Vec<u8>, Option<Vec<u8>>)>);

fn parts() -> impl Strategy<Value = (i64, Parts)> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..200);
    let header = (prop::collection::vec(any::<u8>(), 0..9), prop::option::of(bytes()));
    let headers = prop::collection::vec(header, 0..4);
    (any::<i64>(), (prop::option::of(bytes()), prop::option::of(bytes()), headers))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_records_come_back_equal_in_every_compression(
        records in prop::collection::vec(parts(), 0..40),
        codec in 0..5usize,
    ) {
        let options = BatchOptions { compression: codecs()[codec], ..Default::default() };
        let mut builder = BatchBuilder::new(options);
        for (timestamp, (key, value, headers)) in &records {
            let headers = headers.iter().map(|(key, value)| HeaderRef { key, value: value.as_deref() });
            builder.append(*timestamp, key.as_deref(), value.as_deref(), headers).unwrap();
        }
        let batch = Batches::new(builder.finish(None).unwrap()).next().unwrap().unwrap();
        let decoded = decode(&batch);
        let mut back = Vec::new();
        for record in &decoded {
            let record = decoded.own(&record.unwrap());
            prop_assert_eq!(record.offset, back.len() as i64);
            let headers = record.headers().map(|h| (h.key.to_vec(), h.value.map(<[u8]>::to_vec)));
            let owned = |bytes: &Option<Bytes>| bytes.as_ref().map(|b| b.to_vec());
            let parts: Parts = (owned(&record.key), owned(&record.value), headers.collect());
            back.push((record.timestamp, parts));
        }
        prop_assert_eq!(back, records);
    }
}

#[test]
fn owned_records_share_the_memory_of_their_batch() {
    let batch = batch("data_none");
    let records = decode(&batch);
    let first: Record = records.own(&records.iter().next().unwrap().unwrap());
    let range = batch.bytes().as_ptr_range();
    assert!(range.contains(&first.value.as_ref().unwrap().as_ptr()));
    assert_eq!(first.value, Some(Bytes::from_static(b"value")));
}

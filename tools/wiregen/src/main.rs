//! Writes `src/wire/generated` (and the random instances for its tests) from the schemas
//! in the kafka-clients jar.
//!
//! `cargo run --manifest-path tools/wiregen/Cargo.toml -- SCHEMA_DIR CRATE_DIR`, where
//! SCHEMA_DIR is the unpacked `common/message` of the jar and CRATE_DIR the folder that
//! gets `src/wire/generated` and `tests/wire/samples`.

mod emit;
mod names;
mod samples;
mod schema;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use schema::Schema;

/// The APIs this crate speaks, by the name their schema files begin with.
const APIS: &[&str] = &[
    "AddOffsetsToTxn",
    "AddPartitionsToTxn",
    "AlterShareGroupOffsets",
    "ApiVersions",
    "ConsumerGroupDescribe",
    "ConsumerGroupHeartbeat",
    "CreatePartitions",
    "CreateTopics",
    "DeleteGroups",
    "DeleteRecords",
    "DeleteShareGroupOffsets",
    "DeleteTopics",
    "DescribeCluster",
    "DescribeConfigs",
    "DescribeGroups",
    "DescribeShareGroupOffsets",
    "DescribeTopicPartitions",
    "EndTxn",
    "Fetch",
    "FindCoordinator",
    "Heartbeat",
    "IncrementalAlterConfigs",
    "InitProducerId",
    "JoinGroup",
    "LeaveGroup",
    "ListGroups",
    "ListOffsets",
    "Metadata",
    "OffsetCommit",
    "OffsetDelete",
    "OffsetFetch",
    "OffsetForLeaderEpoch",
    "Produce",
    "SaslAuthenticate",
    "SaslHandshake",
    "ShareAcknowledge",
    "ShareFetch",
    "ShareGroupDescribe",
    "ShareGroupHeartbeat",
    "StreamsGroupDescribe",
    "StreamsGroupHeartbeat",
    "SyncGroup",
    "TxnOffsetCommit",
];

fn main() {
    let args: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [schemas, target] = args.as_slice() else {
        eprintln!("usage: wiregen SCHEMA_DIR CRATE_DIR");
        std::process::exit(2);
    };
    let mut messages = BTreeMap::new();
    let mut samples = BTreeMap::new();
    for api in APIS {
        let request = Schema::load(schemas, &format!("{api}Request"));
        let mut response = Schema::load(schemas, &format!("{api}Response"));
        // Only the request's schema tells of an unstable latest version.
        response.versions = response.versions.and(request.versions);
        let pair = [request, response];
        add(&mut messages, &mut samples, &names::snake(api), &pair);
    }
    let headers = [
        Schema::load(schemas, "RequestHeader"),
        Schema::load(schemas, "ResponseHeader"),
    ];
    add(&mut messages, &mut samples, "header", &headers);
    messages.insert("mod".to_owned(), emit::module(APIS));
    samples.insert("mod".to_owned(), samples::module(APIS));
    write_all(&target.join("src/wire/generated"), &messages);
    write_all(&target.join("tests/wire/samples"), &samples);
}

fn add(
    messages: &mut BTreeMap<String, String>,
    samples: &mut BTreeMap<String, String>,
    file: &str,
    pair: &[Schema; 2],
) {
    let resolved = names::resolve(pair);
    messages.insert(file.to_owned(), emit::file(&resolved));
    samples.insert(file.to_owned(), samples::file(file, &resolved));
}

fn write_all(dir: &Path, files: &BTreeMap<String, String>) {
    std::fs::create_dir_all(dir).expect("create the output folder");
    let mut paths = Vec::new();
    for (name, text) in files {
        let path = dir.join(format!("{name}.rs"));
        std::fs::write(&path, text).expect("write a generated file");
        paths.push(path);
    }
    let status = Command::new("rustfmt")
        .args(["--edition", "2024"])
        .args(&paths)
        .status()
        .expect("run rustfmt (rustup component add rustfmt)");
    assert!(status.success(), "rustfmt refused the generated code");
}

//! The harness proves itself: what it promises to other tests holds on a real
//! broker.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use support::*;

#[test]
fn records_come_back_byte_for_byte() {
    let tool = shared_broker().tool();
    let topic = unique("records");
    tool.create(&topic, 2).unwrap();
    let binary: Vec<u8> = (0..=255).collect();
    let records = [
        NewRecord::new("k", "v").partition(0).timestamp_ms(1_700_000_000_123),
        NewRecord::keyless("").partition(0),
        NewRecord::tombstone("").partition(0),
        NewRecord::new(&binary, &binary).partition(1),
        NewRecord::new("h", "v")
            .partition(1)
            .header("a", Some(b"1"))
            .header("a", Some(b"2"))
            .header("null", None)
            .header("", Some(b"")),
    ];
    let acked = tool.produce(&topic, &records).unwrap();
    let places: Vec<(i32, i64)> = acked.iter().map(|a| (a.partition, a.offset)).collect();
    assert_eq!(places, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]);

    let read = tool.read(&topic).unwrap();
    assert_eq!(read.len(), records.len());
    for (stored, (new, place)) in read.iter().zip(records.iter().zip(&acked)) {
        assert_eq!((stored.partition, stored.offset), (place.partition, place.offset));
        assert_eq!((&stored.key, &stored.value), (&new.key, &new.value), "at {place:?}");
        assert_eq!(stored.headers, new.headers, "at {place:?}");
    }
    assert_eq!(read[0].timestamp_ms, 1_700_000_000_123);
    assert_eq!(tool.end_offsets(&topic).unwrap(), [3, 2]);
}

#[test]
fn bulk_records_follow_their_rule_in_every_compression() {
    let tool = shared_broker().tool();
    let topic = unique("bulk");
    tool.create(&topic, 3).unwrap();
    let mut next = 0;
    for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
        let bulk = Bulk::new(&topic, 300)
            .start(next)
            .keys(7)
            .value_size(64)
            .compression(codec)
            .round_robin(3);
        let acked = tool.produce_bulk(&bulk).unwrap();
        assert_eq!((acked.acked, acked.failed), (300, 0), "{codec}: {}", acked.first_error);
        let counts: Vec<u64> = acked.partitions.iter().map(|p| p.count).collect();
        assert_eq!(counts, [100, 100, 100], "{codec}");
        next += 300;
    }
    let read = tool.read(&topic).unwrap();
    let mut numbers = BTreeSet::new();
    for record in &read {
        let value = record.value.as_deref().unwrap();
        let n = Bulk::number_of(value);
        assert_eq!(value.len(), 64);
        assert_eq!(record.key_str(), format!("key-{}", n % 7));
        assert_eq!(record.partition, (n % 3) as i32);
        numbers.insert(n);
    }
    assert_eq!(read.len(), 1500);
    assert_eq!(numbers, (0..1500).collect());
}

#[test]
fn records_without_partition_go_by_key() {
    let tool = shared_broker().tool();
    let topic = unique("by-key");
    tool.create(&topic, 4).unwrap();
    tool.produce_bulk(&Bulk::new(&topic, 400).keys(20)).unwrap();
    let mut partitions: BTreeMap<String, BTreeSet<i32>> = BTreeMap::new();
    for record in tool.read(&topic).unwrap() {
        partitions.entry(record.key_str().to_owned()).or_default().insert(record.partition);
    }
    assert_eq!(partitions.len(), 20);
    assert!(
        partitions.values().all(|p| p.len() == 1),
        "a key went to two partitions: {partitions:?}"
    );
    let used: BTreeSet<i32> = partitions.values().flatten().copied().collect();
    assert!(used.len() > 1, "all keys went to {used:?}");
}

#[test]
fn transactions_are_seen_when_committed_alone() {
    let tool = shared_broker().tool();
    let topic = unique("txn");
    tool.create(&topic, 1).unwrap();
    let minute = Duration::from_secs(60);

    let kept = tool.begin(&unique("txn"), minute).unwrap();
    kept.produce(&topic, &[NewRecord::new("a", "kept")]).unwrap();
    kept.commit().unwrap();
    let dropped = tool.begin(&unique("txn"), minute).unwrap();
    dropped.produce(&topic, &[NewRecord::new("a", "dropped")]).unwrap();
    dropped.abort().unwrap();
    let open = tool.begin(&unique("txn"), minute).unwrap();
    open.produce(&topic, &[NewRecord::new("a", "open")]).unwrap();

    let values = |records: Vec<StoredRecord>| -> Vec<String> {
        records.iter().map(|r| r.value_str().to_owned()).collect()
    };
    assert_eq!(values(tool.read(&topic).unwrap()), ["kept"]);
    assert_eq!(values(tool.read_uncommitted(&topic).unwrap()), ["kept", "dropped", "open"]);
    // Record, marker, record, marker; then the open one holds the end back.
    assert_eq!(tool.offsets(&topic, At::CommittedEnd).unwrap(), [4]);
    assert_eq!(tool.end_offsets(&topic).unwrap(), [5]);
    open.commit().unwrap();
    wait_until("the third transaction", SOON, || {
        values(tool.read(&topic).unwrap()) == ["kept", "open"]
    });
}

#[test]
fn an_abandoned_transaction_ends_by_its_timeout() {
    let tool = shared_broker().tool();
    let topic = unique("abandoned");
    tool.create(&topic, 1).unwrap();
    let txn = tool.begin(&unique("txn"), Duration::from_secs(1)).unwrap();
    txn.produce(&topic, &[NewRecord::keyless("lost")]).unwrap();
    txn.abandon().unwrap();
    wait_until("the broker to abort it", SOON, || {
        tool.offsets(&topic, At::CommittedEnd).unwrap() == [2]
    });
    assert_eq!(tool.read(&topic).unwrap(), []);
}

#[test]
fn committed_offsets_keep_their_metadata() {
    let tool = shared_broker().tool();
    let (topic, group) = (unique("commit"), unique("group"));
    tool.create(&topic, 2).unwrap();
    tool.produce(&topic, &[NewRecord::keyless("x").partition(1)]).unwrap();
    assert_eq!(tool.group(&group).unwrap().state, "Dead");
    let offsets =
        [Committed::new(&topic, 0, 0), Committed::new(&topic, 1, 1).metadata("map:\u{1F600}\"\\")];
    tool.commit(&group, &offsets).unwrap();
    assert_eq!(tool.committed(&group).unwrap(), offsets);
    assert_eq!(tool.committed_at(&group, &topic, 1).unwrap().as_ref(), Some(&offsets[1]));
    assert_eq!(tool.committed_at(&group, &topic, 2).unwrap(), None);
    let state = tool.group(&group).unwrap();
    assert_eq!((state.kind.as_str(), state.state.as_str()), ("classic", "Empty"));
    tool.delete_group(&group).unwrap();
    wait_until("the group's end", SOON, || tool.committed(&group).unwrap().is_empty());
}

#[test]
fn groups_of_each_kind_are_described_with_their_members() {
    let broker = shared_broker();
    let tool = broker.tool();
    let topic = unique("members");
    tool.create(&topic, 2).unwrap();
    // A share group has a start offset once it has seen a record.
    let records = [NewRecord::keyless("p0").partition(0), NewRecord::keyless("p1").partition(1)];
    tool.produce(&topic, &records).unwrap();
    let consumer = "org.apache.kafka.tools.consumer.ConsoleConsumer";
    let cases = [
        ("classic", consumer, "group.protocol=classic"),
        ("consumer", consumer, "group.protocol=consumer"),
        ("share", "org.apache.kafka.tools.consumer.ConsoleShareConsumer", "client.id=console"),
    ];
    for (kind, class, property) in cases {
        let group = unique(kind);
        let earliest = [("share.auto.offset.reset", Some("earliest"))];
        tool.alter_configs(ConfigKind::Group, &group, &earliest).unwrap();
        let args = [
            "--bootstrap-server",
            broker.bootstrap(),
            "--topic",
            &topic,
            "--group",
            &group,
            "--command-property",
            property,
        ];
        let peer = JavaPeer::start(class, &args);
        let state =
            wait_for(&format!("a member with its partitions in the {kind} group"), SOON, || {
                let state = tool.group(&group).unwrap();
                (state.assigned(&topic) == [0, 1]).then_some(state)
            });
        assert_eq!((state.kind.as_str(), state.state.as_str()), (kind, "Stable"));
        assert_eq!(state.members.len(), 1, "{state:?}");
        assert_eq!(state.members[0].subscribed, [topic.as_str()]);
        assert_eq!(state.members[0].epoch < 0, kind == "classic", "{state:?}");
        if kind == "share" {
            wait_until("the share group's start offsets", SOON, || {
                tool.share_offsets(&group, &topic).unwrap().iter().all(|start| *start >= 0)
            });
        }
        peer.terminate();
        peer.wait_exit(SOON);
        wait_until(&format!("the {kind} group to be empty"), SOON, || {
            tool.group(&group).unwrap().members.is_empty()
        });
    }
}

#[test]
fn topics_are_changed_and_deleted() {
    let tool = shared_broker().tool();
    let topic = unique("admin");
    let new = NewTopic::new(&topic, 1).config("cleanup.policy", "compact");
    tool.create_topic(&new).unwrap();
    let again = tool.create_topic(&new).unwrap_err();
    assert_eq!(again.kafka, "TOPIC_ALREADY_EXISTS", "{again}");

    let keyless = tool.produce(&topic, &[NewRecord::keyless("x")]).unwrap_err();
    assert_eq!(keyless.kafka, "INVALID_RECORD", "a compacted topic wants keys: {keyless}");
    tool.alter_configs(ConfigKind::Topic, &topic, &[("cleanup.policy", Some("delete"))]).unwrap();
    tool.produce_bulk(&Bulk::new(&topic, 10)).unwrap();
    tool.delete_records(&topic, 0, 4).unwrap();
    assert_eq!(tool.offsets(&topic, At::Start).unwrap(), [4]);
    assert_eq!(tool.read(&topic).unwrap().first().map(|r| r.offset), Some(4));

    tool.delete_topic(&topic).unwrap();
    assert_eq!(tool.topic(&topic).unwrap_err().kafka, "UNKNOWN_TOPIC_OR_PARTITION");
}

#[test]
fn group_settings_are_checked_by_the_broker() {
    let tool = shared_broker().tool();
    let group = unique("share");
    tool.alter_configs(ConfigKind::Group, &group, &[("share.auto.offset.reset", Some("earliest"))])
        .unwrap();
    tool.alter_configs(
        ConfigKind::Group,
        &group,
        &[("share.record.lock.duration.ms", Some("1000"))],
    )
    .unwrap();
    let wrong = tool.alter_configs(
        ConfigKind::Group,
        &group,
        &[("share.auto.offset.reset", Some("sideways"))],
    );
    assert_eq!(wrong.unwrap_err().kafka, "INVALID_CONFIG");
}

#[test]
fn every_listener_takes_every_login() {
    let broker = shared_secure_broker();
    let check = |listener: Listener, login: &Login| {
        let tool = Tool::new(broker.conn(listener, login));
        let topic = unique("login");
        let what = format!("{} {}", listener.name(), login.mechanism.name());
        tool.create(&topic, 1).unwrap_or_else(|e| panic!("{what}: {e}"));
        tool.produce(&topic, &[NewRecord::new("k", what.as_str())])
            .unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(tool.read(&topic).unwrap()[0].value_str(), what);
    };
    check(Listener::Plaintext, &Login::new(Mechanism::Plain));
    check(Listener::Ssl, &Login::new(Mechanism::Plain));
    for listener in [Listener::SaslPlaintext, Listener::SaslSsl] {
        for mechanism in Mechanism::ALL {
            check(listener, &Login::new(mechanism));
            check(listener, &Login::new(mechanism).user(OTHER_USER));
        }
    }
}

#[test]
fn wrong_credentials_are_refused() {
    let broker = shared_secure_broker();
    let refused = |what: &str, conn: Conn| {
        let result = Tool::new(conn).limit(Duration::from_secs(10)).brokers();
        result.err().unwrap_or_else(|| panic!("{what} was let in"))
    };
    for mechanism in [Mechanism::Plain, Mechanism::ScramSha256, Mechanism::ScramSha512] {
        let login = Login::new(mechanism).password("wrong");
        let e = refused(mechanism.name(), broker.conn(Listener::SaslPlaintext, &login));
        assert_eq!(e.kafka, "SASL_AUTHENTICATION_FAILED", "{e}");
    }
    let mut expired = broker.conn(Listener::SaslPlaintext, &Login::new(Mechanism::OAuthBearer));
    expired.sasl.as_mut().unwrap().token =
        unsecured_token(USER, std::time::UNIX_EPOCH, Duration::from_secs(60));
    refused("an expired token", expired);

    let certs = broker.certs();
    let ssl = broker.conn(Listener::Ssl, &Login::new(Mechanism::Plain));
    let mut anonymous = ssl.clone();
    anonymous.tls.as_mut().unwrap().cert.clear();
    refused("a client without certificate", anonymous);
    let mut stranger = ssl.clone();
    let tls = stranger.tls.as_mut().unwrap();
    (tls.cert, tls.key) = (certs.foreign_client.cert.clone(), certs.foreign_client.key.clone());
    refused("a client of a foreign authority", stranger);
    let mut distrustful = ssl;
    distrustful.tls.as_mut().unwrap().ca = certs.foreign_ca.clone();
    let e = refused("a broker of a foreign authority", distrustful);
    assert!(e.text.contains("certificate"), "{e}");
}

#[test]
fn acls_give_and_take_rights() {
    let broker = shared_secure_broker();
    let admin = broker.tool();
    let topic = unique("acl");
    admin.create(&topic, 1).unwrap();
    let other = Acl::allow(OTHER_USER, "ALL", "TOPIC", &topic);
    admin.add_acl(&other).unwrap();
    let login = Login::new(Mechanism::ScramSha256);
    let user = Tool::new(broker.conn(Listener::SaslSsl, &login));
    let record = [NewRecord::keyless("x")];
    // An ACL reaches the authorizer by the metadata log, a moment later.
    wait_until("the ACL to count", SOON, || {
        user.produce(&topic, &record).is_err_and(|e| e.kafka == "TOPIC_AUTHORIZATION_FAILED")
    });
    Tool::new(broker.conn(Listener::SaslSsl, &login.user(OTHER_USER)))
        .produce(&topic, &record)
        .unwrap();
    let mine = Acl::allow(USER, "WRITE", "TOPIC", &topic);
    admin.add_acl(&mine).unwrap();
    wait_until("the second ACL to count", SOON, || user.produce(&topic, &record).is_ok());
    admin.remove_acl(&mine).unwrap();
    assert!(admin.remove_acl(&mine).is_err(), "an ACL was removed twice");
}

#[test]
fn a_killed_broker_comes_back_with_its_data() {
    let _turn = one_at_a_time();
    let cluster = Cluster::builder().start();
    let tool = cluster.tool();
    let topic = unique("kill");
    tool.create(&topic, 1).unwrap();
    tool.produce(&topic, &[NewRecord::new("k", "before")]).unwrap();
    let address = cluster.bootstrap();

    cluster.kill9(1);
    assert!(!cluster.is_running(1));
    assert!(std::net::TcpStream::connect(&address).is_err(), "{address} still listens");
    cluster.start(1);
    assert_eq!(cluster.bootstrap(), address);
    tool.produce(&topic, &[NewRecord::new("k", "after")]).unwrap();

    cluster.restart(1);
    let values: Vec<String> =
        tool.read(&topic).unwrap().iter().map(|r| r.value_str().to_owned()).collect();
    assert_eq!(values, ["before", "after"]);

    cluster.freeze(1);
    let hasty = tool.clone().limit(Duration::from_secs(2));
    hasty.produce(&topic, &[NewRecord::new("k", "frozen")]).unwrap_err();
    std::net::TcpStream::connect(&address).expect("a frozen broker's port still accepts");
    cluster.thaw(1);
    tool.produce(&topic, &[NewRecord::new("k", "thawed")]).unwrap();
    assert_eq!(tool.read(&topic).unwrap().last().unwrap().value_str(), "thawed");
}

#[test]
fn with_an_authorizer_alone_nothing_is_allowed_without_acl() {
    let _turn = one_at_a_time();
    let cluster = Cluster::builder().acl().start();
    let topic = unique("closed");
    cluster.tool().create(&topic, 1).unwrap();
    let user = Tool::new(cluster.conn(Listener::SaslPlaintext, &Login::new(Mechanism::Plain)));
    let refused = user.produce(&topic, &[NewRecord::keyless("x")]).unwrap_err();
    assert!(refused.kafka.contains("AUTHORIZATION_FAILED"), "{refused}");
    cluster.tool().add_acl(&Acl::allow(USER, "WRITE", "TOPIC", &topic)).unwrap();
    wait_until("the ACL to count", SOON, || {
        user.produce(&topic, &[NewRecord::keyless("x")]).is_ok()
    });
}

#[test]
fn leaders_move_among_three_brokers() {
    let _turn = one_at_a_time();
    let cluster = Cluster::builder().brokers(3).start();
    let tool = cluster.tool();
    let topic = unique("leader");
    let new = NewTopic::new(&topic, 1).replicas(&[&[2, 3, 1]]).config("min.insync.replicas", "2");
    let state = tool.create_topic(&new).unwrap();
    assert_eq!(state.partitions[0].leader, 2);

    assert_eq!(tool.move_leader(&topic, 0, 3).unwrap().leader, 3);
    let bulk = Bulk::new(&topic, 2000).per_second(500).partition(0);
    let pending = tool.start_bulk(&bulk);
    wait_until("records under way", SOON, || tool.end_offsets(&topic).is_ok_and(|e| e[0] > 100));
    cluster.kill9(3);
    wait_until("another leader", SOON, || {
        tool.topic(&topic).is_ok_and(|t| ![-1, 3].contains(&t.partitions[0].leader))
    });
    let acked = pending.wait().unwrap();
    assert_eq!((acked.acked, acked.failed), (2000, 0), "{}", acked.first_error);

    cluster.start(3);
    cluster.wait_ready();
    wait_until("three replicas in sync", SOON, || {
        tool.topic(&topic).is_ok_and(|t| t.partitions[0].isr.len() == 3)
    });
    assert_eq!(tool.elect_preferred(&topic).unwrap().partitions[0].leader, 3);
    let numbers: Vec<u64> = tool
        .read(&topic)
        .unwrap()
        .iter()
        .map(|r| Bulk::number_of(r.value.as_deref().unwrap()))
        .collect();
    assert!(
        numbers.iter().copied().eq(0..2000),
        "lost, doubled or out of order: {} records",
        numbers.len()
    );
}

#[test]
fn older_versions_of_kafka_serve_too() {
    let _turn = one_at_a_time();
    for version in [KafkaVersion::V4_1, KafkaVersion::V4_2] {
        let cluster = Cluster::builder().version(version).start();
        let topic = unique("old");
        cluster.tool().create(&topic, 1).unwrap();
        cluster.tool().produce(&topic, &[NewRecord::keyless(version.number())]).unwrap();
        assert_eq!(cluster.tool().read(&topic).unwrap()[0].value_str(), version.number());
    }
}

#[test]
fn a_child_tells_listens_and_is_measured() {
    if let Some(side) = child_side() {
        let args: BTreeMap<String, u64> = side.args();
        side.emit("args", &args);
        let filler = vec![1_u8; args["bytes"] as usize];
        side.emit("filled", filler.iter().map(|b| u64::from(*b)).sum::<u64>());
        while let Some(n) = side.receive::<u64>() {
            side.emit("echo", n + 1);
        }
        println!("the child's last words");
        std::process::exit(7);
    }
    let bytes = 64 << 20;
    let mut child =
        Child::spawn("a_child_tells_listens_and_is_measured", &json!({ "bytes": bytes }));
    let args = child.wait_event("args", SOON);
    assert_eq!(args.data, json!({ "bytes": bytes }));
    assert_eq!(child.wait_event("filled", SOON).data::<u64>(), bytes);
    assert!(child.peak_rss() > bytes, "{} bytes", child.peak_rss());
    assert!(child.rss() <= child.peak_rss());
    assert!((1..50).contains(&child.threads()), "{} threads", child.threads());
    for n in [1_u64, 10] {
        child.send(&n);
    }
    child.wait_count("echo", 2, SOON);
    let echoes: Vec<u64> =
        child.events().iter().filter(|e| e.name == "echo").map(Event::data).collect();
    assert_eq!(echoes, [2, 11]);
    child.close_input();
    assert_eq!(child.wait_exit(SOON).code(), Some(7));
    assert!(child.output().contains("the child's last words"), "{}", child.output());
}

#[test]
fn a_child_is_frozen_killed_and_terminated() {
    if let Some(side) = child_side() {
        for n in 0_u64.. {
            side.emit("tick", n);
        }
    }
    let mut child = Child::spawn("a_child_is_frozen_killed_and_terminated", &());
    child.wait_count("tick", 10, SOON);
    child.freeze();
    // What was in the socket arrives; then nothing more.
    let mut last = child.count("tick");
    wait_until("the ticks to cease", SOON, || {
        let before = std::mem::replace(&mut last, child.count("tick"));
        before == last
    });
    let frozen = child.count("tick");
    child.thaw();
    child.wait_count("tick", frozen + 10, SOON);
    assert_eq!(child.kill9().signal(), Some(9));
    let ticks: Vec<u64> =
        child.events().iter().filter(|e| e.name == "tick").map(Event::data).collect();
    assert!(ticks.iter().copied().eq(0..ticks.len() as u64), "an event was lost");

    let mut child = Child::spawn("a_child_is_frozen_killed_and_terminated", &());
    child.wait_event("tick", SOON);
    child.terminate();
    assert_eq!(child.wait_exit(SOON).signal(), Some(15));
}

#[test]
fn a_failing_child_shows_why() {
    if let Some(side) = child_side() {
        side.emit("working", ());
        panic!("the reason of the failure");
    }
    let mut child = Child::spawn("a_failing_child_shows_why", &());
    assert_eq!(child.wait_exit(SOON).code(), Some(101));
    let waited =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| child.wait_event("result", SOON)));
    let text = *waited.unwrap_err().downcast::<String>().unwrap();
    assert!(text.contains("ended without event result"), "{text}");
    assert!(text.contains("the reason of the failure"), "{text}");
}

#[test]
fn nothing_outlives_a_killed_test() {
    if let Some(side) = child_side() {
        let cluster = Cluster::builder().start();
        let grandchild = Child::spawn("sleeps_until_killed", &());
        side.emit("running", (cluster.pid(1), grandchild.pid(), cluster.log_file(1)));
        side.receive::<()>();
        unreachable!("the parent kills this process");
    }
    let _turn = one_at_a_time();
    let mut child = Child::spawn("nothing_outlives_a_killed_test", &());
    let (broker, grandchild, log): (u32, u32, PathBuf) =
        child.wait_event("running", Duration::from_secs(180)).data();
    let alive = |pid: u32| Path::new(&format!("/proc/{pid}")).exists();
    assert!(alive(broker) && alive(grandchild) && log.is_file());
    child.kill9();
    wait_until("the end of what the child started", SOON, || {
        !alive(broker)
            && !alive(grandchild)
            && !log.parent().and_then(Path::parent).unwrap().exists()
    });
}

/// Run by `nothing_outlives_a_killed_test` alone.
#[test]
#[ignore = "the body of a child process"]
fn sleeps_until_killed() {
    if let Some(side) = child_side() {
        side.receive::<()>();
    }
}

#[test]
fn processes_share_one_broker() {
    if let Some(side) = child_side() {
        let broker = shared_secure_broker();
        side.emit("broker", broker.bootstrap());
        side.emit("nodes", broker.tool().brokers().unwrap().nodes);
        std::process::exit(0);
    }
    let mut child = Child::spawn("processes_share_one_broker", &());
    let theirs: String = child.wait_event("broker", Duration::from_secs(180)).data();
    assert_eq!(child.wait_event("nodes", SOON).data, json!([1]));
    child.wait_success(SOON);
    assert_eq!(theirs, shared_secure_broker().bootstrap());
}

#[test]
fn the_users_broker_is_taken_where_one_is_named() {
    if let Some(side) = child_side() {
        side.emit("broker", shared_broker().bootstrap());
        std::process::exit(0);
    }
    let env = [("KAFKA_BOOTSTRAP", "kafka.example:9092")];
    let mut child =
        Child::spawn_with_env("the_users_broker_is_taken_where_one_is_named", &(), &env);
    assert_eq!(child.wait_event("broker", SOON).data, json!("kafka.example:9092"));
    child.wait_success(SOON);
}

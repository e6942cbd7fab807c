use llingr_kafka::client::{
    Admin, ConfigResource, ErrorCode, NewTopic, OffsetSpec, TopicPartition,
};

use crate::common::{block_on, plain_client, soon};
use crate::support::{NewRecord, shared_broker, unique};

#[test]
fn topics_are_created_described_altered_and_deleted() {
    let broker = shared_broker();
    block_on(async {
        let client = plain_client(broker.bootstrap());
        let admin = Admin::new(client.clone());
        let name = unique("admin");
        let mut topic = NewTopic { name: name.clone(), partitions: Some(3), ..Default::default() };
        topic.configs.insert("retention.ms".into(), "1234567".into());
        let created = admin.create_topics(std::slice::from_ref(&topic)).await.unwrap();
        created[0].1.as_ref().expect("created");
        let again = admin.create_topics(&[topic]).await.unwrap();
        let error = again[0].1.as_ref().unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::TopicAlreadyExists));
        assert!(error.to_string().contains(&name), "{error}");

        let resource = ConfigResource::Topic(name.clone());
        admin.alter_configs(&resource, &[("cleanup.policy", Some("compact"))]).await.unwrap();
        admin.alter_configs(&resource, &[("retention.ms", None)]).await.unwrap();
        // The broker that is asked hears of the change a moment after the controller made it.
        let deadline = soon();
        loop {
            let entries = admin.describe_configs(&resource).await.unwrap();
            let find = |name: &str| entries.iter().find(|entry| entry.name == name).expect(name);
            let policy = find("cleanup.policy");
            if policy.value.as_deref() == Some("compact")
                && policy.is_set_here
                && !find("retention.ms").is_set_here
            {
                break;
            }
            assert!(tokio::time::Instant::now() < deadline, "{entries:?}");
        }
        let error = admin.alter_configs(&resource, &[("no.such", Some("1"))]).await.unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::InvalidConfig));

        admin.create_partitions(&name, 5).await.unwrap();
        let questions: Vec<_> = (0..5)
            .map(|partition| (TopicPartition::new(name.as_str(), partition), OffsetSpec::Latest))
            .collect();
        let offsets = admin.list_offsets(&questions, false).await;
        assert_eq!(offsets.len(), 5);
        for (_, offset) in offsets {
            assert_eq!(offset.unwrap().offset, 0);
        }
        let deleted = admin.delete_topics(&[&name]).await.unwrap();
        deleted[0].1.as_ref().expect("deleted");
        client.close().await;
    });
}

#[test]
fn settings_of_a_group_are_set_before_it_exists() {
    let broker = shared_broker();
    block_on(async {
        let admin = Admin::new(plain_client(broker.bootstrap()));
        let group = ConfigResource::Group(unique("group"));
        let change = [("share.auto.offset.reset", Some("earliest"))];
        admin.alter_configs(&group, &change).await.unwrap();
        let deadline = soon();
        loop {
            let entries = admin.describe_configs(&group).await.unwrap();
            let found = entries.iter().find(|entry| entry.name == "share.auto.offset.reset");
            let entry = found.expect("a group's setting");
            if entry.value.as_deref() == Some("earliest") && entry.is_set_here {
                break;
            }
            assert!(tokio::time::Instant::now() < deadline, "{entry:?}");
        }
    });
}

#[test]
fn offsets_are_found_by_time_and_moved_by_deletion() {
    let broker = shared_broker();
    let tool = broker.tool();
    let name = unique("offsets");
    tool.create(&name, 1).unwrap();
    let records: Vec<_> = (0..10).map(|n| NewRecord::new("key", format!("value {n}"))).collect();
    tool.produce(&name, &records).unwrap();
    block_on(async {
        let admin = Admin::new(plain_client(broker.bootstrap()));
        let tp = TopicPartition::new(name.as_str(), 0);
        let ask = async |spec| {
            let mut found = admin.list_offsets(&[(tp.clone(), spec)], true).await;
            found.pop().expect("one answer").1.expect("an offset").offset
        };
        assert_eq!(ask(OffsetSpec::Earliest).await, 0);
        assert_eq!(ask(OffsetSpec::Latest).await, 10);
        assert_eq!(ask(OffsetSpec::Timestamp(0)).await, 0);
        assert_eq!(ask(OffsetSpec::Timestamp(i64::MAX)).await, -1);
        let deleted = admin.delete_records(&[(tp.clone(), 4)]).await;
        assert_eq!(*deleted[0].1.as_ref().unwrap(), 4);
        assert_eq!(ask(OffsetSpec::Earliest).await, 4);

        let missing = TopicPartition::new(name.as_str(), 7);
        let found = admin.list_offsets(&[(missing, OffsetSpec::Latest)], false).await;
        let error = found[0].1.as_ref().unwrap_err();
        assert!(error.to_string().contains("none with number 7"), "{error}");
    });
}

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::client::cluster::Client;
use crate::client::config::Config;
use crate::client::scripted::{Answer, Incoming, ScriptedCluster, api, at};
use crate::wire::messages::FindCoordinatorRequest;
use crate::wire::messages::metadata::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};

const ID: Uuid = Uuid([7; 16]);

fn config(bootstrap: &str) -> Config {
    Config::new(bootstrap).unwrap()
}

fn brokers(hosts: &[&str]) -> Vec<MetadataResponseBroker> {
    hosts
        .iter()
        .zip(1..)
        .map(|(host, node_id)| MetadataResponseBroker {
            node_id,
            host: (*host).into(),
            port: 9092,
            ..Default::default()
        })
        .collect()
}

fn orders() -> MetadataResponseTopic {
    let partition = MetadataResponsePartition { leader_id: 1, ..Default::default() };
    MetadataResponseTopic {
        name: Some("orders".into()),
        topic_id: ID,
        partitions: vec![partition],
        ..Default::default()
    }
}

fn unknown(code: ErrorCode) -> MetadataResponseTopic {
    MetadataResponseTopic {
        error_code: code.code(),
        name: Some("orders".into()),
        ..Default::default()
    }
}

fn respond(incoming: &Incoming, hosts: &[&str], topics: Vec<MetadataResponseTopic>) -> Answer {
    let response = MetadataResponse { brokers: brokers(hosts), topics, ..Default::default() };
    Answer::Frame(incoming.answer::<MetadataRequest>(&response))
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

async fn orders_of(client: &Client) -> Result<Arc<Topic>> {
    client.topic("orders", soon()).await
}

#[tokio::test(start_paused = true)]
async fn a_dead_bootstrap_address_is_passed_over() {
    let cluster = ScriptedCluster::new(&[api::<MetadataRequest>()], |_, incoming| {
        respond(incoming, &["one"], vec![orders()])
    });
    cluster.set_down(&at("dead"), true);
    let client = cluster.client(config("dead:9092,alive:9092"));
    assert_eq!(orders_of(&client).await.unwrap().id, ID);
}

#[tokio::test(start_paused = true)]
async fn many_askers_share_one_question() {
    let asked = Arc::new(AtomicUsize::new(0));
    let cluster = ScriptedCluster::new(&[api::<MetadataRequest>()], {
        let asked = asked.clone();
        move |_, incoming| {
            asked.fetch_add(1, Ordering::Relaxed);
            respond(incoming, &["one"], vec![orders()])
        }
    });
    let client = cluster.client(config("one:9092"));
    let askers: Vec<_> = (0..50)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { orders_of(&client).await })
        })
        .collect();
    for asker in askers {
        asker.await.unwrap().unwrap();
    }
    assert!(asked.load(Ordering::Relaxed) <= 2, "{asked:?}");
    assert_eq!(cluster.dials().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_appears_later_is_waited_for() {
    let mut asked = 0;
    let cluster = ScriptedCluster::new(&[api::<MetadataRequest>()], move |_, incoming| {
        asked += 1;
        let topic = match asked {
            1..=3 => unknown(ErrorCode::UnknownTopicOrPartition),
            _ => orders(),
        };
        respond(incoming, &["one"], vec![topic])
    });
    let client = cluster.client(config("one:9092"));
    assert_eq!(orders_of(&client).await.unwrap().partitions.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_missing_topic_gives_the_brokers_reason_at_the_deadline_and_a_forbidden_one_at_once() {
    for (code, at_once) in
        [(ErrorCode::UnknownTopicOrPartition, false), (ErrorCode::TopicAuthorizationFailed, true)]
    {
        let cluster = ScriptedCluster::new(&[api::<MetadataRequest>()], move |_, incoming| {
            respond(incoming, &["one"], vec![unknown(code)])
        });
        let client = cluster.client(config("one:9092"));
        let started = Instant::now();
        let error = orders_of(&client).await.unwrap_err();
        assert_eq!(error.code(), Some(code));
        assert!(error.to_string().contains("orders"), "{error}");
        assert_eq!(started.elapsed() < Duration::from_secs(1), at_once);
    }
}

#[tokio::test(start_paused = true)]
async fn topics_are_found_by_id_too() {
    let cluster = ScriptedCluster::new(&[api::<MetadataRequest>()], |_, incoming| {
        let request = incoming.decode::<MetadataRequest>();
        let asked = request.topics.unwrap_or_default();
        let by_id = asked.iter().any(|topic| topic.topic_id == ID);
        respond(incoming, &["one"], if by_id { vec![orders()] } else { vec![] })
    });
    let client = cluster.client(config("one:9092"));
    let topic = client.metadata().topic(TopicKey::Id(ID), soon()).await.unwrap();
    assert_eq!(&*topic.name, "orders");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_whose_brokers_were_all_replaced_is_found_by_its_bootstrap_address() {
    let replaced = Arc::new(AtomicUsize::new(0));
    let cluster = ScriptedCluster::new(&[api::<MetadataRequest>()], {
        let replaced = replaced.clone();
        move |_, incoming| {
            let hosts: &[&str] =
                if replaced.load(Ordering::Relaxed) == 0 { &["old"] } else { &["new"] };
            respond(incoming, hosts, vec![orders()])
        }
    });
    let client = cluster.client(config("door:9092"));
    client.brokers(soon()).await.unwrap();
    client.metadata().refresh(soon()).await.unwrap();
    // The door led to the old broker so far; it opens onto a new one, the old one is gone.
    replaced.store(1, Ordering::Relaxed);
    cluster.set_down(&at("old"), true);
    client.metadata().refresh(soon()).await.unwrap();
    let snapshot = client.metadata().snapshot();
    let hosts: Vec<_> = snapshot.brokers.values().map(|b| b.endpoint.host.to_string()).collect();
    assert_eq!(hosts, ["new"]);
}

#[tokio::test(start_paused = true)]
async fn knowledge_is_refreshed_when_it_is_too_old() {
    let asked = Arc::new(AtomicUsize::new(0));
    let cluster = ScriptedCluster::new(&[api::<MetadataRequest>()], {
        let asked = asked.clone();
        move |_, incoming| {
            asked.fetch_add(1, Ordering::Relaxed);
            respond(incoming, &["one"], vec![])
        }
    });
    let settings = Config { metadata_max_age: Duration::from_secs(30), ..config("one:9092") };
    let client = cluster.client(settings);
    client.brokers(soon()).await.unwrap();
    let before = asked.load(Ordering::Relaxed);
    let round = client.metadata().snapshot().round;
    let mut seen = client.metadata().subscribe();
    seen.wait_for(|snapshot| snapshot.round >= round + 2).await.unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), before + 2);
}

#[tokio::test(start_paused = true)]
async fn topics_without_look_ups_leave_the_question() {
    let cluster = ScriptedCluster::new(&[api::<MetadataRequest>()], |_, incoming| {
        let asked = incoming.decode::<MetadataRequest>().topics.unwrap_or_default();
        let topics = if asked.is_empty() { vec![] } else { vec![orders()] };
        respond(incoming, &["one"], topics)
    });
    let client = cluster.client(config("one:9092"));
    orders_of(&client).await.unwrap();
    tokio::time::advance(INTEREST).await;
    client.metadata().refresh(soon()).await.unwrap();
    assert!(client.metadata().snapshot().topic("orders").is_none());
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_cluster_names_the_broker_at_the_deadline() {
    let cluster = ScriptedCluster::new(&[api::<MetadataRequest>()], |_, _| Answer::Silence);
    cluster.set_down(&at("dead"), true);
    let client = cluster.client(config("dead:9092"));
    let error = client.ready(soon()).await.unwrap_err();
    assert!(error.to_string().contains("dead:9092"), "{error}");
    // Attempts back off: 20 s hold no more than some forty of them.
    assert!(cluster.dials().len() < 60, "{}", cluster.dials().len());
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_that_moved_is_looked_up_again() {
    use crate::client::coordinator::CoordinatorKind;
    use crate::wire::messages::find_coordinator::Coordinator;
    use crate::wire::messages::{FindCoordinatorResponse, OffsetFetchRequest, OffsetFetchResponse};

    let mut lookups = 0;
    let apis =
        [api::<MetadataRequest>(), api::<FindCoordinatorRequest>(), api::<OffsetFetchRequest>()];
    let cluster = ScriptedCluster::new(&apis, move |endpoint, incoming| {
        if incoming.is::<MetadataRequest>() {
            return respond(incoming, &["one", "two"], vec![]);
        }
        if incoming.is::<FindCoordinatorRequest>() {
            lookups += 1;
            let (node_id, host) = if lookups == 1 { (1, "one") } else { (2, "two") };
            let found = Coordinator {
                key: "g".into(),
                node_id,
                host: host.into(),
                port: 9092,
                ..Default::default()
            };
            let response =
                FindCoordinatorResponse { coordinators: vec![found], ..Default::default() };
            return Answer::Frame(incoming.answer::<FindCoordinatorRequest>(&response));
        }
        let mut response = OffsetFetchResponse::default();
        response.groups.push(Default::default());
        if &*endpoint.host == "one" {
            response.groups[0].error_code = 16;
        }
        Answer::Frame(incoming.answer::<OffsetFetchRequest>(&response))
    });
    let client = cluster.client(config("one:9092"));
    let request = OffsetFetchRequest::default();
    let response = client
        .call_coordinator(CoordinatorKind::Group, "g", &request, soon(), |response| {
            let code = response.groups.first().map_or(0, |group| group.error_code);
            ErrorCode::from(code).check(|| "OffsetFetch")
        })
        .await
        .unwrap();
    assert_eq!(response.groups[0].error_code, 0);
    assert!(cluster.dials().contains(&at("two")));
}

//! Against brokers whose every answer the test decides, on a clock that only moves when all wait.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::driver::{Membership, Polled};
use super::member::{Leave, Settings, State, Work};
use super::status::Notice;
use crate::client::Config;
use crate::client::scripted::{Answer, ScriptedCluster, api, api_range};
use crate::wire::messages::find_coordinator::Coordinator;
use crate::wire::messages::metadata::MetadataResponseBroker;
use crate::wire::messages::streams_group_heartbeat::{ResponseTaskIds, Subtopology, Topology};
use crate::wire::messages::{
    FindCoordinatorRequest, FindCoordinatorResponse, MetadataRequest, MetadataResponse,
    StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse,
};

const SOON: Duration = Duration::from_secs(60);

type Log = Arc<Mutex<Vec<(String, StreamsGroupHeartbeatRequest)>>>;
/// The answer to the nth heartbeat; `None` breaks the connection.
type OnBeat = Box<
    dyn FnMut(&StreamsGroupHeartbeatRequest, usize) -> Option<StreamsGroupHeartbeatResponse> + Send,
>;

fn answer(epoch: i32, active: Option<&[i32]>) -> StreamsGroupHeartbeatResponse {
    let list = |partitions: &[i32]| {
        vec![ResponseTaskIds { subtopology_id: "0".into(), partitions: partitions.to_vec() }]
    };
    StreamsGroupHeartbeatResponse {
        member_epoch: epoch,
        heartbeat_interval_ms: 5000,
        active_tasks: active.map(list),
        standby_tasks: active.map(|_| vec![]),
        warmup_tasks: active.map(|_| vec![]),
        ..Default::default()
    }
}

fn refusal(code: i16) -> StreamsGroupHeartbeatResponse {
    StreamsGroupHeartbeatResponse { error_code: code, ..answer(0, None) }
}

struct Setup {
    membership: Membership,
    log: Log,
    woken: Arc<Notify>,
}

/// A member of a group whose coordinator is `one` when first asked for, then `two`.
fn member(version: i16, mut on_beat: OnBeat) -> Setup {
    let log = Log::default();
    let (seen, mut beats, mut asked) = (log.clone(), 0, 0);
    let apis = [
        api::<MetadataRequest>(),
        api::<FindCoordinatorRequest>(),
        api_range::<StreamsGroupHeartbeatRequest>(0, version),
    ];
    let cluster = ScriptedCluster::new(&apis, move |endpoint, incoming| {
        if incoming.is::<MetadataRequest>() {
            let broker = |node_id, host: &str| MetadataResponseBroker {
                node_id,
                host: host.into(),
                port: 9092,
                ..Default::default()
            };
            let brokers = vec![broker(1, "one"), broker(2, "two")];
            let response = MetadataResponse { brokers, ..Default::default() };
            return Answer::Frame(incoming.answer::<MetadataRequest>(&response));
        }
        if incoming.is::<FindCoordinatorRequest>() {
            asked += 1;
            let (node_id, host) = if asked == 1 { (1, "one") } else { (2, "two") };
            let coordinator = Coordinator {
                key: "app".into(),
                node_id,
                host: host.into(),
                port: 9092,
                ..Default::default()
            };
            let response =
                FindCoordinatorResponse { coordinators: vec![coordinator], ..Default::default() };
            return Answer::Frame(incoming.answer::<FindCoordinatorRequest>(&response));
        }
        let request = incoming.decode::<StreamsGroupHeartbeatRequest>();
        seen.lock().unwrap().push((endpoint.host.to_string(), request.clone()));
        beats += 1;
        match on_beat(&request, beats - 1) {
            Some(response) => {
                Answer::Frame(incoming.answer::<StreamsGroupHeartbeatRequest>(&response))
            }
            None => Answer::HangUp,
        }
    });
    let subtopology = Subtopology { subtopology_id: "0".into(), ..Default::default() };
    let settings = Settings {
        group: "app".into(),
        member_id: "member".into(),
        instance_id: None,
        rack: None,
        process_id: "process".into(),
        endpoint: None,
        client_tags: vec![],
        max_poll_interval: Duration::from_secs(300),
        topology: Topology { epoch: 0, subtopologies: vec![subtopology] },
    };
    let woken = Arc::new(Notify::new());
    let wake = woken.clone();
    let client = cluster.client(Config::new("one:9092").unwrap());
    let membership = Membership::start(client, settings, Arc::new(move || wake.notify_one()));
    Setup { membership, log, woken }
}

impl Setup {
    /// Polls as a thread does until something is found.
    async fn until<T>(&self, what: &str, mut found: impl FnMut(Polled) -> Option<T>) -> T {
        let limit = Instant::now() + SOON;
        loop {
            if let Some(value) = found(self.membership.poll()) {
                return value;
            }
            assert!(Instant::now() < limit, "no {what} within a minute");
            let _ = tokio::time::timeout(Duration::from_millis(100), self.woken.notified()).await;
        }
    }

    async fn work(&self) -> Work {
        let (id, work) = self.until("work", |polled| polled.work).await;
        self.membership.done(id);
        work
    }

    /// Heartbeats so far, by broker and active tasks listed.
    fn sent(&self) -> Vec<(String, Option<Vec<i32>>)> {
        let log = self.log.lock().unwrap();
        let listed = |request: &StreamsGroupHeartbeatRequest| {
            let lists = request.active_tasks.as_ref()?;
            Some(lists.iter().flat_map(|ids| ids.partitions.clone()).collect())
        };
        log.iter().map(|(host, request)| (host.clone(), listed(request))).collect()
    }

    async fn beats(&self, count: usize) {
        self.until("heartbeats", |_| (self.sent().len() >= count).then_some(())).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_answer_without_lists_takes_no_task_away() {
    let setup = member(1, Box::new(|_, n| Some(answer(1, (n == 0).then_some(&[0, 1][..])))));
    assert!(matches!(setup.work().await, Work::Assign(a) if a.active.len() == 2));
    setup.beats(5).await;
    assert_eq!(setup.membership.poll().work, None);
    let lists: Vec<_> = setup.sent().into_iter().map(|(_, list)| list).collect();
    assert_eq!(lists[..3], [Some(vec![]), Some(vec![0, 1]), None]);
}

#[tokio::test(start_paused = true)]
async fn a_broken_connection_is_followed_by_everything_again() {
    let setup = member(
        1,
        Box::new(|_, n| match n {
            0 => Some(answer(1, Some(&[0]))),
            2 => None,
            _ => Some(answer(1, None)),
        }),
    );
    setup.work().await;
    setup.beats(4).await;
    let lists: Vec<_> = setup.sent().into_iter().map(|(_, list)| list).collect();
    assert_eq!(lists[..4], [Some(vec![]), Some(vec![0]), None, Some(vec![0])]);
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_that_is_none_any_more_is_looked_up_again() {
    let setup = member(
        1,
        Box::new(|_, n| match n {
            0 => Some(answer(1, Some(&[0]))),
            1 => Some(refusal(16)),
            _ => Some(answer(1, None)),
        }),
    );
    setup.work().await;
    setup.beats(3).await;
    let hosts: Vec<_> = setup.sent().into_iter().map(|(host, _)| host).collect();
    assert_eq!(hosts[..3], ["one", "one", "two"]);
}

#[tokio::test(start_paused = true)]
async fn a_thread_that_is_away_too_long_has_lost_its_tasks_when_it_returns() {
    let setup = member(1, Box::new(|_, n| Some(answer(1, (n == 0).then_some(&[0][..])))));
    setup.work().await;
    // Heartbeats go on without a poll, until the limit.
    tokio::time::sleep(Duration::from_secs(301)).await;
    let epochs: Vec<i32> = setup.log.lock().unwrap().iter().map(|(_, r)| r.member_epoch).collect();
    assert_eq!(epochs.last(), Some(&-1), "{epochs:?}");
    assert!(epochs.len() > 50, "heartbeats while the thread was away: {}", epochs.len());
    assert_eq!(setup.work().await, Work::Lost);
    let joins = || setup.log.lock().unwrap().iter().filter(|(_, r)| r.member_epoch == 0).count();
    setup.until("a second join", |_| (joins() == 2).then_some(())).await;
}

#[tokio::test(start_paused = true)]
async fn leaving_waits_for_the_answer_and_ends_at_its_limit_without_one() {
    let setup = member(
        1,
        Box::new(|request, n| {
            (request.member_epoch >= 0).then(|| answer(1, (n == 0).then_some(&[0][..])))
        }),
    );
    setup.work().await;
    setup.membership.prepare_leave();
    let (started, log) = (Instant::now(), setup.log.clone());
    setup.membership.leave(Leave::Default, started + Duration::from_secs(5)).await;
    assert_eq!(started.elapsed(), Duration::from_secs(5));
    let leaves = log.lock().unwrap().iter().filter(|(_, r)| r.member_epoch == -1).count();
    assert!(leaves > 1, "{leaves} attempts");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_ends_the_heartbeats_and_is_told() {
    let setup = member(0, Box::new(|_, _| Some(refusal(81))));
    let error = setup
        .until("a notice", |polled| {
            polled.notices.into_iter().find_map(|notice| match notice {
                Notice::Fatal(error) => Some(error),
                _ => None,
            })
        })
        .await;
    assert!(error.to_string().contains("group.streams.max.size"), "{error}");
    assert_eq!(setup.membership.poll().state, State::Fatal);
    tokio::time::sleep(SOON).await;
    assert_eq!(setup.sent().len(), 1);
}

use std::time::Duration;

use tokio::time::Instant;

use super::*;
use crate::client::error::ErrorCode;
use crate::client::sasl::{BoxError, Token, TokenFuture, TokenProvider};
use crate::client::scripted::{Scripted, api, api_range, connect, settings};
use crate::wire::messages::api_versions::ApiVersion;
use crate::wire::messages::{
    ApiVersionsRequest, ApiVersionsResponse, FindCoordinatorRequest, FindCoordinatorResponse,
    MetadataRequest, MetadataResponse, SaslAuthenticateRequest, SaslAuthenticateResponse,
    SaslHandshakeRequest, SaslHandshakeResponse,
};

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(5)
}

fn metadata_for(cluster: &str) -> MetadataResponse {
    MetadataResponse { cluster_id: Some(cluster.into()), ..Default::default() }
}

async fn plain_pair() -> (Connection, Scripted) {
    Scripted::connected(settings(), &[api::<MetadataRequest>()]).await
}

/// Sends without waiting, and lets the writer run.
async fn send(connection: &Connection) -> InFlight<MetadataRequest> {
    connection.send(&MetadataRequest::default(), soon()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn answers_reach_their_requests_in_any_order() {
    let (connection, mut broker) = plain_pair().await;
    let (first, second) = (send(&connection).await, send(&connection).await);
    let (one, two) = (broker.next().await, broker.next().await);
    broker.answer::<MetadataRequest>(&two, &metadata_for("two")).await;
    broker.answer::<MetadataRequest>(&one, &metadata_for("one")).await;
    assert_eq!(first.answer().await.unwrap().cluster_id.as_deref(), Some("one"));
    assert_eq!(second.answer().await.unwrap().cluster_id.as_deref(), Some("two"));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_request_frees_its_slot_and_its_late_answer_is_discarded() {
    let limits = Settings { max_in_flight: 1, ..settings() };
    let (connection, mut broker) = Scripted::connected(limits, &[api::<MetadataRequest>()]).await;
    let abandoned = send(&connection).await;
    let incoming = broker.next().await;
    drop(abandoned);
    // The broker still works on it, so a second request has to wait for the only permit.
    let next = tokio::spawn({
        let connection = connection.clone();
        async move { connection.call(&MetadataRequest::default(), soon()).await }
    });
    tokio::task::yield_now().await;
    assert!(!next.is_finished());
    broker.answer::<MetadataRequest>(&incoming, &metadata_for("late")).await;
    let incoming = broker.next().await;
    broker.answer::<MetadataRequest>(&incoming, &metadata_for("wanted")).await;
    let response = next.await.unwrap().unwrap();
    assert_eq!(response.cluster_id.as_deref(), Some("wanted"));
    assert!(connection.shared.state().slots.is_empty());
    assert_eq!(connection.shared.permits.available_permits(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_dropped_before_its_frame_was_begun_is_not_sent() {
    let (connection, mut broker) = plain_pair().await;
    // No await between send and drop in which the writer could run.
    let first = connection.send(&MetadataRequest::default(), soon()).await.unwrap();
    drop(first);
    let request = FindCoordinatorRequest::default();
    assert!(connection.send(&request, soon()).await.is_err(), "not offered by this broker");
    let kept = connection.send(&MetadataRequest::default(), soon()).await.unwrap();
    let incoming = broker.next().await;
    broker.answer::<MetadataRequest>(&incoming, &metadata_for("kept")).await;
    assert_eq!(kept.answer().await.unwrap().cluster_id.as_deref(), Some("kept"));
    assert!(connection.shared.state().slots.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_broken_stream_fails_all_waiters_and_every_later_call_with_one_reason() {
    let (connection, broker) = plain_pair().await;
    let waiting = [send(&connection).await, send(&connection).await];
    drop(broker);
    for request in waiting {
        let error = request.answer().await.unwrap_err();
        assert!(matches!(error, Error::Disconnected { .. }), "{error}");
    }
    assert!(connection.is_broken());
    let later = connection.call(&MetadataRequest::default(), soon()).await.unwrap_err();
    assert_eq!(later.to_string(), connection.broken().await.to_string());
}

#[tokio::test(start_paused = true)]
async fn a_request_without_answer_breaks_the_connection_at_the_request_timeout() {
    let (connection, mut broker) = plain_pair().await;
    let started = Instant::now();
    let late = started + Duration::from_secs(60);
    // Nobody waits for the first; the second is stuck behind it.
    drop({
        let abandoned = connection.send(&MetadataRequest::default(), soon()).await.unwrap();
        broker.next().await;
        abandoned
    });
    let stuck = connection.send(&MetadataRequest::default(), late).await.unwrap();
    let error = stuck.answer().await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    assert!(connection.is_broken());
    let waited = started.elapsed();
    let limit = settings().io_timeout;
    assert!(limit <= waited && waited <= 2 * limit, "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_caller_with_a_short_deadline_gives_up_alone() {
    let (connection, mut broker) = plain_pair().await;
    let long = connection
        .send(&MetadataRequest::default(), Instant::now() + Duration::from_secs(40))
        .await
        .unwrap();
    let poll = broker.next().await;
    let deadline = Instant::now() + Duration::from_secs(3);
    let error = connection.call(&MetadataRequest::default(), deadline).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    assert_eq!(Instant::now(), deadline);
    broker.answer::<MetadataRequest>(&poll, &metadata_for("long poll")).await;
    assert_eq!(long.answer().await.unwrap().cluster_id.as_deref(), Some("long poll"));
    assert!(!connection.is_broken());
}

#[tokio::test(start_paused = true)]
async fn the_in_flight_bound_holds_back_requests_until_their_deadline() {
    let limits = Settings { max_in_flight: 2, ..settings() };
    let (connection, _broker) = Scripted::connected(limits, &[api::<MetadataRequest>()]).await;
    let _first = send(&connection).await;
    let _second = send(&connection).await;
    let deadline = Instant::now() + Duration::from_secs(1);
    let error = connection.send(&MetadataRequest::default(), deadline).await.err().unwrap();
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn frames_of_impossible_size_break_the_connection_before_anything_is_allocated() {
    for size in [-1, 0, 3, (1 << 20) + 1, i32::MAX] {
        let (connection, mut broker) = plain_pair().await;
        broker.send(&size.to_be_bytes()).await;
        let error = connection.broken().await;
        assert!(error.to_string().contains(&size.to_string()), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_nobody_asked_for_breaks_the_connection() {
    let (connection, mut broker) = plain_pair().await;
    let request = send(&connection).await;
    let mut incoming = broker.next().await;
    incoming.id += 1000;
    broker.answer::<MetadataRequest>(&incoming, &metadata_for("x")).await;
    assert!(request.answer().await.unwrap_err().to_string().contains("not asked"));
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_answer_breaks_the_connection_and_names_request_and_broker() {
    let (connection, mut broker) = plain_pair().await;
    let request = send(&connection).await;
    let incoming = broker.next().await;
    let mut frame = 5i32.to_be_bytes().to_vec();
    frame.extend(incoming.id.to_be_bytes());
    frame.push(0);
    broker.send(&frame).await;
    let error = request.answer().await.unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }), "{error}");
    assert!(error.to_string().contains("broker:9092"), "{error}");
    assert!(error.to_string().contains("Metadata"), "{error}");
    assert!(connection.is_broken());
}

#[tokio::test(start_paused = true)]
async fn a_throttled_connection_sends_nothing_until_the_time_is_over() {
    let (connection, mut broker) = plain_pair().await;
    let request = send(&connection).await;
    let incoming = broker.next().await;
    let throttled = MetadataResponse { throttle_time_ms: 2000, ..Default::default() };
    broker.answer::<MetadataRequest>(&incoming, &throttled).await;
    request.answer().await.unwrap();
    let before = Instant::now();
    let next = send(&connection).await;
    assert_eq!(before.elapsed(), Duration::from_millis(2000));
    let incoming = broker.next().await;
    broker.answer::<MetadataRequest>(&incoming, &metadata_for("x")).await;
    next.answer().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_closes_and_a_busy_one_does_not() {
    let limits = Settings { max_idle: Duration::from_secs(60), ..settings() };
    let (connection, mut broker) = Scripted::connected(limits, &[api::<MetadataRequest>()]).await;
    let deadline = Instant::now() + Duration::from_secs(200);
    let request = connection.send(&MetadataRequest::default(), deadline).await.unwrap();
    let incoming = broker.next().await;
    tokio::time::advance(Duration::from_secs(150)).await;
    broker.answer::<MetadataRequest>(&incoming, &metadata_for("x")).await;
    request.answer().await.unwrap();
    let answered = Instant::now();
    let error = connection.broken().await;
    assert!(error.to_string().contains("idle"), "{error}");
    assert!(answered.elapsed() >= Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn closing_joins_both_tasks_and_hangs_up() {
    let (connection, mut broker) = plain_pair().await;
    connection.close().await;
    assert!(broker.try_next().await.is_none());
    assert!(connection.call(&MetadataRequest::default(), soon()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn generations_differ_between_connections() {
    let (first, _one) = plain_pair().await;
    let (second, _two) = plain_pair().await;
    assert_ne!(first.generation(), second.generation());
}

#[tokio::test(start_paused = true)]
async fn an_old_broker_that_refuses_the_version_question_is_asked_again_in_its_version() {
    let (stream, mut broker) = Scripted::pair();
    let client = connect(stream, settings());
    let (incoming, request) = broker.expect::<ApiVersionsRequest>().await;
    assert_eq!(incoming.version, ApiVersionsRequest::MAX_VERSION);
    assert_eq!(request.client_software_name, "llingr-kafka");
    let refusal = ApiVersionsResponse {
        error_code: ErrorCode::UnsupportedVersion.code(),
        api_keys: vec![api_range::<ApiVersionsRequest>(0, 2)],
        ..Default::default()
    };
    broker.send(&incoming.answer_at::<ApiVersionsRequest>(0, &refusal)).await;
    let (incoming, _) = broker.expect::<ApiVersionsRequest>().await;
    assert_eq!(incoming.version, 2);
    let response = ApiVersionsResponse {
        api_keys: vec![api_range::<MetadataRequest>(0, 9)],
        ..Default::default()
    };
    broker.answer::<ApiVersionsRequest>(&incoming, &response).await;
    let connection = client.await.unwrap().unwrap();
    assert_eq!(connection.version_within::<MetadataRequest>(0..=i16::MAX).unwrap(), 9);
}

#[tokio::test(start_paused = true)]
async fn a_broker_without_a_range_is_asked_in_version_0() {
    let (stream, mut broker) = Scripted::pair();
    let _client = connect(stream, settings());
    let (incoming, _) = broker.expect::<ApiVersionsRequest>().await;
    let refusal = ApiVersionsResponse {
        error_code: ErrorCode::UnsupportedVersion.code(),
        ..Default::default()
    };
    broker.send(&incoming.answer_at::<ApiVersionsRequest>(0, &refusal)).await;
    let (incoming, _) = broker.expect::<ApiVersionsRequest>().await;
    assert_eq!(incoming.version, 0);
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_hangs_up_gives_an_error_that_points_at_the_protocol() {
    let (stream, mut broker) = Scripted::pair();
    let client = connect(stream, settings());
    broker.next().await;
    drop(broker);
    let error = client.await.unwrap().err().unwrap();
    assert!(error.to_string().contains("security.protocol"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_broker_ends_the_attempt_at_the_time_limit() {
    let (stream, _broker) = Scripted::pair();
    let error = connect(stream, settings()).await.unwrap().err().unwrap();
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
}

fn with_login() -> Settings {
    let sasl = SaslConfig::Plain { username: "ann".into(), password: "hunter2".into() };
    Settings { sasl: Some(sasl), ..settings() }
}

fn login_apis() -> Vec<ApiVersion> {
    vec![api::<MetadataRequest>(), api::<SaslHandshakeRequest>(), api::<SaslAuthenticateRequest>()]
}

async fn accept_login(broker: &mut Scripted, lifetime_ms: i64) {
    let (incoming, handshake) = broker.expect::<SaslHandshakeRequest>().await;
    assert_eq!(handshake.mechanism, "PLAIN");
    let response = SaslHandshakeResponse { mechanisms: vec!["PLAIN".into()], ..Default::default() };
    broker.answer::<SaslHandshakeRequest>(&incoming, &response).await;
    let (incoming, request) = broker.expect::<SaslAuthenticateRequest>().await;
    assert_eq!(&request.auth_bytes[..], b"\0ann\0hunter2");
    let response =
        SaslAuthenticateResponse { session_lifetime_ms: lifetime_ms, ..Default::default() };
    broker.answer::<SaslAuthenticateRequest>(&incoming, &response).await;
}

#[tokio::test(start_paused = true)]
async fn a_login_is_renewed_before_it_expires_without_failing_waiting_requests() {
    let (stream, mut broker) = Scripted::pair();
    let client = connect(stream, with_login());
    broker.serve_versions(&login_apis()).await;
    accept_login(&mut broker, 10_000).await;
    let connection = client.await.unwrap().unwrap();
    let logged_in = Instant::now();

    let deadline = Instant::now() + Duration::from_secs(60);
    let before = connection.send(&MetadataRequest::default(), deadline).await.unwrap();
    let held = broker.next().await;
    let (incoming, _) = broker.expect::<SaslHandshakeRequest>().await;
    let waited = logged_in.elapsed();
    assert!((Duration::from_millis(8500)..Duration::from_millis(9500)).contains(&waited));
    // One request is unanswered, another queued in the middle of the exchange.
    let during = connection.send(&MetadataRequest::default(), deadline).await.unwrap();
    broker.answer::<MetadataRequest>(&held, &metadata_for("before")).await;
    broker.answer::<SaslHandshakeRequest>(&incoming, &SaslHandshakeResponse::default()).await;
    let (incoming, _) = broker.expect::<SaslAuthenticateRequest>().await;
    broker.answer::<SaslAuthenticateRequest>(&incoming, &SaslAuthenticateResponse::default()).await;
    let (incoming, _) = broker.expect::<MetadataRequest>().await;
    broker.answer::<MetadataRequest>(&incoming, &metadata_for("during")).await;
    assert_eq!(before.answer().await.unwrap().cluster_id.as_deref(), Some("before"));
    assert_eq!(during.answer().await.unwrap().cluster_id.as_deref(), Some("during"));
    assert!(!connection.is_broken());
}

#[tokio::test(start_paused = true)]
async fn a_refused_login_names_broker_mechanism_and_cause_but_no_secret() {
    // Which of two tasks runs first is chance.
    for _ in 0..20 {
        refuse_a_login().await;
    }
}

async fn refuse_a_login() {
    let (stream, mut broker) = Scripted::pair();
    let client = connect(stream, with_login());
    broker.serve_versions(&login_apis()).await;
    let (incoming, _) = broker.expect::<SaslHandshakeRequest>().await;
    broker.answer::<SaslHandshakeRequest>(&incoming, &SaslHandshakeResponse::default()).await;
    let (incoming, _) = broker.expect::<SaslAuthenticateRequest>().await;
    let response = SaslAuthenticateResponse {
        error_code: ErrorCode::SaslAuthenticationFailed.code(),
        error_message: Some("Invalid username or password".into()),
        ..Default::default()
    };
    broker.answer::<SaslAuthenticateRequest>(&incoming, &response).await;
    // As Kafka does: the answer and the end of the stream arrive at one moment.
    drop(broker);
    let error = client.await.unwrap().err().unwrap();
    assert!(matches!(error, Error::Authentication { .. }), "{error}");
    let text = error.to_string();
    for part in ["broker:9092", "PLAIN", "Invalid username or password"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!text.contains("hunter2"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_mechanism_the_broker_lacks_is_named_with_those_it_has() {
    let (stream, mut broker) = Scripted::pair();
    let client = connect(stream, with_login());
    broker.serve_versions(&login_apis()).await;
    let (incoming, _) = broker.expect::<SaslHandshakeRequest>().await;
    let response = SaslHandshakeResponse {
        error_code: ErrorCode::UnsupportedSaslMechanism.code(),
        mechanisms: vec!["SCRAM-SHA-512".into()],
    };
    broker.answer::<SaslHandshakeRequest>(&incoming, &response).await;
    let text = client.await.unwrap().err().unwrap().to_string();
    assert!(text.contains("SCRAM-SHA-512"), "{text}");
}

struct Failing;

impl TokenProvider for Failing {
    fn token(&self) -> TokenFuture<'_> {
        Box::pin(async { Err::<Token, BoxError>("issuer is down".into()) })
    }
}

#[tokio::test(start_paused = true)]
async fn a_failing_token_provider_fails_the_login_with_its_reason() {
    let (stream, mut broker) = Scripted::pair();
    let sasl = SaslConfig::OAuthBearer { provider: Arc::new(Failing), extensions: vec![] };
    let client = connect(stream, Settings { sasl: Some(sasl), ..settings() });
    broker.serve_versions(&login_apis()).await;
    let text = client.await.unwrap().err().unwrap().to_string();
    assert!(text.contains("OAUTHBEARER") && text.contains("issuer is down"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_answer_is_decoded_in_the_brokers_older_version() {
    let apis = [api_range::<FindCoordinatorRequest>(0, 2)];
    let (connection, mut broker) = Scripted::connected(settings(), &apis).await;
    let request = FindCoordinatorRequest { key: "g".into(), ..Default::default() };
    let call = connection.send(&request, soon()).await.unwrap();
    assert_eq!(call.version(), 2);
    let (incoming, _) = broker.expect::<FindCoordinatorRequest>().await;
    let response = FindCoordinatorResponse { node_id: 7, ..Default::default() };
    broker.answer::<FindCoordinatorRequest>(&incoming, &response).await;
    assert_eq!(call.answer().await.unwrap().node_id, 7);
}

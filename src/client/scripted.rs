//! A broker for tests whose every answer the test decides.
//!
//! It lives at the other end of an in-memory stream, so tests can pause the clock, and it speaks
//! through the wire module, so it sees exactly the bytes that a broker would.

use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::task::JoinHandle;

use super::cluster::Client;
use super::config::Config;
use super::connection::{Connection, Settings};
use super::error::{Error, Result};
use super::pool::{Dial, Endpoint};
use crate::wire::messages::api_versions::ApiVersion;
use crate::wire::messages::{
    ApiVersionsRequest, ApiVersionsResponse, RequestHeader, ResponseHeader,
};
use crate::wire::{Message, Request};

/// The broker's end of a connection.
pub(crate) struct Scripted {
    stream: DuplexStream,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Incoming {
    pub(crate) api_key: i16,
    pub(crate) version: i16,
    pub(crate) id: i32,
    pub(crate) body: Bytes,
}

impl Incoming {
    pub(crate) fn is<R: Request>(&self) -> bool {
        self.api_key == R::API_KEY
    }

    /// Decodes the request, which must be of this kind and leave no bytes over.
    pub(crate) fn decode<R: Request>(&self) -> R {
        assert_eq!(self.api_key, R::API_KEY, "expected {}", R::NAME);
        let mut body = self.body.clone();
        let request = R::decode(self.version, &mut body).expect("a decodable request");
        assert!(body.is_empty(), "{} left {} bytes", R::NAME, body.len());
        request
    }

    /// The frame that answers this request.
    pub(crate) fn answer<R: Request>(&self, response: &R::Response) -> Bytes {
        assert_eq!(self.api_key, R::API_KEY, "expected {}", R::NAME);
        self.answer_at::<R>(self.version, response)
    }

    /// As [`Incoming::answer`], in another version than asked for.
    pub(crate) fn answer_at<R: Request>(&self, version: i16, response: &R::Response) -> Bytes {
        let mut frame = BytesMut::new();
        frame.put_i32(0);
        ResponseHeader { correlation_id: self.id }
            .encode(R::response_header_version(version), &mut frame)
            .expect("a header");
        response.encode(version, &mut frame).expect("an encodable answer");
        let size = i32::try_from(frame.len() - 4).expect("a small answer");
        frame[..4].copy_from_slice(&size.to_be_bytes());
        frame.freeze()
    }
}

impl Scripted {
    /// Both ends of a stream.
    pub(crate) fn pair() -> (DuplexStream, Self) {
        let (client, broker) = tokio::io::duplex(256 * 1024);
        (client, Self { stream: broker })
    }

    /// A connection that has negotiated `apis`, and its broker.
    pub(crate) async fn connected(settings: Settings, apis: &[ApiVersion]) -> (Connection, Self) {
        let (stream, mut broker) = Self::pair();
        let client = connect(stream, settings);
        broker.serve_versions(apis).await;
        (client.await.expect("no panic").expect("a connection"), broker)
    }

    /// The next request; panics at the end of the stream.
    pub(crate) async fn next(&mut self) -> Incoming {
        self.try_next().await.expect("another request")
    }

    /// The next request, or `None` when the client hung up.
    pub(crate) async fn try_next(&mut self) -> Option<Incoming> {
        let size = self.stream.read_i32().await.ok()?;
        let mut frame = vec![0; usize::try_from(size).expect("a positive size")];
        self.stream.read_exact(&mut frame).await.ok()?;
        Some(parse(frame.into()))
    }

    /// The next request with its decoded body.
    pub(crate) async fn expect<R: Request>(&mut self) -> (Incoming, R) {
        let incoming = self.next().await;
        let request = incoming.decode::<R>();
        (incoming, request)
    }

    pub(crate) async fn answer<R: Request>(&mut self, to: &Incoming, response: &R::Response) {
        self.send(&to.answer::<R>(response)).await;
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("the client reads");
    }

    pub(crate) async fn serve_versions(&mut self, apis: &[ApiVersion]) {
        let (incoming, _) = self.expect::<ApiVersionsRequest>().await;
        let response = ApiVersionsResponse { api_keys: apis.to_vec(), ..Default::default() };
        self.answer::<ApiVersionsRequest>(&incoming, &response).await;
    }
}

fn parse(frame: Bytes) -> Incoming {
    let mut start = frame.clone();
    let (api_key, version, id) = (start.get_i16(), start.get_i16(), start.get_i32());
    let mut body = frame;
    // Version 1 of the header is a prefix of version 2, which adds tagged fields.
    RequestHeader::decode(1, &mut body).expect("a request header");
    if is_flexible(api_key, version) {
        assert_eq!(body.get_u8(), 0, "no tagged fields in request headers");
    }
    Incoming { api_key, version, id, body }
}

/// What a scripted cluster does with a request.
pub(crate) enum Answer {
    Frame(Bytes),
    /// The answer comes after this time, as to a long poll.
    #[allow(dead_code, reason = "for the tests of share groups")]
    Later(Duration, Bytes),
    /// The connection breaks.
    HangUp,
    /// The request stays unanswered.
    Silence,
}

type Script = Box<dyn FnMut(&Endpoint, &Incoming) -> Answer + Send>;

/// Brokers that share one script; a dialer for [`super::cluster::Client::with_dialer`].
#[derive(Clone)]
pub(crate) struct ScriptedCluster(Arc<ClusterState>);

struct ClusterState {
    apis: Vec<ApiVersion>,
    script: Mutex<Script>,
    down: Mutex<HashSet<Endpoint>>,
    dials: Mutex<Vec<Endpoint>>,
}

impl ScriptedCluster {
    pub(crate) fn new(
        apis: &[ApiVersion],
        script: impl FnMut(&Endpoint, &Incoming) -> Answer + Send + 'static,
    ) -> Self {
        Self(Arc::new(ClusterState {
            apis: apis.to_vec(),
            script: Mutex::new(Box::new(script)),
            down: Mutex::default(),
            dials: Mutex::default(),
        }))
    }

    /// Refuses connections to a broker from now on, or accepts them again.
    pub(crate) fn set_down(&self, endpoint: &Endpoint, down: bool) {
        let mut set = self.0.down.lock().unwrap();
        if down {
            set.insert(endpoint.clone());
        } else {
            set.remove(endpoint);
        }
    }

    /// Every attempt to connect so far.
    pub(crate) fn dials(&self) -> Vec<Endpoint> {
        self.0.dials.lock().unwrap().clone()
    }

    /// A client whose only way out leads here.
    pub(crate) fn client(&self, config: Config) -> Client {
        Client::with_dialer(config, Arc::new(self.clone()))
    }
}

impl Dial for ScriptedCluster {
    fn dial<'a>(
        &'a self,
        endpoint: &'a Endpoint,
    ) -> Pin<Box<dyn Future<Output = Result<Connection>> + Send + 'a>> {
        Box::pin(async move {
            self.0.dials.lock().unwrap().push(endpoint.clone());
            let broker: Arc<str> = format!("{}:{}", endpoint.host, endpoint.port).into();
            if self.0.down.lock().unwrap().contains(endpoint) {
                return Err(Error::Connect { broker, cause: "refused".into() });
            }
            let (stream, scripted) = Scripted::pair();
            tokio::spawn(serve(self.clone(), endpoint.clone(), scripted));
            Connection::start(broker, Arc::new(settings()), stream).await
        })
    }
}

/// Ends when the client hangs up.
async fn serve(cluster: ScriptedCluster, endpoint: Endpoint, mut broker: Scripted) {
    while let Some(incoming) = broker.try_next().await {
        if incoming.is::<ApiVersionsRequest>() {
            let api_keys = cluster.0.apis.clone();
            let response = ApiVersionsResponse { api_keys, ..Default::default() };
            broker.answer::<ApiVersionsRequest>(&incoming, &response).await;
            continue;
        }
        let answer = (cluster.0.script.lock().unwrap())(&endpoint, &incoming);
        match answer {
            Answer::Frame(frame) => broker.send(&frame).await,
            Answer::Later(pause, frame) => {
                tokio::time::sleep(pause).await;
                broker.send(&frame).await;
            }
            Answer::HangUp => return,
            Answer::Silence => {}
        }
    }
}

/// `host` at Kafka's usual port.
pub(crate) fn at(host: &str) -> Endpoint {
    Endpoint { host: host.into(), port: 9092 }
}

macro_rules! flexible_from {
    ($key:expr, $version:expr, $($request:ident),+ $(,)?) => {
        match $key {
            $(k if k == crate::wire::messages::$request::API_KEY =>
                $version >= crate::wire::messages::$request::FIRST_FLEXIBLE,)+
            other => panic!("the scripted broker does not know API {other}"),
        }
    };
}

fn is_flexible(api_key: i16, version: i16) -> bool {
    flexible_from!(
        api_key,
        version,
        ApiVersionsRequest,
        SaslHandshakeRequest,
        SaslAuthenticateRequest,
        MetadataRequest,
        FindCoordinatorRequest,
        ProduceRequest,
        FetchRequest,
        ListOffsetsRequest,
        OffsetForLeaderEpochRequest,
        InitProducerIdRequest,
        AddPartitionsToTxnRequest,
        AddOffsetsToTxnRequest,
        TxnOffsetCommitRequest,
        EndTxnRequest,
        OffsetCommitRequest,
        OffsetFetchRequest,
        ShareGroupHeartbeatRequest,
        ShareFetchRequest,
        ShareAcknowledgeRequest,
        StreamsGroupHeartbeatRequest,
        CreateTopicsRequest,
        DeleteTopicsRequest,
    )
}

/// What a broker says about one request when it knows all our versions.
pub(crate) fn api<R: Request>() -> ApiVersion {
    api_range::<R>(R::MIN_VERSION, R::MAX_VERSION)
}

pub(crate) fn api_range<R: Request>(min_version: i16, max_version: i16) -> ApiVersion {
    ApiVersion { api_key: R::API_KEY, min_version, max_version }
}

/// Short limits, no login.
pub(crate) fn settings() -> Settings {
    Settings {
        client_id: "test".into(),
        sasl: None,
        max_in_flight: 5,
        max_frame_bytes: 1 << 20,
        io_timeout: Duration::from_secs(10),
        max_idle: Duration::from_secs(540),
    }
}

/// Starts connecting in the background, because the script has to answer meanwhile.
pub(crate) fn connect(stream: DuplexStream, settings: Settings) -> JoinHandle<Result<Connection>> {
    tokio::spawn(Connection::start("broker:9092".into(), Arc::new(settings), stream))
}

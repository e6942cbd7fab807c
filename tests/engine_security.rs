//! Connecting: every kind of TLS and login on a real broker, and every way in
//! which `build()` refuses. A refusal names what and why, has its kind, shows
//! no secret, and leaves the process able to try again.
#![cfg(feature = "engine")]

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, SystemTime};

use llingr_kafka::{
    Builder, DeadLetterHandler, DeadLetterTopic, ErrorKind, LlingrError, Message, OAuthToken,
    Options, ProcessHandler, Traits,
};
use support::*;

/// One engine per process: the tests take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    capture();
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Everything that was logged, at every level.
static LOGGED: Mutex<String> = Mutex::new(String::new());

fn capture() {
    struct Capture;
    impl log::Log for Capture {
        fn enabled(&self, _: &log::Metadata<'_>) -> bool {
            true
        }
        fn log(&self, record: &log::Record<'_>) {
            let mut logged = LOGGED.lock().unwrap_or_else(PoisonError::into_inner);
            logged.push_str(&format!("{} {}\n", record.level(), record.args()));
        }
        fn flush(&self) {}
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&Capture).expect("no other logger");
        log::set_max_level(log::LevelFilter::Trace);
    });
}

/// Sends each record's value to the test.
struct Forward(Mutex<Sender<String>>);

impl ProcessHandler for Forward {
    fn process(&self, m: &Message<'_>) -> Result<Traits, Box<dyn std::error::Error>> {
        let value = String::from_utf8_lossy(m.value().unwrap_or_default()).into_owned();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).send(value)?;
        Ok(Traits::default())
    }
}

struct NoLetters;

impl DeadLetterHandler for NoLetters {
    fn handle(&self, _: &Message<'_>, error: &str) -> Result<(), Box<dyn std::error::Error>> {
        Err(error.to_owned().into())
    }
}

struct Case {
    brokers: String,
    topic: String,
    group: String,
    options: Options,
}

impl Case {
    fn new(brokers: &str, topic: &str, options: Options) -> Case {
        let options = options
            .kafka_option("auto.offset.reset", "earliest")
            .kafka_option("llingr.client.log.level", "debug");
        Case {
            brokers: brokers.to_owned(),
            topic: topic.to_owned(),
            group: unique("security"),
            options,
        }
    }

    fn builder(&self) -> (Builder, std::sync::mpsc::Receiver<String>) {
        let (sender, values) = channel();
        let builder = Builder::new(&self.topic, Forward(Mutex::new(sender)), NoLetters)
            .brokers(&self.brokers)
            .consumer_group(&self.group)
            .options(self.options.clone());
        (builder, values)
    }

    /// Connects, consumes the topic's one record and stops.
    #[track_caller]
    fn works(&self) {
        let (builder, values) = self.builder();
        let engine = builder.build().unwrap_or_else(|e| panic!("build: {e}"));
        std::thread::scope(|scope| {
            let running = scope.spawn(|| engine.run());
            let got = values.recv_timeout(SOON);
            engine.stop();
            let ended = running.join().expect("run does not panic");
            assert_eq!(got.as_deref(), Ok("hello"), "ended: {ended:?}");
            ended.unwrap_or_else(|e| panic!("run: {e}"));
        });
    }

    /// Is refused by `build()` with this kind and these words.
    #[track_caller]
    fn refused(&self, kind: ErrorKind, words: &[&str]) {
        self.refused_with(|b| b, kind, words);
    }

    #[track_caller]
    fn refused_with(
        &self,
        change: impl FnOnce(Builder) -> Builder,
        kind: ErrorKind,
        words: &[&str],
    ) {
        let builder = change(self.builder().0);
        no_secret("the builder's Debug", &format!("{builder:?} {:?}", self.options));
        let error = builder.build().map(|_| ()).expect_err("build() was to fail");
        assert_eq!(error.kind(), kind, "{error}");
        for word in words {
            assert!(error.text().contains(word), "no {word:?} in: {error}");
        }
        assert_shows_no_secret(&error);
    }
}

/// What must never be shown: passwords, tokens, private keys.
const WRONG: &str = "wr0ng-pa55word-91";
const TOKEN_SECRET: &str = "cl1ent-s3cret-42";

#[track_caller]
fn no_secret(what: &str, text: &str) {
    for secret in [PASSWORD, WRONG, TOKEN_SECRET, "PRIVATE KEY", "eyJ"] {
        assert!(!text.contains(secret), "{what} shows {secret}: {text}");
    }
}

#[track_caller]
fn assert_shows_no_secret(error: &LlingrError) {
    no_secret("Display", &error.to_string());
    no_secret("Debug", &format!("{error:?}"));
    let mut source = std::error::Error::source(error);
    while let Some(e) = source {
        no_secret("a source", &format!("{e} {e:?}"));
        source = e.source();
    }
    no_secret("the log", &LOGGED.lock().unwrap_or_else(PoisonError::into_inner));
}

/// The broker with all listeners, and a topic with one record.
struct Fixture {
    broker: &'static SharedBroker,
    certs: Certs,
    topic: String,
}

impl Fixture {
    fn new() -> Fixture {
        let broker = shared_secure_broker();
        let topic = unique("security");
        let tool = broker.tool();
        tool.create(&topic, 1).unwrap();
        tool.produce(&topic, &[NewRecord::new("k", "hello")]).unwrap();
        Fixture { broker, certs: broker.certs(), topic }
    }

    fn at(&self, listener: Listener) -> String {
        self.broker.conn(listener, &Login::new(Mechanism::Plain)).bootstrap
    }

    fn case(&self, listener: Listener, options: Options) -> Case {
        Case::new(&self.at(listener), &self.topic, options)
    }

    fn plain(&self) -> Case {
        self.case(Listener::Plaintext, Options::new())
    }
}

fn file(path: &std::path::Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn tls_with_files_and_with_pem_text() {
    let _turn = turn();
    let f = Fixture::new();
    let c = &f.certs;
    let files = Options::new().tls().tls_ca_location(file(&c.ca_file()));
    let text = Options::new().tls().tls_ca_pem(&c.ca);
    for ca in [&files, &text] {
        let with_files = ca
            .clone()
            .tls_client_certificate(file(&c.client_cert_file()), file(&c.client_key_file()));
        f.case(Listener::Ssl, with_files).works();
        let with_text = ca.clone().tls_client_certificate_pem(&c.client.cert, &c.client.key);
        f.case(Listener::Ssl, with_text).works();
    }
    let at = f.at(Listener::Ssl);
    // Without a client certificate, and with one of a foreign authority.
    f.case(Listener::Ssl, text.clone()).refused(ErrorKind::Auth, &["TLS", &at, "certificate"]);
    let foreign =
        text.clone().tls_client_certificate_pem(&c.foreign_client.cert, &c.foreign_client.key);
    f.case(Listener::Ssl, foreign).refused(ErrorKind::Auth, &["TLS", &at, "authority"]);
    // A broker whose authority is not the one expected, or not known.
    let wrong = Options::new()
        .tls()
        .tls_ca_pem(&c.foreign_ca)
        .tls_client_certificate_pem(&c.client.cert, &c.client.key);
    f.case(Listener::Ssl, wrong).refused(ErrorKind::Auth, &["TLS", &at, "ssl.ca.location"]);
    f.case(Listener::Ssl, Options::new().tls()).refused(ErrorKind::Auth, &["TLS", &at]);
    // And the listener of another kind: TLS where none is, and none where it is.
    f.case(Listener::Plaintext, text.clone())
        .refused(ErrorKind::Auth, &["TLS", &f.at(Listener::Plaintext)]);
    f.case(Listener::Ssl, Options::new()).refused(ErrorKind::Auth, &[&at, "security.protocol"]);
    // No file, no certificate in it, no key that fits.
    let missing = Options::new().tls().tls_ca_location("/no/such/ca.pem");
    f.case(Listener::Ssl, missing).refused(ErrorKind::Config, &["/no/such/ca.pem"]);
    let garbage = Options::new().tls().tls_ca_pem("-----BEGIN NOTHING-----");
    f.case(Listener::Ssl, garbage).refused(ErrorKind::Config, &["ssl.ca.pem"]);
    let mixed = text.tls_client_certificate_pem(&c.client.cert, &c.foreign_client.key);
    f.case(Listener::Ssl, mixed).refused(ErrorKind::Config, &["ssl."]);
    f.plain().works();
}

/// Passes connections on, so that the broker has an address that its
/// certificate does not name.
fn forwarder(to: String) -> String {
    let listener = TcpListener::bind("127.0.0.2:0").expect("binds");
    let address = listener.local_addr().expect("bound").to_string();
    std::thread::spawn(move || {
        for from in listener.incoming().map_while(Result::ok) {
            let Ok(target) = TcpStream::connect(&to) else { continue };
            for (mut a, mut b) in [
                (from.try_clone().expect("clones"), target.try_clone().expect("clones")),
                (target, from),
            ] {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut a, &mut b);
                    let _ = b.shutdown(std::net::Shutdown::Both);
                });
            }
        }
    });
    address
}

#[test]
fn a_certificate_of_another_host_is_refused_unless_the_check_is_off() {
    let _turn = turn();
    let f = Fixture::new();
    let address = forwarder(f.at(Listener::SaslSsl));
    let options = Options::new().tls().tls_ca_pem(&f.certs.ca).sasl_plain(USER, PASSWORD);
    Case::new(&address, &f.topic, options.clone()).refused(
        ErrorKind::Auth,
        &["TLS", &address, "another host", "127.0.0.2", "ssl.endpoint.identification.algorithm"],
    );
    Case::new(&address, &f.topic, options.clone().disable_hostname_verification()).works();
    // That leaves the authority checked.
    let foreign = Options::new()
        .tls()
        .tls_ca_pem(&f.certs.foreign_ca)
        .sasl_plain(USER, PASSWORD)
        .disable_hostname_verification();
    Case::new(&address, &f.topic, foreign).refused(ErrorKind::Auth, &["TLS", &address]);
    let nothing =
        Options::new().tls().sasl_plain(USER, PASSWORD).disable_certificate_verification();
    Case::new(&address, &f.topic, nothing).works();
}

fn with_password(mechanism: Mechanism, password: &str) -> Options {
    match mechanism {
        Mechanism::Plain => Options::new().sasl_plain(USER, password),
        Mechanism::ScramSha256 => Options::new().sasl_scram_sha256(USER, password),
        Mechanism::ScramSha512 => Options::new().sasl_scram_sha512(USER, password),
        Mechanism::OAuthBearer => unreachable!("has no password"),
    }
}

#[test]
fn logins_with_a_password() {
    let _turn = turn();
    let f = Fixture::new();
    for mechanism in [Mechanism::Plain, Mechanism::ScramSha256, Mechanism::ScramSha512] {
        for listener in [Listener::SaslPlaintext, Listener::SaslSsl] {
            let secured = |options: Options| match listener {
                Listener::SaslSsl => options.tls().tls_ca_pem(&f.certs.ca),
                _ => options,
            };
            f.case(listener, secured(with_password(mechanism, PASSWORD))).works();
            f.case(listener, secured(with_password(mechanism, WRONG)))
                .refused(ErrorKind::Auth, &[&f.at(listener), mechanism.name()]);
        }
    }
    // No login where one is asked for, and one where none is.
    f.case(Listener::SaslPlaintext, Options::new())
        .refused(ErrorKind::Auth, &[&f.at(Listener::SaslPlaintext), "security.protocol"]);
    f.case(Listener::Plaintext, with_password(Mechanism::Plain, PASSWORD))
        .refused(ErrorKind::Auth, &[&f.at(Listener::Plaintext)]);
    f.plain().works();
}

#[test]
fn logins_with_a_token_of_the_programs() {
    let _turn = turn();
    let f = Fixture::new();
    let hour = Duration::from_secs(3600);
    let good = || {
        Options::new().sasl_oauthbearer_callback(move || {
            Ok(OAuthToken::new(unsecured_token(USER, SystemTime::now(), hour)))
        })
    };
    f.case(Listener::SaslPlaintext, good()).works();
    f.case(Listener::SaslSsl, good().tls().tls_ca_pem(&f.certs.ca)).works();
    let at = f.at(Listener::SaslPlaintext);
    let expired = Options::new().sasl_oauthbearer_callback(move || {
        Ok(OAuthToken::new(unsecured_token(USER, SystemTime::now() - 3 * hour, hour)))
    });
    f.case(Listener::SaslPlaintext, expired).refused(ErrorKind::Auth, &[&at, "OAUTHBEARER"]);
    let failing = Options::new().sasl_oauthbearer_callback(|| Err("the vault is shut".into()));
    f.case(Listener::SaslPlaintext, failing)
        .refused(ErrorKind::Auth, &["token callback", "the vault is shut"]);
    let panicking = Options::new().sasl_oauthbearer_callback(|| panic!("no vault at all"));
    f.case(Listener::SaslPlaintext, panicking)
        .refused(ErrorKind::Auth, &["token callback", "panicked"]);
    f.plain().works();
}

/// A token server that knows one client.
fn token_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
    let url = format!("http://{}/oauth2/token", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut request = Vec::new();
            let mut chunk = [0; 4096];
            let complete = |r: &[u8]| {
                let text = String::from_utf8_lossy(r).into_owned();
                let (head, body) = text.split_once("\r\n\r\n")?;
                let length = head.lines().find_map(|l| {
                    let (name, value) = l.split_once(':')?;
                    name.eq_ignore_ascii_case("content-length")
                        .then(|| value.trim().parse().ok())?
                });
                (body.len() >= length.unwrap_or(0)).then_some(text)
            };
            let text = loop {
                match stream.read(&mut chunk) {
                    Ok(n) if n > 0 => request.extend_from_slice(&chunk[..n]),
                    _ => break None,
                }
                if let Some(text) = complete(&request) {
                    break Some(text);
                }
            };
            let Some(text) = text else { continue };
            // "billing:cl1ent-s3cret-42" as HTTP basic, or both in the form.
            let known = text.contains("Basic YmlsbGluZzpjbDFlbnQtczNjcmV0LTQy")
                || (text.contains("client_id=billing") && text.contains(TOKEN_SECRET));
            let (status, body) = if !text.starts_with("POST /oauth2/token ") {
                ("404 Not Found", String::new())
            } else if known && text.contains("grant_type=client_credentials") {
                let token = unsecured_token(USER, SystemTime::now(), Duration::from_secs(3600));
                let body = serde_json::json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600});
                ("200 OK", body.to_string())
            } else {
                ("401 Unauthorized", r#"{"error":"invalid_client"}"#.to_owned())
            };
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    url
}

#[test]
fn logins_with_a_token_of_a_token_server() {
    let _turn = turn();
    let f = Fixture::new();
    let url = token_server();
    let with =
        |url: &str, secret: &str| Options::new().sasl_oauthbearer_oidc(url, "billing", secret);
    f.case(Listener::SaslPlaintext, with(&url, TOKEN_SECRET)).works();
    f.case(Listener::SaslPlaintext, with(&url, WRONG))
        .refused(ErrorKind::Auth, &[&url, "401", "invalid_client"]);
    let elsewhere = url.replace("/oauth2/token", "/nothing");
    f.case(Listener::SaslPlaintext, with(&elsewhere, TOKEN_SECRET))
        .refused(ErrorKind::Auth, &[&elsewhere, "404"]);
    let closed = format!("http://127.0.0.1:{}/token", unused_port());
    f.case(Listener::SaslPlaintext, with(&closed, TOKEN_SECRET))
        .refused(ErrorKind::Auth, &[&closed, "refused"]);
    f.plain().works();
}

fn unused_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("binds").port()
}

#[test]
fn missing_rights_name_topic_group_or_dead_letter_topic() {
    let _turn = turn();
    let f = Fixture::new();
    let tool = f.broker.tool();
    let login = || with_password(Mechanism::Plain, PASSWORD);
    let grant = |what: &str, name: &str, operation: &str| {
        // An ACL for somebody shuts out everybody else.
        tool.add_acl(&Acl::allow(OTHER_USER, operation, what, name)).unwrap();
    };
    let closed = unique("closed");
    tool.create(&closed, 1).unwrap();
    grant("TOPIC", &closed, "ALL");
    let case = Case::new(&f.at(Listener::SaslPlaintext), &closed, login());
    case.refused(ErrorKind::Topic, &[&closed, "may not"]);

    let case = f.case(Listener::SaslPlaintext, login());
    grant("GROUP", &case.group, "ALL");
    case.refused(ErrorKind::Group, &[&case.group, "may not"]);

    let case = f.case(Listener::SaslPlaintext, login());
    let letters = |topic: &str| {
        let topic = DeadLetterTopic::new(topic);
        move |b: Builder| b.dead_letter_topic(&topic)
    };
    case.refused_with(letters(&closed), ErrorKind::Topic, &[&closed]);
    let readable = unique("readable");
    tool.create(&readable, 1).unwrap();
    tool.add_acl(&Acl::allow(USER, "READ", "TOPIC", &readable)).unwrap();
    case.refused_with(letters(&readable), ErrorKind::Topic, &[&readable]);
    let missing = unique("missing");
    case.refused_with(letters(&missing), ErrorKind::Topic, &[&missing, "exist"]);
    Case::new(&f.at(Listener::SaslPlaintext), &missing, login())
        .refused(ErrorKind::Topic, &[&missing, "exist"]);
    case.works();
}

#[test]
fn a_group_of_another_kind_is_refused() {
    let _turn = turn();
    let f = Fixture::new();
    let tool = f.broker.tool();
    let consumer = || Options::new().kafka_option("group.protocol", "consumer");
    for (kind, name) in [("share", "share group"), ("connect", "connect")] {
        for options in [Options::new(), consumer()] {
            let case = f.case(Listener::Plaintext, options);
            // The coordinator's topic is made at its first use.
            wait_until("the coordinator", SOON, || {
                match tool.occupy(&case.group, &f.topic, kind) {
                    Err(e) if e.kafka == "COORDINATOR_NOT_AVAILABLE" => false,
                    done => {
                        done.unwrap();
                        true
                    }
                }
            });
            case.refused(ErrorKind::Group, &[&case.group, "taken", name]);
        }
    }
    f.plain().works();
    f.case(Listener::Plaintext, consumer()).works();
}

#[test]
fn addresses_where_no_kafka_is() {
    let _turn = turn();
    let f = Fixture::new();
    let quick = || Options::new().kafka_option("socket.connection.setup.timeout.ms", "1000");
    let case = |brokers: &str, options: Options| Case::new(brokers, &f.topic, options);

    let unknown = "no-such-host.invalid:9092";
    case(unknown, quick()).refused(ErrorKind::Unreachable, &[unknown]);
    let closed = format!("127.0.0.1:{}", unused_port());
    case(&closed, quick()).refused(ErrorKind::Unreachable, &[&closed, "refused"]);
    case("", quick()).refused(ErrorKind::Options, &["broker"]);
    case(" , ,", quick()).refused(ErrorKind::Options, &["broker"]);
    case("host\0:9092", quick()).refused(ErrorKind::Options, &[]);
    case("127.0.0.1", quick()).refused(ErrorKind::Options, &["127.0.0.1", "port"]);

    // A port that answers in another language.
    let http = TcpListener::bind("127.0.0.1:0").expect("binds");
    let address = http.local_addr().expect("bound").to_string();
    std::thread::spawn(move || {
        for mut stream in http.incoming().map_while(Result::ok) {
            let mut some = [0; 64];
            let _ = stream.read(&mut some);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
        }
    });
    case(&address, quick())
        .refused_by_one_of(&[ErrorKind::Unreachable, ErrorKind::Auth, ErrorKind::Broker], &address);

    // One that never answers: connections are made by the kernel alone.
    let silent = TcpListener::bind("127.0.0.1:0").expect("binds");
    let address = silent.local_addr().expect("bound").to_string();
    case(&address, quick()).refused(ErrorKind::Unreachable, &[&address]);
    case(&address, quick().tls()).refused(ErrorKind::Unreachable, &[&address]);

    // One good address among bad ones is enough.
    let mixed = format!("{closed},{}", f.at(Listener::Plaintext));
    case(&mixed, quick()).works();
}

impl Case {
    /// Is refused, by whichever of these kinds.
    #[track_caller]
    fn refused_by_one_of(&self, kinds: &[ErrorKind], word: &str) {
        let error = self.builder().0.build().map(|_| ()).expect_err("build() was to fail");
        assert!(kinds.contains(&error.kind()) && error.text().contains(word), "{error:?}");
        assert_shows_no_secret(&error);
    }
}

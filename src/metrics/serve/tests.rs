//! The server over real sockets.

use std::sync::mpsc;

use super::*;

/// Far above anything a step takes; a test that needs it fails.
const PATIENCE: Duration = Duration::from_secs(20);

fn server(limits: Limits) -> Server {
    Server::start_with("127.0.0.1:0", "/metrics".to_owned(), || "body\n".to_owned(), limits)
        .expect("a free port")
}

fn patient() -> Limits {
    Limits { request: PATIENCE, answer: PATIENCE, linger: Duration::from_secs(1) }
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.local_addr()).expect("connect");
    stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
    stream
}

/// Sends bytes and reads until the server closes.
fn exchange(server: &Server, request: &[u8]) -> String {
    let mut stream = connect(server);
    stream.write_all(request).expect("send");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answer");
    answer
}

fn get(server: &Server, target: &str) -> String {
    exchange(server, format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
}

#[test]
fn a_get_is_answered_with_type_and_length() {
    let server = server(patient());
    let answer = get(&server, "/metrics");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains(&format!("Content-Type: {OPENMETRICS_CONTENT_TYPE}\r\n")), "{answer}");
    assert!(
        answer.contains("Content-Length: 5\r\n") && answer.ends_with("\r\n\r\nbody\n"),
        "{answer}"
    );
}

#[test]
fn a_query_and_the_absolute_form_are_accepted() {
    let server = server(patient());
    for target in ["/metrics?name=x", "http://host:1/metrics", "http://host/metrics?x"] {
        assert!(get(&server, target).starts_with("HTTP/1.1 200"), "{target}");
    }
    let bare = exchange(&server, b"GET /metrics HTTP/1.0\n\n");
    assert!(bare.starts_with("HTTP/1.1 200"), "{bare}");
}

#[test]
fn everything_else_is_refused_by_name() {
    let server = server(patient());
    for target in ["/", "/metrics/", "/metricsx", "http://host", "*"] {
        assert!(get(&server, target).starts_with("HTTP/1.1 404"), "{target}");
    }
    for method in ["POST", "HEAD", "get"] {
        let answer = exchange(
            &server,
            format!("{method} /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc").as_bytes(),
        );
        assert!(answer.starts_with("HTTP/1.1 405"), "{answer}");
        assert!(answer.contains("Allow: GET\r\n"), "{answer}");
    }
    for garbage in ["\x16\x03\x01\r\n\r\n", "GET /metrics\r\n\r\n", "GET /metrics FTP/1\r\n\r\n"] {
        assert!(exchange(&server, garbage.as_bytes()).starts_with("HTTP/1.1 400"), "{garbage:?}");
    }
}

#[test]
fn a_request_without_end_is_cut_at_its_bound() {
    let server = server(patient());
    let answer = exchange(&server, &[b'a'; REQUEST_BYTES_MAX]);
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
}

#[test]
fn silent_clients_do_not_keep_others_out() {
    let server = server(Limits { request: Duration::from_millis(200), ..patient() });
    let silent: Vec<_> = (0..CONNECTIONS_MAX).map(|_| connect(&server)).collect();
    // Whether turned away or let in again depends on time; in the end a place is free.
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        let mut stream = connect(&server);
        let mut answer = String::new();
        let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n");
        let _ = stream.read_to_string(&mut answer);
        if answer.starts_with("HTTP/1.1 200") {
            drop(silent);
            return;
        }
    }
    panic!("no place became free");
}

#[test]
fn connections_beyond_the_bound_are_turned_away() {
    let server = server(patient());
    let mut held: Vec<_> = (0..CONNECTIONS_MAX).map(|_| connect(&server)).collect();
    let mut stream = connect(&server);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer without a request");
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    let mut first = held.swap_remove(0);
    first.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("send");
    answer.clear();
    first.read_to_string(&mut answer).expect("answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn a_client_that_does_not_read_is_cut_off() {
    let body = "x".repeat(32 << 20);
    let (started, scraped) = mpsc::channel();
    let server = Server::start_with(
        "127.0.0.1:0",
        "/m".to_owned(),
        move || {
            started.send(()).expect("the test waits");
            body.clone()
        },
        Limits { answer: Duration::from_millis(200), ..patient() },
    )
    .expect("a free port");
    let mut stream = connect(&server);
    stream.write_all(b"GET /m HTTP/1.1\r\n\r\n").expect("send");
    scraped.recv_timeout(PATIENCE).expect("the scrape began");
    let since = Instant::now();
    while !lock(&server.shared.open).is_empty() {
        assert!(since.elapsed() < PATIENCE, "the place was not freed");
        thread::yield_now();
    }
    let mut received = Vec::new();
    let _ = stream.read_to_end(&mut received);
    assert!(received.len() < 32 << 20, "everything arrived");
}

#[test]
fn an_address_in_use_is_an_error_that_names_it() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("address");
    for error in [
        Server::start(address, "/metrics".to_owned(), String::new).map(drop),
        Server::start(address.to_string().as_str(), "/metrics".to_owned(), String::new).map(drop),
    ] {
        let error = error.expect_err("taken");
        assert_eq!(error.kind(), ErrorKind::MetricsServer);
        assert!(error.to_string().contains(&address.to_string()), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }
    let error = Server::start("no port here", "/m".to_owned(), String::new).map(drop);
    assert!(error.expect_err("bad address").to_string().contains("no port here"));
}

#[test]
fn a_path_must_be_one() {
    for path in ["", "metrics", "/a b", "/a?b", "/a#b", "/\n"] {
        let error = Server::start("127.0.0.1:0", path.to_owned(), String::new).map(drop);
        let error = error.expect_err(path);
        assert!(error.to_string().contains(&format!("{path:?}")), "{error}");
    }
}

#[test]
fn stop_cuts_open_connections_and_frees_the_port() {
    let server = server(patient());
    let address = server.local_addr();
    let mut open = connect(&server);
    let started = Instant::now();
    while lock(&server.shared.open).is_empty() {
        assert!(started.elapsed() < PATIENCE, "the connection was not taken");
        thread::yield_now();
    }
    server.stop();
    server.stop();
    assert_eq!(open.read(&mut [0; 1]).expect("closed, not timed out"), 0);
    TcpListener::bind(address).expect("the port is free");
    drop(server);
}

#[test]
fn a_content_that_panics_costs_its_own_request_only() {
    let (sender, receiver) = mpsc::channel();
    sender.send(()).expect("queued");
    let receiver = Mutex::new(receiver);
    let server = Server::start("127.0.0.1:0", "/m".to_owned(), move || {
        let first = lock(&receiver).try_recv().is_ok();
        assert!(!first, "the first scrape");
        "fine\n".to_owned()
    })
    .expect("a free port");
    assert_eq!(get(&server, "/m"), "");
    assert!(get(&server, "/m").ends_with("fine\n"));
}

#[test]
fn the_last_owner_may_go_away_inside_a_scrape() {
    let slot: Arc<Mutex<Option<Server>>> = Arc::default();
    let server = Server::start("127.0.0.1:0", "/m".to_owned(), {
        let slot = Arc::clone(&slot);
        move || {
            drop(lock(&slot).take());
            "last\n".to_owned()
        }
    })
    .expect("a free port");
    let address = server.local_addr();
    *lock(&slot) = Some(server);
    let mut stream = TcpStream::connect(address).expect("connect");
    stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
    stream.write_all(b"GET /m HTTP/1.1\r\n\r\n").expect("send");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answer");
    assert!(answer.ends_with("last\n"), "{answer}");
}

#[test]
fn unspecified_addresses_are_reached_by_loopback() {
    for (address, expected) in
        [("0.0.0.0:5", "127.0.0.1:5"), ("[::]:5", "[::1]:5"), ("10.0.0.1:5", "10.0.0.1:5")]
    {
        let address: SocketAddr = address.parse().expect("address");
        assert_eq!(reachable(address).to_string(), expected);
    }
    let server = Server::start("0.0.0.0:0", "/m".to_owned(), String::new).expect("a free port");
    server.stop();
}

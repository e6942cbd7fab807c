//! Async handlers that call a slow HTTP service: hundreds of requests at once
//! on two threads, still in order for each key.
//!
//! The example serves the HTTP service itself, runs on the embedded broker and
//! ends by itself.

use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use llingr_kafka::{
    AsyncProcessHandler, AutoOffsetReset, Builder, DeadLetterHandler, DemuxConfig, DevBroker,
    HandlerError, Message, Options, Traits,
};
use log::LevelFilter;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const CUSTOMERS: usize = 300;
const ORDERS_EACH: usize = 5;
const THREADS: usize = 2;
/// What the HTTP service takes for an answer.
const LATENCY: Duration = Duration::from_millis(50);

struct Orders {
    service: SocketAddr,
    in_flight: AtomicUsize,
    most: Arc<AtomicUsize>,
    priced: Arc<Mutex<HashMap<String, Vec<usize>>>>,
}

impl AsyncProcessHandler for Orders {
    async fn process(&self, message: &Message<'_>) -> Result<Traits, HandlerError> {
        let customer = message.key_str().ok_or("an order needs a customer")?;
        let order = message.value_str().ok_or("an order without text")?;
        let now = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
        // The message stays valid over the await: nothing of it is copied.
        let answer = tokio::time::timeout(LATENCY * 200, get(self.service, order)).await;
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        let order: usize = answer??.parse()?;
        self.priced.lock().unwrap().entry(customer.to_owned()).or_default().push(order);
        Ok(Traits::none())
    }
}

struct Failed;

impl DeadLetterHandler for Failed {
    fn handle(&self, _: &Message, error: &str) -> Result<(), Box<dyn Error>> {
        Err(format!("no order should fail here: {error}").into())
    }
}

/// One request of HTTP/1.1. A service would use a client with a pool.
async fn get(service: SocketAddr, order: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(service).await?;
    let request = format!("GET /price/{order} HTTP/1.1\r\nhost: {service}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.1 200 ") => Ok(body.to_owned()),
        _ => Err(io::Error::other(format!("the service answered {answer:?}"))),
    }
}

/// The slow service: answers with what it was asked for.
async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(answer(stream));
    }
}

async fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") && request.len() < 4096 {
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let request = String::from_utf8_lossy(&request);
    let path = request.split(' ').nth(1).unwrap_or_default();
    let body = path.strip_prefix("/price/").unwrap_or_default();
    tokio::time::sleep(LATENCY).await;
    let length = body.len();
    let answer =
        format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    stream.write_all(answer.as_bytes()).await
}

/// Threads of this process, where the system tells.
fn threads() -> Option<usize> {
    std::fs::read_dir("/proc/self/task").ok().map(Iterator::count)
}

fn main() -> Result<(), Box<dyn Error>> {
    examples::print_log(LevelFilter::Warn);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let service = listener.local_addr()?;
    runtime.spawn(serve(listener));

    let broker = DevBroker::start([("orders", 6)])?;
    let orders = (0..CUSTOMERS * ORDERS_EACH)
        .map(|n| (format!("customer-{}", n % CUSTOMERS), n.to_string()));
    broker.produce("orders", orders)?;

    let most = Arc::new(AtomicUsize::new(0));
    let priced = Arc::new(Mutex::new(HashMap::<String, Vec<usize>>::new()));
    let handler = Orders {
        service,
        in_flight: AtomicUsize::new(0),
        most: most.clone(),
        priced: priced.clone(),
    };
    let engine = Builder::new_async("orders", handler, Failed)
        .brokers(broker.bootstrap())
        .consumer_group("pricing")
        .options(Options::new().auto_offset_reset(AutoOffsetReset::Earliest))
        .demux(DemuxConfig::default().concurrent_keys(CUSTOMERS))
        .runtime(runtime.handle().clone())
        .build()?;

    let watched = (engine.clone(), priced.clone());
    let watcher = thread::spawn(move || {
        let (engine, priced) = watched;
        engine.wait_until_ready(Duration::from_secs(30));
        let started = Instant::now();
        let done = || priced.lock().unwrap().values().map(Vec::len).sum::<usize>();
        let complete =
            examples::wait_until(Duration::from_secs(30), || done() == CUSTOMERS * ORDERS_EACH);
        let (took, threads) = (started.elapsed(), threads());
        engine.stop();
        (complete, took, threads)
    });
    engine.run()?;
    let (complete, took, threads) = watcher.join().map_err(|_| "the watcher panicked")?;

    let (orders, most) = (CUSTOMERS * ORDERS_EACH, most.load(Ordering::Relaxed));
    println!("{orders} orders of {CUSTOMERS} customers, {LATENCY:?} each at the service:");
    println!("  one after the other  {:?}", LATENCY * orders as u32);
    println!("  here                 {took:?}");
    println!("  requests at once     {most}, on {THREADS} threads");
    if let Some(threads) = threads {
        println!("  threads in all       {threads}, those of the embedded broker included");
    }
    let in_order = priced.lock().unwrap().values().all(|orders| orders.is_sorted());
    if !complete || !in_order || most <= THREADS {
        return Err(format!(
            "complete: {complete}, in order: {in_order}, at once: {most}: this is a bug"
        )
        .into());
    }
    println!("complete, and in order for each customer");
    Ok(())
}

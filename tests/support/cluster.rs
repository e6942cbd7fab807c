//! Brokers of a test's own, to be stopped, killed, frozen and restarted.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use super::certs::Certs;
use super::conn::{Conn, Listener, Login, Mechanism};
use super::dist::{Dist, KafkaVersion};
use super::guard::{Guarded, Output, remove_with_process, send_signal};
use super::ports::Port;
use super::properties::{NodePorts, Rights, node_properties, scram_users};
use super::proxy::Proxy;
use super::tool::Tool;
use super::{kafka_dir, tail, unique, wait_until};

/// How long a broker may take to be ready on a busy machine.
pub(super) const START_LIMIT: Duration = Duration::from_secs(120);
/// How long an orderly stop may take before it is a failure.
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// What cluster to start.
#[derive(Clone)]
pub(crate) struct ClusterBuilder {
    version: KafkaVersion,
    nodes: i32,
    secure: bool,
    rights: Rights,
    fast: bool,
    properties: Vec<(String, String)>,
    features: Vec<String>,
    proxy: Option<Arc<Proxy>>,
}

impl ClusterBuilder {
    /// Number of brokers, 1 by default. With three, internal topics have three
    /// replicas and any single broker may be lost.
    pub(crate) fn brokers(mut self, n: i32) -> Self {
        self.nodes = n;
        self
    }

    /// Version of Kafka, 4.4 by default.
    pub(crate) fn version(mut self, version: KafkaVersion) -> Self {
        self.version = version;
        self
    }

    /// Adds the listeners SSL, SASL_PLAINTEXT and SASL_SSL with all login
    /// mechanisms.
    pub(crate) fn secure(mut self) -> Self {
        self.secure = true;
        self
    }

    /// Adds an authorizer: who logs in may do only what an ACL allows. Who
    /// comes by PLAINTEXT may do everything. Implies [`Self::secure`].
    pub(crate) fn acl(mut self) -> Self {
        self.rights = Rights::AclOnly;
        self.secure()
    }

    /// Sets a property of every broker, over the harness's own value.
    pub(crate) fn property(mut self, name: &str, value: &str) -> Self {
        self.properties.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Formats with a feature level, such as `share.version` 1.
    pub(crate) fn feature(mut self, name: &str, level: u16) -> Self {
        self.features.extend(["--feature".to_owned(), format!("{name}={level}")]);
        self
    }

    /// Has all clients of its single broker come through `proxy`, by its advertised address.
    pub(crate) fn behind(mut self, proxy: &Arc<Proxy>) -> Self {
        self.proxy = Some(proxy.clone());
        self
    }

    /// Lets Java optimise fully: slower to start, for benchmarks.
    pub(crate) fn for_benchmark(mut self) -> Self {
        self.fast = true;
        self
    }

    /// Starts the brokers and returns when all of them serve.
    #[track_caller]
    pub(crate) fn start(self) -> Cluster {
        assert!(self.nodes > 0, "a cluster needs a broker");
        let dist = Dist::fetch(self.version);
        let dir = own_folder();
        let certs = self.secure.then(|| {
            let certs = dir.path.join("certs");
            create_dir(&certs);
            Certs::create(&certs)
        });
        let listeners: &[Listener] =
            if self.secure { &Listener::ALL } else { &[Listener::Plaintext] };
        let mut reserved = Vec::new();
        let ports: Vec<NodePorts> =
            (1..=self.nodes).map(|id| reserve_node(id, listeners, &mut reserved)).collect();

        let mut format_args = self.features.clone();
        if self.nodes == 1 {
            format_args.push("--standalone".to_owned());
        }
        if self.secure {
            format_args.extend(scram_users());
        }
        let nodes = ports.iter().map(|node| {
            let home = dir.path.join(format!("node-{}", node.id));
            create_dir(&home);
            let mut p =
                node_properties(node, &ports, &home.join("data"), certs.as_ref(), self.rights);
            if let Some(proxy) = &self.proxy {
                assert!(self.nodes == 1 && !self.secure, "one broker with one listener");
                p.set("advertised.listeners", format!("PLAINTEXT://{}", proxy.address()));
                proxy.lead_to(node.address(Listener::Plaintext).expect("a PLAINTEXT listener"));
            }
            for (name, value) in &self.properties {
                p.set(name, value);
            }
            let config = p.write(&home.join("server.properties"));
            dist.format(&config, CLUSTER_ID, &format_args);
            Node { ports: node.clone(), config, log: home.join("log"), process: Mutex::new(None) }
        });
        let nodes = nodes.collect();
        let cluster = Cluster { dist, fast: self.fast, nodes, certs, _ports: reserved, _dir: dir };
        for id in cluster.ids() {
            cluster.launch(id);
        }
        cluster.wait_ready();
        cluster
    }
}

/// Any cluster's id; clusters never meet, since each has its own ports.
pub(super) const CLUSTER_ID: &str = "bGxpbmdyLXRlc3RzLTAwMQ";

/// One or more brokers that end, with their data, when this value is dropped
/// or the test process ends in any way. Broker ids are 1 to n.
pub(crate) struct Cluster {
    // Before the folder: dropped in this order, the brokers end first.
    nodes: Vec<Node>,
    dist: Dist,
    fast: bool,
    certs: Option<Certs>,
    _ports: Vec<Port>,
    _dir: Folder,
}

struct Node {
    ports: NodePorts,
    config: PathBuf,
    log: PathBuf,
    process: Mutex<Option<Guarded>>,
}

impl Node {
    fn process(&self) -> MutexGuard<'_, Option<Guarded>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    fn running<T>(&self, f: impl FnOnce(&Guarded) -> T) -> T {
        let process = self.process();
        let process =
            process.as_ref().unwrap_or_else(|| panic!("broker {} does not run", self.ports.id));
        f(process)
    }
}

impl Cluster {
    /// One broker without security, unless told otherwise.
    pub(crate) fn builder() -> ClusterBuilder {
        ClusterBuilder {
            version: KafkaVersion::default(),
            nodes: 1,
            secure: false,
            rights: Rights::Open,
            fast: false,
            properties: Vec::new(),
            features: Vec::new(),
            proxy: None,
        }
    }

    /// The broker ids.
    pub(crate) fn ids(&self) -> Vec<i32> {
        self.nodes.iter().map(|n| n.ports.id).collect()
    }

    /// `host:port` of every broker's PLAINTEXT listener, with commas.
    pub(crate) fn bootstrap(&self) -> String {
        self.bootstrap_of(Listener::Plaintext)
    }

    /// The same of another listener; panics if the cluster is not secure.
    #[track_caller]
    pub(crate) fn bootstrap_of(&self, listener: Listener) -> String {
        let all: Vec<String> =
            self.ids().into_iter().map(|id| self.address(id, listener)).collect();
        all.join(",")
    }

    /// `host:port` of one broker's listener.
    #[track_caller]
    pub(crate) fn address(&self, id: i32, listener: Listener) -> String {
        let address = self.node(id).ports.address(listener);
        address.unwrap_or_else(|| {
            panic!("no {} listener: build the cluster with secure()", listener.name())
        })
    }

    /// How to reach a listener. `login` counts only for the SASL ones.
    #[track_caller]
    pub(crate) fn conn(&self, listener: Listener, login: &Login) -> Conn {
        match listener {
            Listener::Plaintext => Conn::plaintext(self.bootstrap()),
            _ => Conn::to_listener(self.bootstrap_of(listener), listener, self.certs(), login),
        }
    }

    /// The certificates; panics if the cluster is not secure.
    #[track_caller]
    pub(crate) fn certs(&self) -> &Certs {
        self.certs.as_ref().expect("no certificates: build the cluster with secure()")
    }

    /// A tool with all rights.
    pub(crate) fn tool(&self) -> Tool {
        Tool::new(Conn::plaintext(self.bootstrap()))
    }

    /// Orderly shutdown of one broker.
    #[track_caller]
    pub(crate) fn stop(&self, id: i32) {
        let process = self.take(id);
        process.terminate();
        if process.wait(STOP_LIMIT).is_none() {
            panic!(
                "broker {id} does not stop within {STOP_LIMIT:?}:\n{}",
                tail(&self.node(id).log, 30)
            );
        }
    }

    /// SIGKILL of one broker; returns when it is gone.
    #[track_caller]
    pub(crate) fn kill9(&self, id: i32) {
        self.take(id).kill9();
    }

    /// SIGSTOP of one broker: connections stay open and nothing is answered.
    #[track_caller]
    pub(crate) fn freeze(&self, id: i32) {
        self.node(id).running(Guarded::freeze);
    }

    /// Lets a frozen broker go on.
    #[track_caller]
    pub(crate) fn thaw(&self, id: i32) {
        self.node(id).running(Guarded::thaw);
    }

    /// Starts a stopped or killed broker with its ports and data; returns when
    /// it serves.
    #[track_caller]
    pub(crate) fn start(&self, id: i32) {
        self.launch(id);
        self.wait_ready_node(id, &[id]);
    }

    /// Orderly stop and start.
    #[track_caller]
    pub(crate) fn restart(&self, id: i32) {
        self.stop(id);
        self.start(id);
    }

    /// Waits until every running broker knows all running ones.
    #[track_caller]
    pub(crate) fn wait_ready(&self) {
        let running: Vec<i32> = self.ids().into_iter().filter(|id| self.is_running(*id)).collect();
        for id in &running {
            self.wait_ready_node(*id, &running);
        }
    }

    pub(crate) fn is_running(&self, id: i32) -> bool {
        self.node(id).process().as_ref().is_some_and(|p| p.exited().is_none())
    }

    /// The process id of a running broker.
    #[track_caller]
    pub(crate) fn pid(&self, id: i32) -> u32 {
        self.node(id).running(Guarded::pid)
    }

    /// A broker's log, removed with the cluster.
    #[track_caller]
    pub(crate) fn log_file(&self, id: i32) -> PathBuf {
        self.node(id).log.clone()
    }

    /// The last lines of a broker's log.
    #[track_caller]
    pub(crate) fn log_tail(&self, id: i32, lines: usize) -> String {
        tail(&self.node(id).log, lines)
    }

    #[track_caller]
    fn node(&self, id: i32) -> &Node {
        self.nodes.iter().find(|n| n.ports.id == id).unwrap_or_else(|| panic!("no broker {id}"))
    }

    #[track_caller]
    fn take(&self, id: i32) -> Guarded {
        self.node(id).process().take().unwrap_or_else(|| panic!("broker {id} does not run"))
    }

    #[track_caller]
    fn launch(&self, id: i32) {
        let node = self.node(id);
        let mut process = node.process();
        assert!(process.as_ref().is_none_or(|p| p.exited().is_some()), "broker {id} runs already");
        let log = OpenOptions::new().create(true).append(true).open(&node.log);
        let log = log.unwrap_or_else(|e| panic!("cannot open {}: {e}", node.log.display()));
        let mut java = self.dist.java(512, self.fast);
        java.arg("kafka.Kafka").arg(&node.config);
        let (started, _) = Guarded::spawn(&format!("broker {id}"), &java, Output::File(log));
        *process = Some(started);
    }

    /// Waits until broker `id` itself answers that `expected` are alive.
    #[track_caller]
    fn wait_ready_node(&self, id: i32, expected: &[i32]) {
        let tool = Tool::new(Conn::plaintext(self.address(id, Listener::Plaintext)));
        let tool = tool.limit(Duration::from_secs(5));
        wait_until(&format!("broker {id} to serve"), START_LIMIT, || {
            if !self.is_running(id) {
                panic!("broker {id} ended at its start:\n{}", self.log_tail(id, 40));
            }
            tool.brokers().is_ok_and(|b| expected.iter().all(|e| b.nodes.contains(e)))
        });
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for node in &self.nodes {
                eprintln!("last lines of broker {}'s log:\n{}", node.ports.id, tail(&node.log, 15));
            }
        }
        // All at once: each is killed as its process is dropped.
        for node in &self.nodes {
            node.process().take();
        }
    }
}

/// Reserves ports for one node; the reservations go to `reserved`.
pub(super) fn reserve_node(id: i32, listeners: &[Listener], reserved: &mut Vec<Port>) -> NodePorts {
    let mut next = || {
        let port = Port::free();
        let number = port.number();
        reserved.push(port);
        number
    };
    NodePorts {
        id,
        controller: next(),
        listeners: listeners.iter().map(|l| (*l, next())).collect(),
    }
}

pub(super) fn create_dir(path: &Path) {
    std::fs::create_dir_all(path)
        .unwrap_or_else(|e| panic!("cannot create {}: {e}", path.display()));
}

/// A folder of this process, removed with the value, with the process, or by
/// the next run.
struct Folder {
    path: PathBuf,
    _owner: File,
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// A new folder. Its owner file stays locked for as long as it is in use.
fn own_folder() -> Folder {
    let runs = kafka_dir().join("run");
    static SWEEP: Once = Once::new();
    SWEEP.call_once(|| sweep(&runs));
    let path = runs.join(unique("cluster"));
    create_dir(&path);
    let owner_path = path.join(OWNER);
    let owner = File::create(&owner_path)
        .unwrap_or_else(|e| panic!("cannot create {}: {e}", owner_path.display()));
    owner.lock().unwrap_or_else(|e| panic!("cannot lock {}: {e}", owner_path.display()));
    remove_with_process(&path);
    Folder { path, _owner: owner }
}

const OWNER: &str = "owner.lock";

/// Removes folders whose owner is gone: what even the watchdog missed, such as
/// after a power failure. A folder without an owner file is being made.
fn sweep(runs: &Path) {
    for entry in std::fs::read_dir(runs).into_iter().flatten().flatten() {
        let Ok(owner) = File::open(entry.path().join(OWNER)) else {
            continue;
        };
        match owner.try_lock() {
            Ok(()) => {
                kill_leftovers(&entry.path());
                let _ = std::fs::remove_dir_all(entry.path());
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
}

/// Kills every process that was started with a file of this folder.
pub(super) fn kill_leftovers(dir: &Path) {
    let needle = format!("{}/", dir.display());
    let started = Instant::now();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse::<u32>().ok()) else {
            continue;
        };
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let java = command.starts_with(b"java\0");
        if java && command.windows(needle.len()).any(|w| w == needle.as_bytes()) {
            send_signal(pid, "KILL");
            let gone = || !Path::new(&format!("/proc/{pid}")).exists();
            while !gone() && started.elapsed() < Duration::from_secs(10) {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

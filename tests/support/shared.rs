//! One broker for all test binaries of a run.
//!
//! The first test that asks starts it, through a keeper (`kafkatool keep`)
//! that outlives this process; later ones find it by the state file. Every
//! user holds a shared lock on a file until its process ends, and the keeper
//! ends the broker when for a while nobody has. So neither the last user nor a
//! killed one has anything to do.

use std::fs::{File, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::certs::Certs;
use super::cluster::{CLUSTER_ID, START_LIMIT, create_dir, kill_leftovers, reserve_node};
use super::conn::{Conn, Listener, Login, Mechanism};
use super::dist::{Dist, KafkaVersion};
use super::properties::{Rights, node_properties, scram_users};
use super::tool::Tool;
use super::tool_process::program;
use super::{kafka_dir, tail, unique, wait_until};

/// How long the broker stays without a user: long enough for the pause between
/// two test binaries, or between two runs at a desk.
const IDLE: &str = "2m";

/// The broker that tests share. Use names of your own ([`unique`]) for topics,
/// groups and transactions, and leave its settings alone.
pub(crate) struct SharedBroker {
    bootstrap: String,
    ours: Option<State>,
}

/// What is known of the broker that a keeper looks after.
#[derive(Clone, Serialize, Deserialize)]
struct State {
    /// Of this start; the keeper knows by it whether the file is still its own.
    dir: PathBuf,
    addresses: Vec<(String, String)>,
}

impl State {
    fn address(&self, listener: Listener) -> &str {
        let found = self.addresses.iter().find(|(name, _)| name == listener.name());
        &found.unwrap_or_else(|| panic!("the shared broker has no listener {}", listener.name())).1
    }
}

impl SharedBroker {
    /// `host:port` without security.
    pub(crate) fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// A tool with all rights.
    pub(crate) fn tool(&self) -> Tool {
        Tool::new(Conn::plaintext(&self.bootstrap))
    }

    /// How to reach a listener. `login` counts only for the SASL ones. Panics
    /// on a security listener of a broker that `KAFKA_BOOTSTRAP` names.
    #[track_caller]
    pub(crate) fn conn(&self, listener: Listener, login: &Login) -> Conn {
        match listener {
            Listener::Plaintext => Conn::plaintext(&self.bootstrap),
            _ => Conn::to_listener(
                self.ours().address(listener).to_owned(),
                listener,
                &self.certs(),
                login,
            ),
        }
    }

    /// The certificates of the TLS listeners.
    #[track_caller]
    pub(crate) fn certs(&self) -> Certs {
        Certs::load(&self.ours().dir.join(CERTS))
    }

    #[track_caller]
    fn ours(&self) -> &State {
        self.ours
            .as_ref()
            .expect("KAFKA_BOOTSTRAP's broker has no known security: use shared_secure_broker()")
    }
}

const CERTS: &str = "certs";

/// The broker of `KAFKA_BOOTSTRAP` if that is set, or else the one that the
/// tests share.
#[track_caller]
pub(crate) fn shared_broker() -> &'static SharedBroker {
    static GIVEN: OnceLock<Option<SharedBroker>> = OnceLock::new();
    let given = GIVEN.get_or_init(|| {
        let bootstrap = std::env::var("KAFKA_BOOTSTRAP").ok().filter(|b| !b.is_empty())?;
        Some(SharedBroker { bootstrap, ours: None })
    });
    given.as_ref().unwrap_or_else(|| shared_secure_broker())
}

/// The broker that the tests share, with all listeners, whatever
/// `KAFKA_BOOTSTRAP` says. A resource without ACL is open to all; one with an
/// ACL only to whom it names, and to those who come by PLAINTEXT.
#[track_caller]
pub(crate) fn shared_secure_broker() -> &'static SharedBroker {
    static OURS: OnceLock<SharedBroker> = OnceLock::new();
    OURS.get_or_init(|| {
        let state = find_or_start();
        SharedBroker { bootstrap: state.address(Listener::Plaintext).to_owned(), ours: Some(state) }
    })
}

fn find_or_start() -> State {
    let home = kafka_dir().join("shared");
    create_dir(&home);
    let start = open(&home.join("start.lock"));
    start.lock().unwrap_or_else(|e| panic!("cannot lock the shared broker's start: {e}"));
    // From here on the keeper leaves the broker alone.
    hold_as_user(&home.join("users.lock"));

    let state_file = home.join("state.json");
    if let Ok(text) = std::fs::read_to_string(&state_file)
        && let Ok(state) = serde_json::from_str::<State>(&text)
    {
        if state.dir.is_dir() && serves(&state) {
            return state;
        }
        // Its keeper was killed, or it does not answer: away with it.
        kill_leftovers(&state.dir);
        let _ = std::fs::remove_dir_all(&state.dir);
        let _ = std::fs::remove_file(&state_file);
    }
    start_broker(&home, &state_file)
}

/// Whether a broker answers at the known address and is the one.
fn serves(state: &State) -> bool {
    let tool = Tool::new(Conn::plaintext(state.address(Listener::Plaintext)))
        .limit(Duration::from_secs(5));
    tool.brokers().is_ok_and(|b| b.cluster == CLUSTER_ID && !b.nodes.is_empty())
}

/// Keeps a shared lock until this process ends.
fn hold_as_user(path: &Path) {
    static USER: Mutex<Option<File>> = Mutex::new(None);
    let file = open(path);
    file.lock_shared().unwrap_or_else(|e| panic!("cannot lock {}: {e}", path.display()));
    *USER.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
}

fn open(path: &Path) -> File {
    let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path);
    file.unwrap_or_else(|e| panic!("cannot open {}: {e}", path.display()))
}

fn start_broker(home: &Path, state_file: &Path) -> State {
    let dist = Dist::fetch(KafkaVersion::default());
    let dir = home.join(unique("broker"));
    create_dir(&dir.join(CERTS));
    let certs = Certs::create(&dir.join(CERTS));
    let mut reserved = Vec::new();
    let ports = reserve_node(1, &Listener::ALL, &mut reserved);
    let nodes = std::slice::from_ref(&ports);
    let properties =
        node_properties(&ports, nodes, &dir.join("data"), Some(&certs), Rights::OpenUntilAcl);
    let config = properties.write(&dir.join("server.properties"));
    let mut format_args = scram_users();
    format_args.push("--standalone".to_owned());
    dist.format(&config, CLUSTER_ID, &format_args);

    let addresses =
        Listener::ALL.map(|l| (l.name().to_owned(), ports.address(l).unwrap_or_default()));
    let state = State { dir: dir.clone(), addresses: addresses.to_vec() };
    // Before the start: if this process dies now, the next one finds and ends
    // what it began.
    let text =
        serde_json::to_string(&state).unwrap_or_else(|e| panic!("the shared broker's state: {e}"));
    std::fs::write(state_file, text)
        .unwrap_or_else(|e| panic!("cannot write {}: {e}", state_file.display()));

    let log_path = dir.join("log");
    let log = File::create(&log_path)
        .unwrap_or_else(|e| panic!("cannot create {}: {e}", log_path.display()));
    let log_copy = log.try_clone().unwrap_or_else(|e| panic!("{}: {e}", log_path.display()));
    let java = dist.java(512, false);
    let mut keeper = Command::new(program());
    keeper.args(["keep", "-idle", IDLE]);
    for (flag, path) in [
        ("-users", home.join("users.lock")),
        ("-start", home.join("start.lock")),
        ("-state", state_file.to_owned()),
        ("-dir", dir.clone()),
    ] {
        keeper.arg(flag).arg(path);
    }
    keeper.arg("--").arg(java.get_program()).args(java.get_args()).arg("kafka.Kafka").arg(&config);
    // Neither the terminal's signals nor a reader of this process's output
    // have to do with it.
    keeper.process_group(0).stdin(Stdio::null()).stdout(log).stderr(log_copy);
    let mut keeper =
        keeper.spawn().unwrap_or_else(|e| panic!("cannot start the shared broker's keeper: {e}"));
    wait_until("the shared broker to serve", START_LIMIT, || {
        if let Ok(Some(status)) = keeper.try_wait() {
            panic!("the shared broker ended at its start, {status}:\n{}", tail(&log_path, 40));
        }
        serves(&state)
    });
    state
}

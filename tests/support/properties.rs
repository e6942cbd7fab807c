//! The configuration of a broker.

use std::fmt::{Display, Write as _};
use std::path::{Path, PathBuf};

use super::certs::Certs;
use super::conn::{Listener, Mechanism, OTHER_USER, PASSWORD, USER};

/// Lines of a properties file; the last one of a name counts.
#[derive(Clone, Default)]
pub(super) struct Properties(Vec<(String, String)>);

impl Properties {
    pub(super) fn set(&mut self, name: &str, value: impl Display) {
        self.0.retain(|(n, _)| n != name);
        self.0.push((name.to_owned(), value.to_string()));
    }

    pub(super) fn write(&self, path: &Path) -> PathBuf {
        let mut text = String::new();
        for (name, value) in &self.0 {
            let _ = writeln!(text, "{name}={}", value.replace('\\', "\\\\"));
        }
        std::fs::write(path, text)
            .unwrap_or_else(|e| panic!("cannot write {}: {e}", path.display()));
        path.to_owned()
    }
}

/// One node of a cluster: where it listens.
#[derive(Clone)]
pub(super) struct NodePorts {
    pub(super) id: i32,
    pub(super) controller: u16,
    pub(super) listeners: Vec<(Listener, u16)>,
}

impl NodePorts {
    pub(super) fn address(&self, listener: Listener) -> Option<String> {
        let (_, port) = self.listeners.iter().find(|(l, _)| *l == listener)?;
        Some(format!("127.0.0.1:{port}"))
    }
}

/// Who may do what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rights {
    /// No authorizer.
    Open,
    /// What has no ACL is open to all; what has one, only to those it names.
    OpenUntilAcl,
    /// Users may do only what an ACL allows.
    AclOnly,
}

/// The properties of one node of `nodes`. Every node is broker and controller,
/// so that any of them may be killed.
pub(super) fn node_properties(
    node: &NodePorts,
    nodes: &[NodePorts],
    data: &Path,
    certs: Option<&Certs>,
    rights: Rights,
) -> Properties {
    let mut p = Properties::default();
    p.set("process.roles", "broker,controller");
    p.set("node.id", node.id);
    if nodes.len() == 1 {
        p.set("controller.quorum.bootstrap.servers", format!("127.0.0.1:{}", node.controller));
    } else {
        let voters: Vec<String> =
            nodes.iter().map(|n| format!("{}@127.0.0.1:{}", n.id, n.controller)).collect();
        p.set("controller.quorum.voters", voters.join(","));
    }
    p.set("controller.listener.names", "CONTROLLER");
    p.set("inter.broker.listener.name", "PLAINTEXT");
    let mut listeners: Vec<String> =
        node.listeners.iter().map(|(l, port)| format!("{}://127.0.0.1:{port}", l.name())).collect();
    p.set("advertised.listeners", listeners.join(","));
    listeners.push(format!("CONTROLLER://127.0.0.1:{}", node.controller));
    p.set("listeners", listeners.join(","));
    p.set(
        "listener.security.protocol.map",
        "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
    );
    p.set("log.dirs", data.display());

    let copies = nodes.len().min(3);
    let in_sync = copies.min(2);
    for (name, value) in [
        ("default.replication.factor", copies),
        ("offsets.topic.replication.factor", copies),
        ("transaction.state.log.replication.factor", copies),
        ("transaction.state.log.min.isr", in_sync),
        ("share.coordinator.state.topic.replication.factor", copies),
        ("share.coordinator.state.topic.min.isr", in_sync),
    ] {
        p.set(name, value);
    }
    for (name, value) in QUICK {
        p.set(name, value);
    }
    if let Some(certs) = certs {
        security(&mut p, certs);
    }
    if rights != Rights::Open {
        p.set("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer");
        // Brokers and kafkatool come in by PLAINTEXT.
        p.set("super.users", "User:ANONYMOUS");
        p.set("allow.everyone.if.no.acl.found", rights == Rights::OpenUntilAcl);
    }
    p
}

/// Settings that make tests quick or possible; none changes what a client sees
/// unless it asks (a group's own settings may go down to the new minimums).
const QUICK: [(&str, &str); 22] = [
    ("auto.create.topics.enable", "false"),
    ("group.initial.rebalance.delay.ms", "0"),
    ("group.streams.initial.rebalance.delay.ms", "0"),
    // Few partitions of the internal topics: they are made on first use.
    ("offsets.topic.num.partitions", "4"),
    ("transaction.state.log.num.partitions", "4"),
    ("share.coordinator.state.topic.num.partitions", "4"),
    // A killed broker's leaders move after five seconds, not nine.
    ("broker.session.timeout.ms", "5000"),
    ("broker.heartbeat.interval.ms", "1000"),
    ("group.min.session.timeout.ms", "1000"),
    ("group.consumer.min.session.timeout.ms", "1000"),
    ("group.consumer.min.heartbeat.interval.ms", "100"),
    ("group.share.min.session.timeout.ms", "1000"),
    ("group.share.min.heartbeat.interval.ms", "100"),
    ("group.share.min.record.lock.duration.ms", "1000"),
    ("group.streams.min.session.timeout.ms", "1000"),
    ("group.streams.min.heartbeat.interval.ms", "100"),
    // Compaction and the end of abandoned transactions within seconds.
    ("log.cleaner.backoff.ms", "500"),
    ("log.initial.task.delay.ms", "500"),
    ("transaction.abort.timed.out.transaction.cleanup.interval.ms", "1000"),
    ("log.segment.delete.delay.ms", "1000"),
    ("num.network.threads", "2"),
    ("num.io.threads", "4"),
];

/// TLS with PEM files, and every login mechanism on both SASL listeners.
fn security(p: &mut Properties, certs: &Certs) {
    p.set("ssl.keystore.type", "PEM");
    p.set("ssl.keystore.location", certs.broker_file().display());
    p.set("ssl.truststore.type", "PEM");
    p.set("ssl.truststore.location", certs.ca_file().display());
    p.set("listener.name.ssl.ssl.client.auth", "required");
    let all: Vec<&str> = Mechanism::ALL.iter().map(|m| m.name()).collect();
    p.set("sasl.enabled.mechanisms", all.join(","));
    let package = "org.apache.kafka.common.security";
    for listener in [Listener::SaslPlaintext, Listener::SaslSsl] {
        for mechanism in Mechanism::ALL {
            let module = match mechanism {
                Mechanism::Plain => format!(
                    r#"{package}.plain.PlainLoginModule required user_{USER}="{PASSWORD}" user_{OTHER_USER}="{PASSWORD}";"#
                ),
                Mechanism::ScramSha256 | Mechanism::ScramSha512 => {
                    format!("{package}.scram.ScramLoginModule required;")
                }
                Mechanism::OAuthBearer => format!(
                    r#"{package}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";"#
                ),
            };
            let name = format!(
                "listener.name.{}.{}.sasl.jaas.config",
                listener.name().to_lowercase(),
                mechanism.name().to_lowercase()
            );
            p.set(&name, module);
        }
    }
}

/// The storage tool's arguments that create the SCRAM users.
pub(super) fn scram_users() -> Vec<String> {
    let mut args = Vec::new();
    for mechanism in [Mechanism::ScramSha256, Mechanism::ScramSha512] {
        for user in [USER, OTHER_USER] {
            args.push("--add-scram".to_owned());
            args.push(format!("{}=[name={user},password={PASSWORD}]", mechanism.name()));
        }
    }
    args
}

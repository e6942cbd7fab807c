//! Apache Kafka itself: jars from Maven, cached under `target/kafka/`.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use super::guard::{self, Guarded, send_signal};
use super::ports::Port;
use super::properties::Properties;
use super::{kafka_dir, tail, wait_until};

/// The broker versions that tests run against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum KafkaVersion {
    /// Kafka 4.1: share and streams groups not yet on by default.
    V4_1,
    /// Kafka 4.2.
    V4_2,
    /// Kafka 4.4, the version that the crate is made for.
    #[default]
    V4_4,
}

impl KafkaVersion {
    pub(crate) fn number(self) -> &'static str {
        match self {
            Self::V4_1 => "4.1.2",
            Self::V4_2 => "4.2.1",
            Self::V4_4 => "4.4.0",
        }
    }
}

/// A Kafka ready to be started.
#[derive(Clone)]
pub(super) struct Dist {
    class_path: OsString,
    archive: PathBuf,
}

impl Dist {
    /// Fetches a version on its first use. Test processes that come at the
    /// same time wait for each other.
    pub(super) fn fetch(version: KafkaVersion) -> Self {
        require(
            "java",
            "-version",
            "a Java runtime, version 17 or newer (Debian: openjdk-17-jre-headless)",
        );
        let home = kafka_dir().join(version.number());
        std::fs::create_dir_all(&home)
            .unwrap_or_else(|e| panic!("cannot create {}: {e}", home.display()));
        let lock_path = home.join("fetch.lock");
        let lock = File::create(&lock_path)
            .unwrap_or_else(|e| panic!("cannot create {}: {e}", lock_path.display()));
        lock.lock().unwrap_or_else(|e| panic!("cannot lock {}: {e}", lock_path.display()));

        let libs = home.join("libs");
        if !libs.is_dir() {
            download(version, &home, &libs);
        }
        let dist = Self { class_path: class_path(&libs), archive: home.join("classes.jsa") };
        if !dist.archive.is_file() {
            dist.archive_classes(&home);
        }
        dist
    }

    /// `java` with the class path and the given heap. Serial collection and
    /// the first compiler alone start faster and leave the two cores to the
    /// tests; `fast` is for benchmarks, which need the broker at its best.
    pub(super) fn java(&self, heap_mb: u32, fast: bool) -> Command {
        let mut java = Command::new("java");
        java.arg(format!("-Xmx{heap_mb}m")).arg("-XX:+UseSerialGC");
        if !fast {
            java.arg("-XX:TieredStopAtLevel=1");
        }
        if self.archive.is_file() {
            let mut flag = OsString::from("-XX:SharedArchiveFile=");
            flag.push(&self.archive);
            java.arg(flag);
        }
        java.arg("-cp").arg(&self.class_path).arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn");
        java
    }

    /// Formats the data folder that `config` names.
    pub(super) fn format(&self, config: &Path, cluster_id: &str, more: &[String]) {
        let mut tool = self.java(256, false);
        tool.args(["kafka.tools.StorageTool", "format", "-t", cluster_id, "-c"])
            .arg(config)
            .args(more);
        run("Kafka's storage tool", &mut tool);
    }

    /// Archives the loaded classes of a broker that ran once: every later
    /// start takes half the time. A broker without it works all the same, so
    /// a Java that cannot do this is no error.
    fn archive_classes(&self, home: &Path) {
        let dir = home.join("training");
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir)
            .unwrap_or_else(|e| panic!("cannot create {}: {e}", dir.display()));
        let (client, controller) = (Port::free(), Port::free());
        let mut p = Properties::default();
        p.set("process.roles", "broker,controller");
        p.set("node.id", 1);
        p.set("controller.quorum.bootstrap.servers", format!("127.0.0.1:{}", controller.number()));
        p.set("controller.listener.names", "CONTROLLER");
        let (client, controller) = (client.number(), controller.number());
        p.set(
            "listeners",
            format!("PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}"),
        );
        p.set("log.dirs", dir.join("data").display());
        let config = p.write(&dir.join("server.properties"));
        self.format(&config, "bGxpbmdyLXRyYWluaW5nIQ", &["--standalone".to_owned()]);

        let mut java = self.java(512, false);
        let mut flag = OsString::from("-XX:ArchiveClassesAtExit=");
        flag.push(&self.archive);
        let mut command = Command::new(java.get_program());
        command.arg(flag).args(java.get_args()).arg("kafka.Kafka").arg(&config);
        java = command;
        let log_path = dir.join("log");
        let log = File::create(&log_path)
            .unwrap_or_else(|e| panic!("cannot create {}: {e}", log_path.display()));
        let (broker, _) = Guarded::spawn("the first Kafka broker", &java, guard::Output::File(log));
        wait_until("the first Kafka broker", Duration::from_secs(120), || {
            if let Some(status) = broker.exited() {
                panic!("the first Kafka broker ended, {status}:\n{}", tail(&log_path, 30));
            }
            std::net::TcpStream::connect(("127.0.0.1", client)).is_ok()
        });
        broker.terminate();
        if broker.wait(Duration::from_secs(120)).is_none() {
            broker.kill9();
            let _ = std::fs::remove_file(&self.archive);
        }
        let _ = std::fs::remove_dir_all(&dir);
    }
}

fn download(version: KafkaVersion, home: &Path, libs: &Path) {
    require(
        "mvn",
        "-version",
        "Apache Maven (Debian: maven), which fetches Apache Kafka for the tests",
    );
    let number = version.number();
    let pom = home.join("pom.xml");
    let text = format!(
        r#"<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>llingr</groupId><artifactId>kafka-for-tests</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{number}</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>{number}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
"#
    );
    std::fs::write(&pom, text).unwrap_or_else(|e| panic!("cannot write {}: {e}", pom.display()));
    // Renamed when complete: a fetch that was cut off is not taken for done.
    let partial = home.join("libs.partial");
    let _ = std::fs::remove_dir_all(&partial);
    eprintln!("fetching Apache Kafka {number} with Maven, once");
    let mut mvn = Command::new("mvn");
    mvn.args(["-q", "-B", "-f"]).arg(&pom).arg("dependency:copy-dependencies");
    let mut out = OsString::from("-DoutputDirectory=");
    out.push(&partial);
    run(&format!("mvn, to fetch Apache Kafka {number},"), mvn.arg(out));
    std::fs::rename(&partial, libs)
        .unwrap_or_else(|e| panic!("cannot rename {}: {e}", partial.display()));
}

/// The jars by name: an archive of classes is good for one exact class path.
fn class_path(libs: &Path) -> OsString {
    let mut jars: Vec<PathBuf> = std::fs::read_dir(libs)
        .unwrap_or_else(|e| panic!("cannot list {}: {e}", libs.display()))
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "jar"))
        .collect();
    jars.sort();
    assert!(!jars.is_empty(), "{} holds no jar: remove the folder and run again", libs.display());
    std::env::join_paths(jars)
        .unwrap_or_else(|e| panic!("a jar's path cannot be in a class path: {e}"))
}

/// Panics, saying what to install, when a program cannot be run.
pub(super) fn require(program: &str, version_flag: &str, what: &str) {
    let found = Command::new(program)
        .arg(version_flag)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(
        found.is_ok_and(|status| status.success()),
        "`{program} {version_flag}` does not run: install {what} and put `{program}` on PATH, \
         or set KAFKA_BOOTSTRAP to a broker of yours for the tests that need no broker of their own"
    );
}

/// Runs a program to its end and panics with its output if it fails.
pub(super) fn run(name: &str, command: &mut Command) -> Output {
    let output = command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|e| panic!("cannot start {name}: {e}"));
    assert!(
        output.status.success(),
        "{name} failed, {}:\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

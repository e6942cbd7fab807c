//! Kafka's own Java programs, as peers of the library under test.

use std::fs::File;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use super::dist::{Dist, KafkaVersion};
use super::guard::{Guarded, Output, remove_with_process};
use super::{kafka_dir, unique};

/// A running Java program from Kafka's jars, such as
/// `org.apache.kafka.tools.consumer.ConsoleConsumer`. Killed when dropped or
/// when the test process ends.
pub(crate) struct JavaPeer {
    class: String,
    process: Guarded,
    log: PathBuf,
}

impl JavaPeer {
    /// Starts `class` of Kafka 4.4 with arguments.
    pub(crate) fn start(class: &str, args: &[&str]) -> Self {
        Self::start_version(KafkaVersion::default(), class, args)
    }

    /// The same of another version.
    pub(crate) fn start_version(version: KafkaVersion, class: &str, args: &[&str]) -> Self {
        let runs = kafka_dir().join("run");
        std::fs::create_dir_all(&runs)
            .unwrap_or_else(|e| panic!("cannot create {}: {e}", runs.display()));
        let log = runs.join(unique("java-log"));
        let file =
            File::create(&log).unwrap_or_else(|e| panic!("cannot create {}: {e}", log.display()));
        remove_with_process(&log);
        let mut java = Dist::fetch(version).java(256, false);
        java.arg(class).args(args);
        let (process, _) = Guarded::spawn(class, &java, Output::File(file));
        Self { class: class.to_owned(), process, log }
    }

    /// All that it has written so far.
    pub(crate) fn output(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Waits for the end.
    #[track_caller]
    pub(crate) fn wait_exit(&self, limit: Duration) -> ExitStatus {
        let status = self.process.wait(limit);
        status.unwrap_or_else(|| {
            panic!("{} has not ended after {limit:?}:\n{}", self.class, self.output())
        })
    }

    /// SIGTERM: Kafka's programs leave their group and end.
    #[track_caller]
    pub(crate) fn terminate(&self) {
        self.process.terminate();
    }

    /// SIGKILL.
    pub(crate) fn kill9(&self) -> ExitStatus {
        self.process.kill9()
    }

    /// SIGSTOP.
    #[track_caller]
    pub(crate) fn freeze(&self) {
        self.process.freeze();
    }

    /// SIGCONT.
    #[track_caller]
    pub(crate) fn thaw(&self) {
        self.process.thaw();
    }
}

impl Drop for JavaPeer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("output of {}:\n{}", self.class, self.output());
        }
        let _ = std::fs::remove_file(&self.log);
    }
}

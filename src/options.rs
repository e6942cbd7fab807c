//! Client options: typed setters, Kafka's own keys, and one check for both.

mod catalogue;
mod check;
mod error;
mod security;
mod token;
mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use llingr_nexus::AutoOffsetReset;

use catalogue::Catalogue;
pub(crate) use catalogue::Part;
#[cfg(feature = "client")]
pub(crate) use check::default_value;
pub use error::OptionsError;
pub use token::OAuthToken;
pub(crate) use token::TokenProvider;
pub use values::{
    BalanceStrategy, ClientLogLevel, GroupProtocol, IsolationLevel, ShareAcknowledgementMode,
    ShareAcquireMode,
};

/// Settings of the Kafka client, for all parts of this crate.
///
/// Each setting can be made by its setter or under Kafka's own name with
/// [`kafka_option`](Options::kafka_option). Nothing is checked before the
/// options are used to build something: then an unknown key, a value out of its
/// range, a contradiction or a setting that means nothing to that part of the
/// crate is an error that names the key and the remedy
/// ([`OptionsError`]). Setting the same thing twice in the same way keeps the
/// last value; setting it in both ways to different values is an error.
///
/// `docs/options.md` lists every key with range, unit and defaults.
///
/// Brokers, group and topic are not options: they are given to the builders.
///
/// `Debug` shows no secret, no PEM text and no value of an unknown key.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use llingr_kafka::{AutoOffsetReset, Options};
///
/// let options = Options::new()
///     .client_id("billing")
///     .auto_offset_reset(AutoOffsetReset::Earliest)
///     .session_timeout(Duration::from_secs(30))
///     .sasl_scram_sha512("billing", "a password")
///     .tls_ca_location("/etc/ssl/kafka-ca.pem")
///     .kafka_option("fetch.min.bytes", "1024");
/// assert!(!format!("{options:?}").contains("a password"));
/// ```
#[derive(Clone, Default)]
#[must_use = "options do nothing until they are given to a builder"]
pub struct Options {
    /// Values of setters under the canonical key.
    typed: BTreeMap<&'static str, String>,
    /// Values of `kafka_option` under the key as given.
    text: BTreeMap<String, String>,
    /// `tls()` was called; the other TLS settings imply it.
    tls: bool,
    token_provider: Option<Arc<TokenProvider>>,
}

impl Options {
    /// No setting made: every option has its default.
    pub fn new() -> Options {
        Options::default()
    }

    /// Sets one option under Kafka's own name, or an alias of it.
    ///
    /// The value is checked when the options are used.
    pub fn kafka_option(mut self, key: impl Into<String>, value: impl Into<String>) -> Options {
        self.text.insert(key.into(), value.into());
        self
    }

    /// Sets several options under Kafka's own names, in order.
    ///
    /// ```
    /// # use llingr_kafka::Options;
    /// let options = Options::new().kafka_options([
    ///     ("security.protocol", "SASL_SSL"),
    ///     ("sasl.mechanism", "PLAIN"),
    ///     ("sasl.username", "billing"),
    ///     ("sasl.password", "a password"),
    /// ]);
    /// # let _ = options;
    /// ```
    pub fn kafka_options<K, V>(mut self, options: impl IntoIterator<Item = (K, V)>) -> Options
    where
        K: Into<String>,
        V: Into<String>,
    {
        self.text.extend(options.into_iter().map(|(key, value)| (key.into(), value.into())));
        self
    }

    /// The program's source of OAUTHBEARER tokens, if it gave one.
    pub(crate) fn token_provider(&self) -> Option<Arc<TokenProvider>> {
        self.token_provider.clone()
    }

    fn set(mut self, key: &'static str, value: impl Into<String>) -> Options {
        self.typed.insert(key, value.into());
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let catalogue = Catalogue::get();
        let mut map = f.debug_map();
        for (key, value) in &self.typed {
            map.entry(key, &check::shown(catalogue.find(key), value));
        }
        for (key, value) in &self.text {
            map.entry(key, &check::shown(catalogue.find(key), value));
        }
        if self.tls {
            map.entry(&"tls", &true);
        }
        map.finish()
    }
}

/// Milliseconds, rounded up so that a short time never becomes "none".
fn millis(time: Duration) -> String {
    time.as_nanos().div_ceil(1_000_000).to_string()
}

fn flag(value: bool) -> String {
    value.to_string()
}

fn number(value: u32) -> String {
    value.to_string()
}

fn text(value: impl Into<String>) -> String {
    value.into()
}

/// Defines the setters whose value goes to one key, and the list of those keys.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($type:ty, $convert:expr) => $key:literal;)+) => {
        impl Options {
            $(
                $(#[$doc])*
                pub fn $name(self, value: $type) -> Options {
                    self.set($key, ($convert)(value))
                }
            )+
        }

        #[cfg(test)]
        const SETTER_KEYS: &[&str] = &[$($key),+];
    };
}

setters! {
    /// `client.id`: the name this client gives to the brokers, seen in their
    /// logs, quotas and metrics. 1 to 249 characters; default `llingr`.
    client_id(impl Into<String>, text) => "client.id";

    /// `client.rack`: rack or availability zone of this client. With it the
    /// engine and streams fetch from a replica in the same rack where the brokers
    /// allow it (KIP-392). Default: none.
    client_rack(impl Into<String>, text) => "client.rack";

    /// `metadata.max.age.ms`: how old cached cluster metadata may become.
    /// 10 ms to 1 h; default 5 min.
    metadata_max_age(Duration, millis) => "metadata.max.age.ms";

    /// `socket.connection.setup.timeout.ms`: longest time to open a connection,
    /// TLS included. 100 ms to 2 min; default 10 s.
    socket_connection_setup_timeout(Duration, millis) => "socket.connection.setup.timeout.ms";

    /// `connections.max.idle.ms`: idle connections are closed after this time.
    /// 100 ms to 15 min; default 30 s in the engine, otherwise 9 min.
    connections_max_idle(Duration, millis) => "connections.max.idle.ms";

    /// `allow.auto.create.topics`: lets the broker create a missing topic, when its
    /// own configuration permits that. Default: false, for share groups true.
    allow_auto_create_topics(bool, flag) => "allow.auto.create.topics";

    /// `request.timeout.ms` (share and streams): longest wait for one answer.
    /// At least 100 ms; default 30 s, in streams 40 s.
    request_timeout(Duration, millis) => "request.timeout.ms";

    /// `default.api.timeout.ms` (share and streams): longest time of one call with
    /// all its retries. At least 100 ms; default 1 min.
    default_api_timeout(Duration, millis) => "default.api.timeout.ms";

    /// `retry.backoff.ms` (share and streams): wait before the first repetition of
    /// a failed request, doubling from there. 0 to 5 min; default 100 ms.
    retry_backoff(Duration, millis) => "retry.backoff.ms";

    /// `retry.backoff.max.ms` (share and streams): upper limit of that wait.
    /// 0 to 5 min and not below `retry.backoff.ms`; default 1 s.
    retry_backoff_max(Duration, millis) => "retry.backoff.max.ms";

    /// `reconnect.backoff.ms` (share and streams): wait before the first attempt to
    /// reconnect, doubling from there. 0 to 5 min; default 50 ms.
    reconnect_backoff(Duration, millis) => "reconnect.backoff.ms";

    /// `reconnect.backoff.max.ms` (share and streams): upper limit of that wait.
    /// 0 to 5 min and not below `reconnect.backoff.ms`; default 1 s.
    reconnect_backoff_max(Duration, millis) => "reconnect.backoff.max.ms";

    /// `llingr.request.retries` (engine): how often a failed request is repeated.
    /// 0 to 1000; default 20.
    request_retries(u32, number) => "llingr.request.retries";

    /// `llingr.retry.timeout.ms` (engine): time after which a failing request is not
    /// repeated any more. 100 ms to 1 h; default 30 s, for group requests the
    /// session timeout.
    retry_timeout(Duration, millis) => "llingr.retry.timeout.ms";

    /// `llingr.client.log.level` (engine): how detailed the client's own log lines
    /// are. Default: info.
    client_log_level(ClientLogLevel, ClientLogLevel::as_str) => "llingr.client.log.level";

    /// `enable.metrics.push` (engine): sends client metrics to brokers that ask for
    /// them (KIP-714). Default: true.
    enable_metrics_push(bool, flag) => "enable.metrics.push";

    /// `auto.offset.reset` (engine and streams): where a partition without a valid
    /// committed offset starts. Default: latest, as in Kafka's own consumer; in
    /// streams earliest. Share groups have a group setting on the broker instead.
    auto_offset_reset(AutoOffsetReset, |value: AutoOffsetReset| value.as_str()) => "auto.offset.reset";

    /// `isolation.level` (engine): whether records of open and aborted transactions
    /// are seen. Default: committed only. In share groups this is a group setting
    /// on the broker, in streams it follows from the processing guarantee.
    isolation_level(IsolationLevel, IsolationLevel::as_str) => "isolation.level";

    /// `fetch.min.bytes`: a broker answers when it has this much, or after
    /// `fetch.max.wait.ms`. Up to 2147483647; default 1.
    fetch_min_bytes(u32, number) => "fetch.min.bytes";

    /// `fetch.max.bytes`: most data in one answer; a first batch that is larger is
    /// still returned. 1 KiB to 1 GiB; default 50 MiB.
    fetch_max_bytes(u32, number) => "fetch.max.bytes";

    /// `max.partition.fetch.bytes` (engine and streams): most data of one partition
    /// in one answer; a first batch that is larger is still returned.
    /// 1 KiB to 1 GiB; default 1 MiB.
    max_partition_fetch_bytes(u32, number) => "max.partition.fetch.bytes";

    /// `fetch.max.wait.ms`, alias `fetch.wait.max.ms`: how long a broker waits for
    /// `fetch.min.bytes`. 10 ms to 5 min; default 5 s in the engine, otherwise 500 ms.
    fetch_max_wait(Duration, millis) => "fetch.max.wait.ms";

    /// `check.crcs`: whether the checksum of record batches is checked.
    /// Default: true.
    check_crcs(bool, flag) => "check.crcs";

    /// `llingr.max.concurrent.fetches` (engine): most fetch requests open at once,
    /// over all brokers. 1 to 10000; default: one for each broker.
    max_concurrent_fetches(u32, number) => "llingr.max.concurrent.fetches";

    /// `llingr.poll.error.bail.after.ms` (engine): emergency stop when fetching has
    /// failed without a pause for this long. 0 (never), or 1 min to 1 h;
    /// default 10 min.
    poll_error_bail_after(Duration, millis) => "llingr.poll.error.bail.after.ms";

    /// `llingr.poll.error.log.interval.ms` (engine): at most one log line about
    /// failing fetches in this time. 1 ms to 1 h; default 1 s.
    poll_error_log_interval(Duration, millis) => "llingr.poll.error.log.interval.ms";

    /// `llingr.poll.error.backoff.ms` (engine): wait after a failed fetch.
    /// 0 to 5 s; default 25 ms.
    poll_error_backoff(Duration, millis) => "llingr.poll.error.backoff.ms";

    /// `max.poll.records` (share and streams): most records of one poll; see
    /// [`share_acquire_mode`](Options::share_acquire_mode). At least 1; default
    /// 500, in streams 1000.
    max_poll_records(u32, number) => "max.poll.records";

    /// `max.poll.interval.ms` (share and streams): longest time between two polls
    /// before the member leaves its group. At least 1 ms; default 5 min.
    max_poll_interval(Duration, millis) => "max.poll.interval.ms";

    /// `group.protocol` (engine): who assigns partitions. Default: classic.
    group_protocol(GroupProtocol, GroupProtocol::as_str) => "group.protocol";

    /// `group.instance.id` (engine and streams): static membership (KIP-345), so
    /// that a quick restart causes no rebalance. 1 to 249 letters, digits, `.`, `_`
    /// and `-`, unique in the group. Default: none.
    group_instance_id(impl Into<String>, text) => "group.instance.id";

    /// `session.timeout.ms` (engine, classic protocol): a member that is silent for
    /// this long is removed. 100 ms to 1 h and within the broker's own bounds
    /// (by default 6 s to 30 min); default 45 s.
    session_timeout(Duration, millis) => "session.timeout.ms";

    /// `heartbeat.interval.ms` (engine, classic protocol): time between heartbeats.
    /// 1 ms to 1 h and below `session.timeout.ms`, at best a third of it; default 3 s.
    heartbeat_interval(Duration, millis) => "heartbeat.interval.ms";

    /// `rebalance.timeout.ms` (engine): longest time a member may take to give up
    /// partitions. 100 ms to 1 h and above the drain timeout; default 1 min.
    rebalance_timeout(Duration, millis) => "rebalance.timeout.ms";

    /// `partition.assignment.strategy` (engine, classic protocol): how partitions are
    /// divided. Default: cooperative-sticky. A list, to change a running group
    /// from one to another, goes through [`kafka_option`](Options::kafka_option).
    balance_strategy(BalanceStrategy, BalanceStrategy::as_str) => "partition.assignment.strategy";

    /// `share.acknowledgement.mode` (share): when records count as acknowledged.
    /// Default: implicit (KIP-932).
    share_acknowledgement_mode(ShareAcknowledgementMode, ShareAcknowledgementMode::as_str)
        => "share.acknowledgement.mode";

    /// `share.acquire.mode` (share): how strictly `max.poll.records` is kept.
    /// Default: batch-optimized (KIP-1206).
    share_acquire_mode(ShareAcquireMode, ShareAcquireMode::as_str) => "share.acquire.mode";
}

#[cfg(test)]
mod tests;

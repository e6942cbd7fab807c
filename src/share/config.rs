//! The builder and the settings it makes.

use std::sync::Arc;
use std::time::Duration;

use super::consumer::ShareConsumer;
use super::error::{AckResult, ShareError};
use super::{AckType, FailurePolicy};
use crate::client::{Client, Config};
use crate::metrics::Metrics;
use crate::options::{Options, Part, ShareAcknowledgementMode, ShareAcquireMode, default_value};
use crate::wire::records::DecodeOptions;

/// Called with each settled acknowledgement.
pub(super) type AckCallback = Arc<dyn Fn(&AckResult) + Send + Sync>;

/// How a share consumer is set up.
///
/// ```no_run
/// # async fn start() -> Result<(), llingr_kafka::share::ShareError> {
/// use std::time::Duration;
/// use llingr_kafka::share::ShareConsumer;
///
/// let consumer = ShareConsumer::builder("billing", ["invoices"])
///     .brokers("kafka-1:9092,kafka-2:9092")
///     .build()
///     .await?;
/// for record in consumer.poll(Duration::from_secs(1)).await? {
///     println!("{} at {}", record.topic(), record.offset());
/// }
/// consumer.close(Duration::from_secs(30)).await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a builder does nothing before build()"]
pub struct ShareConsumerBuilder {
    brokers: String,
    group: String,
    topics: Vec<String>,
    options: Options,
    strict: bool,
    accept_on_close: bool,
    corrupt: AckType,
    flush_interval: Duration,
    auto_renew: Option<Duration>,
    failure: FailurePolicy,
    pub(super) metrics: Option<Metrics>,
    callback: Option<AckCallback>,
}

/// What the parts of a consumer need to know.
pub(super) struct Settings {
    pub(super) group: Arc<str>,
    pub(super) explicit: bool,
    pub(super) strict: bool,
    pub(super) accept_on_close: bool,
    pub(super) corrupt: AckType,
    pub(super) flush_interval: Duration,
    pub(super) auto_renew: Option<Duration>,
    pub(super) failure: FailurePolicy,
    pub(super) record_limit: bool,
    pub(super) max_poll_records: usize,
    pub(super) max_poll_interval: Duration,
    pub(super) max_wait: Duration,
    pub(super) min_bytes: i32,
    pub(super) max_bytes: i32,
    pub(super) decode: DecodeOptions,
    pub(super) rack: String,
    pub(super) callback: Option<AckCallback>,
}

impl ShareConsumerBuilder {
    pub(super) fn new(group: String, topics: Vec<String>) -> Self {
        Self {
            brokers: String::new(),
            group,
            topics,
            options: Options::new(),
            strict: false,
            accept_on_close: false,
            corrupt: AckType::Reject,
            flush_interval: Duration::from_secs(1),
            auto_renew: None,
            failure: FailurePolicy::Release,
            metrics: None,
            callback: None,
        }
    }

    /// `bootstrap.servers`: brokers as `host:port`, separated by commas. Required.
    pub fn brokers(mut self, brokers: impl Into<String>) -> Self {
        self.brokers = brokers.into();
        self
    }

    /// Client options; those that mean nothing to share groups are refused by name.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// In explicit mode: whether a poll is an error while records of an earlier one are not
    /// acknowledged, as in Kafka's own client. Default false.
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// In implicit mode: whether close accepts the records of the last poll instead of releasing
    /// them. Default false: what may be unfinished is handed out again.
    pub fn accept_on_close(mut self, accept: bool) -> Self {
        self.accept_on_close = accept;
        self
    }

    /// What is done about records that cannot be read; see [`ShareError::Corrupt`].
    /// Default [`AckType::Reject`]; [`AckType::Renew`] is refused.
    pub fn on_corrupt(mut self, ack: AckType) -> Self {
        self.corrupt = ack;
        self
    }

    /// Longest time before an acknowledgement is sent when no fetch takes it along. 10 ms to 1 s,
    /// default 1 s.
    pub fn flush_interval(mut self, interval: Duration) -> Self {
        self.flush_interval = interval;
        self
    }

    /// Renews the locks of records that a poll returned, until this time after their delivery
    /// (KIP-1222, Kafka 4.2). Default: none are renewed but by [`AckType::Renew`].
    pub fn auto_renew(mut self, at_most: Duration) -> Self {
        self.auto_renew = Some(at_most);
        self
    }

    /// In [`ShareConsumer::run`]: what is done about a record whose handler failed. Default
    /// [`FailurePolicy::Release`].
    pub fn on_failure(mut self, policy: FailurePolicy) -> Self {
        self.failure = policy;
        self
    }

    /// Where the consumer's metrics go. Default: nowhere.
    pub fn metrics(mut self, metrics: &Metrics) -> Self {
        self.metrics = Some(metrics.clone());
        self
    }

    /// Called with every settled acknowledgement, on a thread of the runtime and outside of all
    /// locks. It must not block; a panic in it is caught and logged.
    pub fn on_acknowledged(
        mut self,
        callback: impl Fn(&AckResult) + Send + Sync + 'static,
    ) -> Self {
        self.callback = Some(Arc::new(callback));
        self
    }

    /// Connects, checks that the brokers serve share groups, and starts to join the group. Must
    /// be called on a tokio runtime, which the consumer's tasks run on.
    ///
    /// # Errors
    /// [`ShareError::Config`] naming a setting; [`ShareError::Client`] naming broker and cause
    /// when none can be reached within `default.api.timeout.ms`, or refuses the login;
    /// [`ShareError::Unsupported`] naming the broker's setting. Cancel safe.
    pub async fn build(self) -> Result<ShareConsumer, ShareError> {
        let (config, settings) = self.check()?;
        let client = Client::new(config)?;
        ShareConsumer::start(client, settings, self.topics, self.metrics).await
    }

    pub(super) fn check(&self) -> Result<(Config, Settings), ShareError> {
        let refuse = |text: &str| Err(ShareError::Config(text.to_owned()));
        if self.group.is_empty() {
            return refuse("the share group's name is empty: give builder() a name");
        }
        if self.corrupt == AckType::Renew {
            return refuse("on_corrupt(Renew) would keep unreadable records for ever: use Reject");
        }
        if !(Duration::from_millis(10)..=Duration::from_secs(1)).contains(&self.flush_interval) {
            return refuse("flush_interval must be 10 ms to 1 s");
        }
        let (config, values) = Config::of_part(Part::Share, &self.brokers, &self.options)?;
        let value = |key: &str| {
            values.get(key).map(String::as_str).or(default_value(Part::Share, key)).unwrap_or("")
        };
        let number = |key: &str| -> Result<u64, ShareError> {
            value(key).parse().map_err(|_| ShareError::Config(format!("{key} is not a number")))
        };
        let int = |key: &str| number(key).map(|n| i32::try_from(n).unwrap_or(i32::MAX));
        let explicit =
            value("share.acknowledgement.mode") == ShareAcknowledgementMode::Explicit.as_str();
        if self.strict && !explicit {
            return refuse("strict(true) needs share.acknowledgement.mode=explicit");
        }
        let settings = Settings {
            group: self.group.as_str().into(),
            explicit,
            strict: self.strict,
            accept_on_close: self.accept_on_close,
            corrupt: self.corrupt,
            flush_interval: self.flush_interval,
            auto_renew: self.auto_renew,
            failure: self.failure.clone(),
            record_limit: value("share.acquire.mode") == ShareAcquireMode::RecordLimit.as_str(),
            max_poll_records: usize::try_from(number("max.poll.records")?).unwrap_or(usize::MAX),
            max_poll_interval: Duration::from_millis(number("max.poll.interval.ms")?),
            max_wait: Duration::from_millis(number("fetch.max.wait.ms")?),
            min_bytes: int("fetch.min.bytes")?,
            max_bytes: int("fetch.max.bytes")?,
            decode: DecodeOptions {
                check_crc: value("check.crcs") != "false",
                ..DecodeOptions::default()
            },
            rack: config.rack.clone(),
            callback: self.callback.clone(),
        };
        check_topics(&self.topics)?;
        Ok((config, settings))
    }
}

/// A subscription needs topics with names that can exist.
pub(super) fn check_topics(topics: &[String]) -> Result<(), ShareError> {
    if topics.is_empty() {
        return Err(ShareError::Config(
            "no topic given: a share consumer needs at least one".into(),
        ));
    }
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    for topic in topics {
        if topic.is_empty() || topic.len() > 249 || !topic.chars().all(legal) {
            return Err(ShareError::Config(format!(
                "{topic:?} is no topic name: 1 to 249 letters, digits, '.', '_' and '-'"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(builder: ShareConsumerBuilder) -> Result<(Config, Settings), ShareError> {
        builder.brokers("b:9092").check()
    }

    fn builder() -> ShareConsumerBuilder {
        ShareConsumer::builder("g", ["t"])
    }

    #[test]
    fn defaults_are_those_of_kafkas_own_client() {
        let (_, settings) = check(builder()).unwrap();
        assert!(!settings.explicit && !settings.record_limit && settings.decode.check_crc);
        assert_eq!(settings.max_poll_records, 500);
        assert_eq!(settings.max_wait, Duration::from_millis(500));
        assert_eq!((settings.min_bytes, settings.max_bytes), (1, 52_428_800));
        assert_eq!(settings.max_poll_interval, Duration::from_secs(300));
    }

    #[test]
    fn bad_settings_are_named() {
        let cases = [
            (ShareConsumer::builder("", ["t"]), "group"),
            (ShareConsumer::builder("g", [""; 0]), "no topic"),
            (ShareConsumer::builder("g", ["a b"]), "a b"),
            (builder().strict(true), "share.acknowledgement.mode"),
            (builder().on_corrupt(AckType::Renew), "on_corrupt"),
            (builder().flush_interval(Duration::from_secs(5)), "flush_interval"),
            (
                builder().options(Options::new().kafka_option("auto.offset.reset", "earliest")),
                "auto.offset.reset",
            ),
        ];
        for (builder, named) in cases {
            let error = check(builder).map(drop).unwrap_err().to_string();
            assert!(error.contains(named), "{error} does not name {named}");
        }
    }
}

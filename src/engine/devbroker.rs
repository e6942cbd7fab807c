//! The embedded broker (kfake) for examples and tests of your own; feature
//! `dev-broker`.

use super::control::devbroker as call;
use crate::error::{ErrorKind, LlingrError};

/// An in-process Kafka broker without persistence, one per process. It starts
/// in milliseconds and knows consumer groups, transactions and share groups. It
/// is not the authority on a broker's behaviour: Apache Kafka is.
///
/// Stops when dropped.
///
/// ```no_run
/// # fn main() -> Result<(), llingr_kafka::LlingrError> {
/// use llingr_kafka::DevBroker;
///
/// let broker = DevBroker::start([("orders", 6)])?;
/// broker.produce("orders", [("key-1", "value-1"), ("key-2", "value-2")])?;
/// println!("bootstrap at {}", broker.bootstrap());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct DevBroker {
    bootstrap: String,
}

impl DevBroker {
    /// Starts the broker with these topics and numbers of partitions.
    ///
    /// # Errors
    ///
    /// A broker runs already, a topic's name or number is invalid, or no port is
    /// free.
    pub fn start<'a>(
        topics: impl IntoIterator<Item = (&'a str, u32)>,
    ) -> Result<DevBroker, LlingrError> {
        let topics: Vec<_> = topics
            .into_iter()
            .map(|(name, partitions)| serde_json::json!({"name": name, "partitions": partitions}))
            .collect();
        let answer = call::start(serde_json::json!({"topics": topics}).to_string())?;
        let answer: serde_json::Value = serde_json::from_slice(&answer).map_err(|e| {
            LlingrError::new(ErrorKind::Malformed, format!("the broker's answer: {e}"))
        })?;
        let bootstrap = answer["bootstrap"].as_str().unwrap_or_default().to_owned();
        Ok(DevBroker { bootstrap })
    }

    /// The address for `brokers(...)`.
    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// Produces records with these keys and values, in order.
    ///
    /// # Errors
    ///
    /// The topic does not exist or the broker refused a record.
    pub fn produce<K: AsRef<str>, V: AsRef<str>>(
        &self,
        topic: &str,
        records: impl IntoIterator<Item = (K, V)>,
    ) -> Result<(), LlingrError> {
        let records: Vec<_> = records
            .into_iter()
            .map(|(k, v)| serde_json::json!({"topic": topic, "key": k.as_ref(), "value": v.as_ref()}))
            .collect();
        call::produce(serde_json::Value::from(records).to_string())
    }
}

impl Drop for DevBroker {
    fn drop(&mut self) {
        if let Err(e) = call::stop() {
            log::warn!(target: crate::LOG_TARGET, "stopping the embedded broker: {e}");
        }
    }
}

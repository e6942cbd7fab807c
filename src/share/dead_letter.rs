//! What a broker writes into the headers of a record that it copied to a dead-letter topic
//! (KIP-1191, Kafka 4.4).

use std::fmt;

const PREFIX: &str = "__dlq.errors.";

/// Why and from where a record came to a group's dead-letter topic.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// Topic it was read from.
    pub topic: String,
    /// Partition it was read from.
    pub partition: i32,
    /// Its offset there.
    pub offset: i64,
    /// The share group that gave it up.
    pub group: String,
    /// How often it was delivered; `None` if the broker did not say.
    pub delivery_count: Option<i16>,
    /// The broker's reason; `None` if it gave none.
    pub message: Option<String>,
}

/// Headers that do not describe a dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeadLetterError {
    /// A header is missing.
    Missing(&'static str),
    /// A header is not what it should be.
    Malformed(&'static str),
}

impl fmt::Display for DeadLetterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "no dead letter: header {PREFIX}{name} is missing"),
            Self::Malformed(name) => write!(f, "header {PREFIX}{name} has no readable value"),
        }
    }
}

impl std::error::Error for DeadLetterError {}

impl DeadLetter {
    /// Reads the headers of a record, from whatever client it came. Of repeated names the last
    /// one counts: it is the broker's, who appends.
    ///
    /// # Errors
    /// Which header is missing or malformed.
    ///
    /// ```
    /// use llingr_kafka::share::DeadLetter;
    ///
    /// let headers: [(&[u8], Option<&[u8]>); 4] = [
    ///     (b"__dlq.errors.topic", Some(b"orders")),
    ///     (b"__dlq.errors.partition", Some(b"3")),
    ///     (b"__dlq.errors.offset", Some(b"1204")),
    ///     (b"__dlq.errors.group", Some(b"billing")),
    /// ];
    /// let letter = DeadLetter::from_headers(headers)?;
    /// assert_eq!((letter.topic.as_str(), letter.offset), ("orders", 1204));
    /// # Ok::<(), llingr_kafka::share::DeadLetterError>(())
    /// ```
    pub fn from_headers<'a>(
        headers: impl IntoIterator<Item = (&'a [u8], Option<&'a [u8]>)>,
    ) -> Result<Self, DeadLetterError> {
        let (mut topic, mut partition, mut offset) = (None, None, None);
        let (mut group, mut count, mut message) = (None, None, None);
        for (key, value) in headers {
            let slot = match key.strip_prefix(PREFIX.as_bytes()) {
                Some(b"topic") => &mut topic,
                Some(b"partition") => &mut partition,
                Some(b"offset") => &mut offset,
                Some(b"group") => &mut group,
                Some(b"delivery.count") => &mut count,
                Some(b"message") => &mut message,
                _ => continue,
            };
            *slot = value;
        }
        let text = |value: Option<&[u8]>, name| {
            let value = value.ok_or(DeadLetterError::Missing(name))?;
            let text = std::str::from_utf8(value);
            text.map(str::to_owned).map_err(|_| DeadLetterError::Malformed(name))
        };
        Ok(Self {
            topic: text(topic, "topic")?,
            partition: number(text(partition, "partition")?, "partition")?,
            offset: number(text(offset, "offset")?, "offset")?,
            group: text(group, "group")?,
            delivery_count: match count {
                Some(_) => Some(number(text(count, "delivery.count")?, "delivery.count")?),
                None => None,
            },
            message: message.map(|value| String::from_utf8_lossy(value).into_owned()),
        })
    }
}

fn number<T: std::str::FromStr>(text: String, name: &'static str) -> Result<T, DeadLetterError> {
    text.parse().map_err(|_| DeadLetterError::Malformed(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[(&str, Option<&str>)]) -> Result<DeadLetter, DeadLetterError> {
        DeadLetter::from_headers(
            headers.iter().map(|(key, value)| (key.as_bytes(), value.map(str::as_bytes))),
        )
    }

    const COMPLETE: [(&str, Option<&str>); 6] = [
        ("__dlq.errors.topic", Some("orders")),
        ("__dlq.errors.partition", Some("3")),
        ("__dlq.errors.offset", Some("1204")),
        ("__dlq.errors.group", Some("billing")),
        ("__dlq.errors.delivery.count", Some("5")),
        ("__dlq.errors.message", Some("limit")),
    ];

    #[test]
    fn all_headers_are_read_and_foreign_ones_are_not() {
        let mut headers = vec![("__dlq.errors.topic", Some("forged")), ("trace", None)];
        headers.extend(COMPLETE);
        let letter = read(&headers).unwrap();
        assert_eq!((letter.topic.as_str(), letter.partition, letter.offset), ("orders", 3, 1204));
        assert_eq!(letter.group, "billing");
        assert_eq!((letter.delivery_count, letter.message.as_deref()), (Some(5), Some("limit")));
    }

    #[test]
    fn what_is_missing_or_malformed_is_named() {
        assert_eq!(read(&COMPLETE[1..]), Err(DeadLetterError::Missing("topic")));
        let mut headers = COMPLETE;
        headers[2].1 = Some("12x");
        assert_eq!(read(&headers), Err(DeadLetterError::Malformed("offset")));
        headers[2].1 = None;
        assert_eq!(read(&headers), Err(DeadLetterError::Missing("offset")));
    }
}

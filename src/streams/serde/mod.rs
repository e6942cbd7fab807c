//! How keys and values become bytes and come back.
//!
//! | File | Holds |
//! |---|---|
//! | this one | [`Serde`], its errors and defaults |
//! | `builtin` | text, numbers, bytes, UUIDs, nullable values |
//! | `json` | any type that the crate `serde` knows, as JSON |
//! | `list` | lists in Kafka's own layout |
//! | `schema` | Schema Registry's framing around a codec of yours |
//!
//! The bytes are those of Kafka's own serializers, so that Java reads what is written here.

mod builtin;
mod json;
mod list;
mod schema;

use std::fmt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::error::BoxError;
use super::record::Headers;

pub use builtin::{
    BoolSerde, BytesSerde, F32Serde, F64Serde, I16Serde, I32Serde, I64Serde, OptionSerde,
    StringSerde, UnitSerde, UuidSerde, VecSerde,
};
pub use json::JsonSerde;
pub use list::ListSerde;
pub use schema::{SchemaCodec, SchemaSerde};

/// Whether a key or a value is at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// A record's key.
    Key,
    /// A record's value.
    Value,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key => "key",
            Self::Value => "value",
        })
    }
}

/// What a serializer is told about the bytes that it writes.
#[derive(Debug)]
pub struct SerializeContext<'a> {
    /// The topic that they are for; for a store its changelog topic.
    pub topic: &'a str,
    /// Key or value.
    pub part: Part,
    /// The record's headers; a serializer may add to them. What is added while a store's bytes
    /// are made goes nowhere.
    pub headers: &'a mut Headers,
}

/// What a deserializer is told about the bytes that it reads.
#[derive(Debug, Clone, Copy)]
pub struct DeserializeContext<'a> {
    /// The topic that they are from; for a store its changelog topic.
    pub topic: &'a str,
    /// Key or value.
    pub part: Part,
    /// The record's headers.
    pub headers: &'a Headers,
}

/// Turns values into bytes and back. Both directions may fail.
///
/// A null key or value is a null record part and never reaches a serde, except for one that has
/// a value of its own for null, such as [`OptionSerde`].
pub trait Serde<T>: Send + Sync + 'static {
    /// Appends the value's bytes to `out`. What was appended before an error is thrown away.
    ///
    /// # Errors
    /// [`SerdeError`] if the value has no bytes; say why.
    fn serialize(
        &self,
        cx: &mut SerializeContext<'_>,
        value: &T,
        out: &mut BytesMut,
    ) -> Result<(), SerdeError>;

    /// Reads a value. `bytes` may be kept: a slice of it shares its memory, which is the fetched
    /// batch's.
    ///
    /// # Errors
    /// [`SerdeError`] if the bytes are no value; say why.
    fn deserialize(&self, cx: &DeserializeContext<'_>, bytes: &Bytes) -> Result<T, SerdeError>;

    /// Whether this value is written as null.
    fn is_null(&self, _value: &T) -> bool {
        false
    }

    /// The value that null is read as; `None` leaves it null.
    fn null(&self) -> Option<T> {
        None
    }

    /// The width of every value, where all values are equally wide: lists of them are written
    /// in another layout ([`ListSerde`]).
    fn fixed_width(&self) -> Option<usize> {
        None
    }
}

/// A serde that several nodes and stores share.
pub type SharedSerde<T> = Arc<dyn Serde<T>>;

impl<T: 'static, S: Serde<T> + ?Sized> Serde<T> for Arc<S> {
    fn serialize(
        &self,
        cx: &mut SerializeContext<'_>,
        value: &T,
        out: &mut BytesMut,
    ) -> Result<(), SerdeError> {
        (**self).serialize(cx, value, out)
    }

    fn deserialize(&self, cx: &DeserializeContext<'_>, bytes: &Bytes) -> Result<T, SerdeError> {
        (**self).deserialize(cx, bytes)
    }

    fn is_null(&self, value: &T) -> bool {
        (**self).is_null(value)
    }

    fn null(&self) -> Option<T> {
        (**self).null()
    }

    fn fixed_width(&self) -> Option<usize> {
        (**self).fixed_width()
    }
}

/// A type with an obvious serde, which is taken where none is named.
///
/// Implement it for your own types to leave serdes out of a topology:
/// ```
/// use std::sync::Arc;
/// use llingr_kafka::streams::serde::{DefaultSerde, JsonSerde, SharedSerde};
///
/// #[derive(Clone, serde::Serialize, serde::Deserialize)]
/// struct Order {
///     amount: i64,
/// }
///
/// impl DefaultSerde for Order {
///     fn default_serde() -> SharedSerde<Self> {
///         Arc::new(JsonSerde::new())
///     }
/// }
/// ```
pub trait DefaultSerde: Sized + 'static {
    /// The serde.
    fn default_serde() -> SharedSerde<Self>;
}

/// Why bytes could not be made or read. It names neither data nor secrets.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", Text(.part, .topic, .why))]
#[non_exhaustive]
pub struct SerdeError {
    /// Key or value.
    pub part: Part,
    /// The topic in question.
    pub topic: Arc<str>,
    /// What is wrong.
    pub why: Arc<str>,
    /// What a library below said.
    #[source]
    pub cause: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

struct Text<'a>(&'a Part, &'a Arc<str>, &'a Arc<str>);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for topic {}: {}", self.0, self.1, self.2)
    }
}

impl SerdeError {
    /// While writing.
    pub fn write(cx: &SerializeContext<'_>, why: impl fmt::Display) -> Self {
        Self::new(cx.part, cx.topic, why)
    }

    /// While reading.
    pub fn read(cx: &DeserializeContext<'_>, why: impl fmt::Display) -> Self {
        Self::new(cx.part, cx.topic, why)
    }

    fn new(part: Part, topic: &str, why: impl fmt::Display) -> Self {
        Self { part, topic: topic.into(), why: why.to_string().into(), cause: None }
    }

    /// Keeps what a library below said.
    #[must_use]
    pub fn caused_by(self, cause: impl Into<BoxError>) -> Self {
        Self { cause: Some(cause.into().into()), ..self }
    }
}

/// The bytes of a key or value that may be null.
///
/// `scratch` is a buffer that is used again and again: the bytes of many records share one
/// allocation of it.
pub(crate) fn to_bytes<T: 'static>(
    serde: &dyn Serde<T>,
    cx: &mut SerializeContext<'_>,
    value: Option<&T>,
    scratch: &mut BytesMut,
) -> Result<Option<Bytes>, SerdeError> {
    let Some(value) = value else { return Ok(None) };
    if serde.is_null(value) {
        return Ok(None);
    }
    scratch.clear();
    match serde.serialize(cx, value, scratch) {
        Ok(()) => Ok(Some(scratch.split().freeze())),
        Err(error) => {
            scratch.clear();
            Err(error)
        }
    }
}

/// The key or value of bytes that may be null.
pub(crate) fn from_bytes<T: 'static>(
    serde: &dyn Serde<T>,
    cx: &DeserializeContext<'_>,
    bytes: Option<&Bytes>,
) -> Result<Option<T>, SerdeError> {
    match bytes {
        Some(bytes) => serde.deserialize(cx, bytes).map(Some),
        None => Ok(serde.null()),
    }
}

#[cfg(test)]
mod tests;

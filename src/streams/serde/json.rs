//! JSON.

use std::fmt;
use std::marker::PhantomData;

use bytes::{BufMut, Bytes, BytesMut};

use super::{DeserializeContext, Serde, SerdeError, SerializeContext};

/// Any type that the crate `serde` can write and read, as JSON in UTF-8 without spaces.
pub struct JsonSerde<T>(PhantomData<fn() -> T>);

impl<T> JsonSerde<T> {
    /// A serde without settings.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for JsonSerde<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for JsonSerde<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for JsonSerde<T> {}

impl<T> fmt::Debug for JsonSerde<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JsonSerde")
    }
}

impl<T> Serde<T> for JsonSerde<T>
where
    T: serde::Serialize + serde::de::DeserializeOwned + 'static,
{
    fn serialize(
        &self,
        cx: &mut SerializeContext<'_>,
        value: &T,
        out: &mut BytesMut,
    ) -> Result<(), SerdeError> {
        serde_json::to_writer(out.writer(), value)
            .map_err(|error| SerdeError::write(cx, "cannot be written as JSON").caused_by(error))
    }

    fn deserialize(&self, cx: &DeserializeContext<'_>, bytes: &Bytes) -> Result<T, SerdeError> {
        serde_json::from_slice(bytes).map_err(|error| {
            // The place only: the library's text may quote the data.
            let why = format_args!(
                "not the JSON that is expected, line {} column {}",
                error.line(),
                error.column()
            );
            SerdeError::read(cx, why)
        })
    }
}

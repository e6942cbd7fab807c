//! Schema Registry's framing: a zero byte, the schema's id, then the data.

use std::marker::PhantomData;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::{DeserializeContext, Part, Serde, SerdeError, SerializeContext};
use crate::streams::error::BoxError;

/// The byte that starts a framed value.
const MAGIC: u8 = 0;
/// Bytes before the data.
const FRAME: usize = 5;

/// Writes and reads data by a schema that a registry knows: Avro, Protobuf, JSON Schema.
///
/// It is called from the thread that processes records, so that a registry is best asked before,
/// and its answers kept.
pub trait SchemaCodec<T>: Send + Sync + 'static {
    /// The id of the schema that `value` is written by.
    ///
    /// # Errors
    /// If the schema is not known, or not allowed for the topic.
    fn schema_id(&self, topic: &str, part: Part, value: &T) -> Result<u32, BoxError>;

    /// Appends the data, without any frame.
    ///
    /// # Errors
    /// If the value does not fit the schema.
    fn encode(&self, schema_id: u32, value: &T, out: &mut BytesMut) -> Result<(), BoxError>;

    /// Reads the data that was written by the schema of this id.
    ///
    /// # Errors
    /// If the schema is not known or the data does not fit it.
    fn decode(&self, schema_id: u32, data: &Bytes) -> Result<T, BoxError>;
}

/// Frames a [`SchemaCodec`]'s data as Confluent's serializers do.
pub struct SchemaSerde<T, C> {
    codec: C,
    of: PhantomData<fn() -> T>,
}

impl<T, C: SchemaCodec<T>> SchemaSerde<T, C> {
    /// A serde on a codec.
    pub const fn new(codec: C) -> Self {
        Self { codec, of: PhantomData }
    }
}

impl<T: 'static, C: SchemaCodec<T>> Serde<T> for SchemaSerde<T, C> {
    fn serialize(
        &self,
        cx: &mut SerializeContext<'_>,
        value: &T,
        out: &mut BytesMut,
    ) -> Result<(), SerdeError> {
        let id = self
            .codec
            .schema_id(cx.topic, cx.part, value)
            .map_err(|error| SerdeError::write(cx, "no schema").caused_by(error))?;
        out.put_u8(MAGIC);
        out.put_u32(id);
        self.codec.encode(id, value, out).map_err(|error| {
            SerdeError::write(cx, format_args!("does not fit schema {id}")).caused_by(error)
        })
    }

    fn deserialize(&self, cx: &DeserializeContext<'_>, bytes: &Bytes) -> Result<T, SerdeError> {
        if bytes.len() < FRAME || bytes[0] != MAGIC {
            return Err(SerdeError::read(cx, "no schema id: not written through a registry"));
        }
        let mut data = bytes.clone();
        data.advance(1);
        let id = data.get_u32();
        self.codec.decode(id, &data).map_err(|error| {
            SerdeError::read(cx, format_args!("cannot be read by schema {id}")).caused_by(error)
        })
    }
}

//! Serdes of plain values, in the layouts of Kafka's own: numbers big-endian, text UTF-8.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

use super::{DefaultSerde, DeserializeContext, Serde, SerdeError, SerializeContext, SharedSerde};

/// Text as UTF-8.
#[derive(Debug, Clone, Copy, Default)]
pub struct StringSerde;

impl Serde<String> for StringSerde {
    fn serialize(
        &self,
        _: &mut SerializeContext<'_>,
        value: &String,
        out: &mut BytesMut,
    ) -> Result<(), SerdeError> {
        out.extend_from_slice(value.as_bytes());
        Ok(())
    }

    fn deserialize(
        &self,
        cx: &DeserializeContext<'_>,
        bytes: &Bytes,
    ) -> Result<String, SerdeError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| SerdeError::read(cx, "not UTF-8").caused_by(error))?;
        Ok(text.to_owned())
    }
}

/// Bytes as they are. Reading shares the memory of the batch that was fetched.
#[derive(Debug, Clone, Copy, Default)]
pub struct BytesSerde;

impl Serde<Bytes> for BytesSerde {
    fn serialize(
        &self,
        _: &mut SerializeContext<'_>,
        value: &Bytes,
        out: &mut BytesMut,
    ) -> Result<(), SerdeError> {
        out.extend_from_slice(value);
        Ok(())
    }

    fn deserialize(&self, _: &DeserializeContext<'_>, bytes: &Bytes) -> Result<Bytes, SerdeError> {
        Ok(bytes.clone())
    }
}

/// Bytes as they are, copied.
#[derive(Debug, Clone, Copy, Default)]
pub struct VecSerde;

impl Serde<Vec<u8>> for VecSerde {
    fn serialize(
        &self,
        _: &mut SerializeContext<'_>,
        value: &Vec<u8>,
        out: &mut BytesMut,
    ) -> Result<(), SerdeError> {
        out.extend_from_slice(value);
        Ok(())
    }

    fn deserialize(
        &self,
        _: &DeserializeContext<'_>,
        bytes: &Bytes,
    ) -> Result<Vec<u8>, SerdeError> {
        Ok(bytes.to_vec())
    }
}

fn exactly<const N: usize>(
    cx: &DeserializeContext<'_>,
    bytes: &Bytes,
) -> Result<[u8; N], SerdeError> {
    bytes[..]
        .try_into()
        .map_err(|_| SerdeError::read(cx, format_args!("{} bytes instead of {N}", bytes.len())))
}

macro_rules! numbers {
    ($($serde:ident $type:ty, $width:literal, $what:literal;)*) => {$(
        #[doc = $what]
        #[derive(Debug, Clone, Copy, Default)]
        pub struct $serde;

        impl Serde<$type> for $serde {
            fn serialize(
                &self,
                _: &mut SerializeContext<'_>,
                value: &$type,
                out: &mut BytesMut,
            ) -> Result<(), SerdeError> {
                out.extend_from_slice(&value.to_be_bytes());
                Ok(())
            }

            fn deserialize(
                &self,
                cx: &DeserializeContext<'_>,
                bytes: &Bytes,
            ) -> Result<$type, SerdeError> {
                exactly(cx, bytes).map(<$type>::from_be_bytes)
            }

            fn fixed_width(&self) -> Option<usize> {
                Some($width)
            }
        }
    )*};
}

numbers! {
    I16Serde i16, 2, "Java's `Short`: 2 bytes.";
    I32Serde i32, 4, "Java's `Integer`: 4 bytes.";
    I64Serde i64, 8, "Java's `Long`: 8 bytes.";
    F32Serde f32, 4, "Java's `Float`: 4 bytes, IEEE 754. Every NaN is written with its own bits.";
    F64Serde f64, 8, "Java's `Double`: 8 bytes, IEEE 754. Every NaN is written with its own bits.";
}

/// One byte, 0 or 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct BoolSerde;

impl Serde<bool> for BoolSerde {
    fn serialize(
        &self,
        _: &mut SerializeContext<'_>,
        value: &bool,
        out: &mut BytesMut,
    ) -> Result<(), SerdeError> {
        out.put_u8(u8::from(*value));
        Ok(())
    }

    fn deserialize(&self, cx: &DeserializeContext<'_>, bytes: &Bytes) -> Result<bool, SerdeError> {
        match exactly::<1>(cx, bytes)? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(SerdeError::read(cx, format_args!("byte {other} is neither 0 nor 1"))),
        }
    }
}

/// A UUID as its 36 characters. The value is the UUID's 16 bytes, as `uuid::Uuid::into_bytes`
/// gives them.
#[derive(Debug, Clone, Copy, Default)]
pub struct UuidSerde;

/// Characters of a UUID's text, hyphens included.
const UUID_TEXT: usize = 36;

impl Serde<[u8; 16]> for UuidSerde {
    fn serialize(
        &self,
        _: &mut SerializeContext<'_>,
        value: &[u8; 16],
        out: &mut BytesMut,
    ) -> Result<(), SerdeError> {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        for (at, byte) in value.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                out.put_u8(b'-');
            }
            out.put_u8(DIGITS[usize::from(byte >> 4)]);
            out.put_u8(DIGITS[usize::from(byte & 15)]);
        }
        Ok(())
    }

    fn deserialize(
        &self,
        cx: &DeserializeContext<'_>,
        bytes: &Bytes,
    ) -> Result<[u8; 16], SerdeError> {
        let wrong = || SerdeError::read(cx, "not the 36 characters of a UUID");
        if bytes.len() != UUID_TEXT {
            return Err(wrong());
        }
        let mut value = [0; 16];
        let mut digits = 0;
        for (at, character) in bytes.iter().enumerate() {
            if matches!(at, 8 | 13 | 18 | 23) {
                if *character != b'-' {
                    return Err(wrong());
                }
                continue;
            }
            let digit = char::from(*character).to_digit(16).ok_or_else(wrong)?;
            value[digits / 2] = value[digits / 2] << 4 | digit as u8;
            digits += 1;
        }
        Ok(value)
    }

    fn fixed_width(&self) -> Option<usize> {
        Some(UUID_TEXT)
    }
}

/// Java's `Void`: null and nothing else. `()` is written as null.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnitSerde;

impl Serde<()> for UnitSerde {
    fn serialize(
        &self,
        _: &mut SerializeContext<'_>,
        (): &(),
        _: &mut BytesMut,
    ) -> Result<(), SerdeError> {
        Ok(())
    }

    fn deserialize(&self, cx: &DeserializeContext<'_>, _: &Bytes) -> Result<(), SerdeError> {
        Err(SerdeError::read(cx, "bytes where only null is expected"))
    }

    fn is_null(&self, (): &()) -> bool {
        true
    }
}

/// A value that may be missing within a record that is there: `None` is written as null, and
/// null is read as `Some(None)`, so that operators which skip null values do see it.
#[derive(Debug, Clone, Copy, Default)]
pub struct OptionSerde<S>(S);

impl<S> OptionSerde<S> {
    /// Wraps the serde of the value.
    pub const fn new(inner: S) -> Self {
        Self(inner)
    }
}

impl<T: 'static, S: Serde<T>> Serde<Option<T>> for OptionSerde<S> {
    fn serialize(
        &self,
        cx: &mut SerializeContext<'_>,
        value: &Option<T>,
        out: &mut BytesMut,
    ) -> Result<(), SerdeError> {
        match value {
            Some(value) => self.0.serialize(cx, value, out),
            None => Err(SerdeError::write(cx, "null has no bytes")),
        }
    }

    fn deserialize(
        &self,
        cx: &DeserializeContext<'_>,
        bytes: &Bytes,
    ) -> Result<Option<T>, SerdeError> {
        self.0.deserialize(cx, bytes).map(Some)
    }

    fn is_null(&self, value: &Option<T>) -> bool {
        value.as_ref().is_none_or(|value| self.0.is_null(value))
    }

    fn null(&self) -> Option<Option<T>> {
        Some(self.0.null())
    }

    fn fixed_width(&self) -> Option<usize> {
        self.0.fixed_width()
    }
}

macro_rules! defaults {
    ($($type:ty => $serde:expr;)*) => {$(
        impl DefaultSerde for $type {
            fn default_serde() -> SharedSerde<Self> {
                Arc::new($serde)
            }
        }
    )*};
}

defaults! {
    String => StringSerde;
    Bytes => BytesSerde;
    Vec<u8> => VecSerde;
    i16 => I16Serde;
    i32 => I32Serde;
    i64 => I64Serde;
    f32 => F32Serde;
    f64 => F64Serde;
    bool => BoolSerde;
    () => UnitSerde;
}

impl<T: DefaultSerde> DefaultSerde for Option<T> {
    fn default_serde() -> SharedSerde<Self> {
        Arc::new(OptionSerde::new(T::default_serde()))
    }
}

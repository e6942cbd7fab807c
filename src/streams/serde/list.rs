//! Lists.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::{DeserializeContext, Serde, SerdeError, SerializeContext};

/// Items of one width: nulls by their indexes, then the items that are not null.
const CONSTANT: u8 = 0;
/// Items of any width: each with its length, -1 for null.
const VARIABLE: u8 = 1;

/// Java's `ListSerde`: a list whose items may be null.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListSerde<S>(S);

impl<S> ListSerde<S> {
    /// Wraps the serde of an item.
    pub const fn new(inner: S) -> Self {
        Self(inner)
    }
}

fn count(cx: &SerializeContext<'_>, len: usize) -> Result<i32, SerdeError> {
    i32::try_from(len).map_err(|_| SerdeError::write(cx, "longer than Kafka's limit of 2^31 - 1"))
}

impl<T: 'static, S: Serde<T>> Serde<Vec<Option<T>>> for ListSerde<S> {
    fn serialize(
        &self,
        cx: &mut SerializeContext<'_>,
        list: &Vec<Option<T>>,
        out: &mut BytesMut,
    ) -> Result<(), SerdeError> {
        let is_null = |item: &Option<T>| item.as_ref().is_none_or(|item| self.0.is_null(item));
        let size = count(cx, list.len())?;
        if let Some(width) = self.0.fixed_width() {
            let nulls: Vec<usize> = (0..list.len()).filter(|at| is_null(&list[*at])).collect();
            out.put_u8(CONSTANT);
            out.put_i32(count(cx, nulls.len())?);
            for at in nulls {
                out.put_i32(count(cx, at)?);
            }
            out.put_i32(size);
            for item in list.iter().filter(|item| !is_null(item)).flatten() {
                let start = out.len();
                self.0.serialize(cx, item, out)?;
                if out.len() - start != width {
                    return Err(SerdeError::write(cx, "an item is not as wide as its serde says"));
                }
            }
        } else {
            out.put_u8(VARIABLE);
            out.put_i32(size);
            for item in list {
                let start = out.len();
                out.put_i32(-1);
                if let Some(item) = item
                    && !self.0.is_null(item)
                {
                    self.0.serialize(cx, item, out)?;
                    let len = count(cx, out.len() - start - 4)?;
                    out[start..start + 4].copy_from_slice(&len.to_be_bytes());
                }
            }
        }
        Ok(())
    }

    fn deserialize(
        &self,
        cx: &DeserializeContext<'_>,
        bytes: &Bytes,
    ) -> Result<Vec<Option<T>>, SerdeError> {
        let mut input = bytes.clone();
        let form = if input.has_remaining() { input.get_u8() } else { u8::MAX };
        let list = match (form, self.0.fixed_width()) {
            (CONSTANT, Some(width)) => self.constant(cx, &mut input, width)?,
            (VARIABLE, _) => self.variable(cx, &mut input)?,
            _ => return Err(SerdeError::read(cx, "not a list of items of this width")),
        };
        if input.has_remaining() {
            return Err(SerdeError::read(cx, "bytes are left over after the list"));
        }
        Ok(list)
    }
}

impl<S> ListSerde<S> {
    fn constant<T: 'static>(
        &self,
        cx: &DeserializeContext<'_>,
        input: &mut Bytes,
        width: usize,
    ) -> Result<Vec<Option<T>>, SerdeError>
    where
        S: Serde<T>,
    {
        let nulls = length(cx, input, 4)?;
        let mut missing = Vec::with_capacity(nulls);
        for _ in 0..nulls {
            missing.push(index(cx, input)?);
        }
        let size = index(cx, input)?;
        // Each index stands for one item, each other item for its width: no room for more.
        if size > nulls + input.remaining() / width.max(1) {
            return Err(SerdeError::read(cx, "the list's size cannot be"));
        }
        missing.sort_unstable();
        let mut list = Vec::with_capacity(size);
        for at in 0..size {
            if missing.binary_search(&at).is_ok() {
                list.push(self.0.null());
                continue;
            }
            if input.remaining() < width {
                return Err(SerdeError::read(cx, "the list ends within an item"));
            }
            list.push(Some(self.0.deserialize(cx, &input.split_to(width))?));
        }
        Ok(list)
    }

    fn variable<T: 'static>(
        &self,
        cx: &DeserializeContext<'_>,
        input: &mut Bytes,
    ) -> Result<Vec<Option<T>>, SerdeError>
    where
        S: Serde<T>,
    {
        let size = length(cx, input, 4)?;
        let mut list = Vec::with_capacity(size);
        for _ in 0..size {
            let len = integer(cx, input)?;
            if len == -1 {
                list.push(self.0.null());
                continue;
            }
            match usize::try_from(len) {
                Ok(len) if len <= input.remaining() => {
                    list.push(Some(self.0.deserialize(cx, &input.split_to(len))?));
                }
                _ => return Err(SerdeError::read(cx, "an item's length cannot be")),
            }
        }
        Ok(list)
    }
}

fn integer(cx: &DeserializeContext<'_>, input: &mut Bytes) -> Result<i32, SerdeError> {
    if input.remaining() < 4 {
        return Err(SerdeError::read(cx, "the list ends too early"));
    }
    Ok(input.get_i32())
}

fn index(cx: &DeserializeContext<'_>, input: &mut Bytes) -> Result<usize, SerdeError> {
    usize::try_from(integer(cx, input)?)
        .map_err(|_| SerdeError::read(cx, "a negative index or size"))
}

/// A count of things that take at least `each` bytes: checked before anything is allocated.
fn length(
    cx: &DeserializeContext<'_>,
    input: &mut Bytes,
    each: usize,
) -> Result<usize, SerdeError> {
    let count = index(cx, input)?;
    if count > input.remaining() / each {
        return Err(SerdeError::read(cx, "the list's size cannot be"));
    }
    Ok(count)
}

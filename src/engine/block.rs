//! Memory that records cross the boundary in, and the view of one record.
//!
//! The host allocates a [`Block`], the engine fills it with records and hands
//! it back. A record that has to wait on its own (behind its key, for a retry,
//! for an async handler) is copied into an [`OwnedRecord`], so that one slow
//! record never keeps a block of others alive.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use llingr_nexus::{Header, Headers, Message, Timestamp};

use super::sys;

const ALIGN: usize = 8;
const HEAD: usize = size_of::<sys::llingr_record>();
const HEADER_HEAD: usize = 8;

/// Blocks of this size are kept for reuse; it is what the engine asks for
/// unless one record needs more.
const REUSED_SIZE: usize = 64 << 10;
const REUSED_MAX: usize = 256;

/// An allocation of `capacity` bytes, aligned to 8, of which the first `len`
/// are initialised.
pub(crate) struct Block {
    ptr: NonNull<u8>,
    capacity: usize,
    len: usize,
}

// SAFETY: a Block owns its allocation exclusively; nothing in it is tied to a
// thread, and shared access is read-only.
unsafe impl Send for Block {}
// SAFETY: as above: `&Block` only reads the initialised bytes.
unsafe impl Sync for Block {}

impl Block {
    fn layout(capacity: usize) -> Layout {
        Layout::from_size_align(capacity, ALIGN).expect("capacity was checked by Block::new")
    }

    /// Allocates at least `min` bytes; none when the size is not allocatable.
    pub(crate) fn new(min: usize) -> Option<Block> {
        let capacity = min.max(ALIGN).checked_next_multiple_of(ALIGN)?;
        let layout = Layout::from_size_align(capacity, ALIGN).ok()?;
        // SAFETY: the layout's size is at least ALIGN, so not zero.
        let ptr = NonNull::new(unsafe { alloc(layout) })?;
        Some(Block { ptr, capacity, len: 0 })
    }

    /// A block with one record, for tests.
    #[cfg(test)]
    pub(crate) fn of_record(key: Option<&[u8]>, value: Option<&[u8]>, offset: i64) -> Block {
        let headers = Headers::from_slice(&[]);
        let message = Message::new(key, value, "t", 0, offset, Timestamp::NotAvailable, headers);
        let bytes = encode_record(&message, &[]).expect("a small record");
        let mut block = Block::new(bytes.len()).expect("a small block");
        // SAFETY: the block has room for all bytes and does not overlap them.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), block.ptr.as_ptr(), bytes.len()) };
        block.len = bytes.len();
        block
    }

    /// Gives the allocation away; [`Block::from_raw`] takes it back.
    pub(crate) fn into_raw(self) -> (*mut u8, usize) {
        let raw = (self.ptr.as_ptr(), self.capacity);
        std::mem::forget(self);
        raw
    }

    /// # Safety
    /// `ptr` and `capacity` must come from one call of [`Block::into_raw`] that
    /// was not taken back yet, and the first `len` bytes must be initialised.
    pub(crate) unsafe fn from_raw(ptr: *mut u8, capacity: usize, len: usize) -> Option<Block> {
        let ptr = NonNull::new(ptr)?;
        Some(Block { ptr, capacity, len: len.min(capacity) })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `len` bytes are initialised (from_raw's contract) and owned.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: ptr was allocated with this layout and is freed once.
        unsafe { dealloc(self.ptr.as_ptr(), Self::layout(self.capacity)) }
    }
}

/// Blocks for reuse: fresh pages cost more than copying the records does.
#[derive(Default)]
pub(crate) struct BlockPool {
    free: Mutex<Vec<Block>>,
}

impl BlockPool {
    pub(crate) fn acquire(&self, min: usize) -> Option<Block> {
        if min <= REUSED_SIZE {
            if let Some(block) = self.free.lock().expect(POISON).pop() {
                return Some(block);
            }
            return Block::new(REUSED_SIZE);
        }
        Block::new(min)
    }

    pub(crate) fn release(&self, mut block: Block) {
        if block.capacity == REUSED_SIZE {
            let mut free = self.free.lock().expect(POISON);
            if free.len() < REUSED_MAX {
                block.len = 0;
                free.push(block);
            }
        }
    }
}

/// No code that could panic runs under the locks of this crate's engine.
pub(crate) const POISON: &str = "no panic happens under this lock";

/// What is wrong with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

fn i32_at(b: &[u8], at: usize) -> i32 {
    i32::from_ne_bytes(b[at..at + 4].try_into().expect("four bytes"))
}

fn u32_at(b: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(b[at..at + 4].try_into().expect("four bytes"))
}

fn i64_at(b: &[u8], at: usize) -> i64 {
    i64::from_ne_bytes(b[at..at + 8].try_into().expect("eight bytes"))
}

/// Takes `len` bytes (-1: null) from the front of `rest`.
fn take<'a>(rest: &mut &'a [u8], len: i32) -> Result<Option<&'a [u8]>, Malformed> {
    if len == -1 {
        return Ok(None);
    }
    let len = usize::try_from(len).map_err(|_| Malformed("negative length"))?;
    let (taken, left) = rest.split_at_checked(len).ok_or(Malformed("length beyond the record"))?;
    *rest = left;
    Ok(Some(taken))
}

/// One record, checked: its lengths fit its bytes.
#[derive(Clone, Copy)]
pub(crate) struct RecordView<'a> {
    bytes: &'a [u8],
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
    headers: &'a [u8],
}

impl<'a> RecordView<'a> {
    /// Reads the record at the front of `block`.
    pub(crate) fn parse(block: &'a [u8]) -> Result<RecordView<'a>, Malformed> {
        if block.len() < HEAD {
            return Err(Malformed("cut record head"));
        }
        let size = u32_at(block, 0) as usize;
        if size < HEAD || size % ALIGN != 0 || size > block.len() {
            return Err(Malformed("record size"));
        }
        let bytes = &block[..size];
        let mut rest = &bytes[HEAD..];
        let key = take(&mut rest, i32_at(bytes, 4))?;
        let value = take(&mut rest, i32_at(bytes, 8))?;
        let view = RecordView { bytes, key, value, headers: rest };
        let count = view.header_count();
        if count != 0 {
            for _ in 0..count {
                take_header(&mut rest)?;
            }
        }
        Ok(view)
    }

    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn key(&self) -> Option<&'a [u8]> {
        self.key
    }

    pub(crate) fn offset(&self) -> i64 {
        i64_at(self.bytes, 16)
    }

    fn header_count(&self) -> u32 {
        u32_at(self.bytes, 12)
    }

    fn timestamp(&self) -> Timestamp {
        let millis = i64_at(self.bytes, 24);
        match u32_at(self.bytes, 32) {
            sys::LLINGR_TIMESTAMP_CREATE => Timestamp::CreateTime { millis },
            sys::LLINGR_TIMESTAMP_LOG_APPEND => Timestamp::LogAppendTime { millis },
            _ => Timestamp::NotAvailable,
        }
    }

    /// Builds the message and calls `f` with it. Headers are laid out only
    /// when the record has some.
    pub(crate) fn with_message<R>(
        &self,
        topic: &str,
        partition: i32,
        f: impl FnOnce(&Message<'_>) -> R,
    ) -> R {
        let message = |headers| {
            Message::new(
                self.key,
                self.value,
                topic,
                partition,
                self.offset(),
                self.timestamp(),
                Headers::from_slice(headers),
            )
        };
        if self.header_count() == 0 {
            return f(&message(&[]));
        }
        let names = self.header_names();
        let headers = self.headers_named(&names);
        f(&message(&headers))
    }

    /// Names that are not UTF-8 (Kafka says they are) are shown with
    /// replacement characters rather than refused.
    pub(crate) fn header_names(&self) -> Vec<std::borrow::Cow<'a, str>> {
        let mut rest = self.headers;
        (0..self.header_count())
            .map_while(|_| take_header(&mut rest).ok())
            .map(|(name, _)| String::from_utf8_lossy(name))
            .collect()
    }

    pub(crate) fn headers_named<'n>(
        &self,
        names: &'n [std::borrow::Cow<'a, str>],
    ) -> Vec<Header<'n>>
    where
        'a: 'n,
    {
        let mut rest = self.headers;
        names
            .iter()
            .map_while(|name| {
                take_header(&mut rest).ok().map(|(_, value)| Header { key: name, value })
            })
            .collect()
    }

    pub(crate) fn message_with<'n>(
        &self,
        topic: &'n str,
        partition: i32,
        headers: &'n [Header<'n>],
    ) -> Message<'n>
    where
        'a: 'n,
    {
        Message::new(
            self.key,
            self.value,
            topic,
            partition,
            self.offset(),
            self.timestamp(),
            Headers::from_slice(headers),
        )
    }
}

/// Name and value of one header.
type RawHeader<'a> = (&'a [u8], Option<&'a [u8]>);

fn take_header<'a>(rest: &mut &'a [u8]) -> Result<RawHeader<'a>, Malformed> {
    if rest.len() < HEADER_HEAD {
        return Err(Malformed("cut header"));
    }
    let (name_len, value_len) = (u32_at(rest, 0), i32_at(rest, 4));
    *rest = &rest[HEADER_HEAD..];
    let name_len = i32::try_from(name_len).map_err(|_| Malformed("header name length"))?;
    let name = take(rest, name_len)?.unwrap_or_default();
    Ok((name, take(rest, value_len)?))
}

/// A record in memory of its own, aligned like a block. Clones share it.
#[derive(Clone)]
pub(crate) struct OwnedRecord {
    words: Arc<[u64]>,
}

impl OwnedRecord {
    pub(crate) fn copy_of(view: &RecordView<'_>) -> OwnedRecord {
        let size = view.size();
        debug_assert_eq!(size % ALIGN, 0);
        let mut words = Arc::<[u64]>::new_uninit_slice(size / ALIGN);
        let room = Arc::get_mut(&mut words).expect("nobody else has it yet");
        // SAFETY: both are `size` bytes long, do not overlap (one is fresh),
        // and the copy initialises every word.
        let words = unsafe {
            std::ptr::copy_nonoverlapping(view.bytes.as_ptr(), room.as_mut_ptr().cast(), size);
            words.assume_init()
        };
        OwnedRecord { words }
    }

    pub(crate) fn view(&self) -> RecordView<'_> {
        // SAFETY: u64 has no padding and a stricter alignment than u8; the
        // length covers exactly the words.
        let bytes = unsafe {
            std::slice::from_raw_parts(self.words.as_ptr().cast(), self.words.len() * ALIGN)
        };
        RecordView::parse(bytes).expect("a copied record was checked before")
    }
}

/// Writes one record in the block format, as dead letters travel.
pub(crate) fn encode_record(
    message: &Message<'_>,
    extra: &[(&str, Vec<u8>)],
) -> Result<Vec<u8>, Malformed> {
    fn len_of(b: Option<&[u8]>) -> Result<i32, Malformed> {
        b.map_or(Ok(-1), |b| i32::try_from(b.len()).map_err(|_| Malformed("more than 2 GiB")))
    }
    let mut out = vec![0u8; HEAD];
    let mut headers = 0u32;
    out.extend_from_slice(message.key().unwrap_or_default());
    out.extend_from_slice(message.value().unwrap_or_default());
    let own = message.headers();
    let all = own
        .iter()
        .map(|h| (h.key, h.value))
        .chain(extra.iter().map(|(name, value)| (*name, Some(value.as_slice()))));
    for (name, value) in all {
        let name_len = u32::try_from(name.len()).map_err(|_| Malformed("header name length"))?;
        out.extend_from_slice(&name_len.to_ne_bytes());
        out.extend_from_slice(&len_of(value)?.to_ne_bytes());
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(value.unwrap_or_default());
        headers += 1;
    }
    out.resize(out.len().next_multiple_of(ALIGN), 0);
    let size = u32::try_from(out.len()).map_err(|_| Malformed("more than 4 GiB"))?;
    let (kind, millis) = match message.timestamp() {
        Timestamp::CreateTime { millis } => (sys::LLINGR_TIMESTAMP_CREATE, millis),
        Timestamp::LogAppendTime { millis } => (sys::LLINGR_TIMESTAMP_LOG_APPEND, millis),
        _ => (sys::LLINGR_TIMESTAMP_NONE, 0),
    };
    out[0..4].copy_from_slice(&size.to_ne_bytes());
    out[4..8].copy_from_slice(&len_of(message.key())?.to_ne_bytes());
    out[8..12].copy_from_slice(&len_of(message.value())?.to_ne_bytes());
    out[12..16].copy_from_slice(&headers.to_ne_bytes());
    out[16..24].copy_from_slice(&message.offset().to_ne_bytes());
    out[24..32].copy_from_slice(&millis.to_ne_bytes());
    out[32..36].copy_from_slice(&kind.to_ne_bytes());
    Ok(out)
}

//! Reads `tests/fixtures/wire`, which `tests/fixtures/java` wrote.

use bytes::{Buf, Bytes};
use std::path::PathBuf;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/wire").join(name)
}

/// The bytes of one fixture.
pub(crate) fn read(name: &str) -> Bytes {
    let path = path(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())).into()
}

/// One message as Kafka's client writes it.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) version: i16,
    pub(crate) bytes: Bytes,
}

/// All of `messages.bin`.
pub(crate) fn messages() -> Vec<Entry> {
    let mut rest = read("messages.bin");
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let name_len = usize::from(rest.get_u16());
        let name = String::from_utf8(rest.split_to(name_len).to_vec()).unwrap();
        let version = rest.get_i16();
        let len = rest.get_u32() as usize;
        let bytes = rest.split_to(len);
        entries.push(Entry { name, version, bytes });
    }
    entries
}

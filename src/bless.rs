//! Generated files that are checked in: compared by tests, rewritten on request.

use std::path::Path;

/// Asserts that the file holds `expected`; with `LLINGR_BLESS=1` in the environment it is
/// rewritten first.
pub(crate) fn assert_file(name: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("LLINGR_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, expected).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let actual = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(
        actual == expected,
        "{name} is stale; run the tests with LLINGR_BLESS=1 and commit the result"
    );
}

//! `src/engine/sys.rs` is what bindgen makes of `include/llingr.h`. This test
//! fails when they drift apart; `LLINGR_BLESS=1 cargo test --test bindings`
//! writes the file anew.
#![cfg(feature = "engine")]

use std::path::Path;

const HEAD: &str = "\
//! Bindings to `include/llingr.h`, made by bindgen. Do not edit: a test compares
//! this file with the header (`LLINGR_BLESS=1 cargo test --test bindings`).
#![allow(non_camel_case_types, missing_docs, dead_code, unreachable_pub)]
";

#[test]
fn bindings_match_the_header() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = root.join("include/llingr.h");
    let made = bindgen::Builder::default()
        .header(header.to_str().expect("the header's path is UTF-8"))
        .allowlist_item("(llingr|LLINGR)_.*")
        .rust_edition(bindgen::RustEdition::Edition2024)
        .rust_target(bindgen::RustTarget::stable(95, 0).expect("a known Rust version"))
        .derive_default(false)
        .layout_tests(true)
        .generate_comments(false)
        .formatter(bindgen::Formatter::None)
        .generate()
        .expect("bindgen needs libclang: install libclang-dev (Debian) or llvm (Homebrew), or set LIBCLANG_PATH");
    let made = made.to_string();
    assert!(made.contains("fn llingr_engine_new"), "bindgen found nothing in the header");
    let made = format!("{HEAD}\n{}", rustfmt(&made));
    let file = root.join("src/engine/sys.rs");
    if std::env::var_os("LLINGR_BLESS").is_some() {
        std::fs::write(&file, &made).expect("writing the bindings");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == made,
        "src/engine/sys.rs does not match include/llingr.h; LLINGR_BLESS=1 writes it anew"
    );
}

fn rustfmt(code: &str) -> String {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("rustfmt comes with the toolchain: rustup component add rustfmt");
    child.stdin.take().expect("piped").write_all(code.as_bytes()).expect("rustfmt reads");
    let out = child.wait_with_output().expect("rustfmt ends");
    assert!(out.status.success(), "rustfmt failed on the bindings");
    String::from_utf8(out.stdout).expect("rustfmt writes UTF-8")
}

//! Go's own tests, as a part of `cargo test`.

use std::path::Path;
use std::process::Command;

/// Runs `go test` for all packages of a folder, and panics with what it said.
fn go_test(folder: &str, cgo: &str, arguments: &[&str]) {
    let output = Command::new("go")
        .args(["test", "-timeout", "300s"])
        .args(arguments)
        .arg("./...")
        .env("CGO_ENABLED", cgo)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))
        .output()
        .expect("the tests need Go: install Go 1.26 or newer (https://go.dev/dl)");
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "go test {arguments:?} in {folder}/ failed:\n{said}\n{error}");
    assert!(said.contains("ok  \t"), "go test in {folder}/ ran no test:\n{said}\n{error}");
}

/// The systems of this crate that Go's race detector exists for.
const RACE_DETECTOR: bool =
    cfg!(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "s390x"));

#[test]
fn go_tests_pass_without_c() {
    go_test("go", "0", &[]);
}

#[test]
fn go_tests_pass_with_the_race_detector() {
    if RACE_DETECTOR {
        go_test("go", "1", &["-race", "-tags", "devbroker"]);
    } else {
        go_test("go", "1", &["-tags", "devbroker"]);
    }
}

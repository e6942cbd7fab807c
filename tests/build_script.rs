//! What `build.rs` answers in each situation. The script that cargo built for
//! this run is started directly, with an environment of the test's own.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The build script, newest first: other features and profiles have theirs.
fn script() -> PathBuf {
    let out = Path::new(env!("OUT_DIR")); // target/PROFILE/build/NAME-HASH/out
    let builds = out.ancestors().nth(2).expect("cargo's layout of OUT_DIR");
    let mut found: Vec<_> = std::fs::read_dir(builds)
        .expect("the folder of the build scripts")
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with("llingr-kafka-"))
        .map(|e| e.path().join("build-script-build"))
        .filter_map(|p| Some((p.metadata().ok()?.modified().ok()?, p)))
        .collect();
    found.sort();
    found.pop().expect("cargo has built the build script").1
}

/// An empty folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("build_script").join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder under target/");
    dir
}

/// A program named `go` that a shell runs, alone in its folder.
fn fake_go(name: &str, script: &str) -> PathBuf {
    let dir = folder(name);
    let file = dir.join("go");
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("writing the fake go");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("making it runnable");
    dir
}

/// A run for x86_64 Linux with the feature `engine` and no Go in PATH.
fn run(name: &str, environment: &[(&str, &str)]) -> Said {
    let out = folder(&format!("{name}-out"));
    let mut command = Command::new(script());
    command
        .env_clear()
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"))
        .env("OUT_DIR", &out)
        .env("TARGET", "x86_64-unknown-linux-gnu")
        .env("HOST", "x86_64-unknown-linux-gnu")
        .env("OPT_LEVEL", "0")
        .env("DEBUG", "false")
        .env("CARGO_FEATURE_ENGINE", "1")
        .env("CARGO_CFG_TARGET_OS", "linux")
        .env("CARGO_CFG_TARGET_ENV", "gnu")
        .env("CARGO_CFG_TARGET_ARCH", "x86_64")
        .env("CARGO_CFG_PANIC", "unwind")
        .env("PATH", folder(&format!("{name}-path")));
    for (key, value) in environment {
        if value.is_empty() {
            command.env_remove(key);
        } else {
            command.env(key, value);
        }
    }
    Said::of(command.output().expect("the build script starts"))
}

struct Said {
    ok: bool,
    out: String,
    error: String,
}

impl Said {
    fn of(output: Output) -> Said {
        Said {
            ok: output.status.success(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            error: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        }
    }

    #[track_caller]
    fn links(&self, line: &str) {
        assert!(self.ok, "{}", self.error);
        assert!(self.out.lines().any(|l| l == line), "no line {line} in\n{}", self.out);
    }

    #[track_caller]
    fn links_nothing(&self) {
        assert!(self.ok, "{}", self.error);
        assert!(!self.out.contains("rustc-link"), "{}", self.out);
    }

    /// Failed with one paragraph that has each of these in it.
    #[track_caller]
    fn refuses(&self, parts: &[&str]) {
        assert!(!self.ok, "it succeeded:\n{}", self.out);
        assert!(!self.error.contains('\n'), "more than one paragraph:\n{}", self.error);
        assert!(!self.error.contains("panicked"), "{}", self.error);
        for part in parts {
            assert!(self.error.contains(part), "{part:?} is missing in: {}", self.error);
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths under target/ are UTF-8")
}

#[test]
fn without_the_engine_nothing_is_linked_and_no_go_is_needed() {
    run("no-engine", &[("CARGO_FEATURE_ENGINE", "")]).links_nothing();
}

#[test]
fn on_docs_rs_nothing_is_linked_and_no_go_is_needed() {
    run("docs-rs", &[("DOCS_RS", "1")]).links_nothing();
}

#[test]
fn a_missing_go_is_refused_with_the_remedies() {
    run("no-go", &[]).refuses(&[
        "`go` could not be started",
        "Install Go 1.26 or newer",
        "LLINGR_LIB_DIR",
        "default-features = false",
    ]);
}

#[test]
fn an_old_go_is_refused() {
    for (version, found) in [("go1.20", "found go1.20"), ("go1.25.9", "found go1.25.9")] {
        let path = fake_go("old-go", &format!("echo {version}"));
        run("old-go", &[("PATH", text(&path))]).refuses(&["needs Go 1.26", found, "Install Go"]);
    }
}

#[test]
fn a_go_that_fails_is_refused_with_what_it_said() {
    let path = fake_go("broken-go", "echo 'no GOROOT' >&2; exit 2");
    run("broken-go", &[("PATH", text(&path))]).refuses(&["`go env` failed", "no GOROOT"]);
}

#[test]
fn musl_and_foreign_systems_are_refused() {
    run("musl", &[("CARGO_CFG_TARGET_ENV", "musl")]).refuses(&[
        "musl",
        "gnu target",
        "default-features = false",
    ]);
    run("windows", &[("CARGO_CFG_TARGET_OS", "windows"), ("CARGO_CFG_TARGET_ENV", "msvc")])
        .refuses(&["not for windows", "default-features = false"]);
}

#[test]
fn an_architecture_without_go_archives_is_refused() {
    let path = fake_go("sparc", "echo go1.26.0");
    run("sparc", &[("PATH", text(&path)), ("CARGO_CFG_TARGET_ARCH", "sparc64")])
        .refuses(&["sparc64", "x86_64"]);
}

#[test]
fn a_prebuilt_archive_is_linked_without_go() {
    let dir = folder("prebuilt");
    std::fs::write(dir.join("libllingr.a"), "").expect("writing the archive");
    let said = run("prebuilt", &[("LLINGR_LIB_DIR", text(&dir))]);
    said.links(&format!("cargo::rustc-link-search=native={}", dir.display()));
    said.links("cargo::rustc-link-lib=static=llingr");
    said.links(&format!("cargo::rerun-if-changed={}", dir.join("libllingr.a").display()));
}

#[test]
fn a_prebuilt_library_is_linked_shared() {
    let dir = folder("shared");
    std::fs::write(dir.join("libllingr.so"), "").expect("writing the library");
    let given = [("LLINGR_LIB_DIR", text(&dir)), ("LLINGR_LINK", "shared")];
    run("shared", &given).links("cargo::rustc-link-lib=dylib=llingr");
}

#[test]
fn a_folder_without_the_archive_is_refused() {
    let dir = folder("empty-lib-dir");
    let missing = ["LLINGR_LIB_DIR is", "no libllingr.a", "-buildmode=c-archive"];
    run("empty", &[("LLINGR_LIB_DIR", text(&dir))]).refuses(&missing);
    let given = [("LLINGR_LIB_DIR", text(&dir)), ("LLINGR_LINK", "shared")];
    run("empty-shared", &given).refuses(&["no libllingr.so", "-buildmode=c-shared"]);
}

#[test]
fn the_kind_of_linking_is_checked() {
    run("no-lib-dir", &[("LLINGR_LINK", "shared")]).refuses(&["needs LLINGR_LIB_DIR"]);
    run("bad-link", &[("LLINGR_LINK", "both")]).refuses(&["`static`", "`shared`"]);
}

#[test]
fn panic_abort_gets_a_warning() {
    let said = run("abort", &[("CARGO_CFG_PANIC", "abort"), ("DOCS_RS", "1")]);
    assert!(said.ok, "{}", said.error);
    assert!(said.out.contains("cargo::warning=panic = \"abort\""), "{}", said.out);
}

/// A fake go that writes down how it was called and makes the archive.
const RECORDING: &str = r#"
if [ "$1" = env ]; then echo go1.26.0; exit 0; fi
{ pwd; echo "$GOFLAGS"; echo "$CGO_ENABLED $GOOS $GOARCH"; echo "$@"; } > "$RECORD"
while [ $# -gt 0 ]; do
  if [ "$1" = -o ]; then : > "$2"; fi
  shift
done
"#;

#[test]
fn go_builds_into_out_dir_and_may_not_change_go_mod() {
    let path = fake_go("recording", RECORDING);
    let record = path.join("record");
    let said = run(
        "recording",
        &[
            ("PATH", text(&path)),
            ("RECORD", text(&record)),
            ("GOFLAGS", "-mod=mod -trimpath"),
            ("CARGO_FEATURE_DEV_BROKER", "1"),
        ],
    );
    said.links("cargo::rustc-link-lib=static=llingr");
    let record = std::fs::read_to_string(record).expect("the fake go was called");
    let [folder, flags, target, arguments] = record.lines().collect::<Vec<_>>()[..] else {
        panic!("{record}")
    };
    assert!(folder.ends_with("/go"), "{folder}");
    assert_eq!(flags, "-trimpath -mod=readonly -buildvcs=false");
    assert_eq!(target, "1 linux amd64");
    for part in ["-buildmode=c-archive", "-tags netgo,osusergo,devbroker", "./cmd/libllingr"] {
        assert!(arguments.contains(part), "{part} is missing in {arguments}");
    }
    let output = arguments.split("-o ").nth(1).and_then(|rest| rest.split(' ').next());
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("build_script/recording-out");
    assert_eq!(output, Some(text(&out.join("libllingr.a"))));
}

#[test]
fn a_build_that_cannot_fetch_modules_says_how() {
    let fails = "if [ \"$1\" = env ]; then echo go1.26.0; exit 0; fi
echo 'go: example.org/m@v1: dial tcp: no route to host' >&2; exit 1";
    let path = fake_go("no-network", fails);
    let said = run("no-network", &[("PATH", text(&path))]);
    assert!(!said.ok);
    assert!(said.error.contains("GOPROXY") && said.error.contains("GOMODCACHE"), "{}", said.error);
    assert!(said.error.contains("no route to host"), "what Go said is missing: {}", said.error);
}

#[test]
fn what_changes_the_archive_makes_cargo_run_the_script_again() {
    let path = fake_go("watched", RECORDING);
    let record = path.join("record");
    let said = run("watched", &[("PATH", text(&path)), ("RECORD", text(&record))]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in
        ["include/llingr.h", "go/go.mod", "go/internal/engine/engine.go", "go/cmd/libllingr"]
    {
        said.links(&format!("cargo::rerun-if-changed={}", root.join(file).display()));
    }
    for name in ["LLINGR_LIB_DIR", "LLINGR_LINK", "PATH", "CC", "GOFLAGS", "DOCS_RS"] {
        said.links(&format!("cargo::rerun-if-env-changed={name}"));
    }
    let script = std::fs::read_to_string(root.join("build.rs")).expect("build.rs");
    let read = script.matches("env::var(\"").count() + script.matches("env::var_os(\"").count();
    assert!(read > 5, "build.rs reads its environment in another way: adapt this test");
    for part in script.split("env::var").skip(1) {
        let Some(name) = part.trim_start_matches("_os").strip_prefix("(\"") else { continue };
        let name = name.split('"').next().unwrap_or_default();
        let by_cargo = name.starts_with("CARGO_") || name == "OUT_DIR";
        assert!(by_cargo || said.out.contains(&format!("env-changed={name}\n")), "{name}");
    }
}

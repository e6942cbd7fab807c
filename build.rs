//! Gets the engine's archive and links it. Four cases:
//!
//! 1. the feature `engine` is off: nothing to do, no Go needed;
//! 2. `DOCS_RS` is set: nothing is linked, so nothing is built;
//! 3. `LLINGR_LIB_DIR` names a folder: the archive (or, with
//!    `LLINGR_LINK=shared`, the library) in it is linked;
//! 4. otherwise `go build -buildmode=c-archive` makes it from `go/` into
//!    `OUT_DIR`. Nothing is written into the source tree.

use std::env;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `go/go.mod` asks for.
const GO_MIN: (u32, u32) = (1, 26);

/// Environment of Go and of the C compiler that changes what is built.
const WATCHED: &[&str] = &[
    "LLINGR_LIB_DIR",
    "LLINGR_LINK",
    "DOCS_RS",
    "PATH",
    "CC",
    "CXX",
    "GOROOT",
    "GOFLAGS",
    "GOTOOLCHAIN",
    "GOPROXY",
    "GOMODCACHE",
    "GOEXPERIMENT",
    "GOAMD64",
    "GOARM64",
    "CGO_CFLAGS",
    "CGO_LDFLAGS",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in WATCHED {
        println!("cargo::rerun-if-env-changed={name}");
    }
    if env::var_os("CARGO_FEATURE_ENGINE").is_none() {
        return;
    }
    if env::var("CARGO_CFG_PANIC").as_deref() == Ok("abort") {
        println!(
            "cargo::warning=panic = \"abort\": a panic in a handler ends the process instead of becoming that record's failure"
        );
    }
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    if let Err(text) = link() {
        eprintln!("\n{text}\n");
        std::process::exit(1);
    }
}

fn link() -> Result<(), String> {
    let target_env = cfg("ENV");
    if target_env == "musl" {
        return Err("llingr-kafka cannot be built for musl: Go's archives need the C library to pass the program's arguments to initialisers, which musl does not do. Build for a gnu target (for example x86_64-unknown-linux-gnu), or take the share and streams parts alone with `default-features = false`.".into());
    }
    let os = cfg("OS");
    if os != "linux" && os != "macos" {
        return Err(format!(
            "llingr-kafka's engine is built for Linux (glibc) and macOS, not for {os}. Take the share and streams parts alone with `default-features = false`."
        ));
    }
    let shared = match env::var("LLINGR_LINK").as_deref() {
        Err(env::VarError::NotPresent) | Ok("static") => false,
        Ok("shared") => true,
        _ => return Err("LLINGR_LINK must be `static` (the default) or `shared`.".into()),
    };
    let dir = match env::var_os("LLINGR_LIB_DIR") {
        Some(dir) => given(Path::new(&dir), shared)?,
        None if shared => {
            return Err("LLINGR_LINK=shared needs LLINGR_LIB_DIR, the folder with libllingr.so (libllingr.dylib on macOS), made with `go build -buildmode=c-shared ./cmd/libllingr` in the crate's go/ folder.".into());
        }
        None => go_build()?,
    };
    println!("cargo::rustc-link-search=native={}", dir.display());
    println!("cargo::rustc-link-lib={}=llingr", if shared { "dylib" } else { "static" });
    println!("cargo::metadata=LINK={}", if shared { "shared" } else { "static" });
    println!("cargo::metadata=LIB_DIR={}", dir.display());
    if os == "macos" {
        for framework in ["CoreFoundation", "Security"] {
            println!("cargo::rustc-link-lib=framework={framework}");
        }
        println!("cargo::rustc-link-lib=resolv");
    } else if !shared {
        for lib in ["pthread", "m", "dl"] {
            println!("cargo::rustc-link-lib={lib}");
        }
    }
    Ok(())
}

fn cfg(name: &str) -> String {
    env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default()
}

fn given(dir: &Path, shared: bool) -> Result<PathBuf, String> {
    let name = match (shared, cfg("OS") == "macos") {
        (false, _) => "libllingr.a",
        (true, false) => "libllingr.so",
        (true, true) => "libllingr.dylib",
    };
    let file = dir.join(name);
    println!("cargo::rerun-if-changed={}", file.display());
    if !file.is_file() {
        return Err(format!(
            "LLINGR_LIB_DIR is {}, but there is no {name} in it. Make one with `go build -buildmode={}` in the crate's go/ folder, or unset LLINGR_LIB_DIR to have it built.",
            dir.display(),
            if shared { "c-shared" } else { "c-archive" }
        ));
    }
    Ok(dir.to_owned())
}

fn go_build() -> Result<PathBuf, String> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let go = root.join("go");
    println!("cargo::rerun-if-changed={}", root.join("include/llingr.h").display());
    watch(&go);
    check_go()?;
    let mut build = Command::new("go");
    build
        .current_dir(&go)
        .args([
            "build",
            "-buildmode=c-archive",
            "-trimpath",
            "-ldflags=-s -w",
            "-tags",
            &tags(),
            "-o",
        ])
        .arg(out.join("libllingr.a"))
        .arg("./cmd/libllingr")
        .env("CGO_ENABLED", "1")
        // The host's flags may carry what Go's linker does not understand
        // (-flto), and -mod=mod would rewrite go.mod in the source tree.
        .env("GOFLAGS", goflags())
        .env("GOOS", if cfg("OS") == "macos" { "darwin" } else { "linux" })
        .env("GOARCH", goarch()?);
    let cc = cc::Build::new().try_get_compiler().map_err(|e| {
        format!("llingr-kafka's engine needs a C compiler for the target: {e}. Install gcc or clang (Debian: `apt-get install gcc`), or set CC.")
    })?;
    if env::var_os("CC").is_none() {
        build.env("CC", cc.path());
    }
    let done = build.output().map_err(|e| format!("`go build` could not be started: {e}"))?;
    if !done.status.success() {
        let mut text = String::from("`go build` failed for the engine of llingr-kafka. ");
        let errors = String::from_utf8_lossy(&done.stderr);
        if errors.contains("dial tcp") || errors.contains("proxy") || errors.contains("GOPROXY") {
            text.push_str("The Go modules are fetched once over the network: let GOPROXY reach a module proxy, or run `go mod download` in the crate's go/ folder where there is one and copy GOMODCACHE. ");
        }
        let _ = write!(text, "What Go said:\n{errors}");
        return Err(text);
    }
    Ok(out)
}

fn tags() -> String {
    let mut tags = String::from("netgo,osusergo");
    if env::var_os("CARGO_FEATURE_DEV_BROKER").is_some() {
        tags.push_str(",devbroker");
    }
    tags
}

/// The caller's GOFLAGS without those that would write to the source tree.
fn goflags() -> String {
    let given = env::var("GOFLAGS").unwrap_or_default();
    let kept = given.split_whitespace().filter(|f| !f.starts_with("-mod="));
    kept.chain(["-mod=readonly", "-buildvcs=false"]).collect::<Vec<_>>().join(" ")
}

fn goarch() -> Result<&'static str, String> {
    match cfg("ARCH").as_str() {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64"),
        "riscv64" => Ok("riscv64"),
        "s390x" => Ok("s390x"),
        "powerpc64" => Ok("ppc64le"),
        other => Err(format!(
            "llingr-kafka's engine is not built for the architecture {other}: Go archives exist for x86_64, aarch64, riscv64, s390x and powerpc64."
        )),
    }
}

fn check_go() -> Result<(), String> {
    let (major, minor) = GO_MIN;
    let remedy = format!(
        "Install Go {major}.{minor} or newer (https://go.dev/dl) and put it into PATH, point LLINGR_LIB_DIR at a folder with a prebuilt libllingr.a, or take the share and streams parts alone, which need no Go, with `default-features = false`."
    );
    let said = Command::new("go").args(["env", "GOVERSION"]).output().map_err(|e| {
        format!(
            "llingr-kafka's engine is written in Go, and `go` could not be started ({e}). {remedy}"
        )
    })?;
    let version = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    let mut numbers = version
        .trim_start_matches("go")
        .split(|c: char| !c.is_ascii_digit())
        .map(|n| n.parse::<u32>().unwrap_or(0));
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    // A development version has no numbers: trust it.
    if found < GO_MIN && found != (0, 0) {
        return Err(format!(
            "llingr-kafka's engine needs Go {major}.{minor}, found {version}. {remedy}"
        ));
    }
    if !said.status.success() {
        return Err(format!(
            "`go env` failed: {}. {remedy}",
            String::from_utf8_lossy(&said.stderr)
        ));
    }
    Ok(())
}

/// Every source file of the Go module, and the folders, so that new files count.
fn watch(dir: &Path) {
    println!("cargo::rerun-if-changed={}", dir.display());
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            watch(&path);
        } else if !path.to_string_lossy().ends_with("_test.go") {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
}

//! Promises of the documents, as tests: who may use what, how large files may
//! grow, and that what the README names exists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const LINES_MAX: usize = 800;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Files under a folder (or the file itself), as paths from the root.
fn files(start: &str) -> Vec<String> {
    let at = root().join(start);
    if at.is_file() {
        return vec![start.to_owned()];
    }
    let Ok(entries) = std::fs::read_dir(&at) else { return Vec::new() };
    let mut found: Vec<String> = entries
        .flatten()
        .map(|e| format!("{start}/{}", e.file_name().to_string_lossy()))
        .filter(|path| !path.ends_with("/target"))
        .flat_map(|path| files(&path))
        .collect();
    found.sort();
    found
}

fn of_type(start: &str, extension: &str) -> Vec<String> {
    let wanted = Some(std::ffi::OsStr::new(extension));
    files(start).into_iter().filter(|f| Path::new(f).extension() == wanted).collect()
}

/// Code without comments and without the text of string literals.
fn code_of(text: &str) -> String {
    let mut code = String::new();
    for line in text.lines() {
        let mut quoted = false;
        let mut previous = ' ';
        for (i, c) in line.char_indices() {
            if !quoted && line[i..].starts_with("//") {
                break;
            }
            if c == '"' && previous != '\\' && previous != '\'' {
                quoted = !quoted;
            } else if !quoted {
                code.push(c);
            }
            previous = c;
        }
        code.push('\n');
    }
    code
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}

#[test]
fn unsafe_code_is_in_the_engine_module_only() {
    let sources = of_type("src", "rs");
    assert!(sources.len() > 20, "the sources were not found: {sources:?}");
    let users: Vec<_> =
        sources.iter().filter(|f| words(&code_of(&read(f))).any(|w| w == "unsafe")).collect();
    assert!(!users.is_empty(), "the search finds nothing, not even in src/engine");
    for file in users {
        assert!(file.starts_with("src/engine/"), "{file} uses unsafe");
    }
}

fn go_imports(text: &str) -> BTreeSet<String> {
    let mut imports = BTreeSet::new();
    let mut inside = false;
    for line in text.lines() {
        let line = line.trim();
        inside = (inside || line == "import (") && line != ")";
        if (inside || line.starts_with("import "))
            && let Some(path) = line.split('"').nth(1)
        {
            imports.insert(path.to_owned());
        }
    }
    imports
}

fn go_sources() -> BTreeMap<String, BTreeSet<String>> {
    let sources: BTreeMap<_, _> =
        of_type("go", "go").into_iter().map(|f| (f.clone(), go_imports(&read(&f)))).collect();
    assert!(sources.len() > 20, "the Go sources were not found");
    sources
}

#[test]
fn cgo_is_in_the_boundary_package_only() {
    let users: Vec<_> =
        go_sources().into_iter().filter(|(_, i)| i.contains("C")).map(|(f, _)| f).collect();
    assert!(users.iter().any(|f| f == "go/cmd/libllingr/exports.go"), "found only {users:?}");
    for file in users {
        assert!(file.starts_with("go/cmd/libllingr/"), "{file} imports C");
    }
}

#[test]
fn go_leaves_signals_to_the_program() {
    for (file, imports) in go_sources() {
        assert!(!imports.contains("os/signal"), "{file} imports os/signal");
    }
}

#[test]
fn the_engine_package_knows_no_kafka_and_no_c() {
    let of_engine: Vec<_> = go_sources()
        .into_iter()
        .filter(|(f, _)| f.starts_with("go/internal/engine/") && !f.ends_with("_test.go"))
        .collect();
    assert!(of_engine.len() > 5, "the package was not found");
    for (file, imports) in of_engine {
        for import in imports {
            let standard = !import.contains('.') && import != "C" && !import.starts_with("net");
            assert!(standard, "{file} imports {import}");
        }
    }
}

/// Which of the crate's modules a file names by path.
fn modules_named(text: &str) -> BTreeSet<String> {
    let code = code_of(text);
    let mut named = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        // `crate::a::b`, or `crate::{a, b::{c, d}}`: what stands at depth 1.
        let rest = &code[at + "crate::".len()..];
        let mut depth = 0;
        let mut first = String::new();
        let mut take = |first: &mut String| {
            let name = first.split("::").next().unwrap_or_default().trim().to_owned();
            named.insert(name);
            first.clear();
        };
        for c in rest.chars() {
            match c {
                '{' => depth += 1,
                '}' if depth <= 1 => break,
                '}' => depth -= 1,
                ',' if depth == 1 => take(&mut first),
                c if depth == 0 && !c.is_alphanumeric() && c != '_' && c != ':' => break,
                c if depth <= 1 => first.push(c),
                _ => {}
            }
        }
        take(&mut first);
    }
    named
}

/// The files of a module: `src/name.rs` and what is below `src/name/`.
fn module(name: &str) -> Vec<String> {
    let mut found: Vec<String> = of_type("src", "rs")
        .into_iter()
        .filter(|f| *f == format!("src/{name}.rs") || f.starts_with(&format!("src/{name}/")))
        .collect();
    found.retain(|f| !f.ends_with("/tests.rs"));
    found
}

fn must_not_name(of: &str, others: &[&str]) {
    for file in module(of) {
        let named = modules_named(&read(&file));
        for other in others {
            assert!(!named.contains(*other), "{file} names crate::{other}");
        }
    }
}

#[test]
fn the_native_modules_and_the_engine_do_not_know_each_other() {
    let seen = modules_named("use crate::{error::{A, B}, engine::sys}; crate::options::x(1)");
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), ["engine", "error", "options"]);
    for native in ["share", "streams", "client", "wire"] {
        must_not_name(native, &["engine"]);
    }
    assert!(!module("engine").is_empty());
    must_not_name("engine", &["share", "streams", "client", "wire"]);
}

#[test]
fn directions_between_the_native_modules_are_kept() {
    must_not_name("wire", &["client", "share", "streams", "options", "metrics"]);
    must_not_name("client", &["share", "streams"]);
    must_not_name("share", &["streams"]);
    must_not_name("streams", &["share"]);
}

#[test]
fn options_errors_metrics_and_snapshot_are_leaves() {
    for leaf in ["options", "error", "metrics", "snapshot"] {
        assert!(!module(leaf).is_empty(), "{leaf} was not found");
        must_not_name(leaf, &["engine", "share", "streams", "client", "wire"]);
    }
    // Among themselves: metrics use the others, an error wraps one of options.
    must_not_name("options", &["error", "metrics", "snapshot"]);
    must_not_name("snapshot", &["error", "metrics", "options"]);
    must_not_name("error", &["metrics", "snapshot"]);
}

fn is_generated(file: &str) -> bool {
    file == "src/engine/sys.rs"
        || file.starts_with("src/wire/generated")
        || file.contains("/generated/")
}

#[test]
fn no_file_is_too_long_to_be_read() {
    let folders = ["src", "go", "tests", "benches", "examples", "fuzz", "build.rs", ".ci"];
    let code = ["rs", "go", "c", "h", "java", "sh", "py"];
    for file in folders.iter().flat_map(|folder| files(folder)) {
        let extension = Path::new(&file).extension().and_then(|e| e.to_str()).unwrap_or_default();
        if !code.contains(&extension) || is_generated(&file) {
            continue;
        }
        let lines = read(&file).lines().count();
        assert!(lines <= LINES_MAX, "{file} has {lines} lines, {LINES_MAX} are allowed");
    }
}

/// Text files that git would commit, or all sources where git is not there.
fn all_text() -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output();
    match listed {
        Ok(out) if out.status.success() && !out.stdout.is_empty() => {
            String::from_utf8_lossy(&out.stdout).lines().map(str::to_owned).collect()
        }
        _ => ["src", "go", "tests", "docs", "examples", "include", "README.md"]
            .iter()
            .flat_map(|start| files(start))
            .collect(),
    }
}

#[test]
fn nothing_names_a_path_of_one_machine() {
    let home = ["/ho", "me/"].concat();
    let others = [["/ro", "ot/"].concat(), ["/Us", "ers/"].concat(), ["C:", "\\Users"].concat()];
    for file in all_text() {
        let Ok(text) = std::fs::read_to_string(root().join(&file)) else { continue };
        for part in others.iter().chain([&home]) {
            let found = text.lines().position(|l| l.contains(part.as_str()));
            assert!(found.is_none(), "{file}:{} has {part}", found.unwrap_or_default() + 1);
        }
    }
}

#[test]
fn the_readme_starts_with_the_two_commands() {
    let readme = read("README.md");
    let block = readme.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next());
    let commands: Vec<&str> = block.expect("a shell block").lines().collect();
    assert_eq!(commands, ["cargo run --release --example quickstart", "cargo test"]);
}

#[test]
fn every_example_is_in_the_readme_and_the_other_way_round() {
    let readme = read("README.md");
    let section = readme.split("## Examples").nth(1).expect("a section on examples");
    let section = section.split("\n## ").next().unwrap_or(section);
    let named: BTreeSet<String> = section
        .lines()
        .filter_map(|l| l.strip_prefix("| `")?.split('`').next().map(str::to_owned))
        .collect();
    let manifest = read("examples/Cargo.toml");
    let declared: BTreeSet<String> = manifest
        .split("[[example]]")
        .skip(1)
        .filter_map(|e| e.split("name = \"").nth(1)?.split('"').next().map(str::to_owned))
        .collect();
    assert!(declared.contains("quickstart"), "{declared:?}");
    assert_eq!(named, declared);
    for name in declared {
        assert!(root().join(format!("examples/{name}.rs")).is_file(), "{name}");
    }
}

#[test]
fn links_between_the_documents_lead_somewhere() {
    let documents: Vec<String> = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"]
        .into_iter()
        .map(str::to_owned)
        .chain(of_type("docs", "md"))
        .collect();
    let mut links = 0;
    for document in documents {
        let folder = Path::new(&document).parent().unwrap_or(Path::new("")).to_owned();
        let text = read(&document);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") || link.starts_with('#') {
                continue;
            }
            let target = root().join(&folder).join(link.split('#').next().unwrap_or(link));
            assert!(target.exists(), "{document} links to {link}");
            links += 1;
        }
    }
    assert!(links > 5, "only {links} links were found");
}

#[test]
fn the_package_has_every_file_that_the_build_needs() {
    let listed = Command::new(env!("CARGO"))
        .args(["package", "--list", "--allow-dirty", "--offline", "-p", "llingr-kafka"])
        .current_dir(root())
        .output()
        .expect("cargo starts");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8_lossy(&listed.stdout);
    let packaged: BTreeSet<&str> = listed.lines().collect();
    let mut needed: Vec<String> = ["Cargo.toml", "build.rs", "README.md", "LICENSE"]
        .iter()
        .chain(&["include/llingr.h", "go/go.mod", "go/go.sum"])
        .map(|f| (*f).to_owned())
        .collect();
    needed.extend(of_type("src", "rs"));
    for file in of_type("go", "go") {
        needed.extend(embedded(&file));
        needed.push(file);
    }
    for file in &needed {
        assert!(packaged.contains(file.as_str()), "{file} is not in the package");
    }
    let unwanted = packaged.iter().find(|f| f.starts_with("tests/") || f.starts_with("target/"));
    assert!(unwanted.is_none(), "{unwanted:?} is in the package");
}

/// Files that a Go source embeds.
fn embedded(file: &str) -> Vec<String> {
    let folder = Path::new(file).parent().expect("a file is in a folder").to_owned();
    let text = read(file);
    let names = text.lines().filter_map(|l| l.strip_prefix("//go:embed "));
    names
        .flat_map(|names| names.split(' ').map(str::to_owned).collect::<Vec<_>>())
        .map(|name| folder.join(name).to_string_lossy().into_owned())
        .collect()
}

/// The numbers of the header's constants with this prefix.
fn constants(prefix: &str) -> Vec<(String, i64)> {
    let header = read("include/llingr.h");
    header
        .lines()
        .filter_map(|l| l.strip_prefix("#define ")?.split_once(' '))
        .filter(|(name, _)| name.starts_with(prefix))
        .map(|(name, rest)| {
            let value = rest.split("/*").next().unwrap_or(rest).trim();
            let value = value.trim_matches(|c| c == '(' || c == ')');
            (name.to_owned(), value.parse().unwrap_or_else(|e| panic!("{name} {value}: {e}")))
        })
        .collect()
}

#[test]
fn numbers_of_the_header_are_unique_in_their_kind() {
    let groups: [&[&str]; 5] = [
        &["LLINGR_OK", "LLINGR_ERR_", "LLINGR_HOST_"],
        &["LLINGR_STATE_"],
        &["LLINGR_EVENT_"],
        &["LLINGR_LOG_"],
        &["LLINGR_TIMESTAMP_"],
    ];
    for prefixes in groups {
        let all: Vec<_> = prefixes.iter().flat_map(|p| constants(p)).collect();
        assert!(all.len() > 2, "{prefixes:?}: {all:?}");
        let distinct: BTreeSet<i64> = all.iter().map(|(_, value)| *value).collect();
        assert_eq!(distinct.len(), all.len(), "{all:?}");
    }
    let last = constants("LLINGR_ERR_").into_iter().map(|(_, v)| v).min().expect("codes");
    assert!(
        read("include/llingr.h").contains(&format!("Last added: {last}.")),
        "the header's mark of the last code added is not {last}"
    );
}

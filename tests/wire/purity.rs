//! The module's promise: bytes in, values out. No socket, no clock, no runtime, no
//! randomness, no environment, and nothing of the layers above.

use std::path::{Path, PathBuf};

const FORBIDDEN: [&str; 12] = [
    "tokio",
    "std::net",
    "std::env",
    "std::fs",
    "std::thread",
    "Instant",
    "SystemTime",
    "fastrand",
    "unsafe",
    "crate::client",
    "crate::share",
    "crate::streams",
];

fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else {
            out.push(path);
        }
    }
}

#[test]
fn the_wire_module_does_no_io_and_knows_no_time() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/wire"), &mut files);
    assert!(files.len() > 50, "{} files", files.len());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for word in FORBIDDEN {
                let place = format!("{}:{}", file.display(), number + 1);
                assert!(!code.contains(word), "{place} uses {word}");
            }
        }
    }
}

//! The checked-in messages are what the generator makes of Kafka's schemas.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Kafka's schemas, unpacked from the kafka-clients jar; fetched by Maven on first use.
fn schemas(root: &Path) -> PathBuf {
    let dir = root.join("target/kafka-schemas");
    let schemas = dir.join("common/message");
    if schemas.join("FetchRequest.json").exists() {
        return schemas;
    }
    let plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:unpack";
    let status = Command::new("mvn")
        .args(["-q", "-B", plugin])
        .arg("-Dartifact=org.apache.kafka:kafka-clients:4.4.0")
        .arg("-Dmdep.unpack.includes=common/message/*.json")
        .arg(format!("-DoutputDirectory={}", dir.display()))
        .current_dir(root.join("tests/fixtures/java"))
        .status();
    match status {
        Ok(status) if status.success() => schemas,
        outcome => panic!(
            "Kafka's schemas could not be fetched ({outcome:?}): install Java 17 and Maven and \
             let it reach a Maven repository, or unpack common/message/*.json of \
             kafka-clients-4.4.0.jar into {}",
            dir.display()
        ),
    }
}

#[test]
fn the_checked_in_messages_are_what_the_generator_writes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let schemas = schemas(root);
    let fresh = root.join("target/wiregen-output");
    let output = Command::new(env!("CARGO"))
        .args(["run", "-q", "--manifest-path"])
        .arg(root.join("tools/wiregen/Cargo.toml"))
        .arg("--target-dir")
        .arg(root.join("target/wiregen"))
        .arg("--")
        .arg(&schemas)
        .arg(&fresh)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for folder in ["src/wire/generated", "tests/wire/samples"] {
        compare(&root.join(folder), &fresh.join(folder));
    }
}

fn compare(checked_in: &Path, fresh: &Path) {
    let names = |dir: &Path| -> Vec<_> {
        let mut names: Vec<_> = std::fs::read_dir(dir)
            .unwrap_or_else(|e| panic!("{}: {e}", dir.display()))
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(checked_in), names(fresh));
    for name in names(checked_in) {
        let (old, new) = (checked_in.join(&name), fresh.join(&name));
        assert!(
            std::fs::read(&old).unwrap() == std::fs::read(&new).unwrap(),
            "{} is not what tools/wiregen writes: copy {} over it, or undo the edit",
            old.display(),
            new.display()
        );
    }
}

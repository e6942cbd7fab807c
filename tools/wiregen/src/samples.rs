//! Random instances for the round-trip tests: only what the version can carry is set.

use std::fmt::Write;

use crate::emit::is_option;
use crate::names::{self, Resolved};
use crate::schema::{Field, Type, Versions};

const HEAD: &str = "// Written by tools/wiregen from Kafka's schemas; change that, not this.\n\n";

/// `mod.rs` of the samples.
pub fn module(apis: &[&str]) -> String {
    let mut out = format!("//! Random instances of every message.\n\n{HEAD}");
    let mut files: Vec<String> = apis.iter().map(|api| names::snake(api)).collect();
    files.push("header".to_owned());
    files.sort();
    for file in files {
        writeln!(out, "mod {file};").unwrap();
    }
    out
}

/// The samples of one API.
pub fn file(module: &str, pair: &[Resolved]) -> String {
    let mut out = format!("{HEAD}use llingr_kafka::wire::messages::{module}::*;\n\n");
    out.push_str("use crate::sample::{Gen, Sample};\n\n");
    for s in pair.iter().flat_map(|m| &m.structures) {
        let mut body = String::new();
        for f in &s.fields {
            let present = f.versions.and(s.versions);
            let name = names::field(&f.name);
            let value = value(f, present);
            let value = match bounds(present, s.versions) {
                None => value,
                Some(c) => format!("if {c} {{ {value} }} else {{ default.{name} }}"),
            };
            writeln!(body, "{name}: {value},").unwrap();
        }
        let word = |w: &str| {
            body.split(|c: char| !c.is_alphanumeric() && c != '_')
                .any(|x| x == w)
        };
        let generator = if word("g") { "g" } else { "_" };
        let version = if word("v") {
            "let v = g.version();\n"
        } else {
            ""
        };
        let default = if word("default") {
            "let default = Self::default();\n"
        } else {
            ""
        };
        writeln!(
            out,
            "impl Sample for {} {{\nfn sample({generator}: &mut Gen) -> Self {{\n{version}{default}Self {{\n{body}}}\n}}\n}}\n",
            s.rust
        )
        .unwrap();
    }
    out
}

fn value(f: &Field, present: Versions) -> String {
    if !is_option(f) {
        return "g.any()".to_owned();
    }
    let nullable = f.nullable.and(present);
    if nullable.is_empty() && f.kind != Type::Records {
        return "Some(g.any())".to_owned();
    }
    match bounds(nullable, present) {
        None => "g.option()".to_owned(),
        Some(c) => format!("if {c} {{ g.option() }} else {{ Some(g.any()) }}"),
    }
}

fn bounds(wanted: Versions, context: Versions) -> Option<String> {
    if wanted.covers(context) {
        return None;
    }
    if wanted.is_empty() {
        return Some("false".to_owned());
    }
    Some(format!(
        "({}..={}).contains(&v)",
        wanted.min,
        wanted.max.min(context.max)
    ))
}

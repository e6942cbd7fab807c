//! The Rust code of one API: structures, defaults, reading and writing.

use std::fmt::Write;

use crate::names::{self, Resolved, ResolvedStructure};
use crate::schema::{Field, Type, Versions};

const HEAD: &str = "// Written by tools/wiregen from Kafka's schemas; change that, not this.\n\n";

/// Fields that hold credentials, or configuration values that may: never in Debug output.
/// Neither are records, the users' data.
const SECRETS: &[(&str, &str)] = &[
    ("SaslAuthenticateRequest", "AuthBytes"),
    ("SaslAuthenticateResponse", "AuthBytes"),
    ("AlterableConfig", "Value"),
    ("CreatableTopicConfig", "Value"),
    ("DescribeConfigsResourceResult", "Value"),
    ("DescribeConfigsSynonym", "Value"),
];

/// `mod.rs`: one module for each API, the messages re-exported, and a list of all.
pub fn module(apis: &[&str]) -> String {
    let mut out = format!("//! Kafka's messages, one module for each API.\n\n{HEAD}");
    let mut files: Vec<String> = apis.iter().map(|api| names::snake(api)).collect();
    files.push("header".to_owned());
    files.sort();
    for file in &files {
        writeln!(out, "pub mod {file};").unwrap();
    }
    out.push('\n');
    for api in apis {
        let file = names::snake(api);
        writeln!(out, "pub use {file}::{{{api}Request, {api}Response}};").unwrap();
    }
    out.push_str("pub use header::{RequestHeader, ResponseHeader};\n\n");
    out.push_str(
        "/// Calls `$each!(Request, Response)` for every API, for code that must cover all.\n\
         #[doc(hidden)]\n#[macro_export]\nmacro_rules! for_each_api {\n($each:ident) => {\n",
    );
    for api in apis {
        writeln!(out, "$each!({api}Request, {api}Response);").unwrap();
    }
    out.push_str("};\n}\n");
    out
}

/// The file of one API.
pub fn file(pair: &[Resolved]) -> String {
    let fields = || {
        pair.iter()
            .flat_map(|m| &m.structures)
            .flat_map(|s| &s.fields)
    };
    let title = match pair[0].api_key {
        Some(key) => format!(
            "{} (API key {key})",
            pair[0].name.trim_end_matches("Request")
        ),
        None => "The headers in front of requests and responses".to_owned(),
    };
    let mut out = format!("//! {title}.\n\n{HEAD}");
    let has = |test: fn(&Type) -> bool| fields().any(|f| test(innermost(&f.kind)));
    if has(|t| matches!(t, Type::Bytes | Type::Records)) {
        out.push_str("use bytes::Bytes;\n\n");
    }
    let uuid = if has(|t| *t == Type::Uuid) {
        ", Uuid"
    } else {
        ""
    };
    writeln!(
        out,
        "use crate::wire::codec::{{Codec, Reader, Result{uuid}, Writer}};"
    )
    .unwrap();
    let traits = if pair[0].api_key.is_some() {
        "{Message, Request, Response}"
    } else {
        "Message"
    };
    writeln!(out, "use crate::wire::message::{traits};\n").unwrap();
    for message in pair {
        for (i, structure) in message.structures.iter().enumerate() {
            declare(&mut out, message, structure);
            default(&mut out, structure);
            debug(&mut out, structure);
            codec(&mut out, message, structure);
            if i == 0 {
                message_traits(&mut out, message);
            }
        }
    }
    out
}

fn innermost(kind: &Type) -> &Type {
    match kind {
        Type::Array(item) => innermost(item),
        other => other,
    }
}

fn declare(out: &mut String, message: &Resolved, s: &ResolvedStructure) {
    let about = if s.rust == message.name {
        format!("{}, {}", message.name, range(message.versions))
    } else if s.versions == message.versions {
        format!("Part of [`{}`]", message.name)
    } else {
        format!("Part of [`{}`] in {}", message.name, range(s.versions))
    };
    writeln!(out, "/// {about}.").unwrap();
    let mut derives = vec!["Clone", "PartialEq"];
    if !has_secret(s) {
        derives.push("Debug");
    }
    if s.fields.iter().all(has_natural_default) {
        derives.push("Default");
    }
    writeln!(
        out,
        "#[derive({})]\npub struct {} {{",
        derives.join(", "),
        s.rust
    )
    .unwrap();
    for f in &s.fields {
        writeln!(out, "/// {}", field_doc(s, f)).unwrap();
        writeln!(out, "pub {}: {},", names::field(&f.name), rust_type(f)).unwrap();
    }
    out.push_str("}\n\n");
}

/// The facts a caller needs: name on the wire, versions, null, tag, default, whether it is
/// dropped silently in older versions.
fn field_doc(s: &ResolvedStructure, f: &Field) -> String {
    let mut doc = format!("`{}`", f.name);
    let versions = f.versions.and(s.versions);
    if versions != s.versions {
        write!(doc, ", {}", range(versions)).unwrap();
        if f.ignorable {
            doc.push_str(" (left out of others)");
        }
    }
    let nullable = f.nullable.and(versions);
    if nullable == versions && is_option(f) {
        doc.push_str(", may be null");
    } else if !nullable.is_empty() {
        write!(doc, ", may be null in {}", range(nullable)).unwrap();
    }
    if let Some(tag) = f.tag {
        write!(doc, ", tag {tag}").unwrap();
    }
    if !has_natural_default(f) || f.default.as_deref().is_some_and(|d| d == "null") {
        let default = f.default.as_deref().unwrap_or("empty, not null");
        write!(doc, ", default {default}").unwrap();
    }
    doc.push('.');
    doc
}

fn range(v: Versions) -> String {
    if v.min == v.max {
        format!("version {}", v.min)
    } else {
        format!("versions {} to {}", v.min, v.max)
    }
}

pub fn is_option(f: &Field) -> bool {
    f.kind == Type::Records || !f.nullable.is_empty()
}

fn rust_type(f: &Field) -> String {
    let plain = plain_type(&f.kind);
    if is_option(f) {
        format!("Option<{plain}>")
    } else {
        plain
    }
}

fn plain_type(kind: &Type) -> String {
    match kind {
        Type::Int(name) => (*name).to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::Uuid => "Uuid".to_owned(),
        Type::Text => "String".to_owned(),
        Type::Bytes | Type::Records => "Bytes".to_owned(),
        Type::Struct(name) => name.clone(),
        Type::Array(item) => format!("Vec<{}>", plain_type(item)),
    }
}

/// The schema's default as an expression.
fn default_value(f: &Field) -> String {
    let explicit = f.default.as_deref();
    if is_option(f) {
        return match (explicit, &f.kind) {
            (Some("null"), _) | (_, Type::Records) => "None".to_owned(),
            (Some(text), Type::Text) if !text.is_empty() => format!("Some({text:?}.to_owned())"),
            (_, kind) => format!("Some({}::default())", plain_type(kind).replace('<', "::<")),
        };
    }
    match (&f.kind, explicit) {
        (Type::Int(rust), Some(text)) => integer(rust, text),
        (Type::Int(_), None) => "0".to_owned(),
        (Type::Bool, text) => (text.is_some_and(|t| t.eq_ignore_ascii_case("true"))).to_string(),
        (Type::Uuid, _) => "Uuid::ZERO".to_owned(),
        (Type::Text, Some(text)) if !text.is_empty() => format!("{text:?}.to_owned()"),
        (Type::Text, _) => "String::new()".to_owned(),
        (Type::Bytes | Type::Records, _) => "Bytes::new()".to_owned(),
        (Type::Struct(name), _) => format!("{name}::default()"),
        (Type::Array(_), _) => "Vec::new()".to_owned(),
    }
}

fn integer(rust: &str, text: &str) -> String {
    let value: i64 = match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).expect("hexadecimal default"),
        None => text.parse().expect("integer default"),
    };
    match (rust, value) {
        ("i32", v) if v == i64::from(i32::MAX) => "i32::MAX".to_owned(),
        ("i32", v) if v == i64::from(i32::MIN) => "i32::MIN".to_owned(),
        ("i64", i64::MAX) => "i64::MAX".to_owned(),
        _ => value.to_string(),
    }
}

/// Whether `Default::default()` of the Rust type is the schema's default too.
fn has_natural_default(f: &Field) -> bool {
    if is_option(f) {
        return default_value(f) == "None";
    }
    match &f.kind {
        Type::Int(_) => default_value(f) == "0",
        Type::Bool => default_value(f) == "false",
        Type::Text => default_value(f) == "String::new()",
        _ => true,
    }
}

fn default(out: &mut String, s: &ResolvedStructure) {
    if s.fields.iter().all(has_natural_default) {
        return;
    }
    writeln!(
        out,
        "impl Default for {} {{\nfn default() -> Self {{\nSelf {{",
        s.rust
    )
    .unwrap();
    for f in &s.fields {
        writeln!(out, "{}: {},", names::field(&f.name), default_value(f)).unwrap();
    }
    out.push_str("}\n}\n}\n\n");
}

fn is_secret(s: &ResolvedStructure, f: &Field) -> bool {
    f.kind == Type::Records || SECRETS.contains(&(s.rust.as_str(), f.name.as_str()))
}

fn has_secret(s: &ResolvedStructure) -> bool {
    s.fields.iter().any(|f| is_secret(s, f))
}

fn debug(out: &mut String, s: &ResolvedStructure) {
    if !has_secret(s) {
        return;
    }
    writeln!(
        out,
        "/// Leaves out what may be secret: credentials, configuration values, records.\nimpl std::fmt::Debug for {} {{\n\
         fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {{\n\
         f.debug_struct({:?})",
        s.rust, s.rust
    )
    .unwrap();
    for f in s.fields.iter().filter(|f| !is_secret(s, f)) {
        let name = names::field(&f.name);
        writeln!(out, ".field({:?}, &self.{name})", names::snake(&f.name)).unwrap();
    }
    out.push_str(".finish_non_exhaustive()\n}\n}\n\n");
}

fn codec(out: &mut String, message: &Resolved, s: &ResolvedStructure) {
    let (mut body_r, mut body_w) = (String::new(), String::new());
    read(&mut body_r, message, s);
    write(&mut body_w, message, s);
    let version = |body: &str, of: &str| {
        let word = body
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|w| w == "v");
        if word {
            format!("let v = {of}.version();\n")
        } else {
            String::new()
        }
    };
    writeln!(
        out,
        "impl Codec for {} {{\nfn read(r: &mut Reader<'_>) -> Result<Self> {{\n{}{body_r}}}\n\n\
         fn write(&self, w: &mut Writer<'_>) -> Result<()> {{\n{}{body_w}Ok(())\n}}\n}}\n",
        s.rust,
        version(&body_r, "r"),
        version(&body_w, "w"),
    )
    .unwrap();
}

/// The versions in which a field stands in its place, and those in which it is tagged.
fn placement(s: &ResolvedStructure, f: &Field) -> (Versions, Versions) {
    let versions = f.versions.and(s.versions);
    let tagged = f.tagged.and(versions);
    if tagged.is_empty() {
        return (versions, tagged);
    }
    assert_eq!(
        tagged.max, versions.max,
        "{}: tagged in the middle only",
        f.name
    );
    (
        Versions {
            min: versions.min,
            max: tagged.min - 1,
        },
        tagged,
    )
}

/// A Rust condition on `v`, or none where it always holds.
fn condition(wanted: Versions, context: Versions) -> Option<String> {
    if wanted.covers(context) {
        return None;
    }
    Some(
        match (wanted.min <= context.min, wanted.max >= context.max) {
            _ if wanted.min == wanted.max => format!("v == {}", wanted.min),
            (true, _) => format!("v <= {}", wanted.max),
            (_, true) => format!("v >= {}", wanted.min),
            _ => format!("({}..={}).contains(&v)", wanted.min, wanted.max),
        },
    )
}

/// The opposite of [`condition`].
fn condition_outside(wanted: Versions, context: Versions) -> Option<String> {
    Some(match condition(wanted, context)? {
        _ if wanted.max >= context.max => format!("v < {}", wanted.min),
        _ if wanted.min <= context.min => format!("v > {}", wanted.max),
        other => format!("!({other})"),
    })
}

fn read(out: &mut String, message: &Resolved, s: &ResolvedStructure) {
    let tags: Vec<&Field> = s
        .fields
        .iter()
        .filter(|f| !placement(s, f).1.is_empty())
        .collect();
    let flexible = !message.flexible.and(s.versions).is_empty();
    let literal = |out: &mut String| {
        out.push_str("Self {\n");
        for f in &s.fields {
            let (placed, _) = placement(s, f);
            let name = names::field(&f.name);
            if placed.is_empty() {
                writeln!(out, "{name}: {},", default_value(f)).unwrap();
                continue;
            }
            let value = read_value(s, f, placed);
            match condition(placed, s.versions) {
                None => writeln!(out, "{name}: {value},"),
                Some(c) => writeln!(
                    out,
                    "{name}: if {c} {{ {value} }} else {{ {} }},",
                    default_value(f)
                ),
            }
            .unwrap();
        }
        out.push('}');
    };
    if !flexible {
        out.push_str("Ok(");
        literal(out);
        out.push_str(")\n");
        return;
    }
    let mutable = if tags.is_empty() { "" } else { "mut " };
    write!(out, "let {mutable}this = ").unwrap();
    literal(out);
    out.push_str(";\n");
    if tags.is_empty() {
        out.push_str("r.skip_tags()?;\n");
    } else {
        out.push_str("r.tags(|tag, r| {\nmatch tag {\n");
        for f in &tags {
            let (_, tagged) = placement(s, f);
            let guard = condition(tagged, message.flexible.and(s.versions))
                .map_or(String::new(), |c| format!(" if {c}"));
            let get = if matches!(f.kind, Type::Struct(_)) && is_option(f) {
                "get_struct"
            } else {
                "get"
            };
            let (tag, name) = (f.tag.expect("tag"), names::field(&f.name));
            writeln!(out, "{tag}{guard} => this.{name} = r.{get}()?,").unwrap();
        }
        out.push_str("_ => return Ok(false),\n}\nOk(true)\n})?;\n");
    }
    out.push_str("Ok(this)\n");
}

fn read_value(s: &ResolvedStructure, f: &Field, placed: Versions) -> String {
    if f.classic {
        return "r.get_classic_string()?".to_owned();
    }
    let get = if matches!(f.kind, Type::Struct(_)) {
        "r.get_struct()?"
    } else {
        "r.get()?"
    };
    // Null records are read in every version: brokers have sent them where the schema says otherwise.
    if !is_option(f) || f.kind == Type::Records {
        return "r.get()?".to_owned();
    }
    match condition(f.nullable.and(placed), placed.and(s.versions)) {
        None => get.to_owned(),
        Some(c) => format!("if {c} {{ {get} }} else {{ Some(r.get()?) }}"),
    }
}

fn write(out: &mut String, message: &Resolved, s: &ResolvedStructure) {
    for f in &s.fields {
        let (placed, tagged) = placement(s, f);
        let name = names::field(&f.name);
        let full = format!("{:?}", format!("{}.{}", s.rust, names::snake(&f.name)));
        let absent = format!("w.absent({}, {full})?;", not_default(f));
        let present = f.versions.and(s.versions);
        if !placed.is_empty() {
            let value = write_value(f, placed, &name, &full);
            match condition(placed, s.versions) {
                None => writeln!(out, "{value}"),
                Some(c) if f.ignorable || !tagged.is_empty() => {
                    writeln!(out, "if {c} {{ {value} }}")
                }
                Some(c) => writeln!(out, "if {c} {{ {value} }} else {{ {absent} }}"),
            }
            .unwrap();
        }
        if !f.ignorable
            && !tagged.is_empty()
            && let Some(c) = condition_outside(present, s.versions)
        {
            writeln!(out, "if {c} {{ {absent} }}").unwrap();
        }
    }
    let flexible = message.flexible.and(s.versions);
    if flexible.is_empty() {
        return;
    }
    let tags: Vec<(&Field, Versions)> = s
        .fields
        .iter()
        .map(|f| (f, placement(s, f).1))
        .filter(|(_, tagged)| !tagged.is_empty())
        .collect();
    if tags.is_empty() {
        out.push_str("w.no_tags();\n");
        return;
    }
    let mut tags = tags;
    tags.sort_by_key(|(f, _)| f.tag);
    out.push_str("if w.flexible() {\n");
    for (f, tagged) in &tags {
        let guard = condition(*tagged, flexible).map_or(String::new(), |c| format!("{c} && "));
        writeln!(
            out,
            "let tag{} = {guard}{};",
            f.tag.expect("tag"),
            not_default(f)
        )
        .unwrap();
    }
    let count: Vec<String> = tags
        .iter()
        .map(|(f, _)| format!("u32::from(tag{})", f.tag.expect("tag")))
        .collect();
    writeln!(out, "w.tag_count({});", count.join(" + ")).unwrap();
    for (f, _) in &tags {
        assert!(
            !(matches!(f.kind, Type::Struct(_)) && is_option(f)),
            "{}: nullable tagged structures are not supported",
            f.name
        );
        let (tag, name) = (f.tag.expect("tag"), names::field(&f.name));
        writeln!(out, "if tag{tag} {{ w.tag({tag}, &self.{name})?; }}").unwrap();
    }
    out.push_str("}\n");
}

fn write_value(f: &Field, placed: Versions, name: &str, full: &str) -> String {
    if f.classic {
        return format!("w.put_classic_string(&self.{name})?;");
    }
    let put = if matches!(f.kind, Type::Struct(_)) && is_option(f) {
        "put_struct"
    } else {
        "put"
    };
    let nullable = f.nullable.and(placed);
    if !is_option(f) || f.kind == Type::Records || nullable.covers(placed) {
        return format!("w.{put}(&self.{name})?;");
    }
    let some = format!("w.put_some(&self.{name}, {full})?;");
    if nullable.is_empty() {
        return some;
    }
    let c = condition(nullable, placed).expect("partly nullable");
    format!("if {c} {{ w.{put}(&self.{name})?; }} else {{ {some} }}")
}

/// An expression that is true when the field differs from its default.
fn not_default(f: &Field) -> String {
    let name = format!("self.{}", names::field(&f.name));
    let default = default_value(f);
    if is_option(f) {
        return match default.as_str() {
            "None" => format!("{name}.is_some()"),
            _ if matches!(f.kind, Type::Struct(_)) => format!("{name} != {default}"),
            _ => format!("{name}.as_ref().is_none_or(|value| !value.is_empty())"),
        };
    }
    match f.kind {
        Type::Bool if default == "false" => name,
        Type::Bool => format!("!{name}"),
        Type::Text | Type::Bytes | Type::Array(_) => format!("!{name}.is_empty()"),
        _ => format!("{name} != {default}"),
    }
}

fn message_traits(out: &mut String, message: &Resolved) {
    let flexible = match message.flexible {
        none if none.is_empty() => "i16::MAX".to_owned(),
        some => some.min.to_string(),
    };
    writeln!(
        out,
        "impl Message for {} {{\nconst NAME: &'static str = {:?};\nconst MIN_VERSION: i16 = {};\n\
         const MAX_VERSION: i16 = {};\nconst FIRST_FLEXIBLE: i16 = {flexible};\n}}\n",
        message.name, message.name, message.versions.min, message.versions.max
    )
    .unwrap();
    match message.api_key {
        Some(key) if message.is_request => {
            let response = format!("{}Response", message.name.trim_end_matches("Request"));
            writeln!(
                out,
                "impl Request for {} {{\nconst API_KEY: i16 = {key};\ntype Response = {response};\n}}\n",
                message.name
            )
            .unwrap();
        }
        Some(_) => writeln!(out, "impl Response for {} {{}}\n", message.name).unwrap(),
        None => {}
    }
}

//! Names in Rust, and which structures exist in which versions.

use std::collections::{BTreeMap, BTreeSet};

use crate::schema::{Field, Schema, Structure, Versions};

/// A message whose structures have unique Rust names within their file, and only the
/// fields and structures that some supported version has.
pub struct Resolved {
    pub name: String,
    pub api_key: Option<i16>,
    pub is_request: bool,
    pub versions: Versions,
    pub flexible: Versions,
    pub structures: Vec<ResolvedStructure>,
}

pub struct ResolvedStructure {
    pub rust: String,
    /// Versions in which the message can contain it.
    pub versions: Versions,
    pub fields: Vec<Field>,
}

/// Resolves request and response of one file. Names used by both get the prefix
/// `Request` or `Response`.
pub fn resolve(pair: &[Schema; 2]) -> Vec<Resolved> {
    let names =
        |s: &Schema| -> BTreeSet<String> { s.structures.iter().map(|s| s.name.clone()).collect() };
    let shared: BTreeSet<String> = names(&pair[0])
        .intersection(&names(&pair[1]))
        .cloned()
        .collect();
    pair.iter()
        .enumerate()
        .map(|(i, schema)| {
            let side = ["Request", "Response"][i];
            let rename = |name: &str| {
                if shared.contains(name) {
                    format!("{side}{name}")
                } else {
                    name.to_owned()
                }
            };
            Resolved {
                name: schema.name.clone(),
                api_key: schema.api_key,
                is_request: i == 0,
                versions: schema.versions,
                flexible: schema.flexible.and(schema.versions),
                structures: reachable(schema, &rename),
            }
        })
        .collect()
}

fn reachable(schema: &Schema, rename: &dyn Fn(&str) -> String) -> Vec<ResolvedStructure> {
    let by_name: BTreeMap<&str, &Structure> = schema
        .structures
        .iter()
        .map(|s| (s.name.as_str(), s))
        .collect();
    let mut used: BTreeMap<String, Versions> = BTreeMap::new();
    let mut queue = vec![(schema.name.clone(), schema.versions)];
    while let Some((name, versions)) = queue.pop() {
        let known = used.get(&name).copied();
        let hull = known.map_or(versions, |known| known.hull(versions));
        if known == Some(hull) {
            continue;
        }
        used.insert(name.clone(), hull);
        for field in &by_name[name.as_str()].fields {
            let versions = field.versions.and(hull);
            if let (Some(inner), false) = (field.kind.structure(), versions.is_empty()) {
                queue.push((inner.to_owned(), versions));
            }
        }
    }
    schema
        .structures
        .iter()
        .filter_map(|s| {
            let versions = *used.get(&s.name)?;
            let fields = s
                .fields
                .iter()
                .filter(|field| !field.versions.and(versions).is_empty())
                .map(|field| {
                    let mut field = field.clone();
                    rename_type(&mut field.kind, rename);
                    field
                })
                .collect();
            Some(ResolvedStructure {
                rust: rename(&s.name),
                versions,
                fields,
            })
        })
        .collect()
}

fn rename_type(kind: &mut crate::schema::Type, rename: &dyn Fn(&str) -> String) {
    match kind {
        crate::schema::Type::Struct(name) => *name = rename(name),
        crate::schema::Type::Array(item) => rename_type(item, rename),
        _ => {}
    }
}

/// `TopicId` to `topic_id`, `ISRNodes` to `isr_nodes`.
pub fn snake(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (i, c) in chars.iter().enumerate() {
        if c.is_uppercase() && i > 0 {
            let after_lower = !chars[i - 1].is_uppercase();
            let before_lower = chars.get(i + 1).is_some_and(|next| next.is_lowercase());
            if after_lower || before_lower {
                out.push('_');
            }
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// A field's name, escaped where it is a keyword.
pub fn field(name: &str) -> String {
    match snake(name).as_str() {
        "type" => "r#type".to_owned(),
        other => other.to_owned(),
    }
}

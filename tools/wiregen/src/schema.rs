//! Kafka's schema files: JSON with `//` comments.

use std::path::Path;

use serde_json::Value;

/// An inclusive range of versions; empty when `min > max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Versions {
    pub min: i16,
    pub max: i16,
}

impl Versions {
    const NONE: Self = Self { min: 0, max: -1 };

    fn parse(text: &str) -> Self {
        let number = |s: &str| -> i16 { s.trim().parse().expect("schema version") };
        match text.trim() {
            "none" => Self::NONE,
            t if t.ends_with('+') => Self {
                min: number(&t[..t.len() - 1]),
                max: i16::MAX,
            },
            t => match t.split_once('-') {
                Some((a, b)) => Self {
                    min: number(a),
                    max: number(b),
                },
                None => Self {
                    min: number(t),
                    max: number(t),
                },
            },
        }
    }

    pub fn and(self, other: Self) -> Self {
        Self {
            min: self.min.max(other.min),
            max: self.max.min(other.max),
        }
    }

    /// The smallest range that holds both.
    pub fn hull(self, other: Self) -> Self {
        match (self.is_empty(), other.is_empty()) {
            (true, _) => other,
            (_, true) => self,
            _ => Self {
                min: self.min.min(other.min),
                max: self.max.max(other.max),
            },
        }
    }

    pub fn is_empty(self) -> bool {
        self.min > self.max
    }

    pub fn covers(self, other: Self) -> bool {
        other.is_empty() || (self.min <= other.min && self.max >= other.max)
    }
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    Int(&'static str),
    Bool,
    Uuid,
    Text,
    Bytes,
    Records,
    Struct(String),
    Array(Box<Type>),
}

impl Type {
    fn parse(text: &str) -> Self {
        match text {
            "int8" => Self::Int("i8"),
            "int16" => Self::Int("i16"),
            "uint16" => Self::Int("u16"),
            "int32" => Self::Int("i32"),
            "int64" => Self::Int("i64"),
            "bool" => Self::Bool,
            "uuid" => Self::Uuid,
            "string" => Self::Text,
            "bytes" => Self::Bytes,
            "records" => Self::Records,
            t => match t.strip_prefix("[]") {
                Some(item) => Self::Array(Box::new(Self::parse(item))),
                None => {
                    assert!(t.starts_with(char::is_uppercase), "unknown type {t}");
                    Self::Struct(t.to_owned())
                }
            },
        }
    }

    /// The structure inside, whether single or in an array.
    pub fn structure(&self) -> Option<&str> {
        match self {
            Self::Struct(name) => Some(name),
            Self::Array(item) => item.structure(),
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub kind: Type,
    pub versions: Versions,
    pub nullable: Versions,
    pub tagged: Versions,
    pub tag: Option<u32>,
    pub ignorable: bool,
    pub default: Option<String>,
    /// A string whose length stays classic in flexible versions (one field of the request header).
    pub classic: bool,
}

#[derive(Clone, Debug)]
pub struct Structure {
    pub name: String,
    pub fields: Vec<Field>,
}

#[derive(Debug)]
pub struct Schema {
    pub name: String,
    pub api_key: Option<i16>,
    pub versions: Versions,
    pub flexible: Versions,
    /// The message itself first, then the structures in the order of the file.
    pub structures: Vec<Structure>,
}

impl Schema {
    pub fn load(dir: &Path, name: &str) -> Self {
        let path = dir.join(format!("{name}.json"));
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let text: String = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .flat_map(|line| [line, "\n"])
            .collect();
        let json: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut versions = Versions::parse(text_of(&json, "validVersions").expect("validVersions"));
        if json["latestVersionUnstable"].as_bool() == Some(true) {
            // Brokers offer it only to clients under development.
            versions.max -= 1;
        }
        let mut structures = Vec::new();
        collect(
            name,
            json["fields"].as_array().expect("fields"),
            &mut structures,
        );
        for common in json["commonStructs"].as_array().into_iter().flatten() {
            let name = text_of(common, "name").expect("name of a common struct");
            collect(
                name,
                common["fields"].as_array().expect("fields"),
                &mut structures,
            );
        }
        Self {
            name: name.to_owned(),
            api_key: json["apiKey"].as_i64().map(|key| key as i16),
            versions,
            flexible: Versions::parse(text_of(&json, "flexibleVersions").unwrap_or("none")),
            structures,
        }
    }
}

fn text_of<'a>(json: &'a Value, key: &str) -> Option<&'a str> {
    json[key].as_str()
}

fn collect(name: &str, fields: &[Value], out: &mut Vec<Structure>) {
    let at = out.len();
    out.push(Structure {
        name: name.to_owned(),
        fields: Vec::new(),
    });
    for json in fields {
        let field = parse_field(json);
        if let (Some(inner), Some(fields)) = (field.kind.structure(), json["fields"].as_array()) {
            collect(inner, fields, out);
        }
        out[at].fields.push(field);
    }
}

fn parse_field(json: &Value) -> Field {
    let range = |key: &str| text_of(json, key).map_or(Versions::NONE, Versions::parse);
    let tagged = range("taggedVersions");
    Field {
        name: text_of(json, "name").expect("field name").to_owned(),
        kind: Type::parse(text_of(json, "type").expect("field type")),
        versions: text_of(json, "versions").map_or(tagged, Versions::parse),
        nullable: range("nullableVersions"),
        tagged,
        tag: json["tag"].as_u64().map(|tag| tag as u32),
        ignorable: json["ignorable"].as_bool().unwrap_or(false),
        default: match &json["default"] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        },
        classic: text_of(json, "flexibleVersions") == Some("none"),
    }
}

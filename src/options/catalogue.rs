//! The catalogue of option keys, read from the one authored list that the Go
//! side reads too.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

/// The list itself; its head explains the columns.
pub(crate) const SOURCE: &str = include_str!("../../go/internal/kafka/options.tsv");

/// Which of the three parts of the crate an option is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// The hosted engine.
    Engine,
    /// Share groups.
    Share,
    /// Streams.
    Streams,
}

impl Part {
    pub(crate) const ALL: [Part; 3] = [Part::Engine, Part::Share, Part::Streams];

    /// The word used for this part in the catalogue.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Part::Engine => "engine",
            Part::Share => "share",
            Part::Streams => "streams",
        }
    }

    fn parse(word: &str) -> Option<Part> {
        Part::ALL.into_iter().find(|part| part.name() == word)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a value is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    Bool,
    Enum,
    List,
    Text,
    Path,
    Secret,
}

impl Kind {
    fn parse(word: &str) -> Option<Kind> {
        Some(match word {
            "int" => Kind::Int,
            "bool" => Kind::Bool,
            "enum" => Kind::Enum,
            "list" => Kind::List,
            "string" => Kind::Text,
            "path" => Kind::Path,
            "secret" => Kind::Secret,
            _ => return None,
        })
    }
}

/// One line of the catalogue.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) aliases: Vec<&'static str>,
    pub(crate) kind: Kind,
    /// The column as written, for messages and the documentation.
    pub(crate) values: &'static str,
    /// The words of an enum or list.
    pub(crate) words: Vec<&'static str>,
    /// Inclusive ranges: of an int's value, of a text's length.
    pub(crate) ranges: Vec<(i64, i64)>,
    pub(crate) unit: &'static str,
    default: &'static str,
    /// Empty: refused everywhere, and `description` is the remedy.
    pub(crate) parts: Vec<Part>,
    pub(crate) description: &'static str,
    /// The heading in the documentation that is generated from the catalogue.
    #[cfg_attr(not(test), expect(dead_code, reason = "made and checked by a test"))]
    pub(crate) section: &'static str,
    /// The type column as written, for the same.
    #[cfg_attr(not(test), expect(dead_code, reason = "made and checked by a test"))]
    pub(crate) type_name: &'static str,
}

impl Key {
    pub(crate) fn is_refused(&self) -> bool {
        self.parts.is_empty()
    }

    /// The default for one part; `None` where the key is unset by default.
    pub(crate) fn default_for(&self, part: Part) -> Option<&'static str> {
        if !self.default.contains('=') {
            return (!self.default.is_empty()).then_some(self.default);
        }
        self.default
            .split(' ')
            .filter_map(|entry| entry.split_once('='))
            .find_map(|(name, value)| (name == part.name()).then_some(value))
    }

    /// What a value must be, in words: "an integer, 0..5000 ms".
    pub(crate) fn expectation(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        match self.kind {
            Kind::Int => format!("an integer, {}{unit}", self.values.replace('|', " or ")),
            Kind::Bool => "true or false".to_owned(),
            Kind::Enum => format!("one of {}", self.values.replace('|', ", ")),
            Kind::List => {
                format!("a comma list without repetition of {}", self.values.replace('|', ", "))
            }
            Kind::Text | Kind::Secret => format!("text of {}{unit}", self.values),
            Kind::Path => "the name of a file, not empty".to_owned(),
        }
    }
}

/// All keys, in the order of the list.
#[derive(Debug)]
pub(crate) struct Catalogue {
    pub(crate) keys: Vec<Key>,
    by_name: HashMap<&'static str, usize>,
}

impl Catalogue {
    /// The catalogue compiled into this crate.
    pub(crate) fn get() -> &'static Catalogue {
        static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
            // The list is compiled in and a test parses it, so this cannot fail in a build that
            // passed its tests; there is nothing useful to do without it.
            Catalogue::parse(SOURCE).unwrap_or_else(|text| panic!("options.tsv: {text}"))
        });
        &CATALOGUE
    }

    /// Looks up a key by its name or an alias; case matters, as in Kafka.
    pub(crate) fn find(&self, name: &str) -> Option<&Key> {
        self.by_name.get(name).map(|&index| &self.keys[index])
    }

    /// Names of the keys that one part accepts, sorted.
    pub(crate) fn names_for(&self, part: Part) -> Vec<&'static str> {
        let mut names: Vec<_> =
            self.keys.iter().filter(|key| key.parts.contains(&part)).map(|key| key.name).collect();
        names.sort_unstable();
        names
    }

    /// The name closest to `name` among those that `part` accepts, when it is close enough to be
    /// what was meant.
    pub(crate) fn nearest(&self, name: &str, part: Part) -> Option<&'static str> {
        // Longer than any key: not a slip of the finger, and the distance would cost
        // time in proportion to a length the caller chose.
        if name.len() > 128 {
            return None;
        }
        let wanted = fold(name);
        self.keys
            .iter()
            .filter(|key| key.parts.contains(&part))
            .flat_map(|key| {
                key.aliases.iter().map(|alias| (*alias, key.name)).chain([(key.name, key.name)])
            })
            .map(|(spelling, canonical)| (distance(&wanted, &fold(spelling)), canonical))
            .min()
            .filter(|(distance, _)| *distance <= 2.max(name.chars().count() / 3))
            .map(|(_, canonical)| canonical)
    }

    fn parse(source: &'static str) -> Result<Catalogue, String> {
        let mut keys = Vec::new();
        let mut by_name = HashMap::new();
        let mut section = "";
        for (number, line) in source.lines().enumerate() {
            if let Some(name) = line.strip_prefix("## ") {
                section = name;
                continue;
            }
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let key = parse_line(line, section)
                .map_err(|problem| format!("line {}: {problem}", number + 1))?;
            for name in key.aliases.iter().chain([&key.name]) {
                if by_name.insert(*name, keys.len()).is_some() {
                    return Err(format!("line {}: {name} appears twice", number + 1));
                }
            }
            keys.push(key);
        }
        Ok(Catalogue { keys, by_name })
    }
}

fn parse_line(line: &'static str, section: &'static str) -> Result<Key, String> {
    let columns: Vec<&'static str> = line.split('\t').collect();
    let [name, aliases, type_name, values, unit, default, parts, description] = columns[..] else {
        return Err(format!("{} columns instead of 8", columns.len()));
    };
    let kind = Kind::parse(type_name).ok_or_else(|| format!("unknown type {type_name}"))?;
    let parts = if parts == "-" {
        Vec::new()
    } else {
        split(parts, ',')
            .map(|word| Part::parse(word).ok_or_else(|| format!("unknown part {word}")))
            .collect::<Result<_, _>>()?
    };
    let ranges = match kind {
        Kind::Int | Kind::Text | Kind::Secret => split(values, '|')
            .map(|range| parse_range(range).ok_or_else(|| format!("bad range {range}")))
            .collect::<Result<_, _>>()?,
        _ => Vec::new(),
    };
    let words = match kind {
        Kind::Enum | Kind::List | Kind::Bool => split(values, '|').collect(),
        _ => Vec::new(),
    };
    Ok(Key {
        name,
        aliases: split(aliases, ',').collect(),
        kind,
        values,
        words,
        ranges,
        unit,
        default,
        parts,
        description,
        section,
        type_name,
    })
}

fn split(text: &'static str, separator: char) -> impl Iterator<Item = &'static str> {
    text.split(separator).filter(|word| !word.is_empty())
}

fn parse_range(text: &str) -> Option<(i64, i64)> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let range = (low.parse().ok()?, high.parse().ok()?);
    (range.0 <= range.1).then_some(range)
}

/// What people mix up: case, and '_' or '-' for '.'.
fn fold(name: &str) -> Vec<char> {
    name.chars()
        .map(|c| match c {
            '_' | '-' => '.',
            c => c.to_ascii_lowercase(),
        })
        .collect()
}

/// Number of insertions, removals and replacements that turn `a` into `b`.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if ca == cb { diagonal } else { 1 + diagonal.min(above).min(row[j]) };
            diagonal = above;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_parses_and_has_no_empty_description() {
        let catalogue = Catalogue::parse(SOURCE).expect("options.tsv");
        assert!(catalogue.keys.len() >= 60, "{}", catalogue.keys.len());
        for key in &catalogue.keys {
            assert!(key.description.ends_with('.'), "{}", key.name);
            assert!(!key.section.is_empty(), "{}", key.name);
            if key.is_refused() {
                continue;
            }
            match key.kind {
                Kind::Int | Kind::Text | Kind::Secret => {
                    assert!(!key.ranges.is_empty() && !key.unit.is_empty(), "{}", key.name);
                }
                Kind::Enum | Kind::List | Kind::Bool => {
                    assert!(key.words.len() > 1, "{}", key.name)
                }
                Kind::Path => assert!(key.values.is_empty(), "{}", key.name),
            }
        }
    }

    #[test]
    fn a_default_per_part_is_found_and_a_common_one_holds_for_all() {
        let catalogue = Catalogue::get();
        let idle = catalogue.find("connections.max.idle.ms").expect("key");
        assert_eq!(idle.default_for(Part::Engine), Some("30000"));
        assert_eq!(idle.default_for(Part::Share), Some("540000"));
        let age = catalogue.find("metadata.max.age.ms").expect("key");
        assert_eq!(age.default_for(Part::Streams), Some("300000"));
        let id = catalogue.find("group.instance.id").expect("key");
        assert_eq!(id.default_for(Part::Engine), None);
    }

    #[test]
    fn malformed_lines_are_refused_with_their_number() {
        for (line, what) in [
            ("a\tb", "columns"),
            ("a\t\tfloat\t\t\t\tengine\tText.", "unknown type"),
            ("a\t\tint\t5..1\tms\t\tengine\tText.", "bad range"),
            ("a\t\tint\tx\tms\t\tengine\tText.", "bad range"),
            ("a\t\tpath\t\t\t\tproducer\tText.", "unknown part"),
            ("a\ta\tpath\t\t\t\tengine\tText.", "appears twice"),
        ] {
            let error = Catalogue::parse(line).expect_err(line);
            assert!(error.contains(what) && error.contains("line 1"), "{error}");
        }
    }

    #[test]
    fn the_nearest_key_survives_usual_slips() {
        let catalogue = Catalogue::get();
        for (typed, meant) in [
            ("fetch.min.byte", "fetch.min.bytes"),
            ("SESSION_TIMEOUT_MS", "session.timeout.ms"),
            ("sasl.pasword", "sasl.password"),
            ("fetch.wait.max.mss", "fetch.max.wait.ms"),
        ] {
            assert_eq!(catalogue.nearest(typed, Part::Engine), Some(meant));
        }
        assert_eq!(catalogue.nearest("zzz", Part::Engine), None);
        assert_eq!(catalogue.nearest(&"x".repeat(1 << 20), Part::Engine), None);
    }

    #[test]
    fn distance_counts_edits() {
        let d = |a: &str, b: &str| {
            distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>())
        };
        assert_eq!(d("", "abc"), 3);
        assert_eq!(d("abc", ""), 3);
        assert_eq!(d("kitten", "sitting"), 3);
        assert_eq!(d("same", "same"), 0);
    }
}

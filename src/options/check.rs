//! The one check of options, whichever way they were set.

use std::collections::BTreeMap;

use super::catalogue::{Catalogue, Key, Kind, Part};
use super::error::OptionsError;
use super::{Options, security};

/// Most characters of a value that an error or Debug output shows.
const SHOWN_CHARS: usize = 100;

impl Options {
    /// Checks everything for one part and returns what was set, under canonical keys with
    /// normalised values, and `security.protocol`, inferred where it was not set.
    ///
    /// Defaults are not filled in: a reader takes them from the catalogue.
    pub(crate) fn validate(&self, part: Part) -> Result<BTreeMap<String, String>, OptionsError> {
        let catalogue = Catalogue::get();
        // Canonical key -> (value, the way it was set).
        let mut found: BTreeMap<&'static str, (String, String)> = BTreeMap::new();
        let typed = self.typed.iter().map(|(key, value)| (*key, value, "by its setter".to_owned()));
        let text = self
            .text
            .iter()
            .map(|(key, value)| (key.as_str(), value, format!("as string {}", clip(key))));
        for (name, value, way) in typed.chain(text) {
            let key = resolve(catalogue, name, value, part)?;
            let value = normalise(key, value)?;
            match found.get(key.name) {
                Some((other, other_way)) if *other != value => {
                    return Err(OptionsError::GivenTwice {
                        key: key.name,
                        how: format!("{other_way} and {way}"),
                    });
                }
                Some(_) => {}
                None => {
                    found.insert(key.name, (value, way));
                }
            }
        }
        let mut settings = Settings {
            part,
            values: found.into_iter().map(|(key, (value, _))| (key, value)).collect(),
        };
        check_order(&settings)?;
        check_group(&settings)?;
        security::check(&mut settings, self.tls, self.token_provider.is_some())?;
        Ok(settings.values.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }
}

#[cfg(feature = "client")]
/// The value of a key for `part` when nobody set it.
pub(crate) fn default_value(part: Part, key: &str) -> Option<&'static str> {
    Catalogue::get().find(key)?.default_for(part)
}

/// Values that passed their own check, on the way to being checked against each other.
pub(super) struct Settings {
    pub(super) part: Part,
    pub(super) values: BTreeMap<&'static str, String>,
}

impl Settings {
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// The first of `keys` that is set.
    pub(super) fn first_of(&self, keys: &[&'static str]) -> Option<&'static str> {
        keys.iter().copied().find(|key| self.has(key))
    }

    /// The value in force: what was set, or the default.
    fn effective(&self, key: &str) -> Option<i64> {
        self.get(key).or_else(|| Catalogue::get().find(key)?.default_for(self.part))?.parse().ok()
    }
}

fn resolve<'a>(
    catalogue: &'a Catalogue,
    name: &str,
    value: &str,
    part: Part,
) -> Result<&'a Key, OptionsError> {
    for (place, text) in [("key", name), ("value", value)] {
        if text.contains('\0') {
            return Err(OptionsError::Nul { key: clip(name), place });
        }
    }
    let key = catalogue.find(name).ok_or_else(|| OptionsError::Unknown {
        key: clip(name),
        nearest: catalogue.nearest(name, part),
        known: catalogue.names_for(part),
    })?;
    if key.is_refused() {
        return Err(OptionsError::Refused { key: key.name, remedy: key.description });
    }
    if !key.parts.contains(&part) {
        return Err(OptionsError::wrong_part(key.name, part, &key.parts));
    }
    Ok(key)
}

/// Brings a value into the one form that is passed on, or says what is wrong with it.
fn normalise(key: &Key, value: &str) -> Result<String, OptionsError> {
    let in_range =
        |number: i64| key.ranges.iter().any(|(low, high)| (*low..=*high).contains(&number));
    let trimmed = value.trim();
    let normal = match key.kind {
        Kind::Int => trimmed
            .parse::<i64>()
            .ok()
            .filter(|number| in_range(*number))
            .map(|number| number.to_string()),
        // Kafka switches the check off by the empty string.
        Kind::Enum if key.name == "ssl.endpoint.identification.algorithm" && trimmed.is_empty() => {
            Some("none".to_owned())
        }
        Kind::Bool | Kind::Enum => word_of(key, trimmed).map(str::to_owned),
        Kind::List => list_of(key, trimmed),
        Kind::Text | Kind::Secret => {
            let length = if key.unit == "characters" { value.chars().count() } else { value.len() };
            in_range(i64::try_from(length).unwrap_or(i64::MAX)).then(|| value.to_owned())
        }
        Kind::Path => (!value.is_empty()).then(|| value.to_owned()),
    };
    normal.ok_or_else(|| OptionsError::Invalid {
        key: key.name,
        value: shown(Some(key), value),
        expected: key.expectation(),
    })
}

fn word_of(key: &Key, value: &str) -> Option<&'static str> {
    key.words.iter().copied().find(|word| word.eq_ignore_ascii_case(value))
}

fn list_of(key: &Key, value: &str) -> Option<String> {
    let mut words = Vec::new();
    for item in value.split(',') {
        let word = word_of(key, item.trim())?;
        if words.contains(&word) {
            return None;
        }
        words.push(word);
    }
    Some(words.join(","))
}

/// Pairs of which the first must not exceed the second, or not reach it.
fn check_order(settings: &Settings) -> Result<(), OptionsError> {
    for (low, high, may_be_equal) in [
        ("heartbeat.interval.ms", "session.timeout.ms", false),
        ("retry.backoff.ms", "retry.backoff.max.ms", true),
        ("reconnect.backoff.ms", "reconnect.backoff.max.ms", true),
    ] {
        if !settings.has(low) && !settings.has(high) {
            continue;
        }
        let (Some(lower), Some(upper)) = (settings.effective(low), settings.effective(high)) else {
            continue;
        };
        if lower > upper || (lower == upper && !may_be_equal) {
            return Err(OptionsError::conflict(
                format!("{low} ({lower} ms)"),
                format!("{high} ({upper} ms)"),
                if may_be_equal {
                    "the first must not be greater than the second"
                } else {
                    "the first must be less than the second"
                },
            ));
        }
    }
    Ok(())
}

fn check_group(settings: &Settings) -> Result<(), OptionsError> {
    if settings.get("group.protocol") == Some("consumer") {
        let classic_only = settings.first_of(&[
            "session.timeout.ms",
            "heartbeat.interval.ms",
            "partition.assignment.strategy",
        ]);
        if let Some(key) = classic_only {
            return Err(OptionsError::conflict(
                "group.protocol=consumer",
                key,
                format!("with this protocol the broker decides it; remove {key}"),
            ));
        }
    }
    if let Some(id) = settings.get("group.instance.id")
        && let Some(wrong) =
            id.chars().find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_' | '-'))
    {
        return Err(OptionsError::Invalid {
            key: "group.instance.id",
            value: clip_quoted(id),
            expected: format!("letters, digits, '.', '_' and '-', without {wrong:?}"),
        });
    }
    Ok(())
}

/// A value as it may appear in Debug output and errors.
pub(super) fn shown(key: Option<&Key>, value: &str) -> String {
    match key {
        // The value of a misspelt key may well be a password.
        None => "a hidden value".to_owned(),
        Some(key) if key.kind == Kind::Secret => "a hidden value".to_owned(),
        // PEM text often carries certificate and private key together.
        Some(key) if key.name.ends_with(".pem") => format!("a text of {} bytes", value.len()),
        // User information in the address, and extensions, which some providers use for keys.
        Some(key) if key.name.ends_with(".url") && value.contains('@') => {
            "a hidden value".to_owned()
        }
        Some(key) if key.name.ends_with(".extensions") => "a hidden value".to_owned(),
        Some(_) => clip_quoted(value),
    }
}

fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(SHOWN_CHARS).collect();
    if clipped.len() < text.len() {
        clipped.push_str("...");
    }
    clipped
}

fn clip_quoted(text: &str) -> String {
    format!("{:?}", clip(text))
}

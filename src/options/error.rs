//! Why a set of options was refused.

use super::catalogue::Part;

/// Why a set of [`Options`](crate::Options) was refused.
///
/// Every text names the key and what to do. No text contains the value of a
/// secret or of an unknown key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// There is no such key.
    #[error("option {key:?} is unknown{}; known are: {}", did_you_mean(.nearest), .known.join(", "))]
    Unknown {
        /// The key as it was given, shortened when very long.
        key: String,
        /// The key that was probably meant.
        nearest: Option<&'static str>,
        /// All keys that this part of the crate accepts.
        known: Vec<&'static str>,
    },
    /// The key exists, but means nothing to this part of the crate.
    #[error("option {key} has no meaning for {part} (only for {}): remove it", .parts.join(", "))]
    WrongPart {
        /// The key.
        key: &'static str,
        /// The part that the options were given to.
        part: &'static str,
        /// The parts that know the key.
        parts: Vec<&'static str>,
    },
    /// The key is known and refused.
    #[error("option {key} is refused: {remedy}")]
    Refused {
        /// The key.
        key: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },
    /// The value is not of the key's type or not in its range.
    #[error("option {key}: {value} is not valid; it must be {expected}")]
    Invalid {
        /// The key.
        key: &'static str,
        /// The value in quotes, or a description of it where it must not be shown.
        value: String,
        /// Type, range and unit.
        expected: String,
    },
    /// A key or a value contains a NUL character.
    #[error("option {key:?}: the {place} contains a NUL character")]
    Nul {
        /// The key.
        key: String,
        /// `key` or `value`.
        place: &'static str,
    },
    /// One key was given two different values.
    #[error("option {key} was given twice with different values, {how}: keep one")]
    GivenTwice {
        /// The key.
        key: &'static str,
        /// The two ways.
        how: String,
    },
    /// Two settings exclude each other.
    #[error("options {first} and {second} exclude each other: {remedy}")]
    Conflict {
        /// The first setting.
        first: String,
        /// The second setting.
        second: String,
        /// What to do.
        remedy: String,
    },
    /// A setting needs another one.
    #[error("option {key} is missing: {needed_by}")]
    Missing {
        /// The missing key.
        key: &'static str,
        /// What needs it.
        needed_by: String,
    },
}

impl OptionsError {
    pub(super) fn wrong_part(key: &'static str, part: Part, parts: &[Part]) -> OptionsError {
        OptionsError::WrongPart {
            key,
            part: part.name(),
            parts: parts.iter().map(|part| part.name()).collect(),
        }
    }

    pub(super) fn conflict(
        first: impl Into<String>,
        second: impl Into<String>,
        remedy: impl Into<String>,
    ) -> OptionsError {
        OptionsError::Conflict { first: first.into(), second: second.into(), remedy: remedy.into() }
    }

    pub(super) fn missing(key: &'static str, needed_by: impl Into<String>) -> OptionsError {
        OptionsError::Missing { key, needed_by: needed_by.into() }
    }
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |key| format!(", did you mean {key}?"))
}

//! Names that Kafka takes.

use crate::streams::error::TopologyError;

/// Longest name of a topic, and so of what topics are named after.
const LONGEST: usize = 249;

/// Checks a name of a node, store, topic or operator.
pub(crate) fn check(what: &'static str, name: &str) -> Result<(), TopologyError> {
    let why = if name.is_empty() {
        "is empty"
    } else if name == "." || name == ".." {
        "is not allowed by Kafka"
    } else if name.len() > LONGEST {
        "is longer than 249 characters"
    } else if !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-')) {
        "has characters other than letters, digits, '.', '_' and '-'"
    } else {
        return Ok(());
    };
    Err(TopologyError::Name { what, name: name.to_owned(), why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_kafkas_topics() {
        assert!(check("topic", "a.B_9-x").is_ok());
        assert!(check("topic", &"x".repeat(249)).is_ok());
        for name in ["", ".", "..", "a b", "ä", &"x".repeat(250)] {
            let error = check("topic", name).unwrap_err();
            assert!(error.to_string().starts_with("topic name"), "{error}");
        }
    }
}

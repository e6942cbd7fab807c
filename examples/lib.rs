//! What the examples share: a log that prints.

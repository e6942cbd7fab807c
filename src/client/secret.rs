//! Text that must not appear in logs, errors or `Debug` output.

use std::fmt;
use std::sync::Arc;

/// A password, token or private key. `Debug` shows only that there is one.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// The text itself, for the place that puts it on the wire.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl<T: Into<Arc<str>>> From<T> for Secret {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_the_text() {
        assert_eq!(format!("{:?}", Secret::from("hunter2")), "[redacted]");
    }
}

//! The error of everything that is built, run or asked.

use std::error::Error;
use std::fmt;

use crate::options::OptionsError;

/// Most bytes of a text that an error keeps: what crosses the boundary is no
/// longer than this anyway.
const TEXT_BYTES_MAX: usize = 8 * 1024;

/// Declares the kinds with their codes once, so that the two directions cannot disagree.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $code:literal,)+) => {
        /// What went wrong, by the code of a [`LlingrError`].
        ///
        /// Codes from -1 to -49 come from the Go engine (`include/llingr.h`), those
        /// from -50 downwards from the Rust side. A code is never used again for
        /// something else.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[$doc])* $kind,)+
            /// A code that this version does not know.
            Other(i32),
        }

        impl ErrorKind {
            /// The number of this kind.
            pub fn code(self) -> i32 {
                match self {
                    $(ErrorKind::$kind => $code,)+
                    ErrorKind::Other(code) => code,
                }
            }

            /// The kind of a number; total, as the number comes from another language.
            pub fn from_code(code: i32) -> ErrorKind {
                match code {
                    $($code => ErrorKind::$kind,)+
                    code => ErrorKind::Other(code),
                }
            }

            #[cfg(test)]
            const ALL: &'static [ErrorKind] = &[$(ErrorKind::$kind),+];
        }
    };
}

kinds! {
    /// -1: the engine's archive and this crate were built from different versions.
    AbiMismatch = -1,
    /// -2: an engine exists in this process; a new one is possible after its end.
    AlreadyExists = -2,
    /// -3: there is no engine.
    NoEngine = -3,
    /// -4: the engine refused its configuration; the text names the key.
    Config = -4,
    /// -5: no broker could be reached; trying again may help.
    Unreachable = -5,
    /// -6: TLS or login refused, or credentials not to be had.
    Auth = -6,
    /// -7: the topic is missing or not permitted.
    Topic = -7,
    /// -8: the group uses another protocol or is not permitted.
    Group = -8,
    /// -9: not possible in the present state.
    State = -9,
    /// -10: an argument of the call is not valid.
    Argument = -10,
    /// -11: a panic was caught inside the Go engine.
    EnginePanic = -11,
    /// -12: not compiled in.
    Unsupported = -12,
    /// -13: the broker answered with another error.
    Broker = -13,
    /// -50: the options were refused; [`source`](Error::source) is an
    /// [`OptionsError`].
    Options = -50,
    /// -51: the metrics server could not be started at its address.
    MetricsServer = -51,
    /// -52: a source of metrics could not be registered.
    MetricsSource = -52,
    /// -53: ended by an emergency stop; the text is its reason.
    EmergencyStop = -53,
    /// -54: the system gave no thread or no async runtime.
    Runtime = -54,
    /// -55: the engine's answer could not be understood.
    Malformed = -55,
    /// -56: the time for the call was over.
    Timeout = -56,
    /// -57: a panic was caught in Rust code of this crate or of the program.
    Panic = -57,
}

/// An error with a [`code`](LlingrError::code) to act on and a text for people.
///
/// `Display` shows both; [`source`](Error::source) has the cause where there is one.
/// The text never contains a secret.
///
/// ```
/// # fn run() -> Result<(), llingr_kafka::LlingrError> { Ok(()) }
/// use llingr_kafka::ErrorKind;
///
/// match run() {
///     Ok(()) => println!("stopped as asked"),
///     Err(error) if error.kind() == ErrorKind::Unreachable => println!("try again later: {error}"),
///     Err(error) => println!("error {}: {error}", error.code()),
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct LlingrError {
    kind: ErrorKind,
    text: String,
    source: Option<Box<dyn Error + Send + Sync + 'static>>,
}

impl LlingrError {
    /// The code, negative; [`ErrorKind`] lists them.
    pub fn code(&self) -> i32 {
        self.kind.code()
    }

    /// The code by name.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The text without the code.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn new(kind: ErrorKind, text: impl Into<String>) -> LlingrError {
        LlingrError { kind, text: clip(text.into()), source: None }
    }

    /// The error of a call that returned `code` and wrote `text`, which may not be UTF-8.
    pub(crate) fn from_engine(code: i32, text: &[u8]) -> LlingrError {
        let text = String::from_utf8_lossy(&text[..text.len().min(TEXT_BYTES_MAX)]);
        LlingrError::new(ErrorKind::from_code(code), text)
    }

    pub(crate) fn with_source(
        mut self,
        source: impl Into<Box<dyn Error + Send + Sync + 'static>>,
    ) -> LlingrError {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for LlingrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.text.is_empty() {
            write!(f, "{:?} (code {})", self.kind, self.code())
        } else {
            write!(f, "{} (code {})", self.text, self.code())
        }
    }
}

impl Error for LlingrError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

impl From<OptionsError> for LlingrError {
    fn from(error: OptionsError) -> LlingrError {
        LlingrError::new(ErrorKind::Options, error.to_string()).with_source(error)
    }
}

fn clip(mut text: String) -> String {
    if text.len() > TEXT_BYTES_MAX {
        let mut end = TEXT_BYTES_MAX;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str("...");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_of_the_engine_are_those_of_the_header() {
        let header: BTreeSet<i32> = include_str!("../include/llingr.h")
            .lines()
            .filter_map(|line| line.strip_prefix("#define LLINGR_ERR_"))
            .map(|rest| {
                let number = rest.split(['(', ')']).nth(1).expect("a code in parentheses");
                number.parse().expect("a number")
            })
            .collect();
        let ours: BTreeSet<i32> =
            ErrorKind::ALL.iter().map(|kind| kind.code()).filter(|code| *code > -50).collect();
        assert_eq!(ours, header);
    }

    #[test]
    fn every_code_is_used_once_and_converts_back() {
        let codes: BTreeSet<i32> = ErrorKind::ALL.iter().map(|kind| kind.code()).collect();
        assert_eq!(codes.len(), ErrorKind::ALL.len());
        for kind in ErrorKind::ALL {
            assert_eq!(ErrorKind::from_code(kind.code()), *kind);
        }
        assert_eq!(ErrorKind::from_code(-49), ErrorKind::Other(-49));
        assert_eq!(ErrorKind::Other(-49).code(), -49);
    }

    #[test]
    fn display_carries_text_and_code() {
        let error = LlingrError::from_engine(-7, b"topic orders is missing");
        assert_eq!(error.to_string(), "topic orders is missing (code -7)");
        assert_eq!(error.text(), "topic orders is missing");
        assert_eq!(LlingrError::from_engine(-9, b"").to_string(), "State (code -9)");
        assert!(error.source().is_none());
    }

    #[test]
    fn foreign_text_is_decoded_lossily_and_bounded() {
        let error = LlingrError::from_engine(-13, &[b'a', 0xff, b'b']);
        assert_eq!(error.text(), "a\u{fffd}b");
        let long = LlingrError::new(ErrorKind::Broker, "\u{20ac}".repeat(TEXT_BYTES_MAX));
        assert!(long.text().len() <= TEXT_BYTES_MAX + 3);
        assert!(long.text().ends_with("..."));
    }

    #[test]
    fn an_error_can_leave_its_thread() {
        fn check<T: Error + Send + Sync + 'static>() {}
        check::<LlingrError>();
        check::<OptionsError>();
    }

    #[test]
    fn an_options_error_is_the_source() {
        let error = LlingrError::from(OptionsError::Missing {
            key: "sasl.password",
            needed_by: "sasl.mechanism=PLAIN needs it".to_owned(),
        });
        assert_eq!(error.code(), -50);
        let source = error.source().expect("a source");
        assert!(source.downcast_ref::<OptionsError>().is_some());
        assert!(error.to_string().contains("sasl.password"), "{error}");
    }
}

//! OAUTHBEARER tokens that the program supplies itself.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

/// A source of tokens given to
/// [`Options::sasl_oauthbearer_callback`](crate::Options::sasl_oauthbearer_callback).
pub(crate) type TokenProvider =
    dyn Fn() -> Result<OAuthToken, Box<dyn Error + Send + Sync>> + Send + Sync;

/// A bearer token for OAUTHBEARER, with the SASL extensions to send along
/// (KIP-342).
///
/// `Debug` shows neither the token nor the extensions' values.
///
/// ```
/// use llingr_kafka::OAuthToken;
///
/// let token = OAuthToken::new("eyJhbGciOi...").extension("logicalCluster", "lkc-1");
/// assert!(!format!("{token:?}").contains("eyJ"));
/// ```
#[derive(Clone)]
pub struct OAuthToken {
    token: String,
    extensions: BTreeMap<String, String>,
}

impl OAuthToken {
    /// A token without extensions.
    pub fn new(token: impl Into<String>) -> OAuthToken {
        OAuthToken { token: token.into(), extensions: BTreeMap::new() }
    }

    /// Adds an extension; the last value of a name counts.
    #[must_use]
    pub fn extension(mut self, name: impl Into<String>, value: impl Into<String>) -> OAuthToken {
        self.extensions.insert(name.into(), value.into());
        self
    }

    /// The token itself: a secret.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The extensions by name.
    pub fn extensions(&self) -> &BTreeMap<String, String> {
        &self.extensions
    }
}

impl fmt::Debug for OAuthToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthToken")
            .field("token", &format_args!("(hidden)"))
            .field("extensions", &self.extensions.keys().collect::<Vec<_>>())
            .finish()
    }
}

//! OAUTHBEARER (RFC 7628) with Kafka's extensions (KIP-255, KIP-342).

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use super::Step;
use crate::client::secret::Secret;
use crate::options;

/// An error of a token provider.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// What [`TokenProvider::token`] returns.
pub type TokenFuture<'a> = Pin<Box<dyn Future<Output = Result<Token, BoxError>> + Send + 'a>>;

/// Supplies OAuth tokens. It is asked before every login and every re-authentication, on each
/// connection; a provider whose tokens are expensive keeps them until shortly before they expire.
///
/// The future may be dropped when a connection attempt runs into its deadline.
pub trait TokenProvider: Send + Sync + 'static {
    /// A token that is valid now. An error fails this login with its text, which must not
    /// contain secrets.
    fn token(&self) -> TokenFuture<'_>;
}

impl fmt::Debug for dyn TokenProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenProvider")
    }
}

/// The program's own callback from [`Options`](crate::Options), which may block.
pub(crate) struct Callback(pub(crate) Arc<options::TokenProvider>);

impl TokenProvider for Callback {
    fn token(&self) -> TokenFuture<'_> {
        let callback = self.0.clone();
        Box::pin(async move {
            let token = tokio::task::spawn_blocking(move || callback()).await??;
            let extensions = token.extensions().iter();
            Ok(Token {
                value: token.token().into(),
                extensions: extensions.map(|(k, v)| (k.clone(), v.clone())).collect(),
                expires: None,
            })
        })
    }
}

/// A bearer token.
#[derive(Debug, Clone)]
pub struct Token {
    /// The token in its compact form.
    pub value: Secret,
    /// KIP-342 extensions that belong to this token, besides those of the settings.
    pub extensions: Vec<(String, String)>,
    /// When it expires; a token already expired is refused before it is sent.
    pub expires: Option<SystemTime>,
}

/// Ends a refused exchange, so that the broker sends its final error.
const KILL: &[u8] = b"\x01";

pub(super) struct OAuth {
    message: Vec<u8>,
    refusal: Option<String>,
}

impl OAuth {
    pub(super) fn new(token: &Token, extensions: &[(String, String)]) -> Result<Self, String> {
        if token.expires.is_some_and(|expires| expires <= SystemTime::now()) {
            return Err("the token provider returned a token that has expired".into());
        }
        let value = token.value.expose();
        if value.is_empty() || !value.bytes().all(|byte| (0x21..=0x7e).contains(&byte)) {
            return Err("the token provider returned a token that is empty or holds characters \
                        outside printable ASCII"
                .into());
        }
        let mut message = format!("n,,\x01auth=Bearer {value}\x01");
        for (name, value) in extensions.iter().chain(&token.extensions) {
            check_extension(name, value)?;
            message.push_str(&format!("{name}={value}\x01"));
        }
        message.push('\x01');
        Ok(Self { message: message.into_bytes(), refusal: None })
    }

    pub(super) fn client_first(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.message)
    }

    pub(super) fn answer(&mut self, bytes: &[u8]) -> Result<Step, String> {
        if bytes.is_empty() {
            return Ok(Step::Done);
        }
        // A refusal arrives as JSON without an error code; the code follows our kill message.
        let text: String = String::from_utf8_lossy(bytes).chars().take(500).collect();
        if self.refusal.is_some() {
            return Err(format!("the broker refused the token twice: {text}"));
        }
        self.refusal = Some(text);
        Ok(Step::Send(KILL.to_vec()))
    }

    pub(super) fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }
}

fn check_extension(name: &str, value: &str) -> Result<(), String> {
    let name_ok = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    let value_ok = value.bytes().all(|byte| matches!(byte, 0x20..=0x7e | b'\t' | b'\r' | b'\n'));
    if name == "auth" || !name_ok || !value_ok {
        return Err(format!(
            "sasl.oauthbearer.extensions: {name:?} is not allowed; names are ASCII letters other \
             than \"auth\", values printable ASCII"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn token(value: &str) -> Token {
        Token { value: value.into(), extensions: Vec::new(), expires: None }
    }

    #[test]
    fn the_token_and_extensions_are_framed_as_rfc_7628_says() {
        let extensions = [("logicalCluster".to_owned(), "lkc-1".to_owned())];
        let mut oauth = OAuth::new(&token("abc.def"), &extensions).unwrap();
        assert_eq!(
            oauth.client_first(),
            b"n,,\x01auth=Bearer abc.def\x01logicalCluster=lkc-1\x01\x01"
        );
        assert_eq!(oauth.answer(b""), Ok(Step::Done));
    }

    #[test]
    fn a_refusal_is_kept_and_answered_so_that_the_final_error_comes() {
        let mut oauth = OAuth::new(&token("abc"), &[]).unwrap();
        oauth.client_first();
        let step = oauth.answer(br#"{"status":"invalid_token"}"#).unwrap();
        assert_eq!(step, Step::Send(vec![1]));
        assert_eq!(oauth.refusal(), Some(r#"{"status":"invalid_token"}"#));
    }

    #[tokio::test]
    async fn a_programs_callback_supplies_token_and_extensions() {
        let callback =
            Callback(Arc::new(|| Ok(crate::OAuthToken::new("abc").extension("cluster", "one"))));
        let token = callback.token().await.unwrap();
        let mut oauth = OAuth::new(&token, &[]).unwrap();
        assert_eq!(oauth.client_first(), b"n,,\x01auth=Bearer abc\x01cluster=one\x01\x01");
        let failing = Callback(Arc::new(|| Err("issuer is down".into())));
        assert_eq!(failing.token().await.unwrap_err().to_string(), "issuer is down");
    }

    #[test]
    fn tokens_that_are_expired_or_would_break_the_frame_are_refused() {
        let past = SystemTime::now() - Duration::from_secs(1);
        let expired = Token { expires: Some(past), ..token("abc") };
        assert!(OAuth::new(&expired, &[]).is_err());
        assert!(OAuth::new(&token("a\x01b"), &[]).is_err());
        assert!(OAuth::new(&token(""), &[]).is_err());
    }

    #[test]
    fn extensions_cannot_override_the_token() {
        let extensions = [("auth".to_owned(), "Bearer x".to_owned())];
        assert!(OAuth::new(&token("abc"), &extensions).is_err());
    }
}

//! The client's settings, typed.
//!
//! [`Config::from_options`] reads Kafka's own key names from a checked option map; files named
//! there are read once, here.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use super::backoff::BackoffPolicy;
use super::error::{Error, Result};
use super::sasl::{Callback, SaslConfig, ScramHash, TokenProvider};
use super::tls::{ClientIdentity, TlsConfig};
use crate::options::{Part, default_value};

/// Settings of one client. All times have Kafka's defaults.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// `bootstrap.servers`: host and port of at least one broker.
    pub bootstrap: Vec<(String, u16)>,
    /// `client.id`, shown in broker logs and quotas. Default `llingr`.
    pub client_id: String,
    /// `client.rack`. Default empty.
    pub rack: String,
    /// TLS, if `security.protocol` is `SSL` or `SASL_SSL`.
    pub tls: Option<TlsConfig>,
    /// Login, if `security.protocol` is `SASL_PLAINTEXT` or `SASL_SSL`.
    pub sasl: Option<SaslConfig>,
    /// `request.timeout.ms`: limit for the answer to one request. Default 30 s.
    pub request_timeout: Duration,
    /// `default.api.timeout.ms`: limit for a call with all its retries. Default 60 s.
    pub api_timeout: Duration,
    /// `socket.connection.setup.timeout.ms`, for each address. Default 10 s.
    pub connect_timeout: Duration,
    /// `connections.max.idle.ms`. Default 9 min.
    pub max_idle: Duration,
    /// `metadata.max.age.ms`. Default 5 min.
    pub metadata_max_age: Duration,
    /// `retry.backoff.ms`: wait after the first failure. Default 100 ms.
    pub retry_backoff: Duration,
    /// `retry.backoff.max.ms`. Default 1 s.
    pub retry_backoff_max: Duration,
    /// `reconnect.backoff.ms`: wait before connecting to a broker again. Default 50 ms.
    pub reconnect_backoff: Duration,
    /// `reconnect.backoff.max.ms`. Default 1 s.
    pub reconnect_backoff_max: Duration,
    /// `allow.auto.create.topics`: whether asking about a topic may create it. Default false.
    pub auto_create_topics: bool,
    /// Largest answer accepted, in bytes. Default 128 MiB; must exceed `fetch.max.bytes`.
    pub max_frame_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            bootstrap: Vec::new(),
            client_id: "llingr".into(),
            rack: String::new(),
            tls: None,
            sasl: None,
            request_timeout: Duration::from_secs(30),
            api_timeout: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(10),
            max_idle: Duration::from_secs(540),
            metadata_max_age: Duration::from_secs(300),
            retry_backoff: Duration::from_millis(100),
            retry_backoff_max: Duration::from_secs(1),
            reconnect_backoff: Duration::from_millis(50),
            reconnect_backoff_max: Duration::from_secs(1),
            auto_create_topics: false,
            max_frame_bytes: 128 << 20,
        }
    }
}

impl Config {
    /// Defaults with these brokers, as `host:port` separated by commas.
    ///
    /// # Errors
    /// [`Error::Config`] naming the entry that is wrong.
    pub fn new(bootstrap: &str) -> Result<Self> {
        Ok(Self { bootstrap: parse_bootstrap(bootstrap)?, ..Self::default() })
    }

    /// Checks a program's options for one part of the crate and reads them, with that part's
    /// defaults. Also returns the checked keys, for the part's own settings.
    ///
    /// # Errors
    /// [`Error::Config`] naming the key and the remedy.
    #[allow(dead_code, reason = "for share groups and streams; tests use it already")]
    pub(crate) fn of_part(
        part: Part,
        bootstrap: &str,
        options: &crate::Options,
    ) -> Result<(Self, BTreeMap<String, String>)> {
        let checked = options.validate(part).map_err(|error| Error::Config(error.to_string()))?;
        let provider = options
            .token_provider()
            .map(|callback| Arc::new(Callback(callback)) as Arc<dyn TokenProvider>);
        let mut complete = checked.clone();
        for key in KEYS_WITH_DEFAULTS {
            if let Some(value) = default_value(part, key) {
                complete.entry((*key).to_owned()).or_insert_with(|| value.to_owned());
            }
        }
        Ok((Self::from_options(bootstrap, &complete, provider)?, checked))
    }

    /// Reads the keys that concern a client and leaves the others to their owners.
    /// `token_provider` serves `sasl.mechanism=OAUTHBEARER`.
    ///
    /// # Errors
    /// [`Error::Config`] naming the key and the remedy; files that cannot be read are named.
    pub fn from_options(
        bootstrap: &str,
        options: &BTreeMap<String, String>,
        token_provider: Option<Arc<dyn TokenProvider>>,
    ) -> Result<Self> {
        let mut config = Self::new(bootstrap)?;
        let options = Options(options);
        options.text("client.id", &mut config.client_id);
        options.text("client.rack", &mut config.rack);
        options.millis("request.timeout.ms", &mut config.request_timeout)?;
        options.millis("default.api.timeout.ms", &mut config.api_timeout)?;
        options.millis("socket.connection.setup.timeout.ms", &mut config.connect_timeout)?;
        options.millis("connections.max.idle.ms", &mut config.max_idle)?;
        options.millis("metadata.max.age.ms", &mut config.metadata_max_age)?;
        options.millis("retry.backoff.ms", &mut config.retry_backoff)?;
        options.millis("retry.backoff.max.ms", &mut config.retry_backoff_max)?;
        options.millis("reconnect.backoff.ms", &mut config.reconnect_backoff)?;
        options.millis("reconnect.backoff.max.ms", &mut config.reconnect_backoff_max)?;
        config.auto_create_topics =
            options.parse("allow.auto.create.topics")?.unwrap_or(config.auto_create_topics);
        if let Some(fetch_max) = options.parse::<usize>("fetch.max.bytes")? {
            // The first batch of an answer may exceed the limit on its own.
            config.max_frame_bytes = config.max_frame_bytes.max(fetch_max.saturating_mul(2));
        }
        let (tls, sasl) = match options.get("security.protocol") {
            None | Some("PLAINTEXT") => (false, false),
            Some("SSL") => (true, false),
            Some("SASL_PLAINTEXT") => (false, true),
            Some("SASL_SSL") => (true, true),
            Some(other) => {
                return Err(Error::Config(format!(
                    "security.protocol={other:?} is none of PLAINTEXT, SSL, SASL_PLAINTEXT, \
                     SASL_SSL"
                )));
            }
        };
        if tls {
            config.tls = Some(options.tls()?);
        }
        if sasl {
            config.sasl = Some(options.sasl(token_provider)?);
        }
        Ok(config)
    }

    pub(crate) fn retry_policy(&self) -> BackoffPolicy {
        BackoffPolicy { initial: self.retry_backoff, max: self.retry_backoff_max }
    }

    pub(crate) fn reconnect_policy(&self) -> BackoffPolicy {
        BackoffPolicy { initial: self.reconnect_backoff, max: self.reconnect_backoff_max }
    }
}

/// Keys whose default the catalogue knows, by part.
const KEYS_WITH_DEFAULTS: &[&str] = &[
    "client.id",
    "request.timeout.ms",
    "default.api.timeout.ms",
    "socket.connection.setup.timeout.ms",
    "connections.max.idle.ms",
    "metadata.max.age.ms",
    "retry.backoff.ms",
    "retry.backoff.max.ms",
    "reconnect.backoff.ms",
    "reconnect.backoff.max.ms",
    "allow.auto.create.topics",
    "fetch.max.bytes",
];

struct Options<'a>(&'a BTreeMap<String, String>);

impl<'a> Options<'a> {
    fn get(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).map(String::as_str)
    }

    fn required(&self, key: &str, why: &str) -> Result<&'a str> {
        self.get(key).ok_or_else(|| Error::Config(format!("{key} is not set, but {why} needs it")))
    }

    fn text(&self, key: &str, target: &mut String) {
        if let Some(value) = self.get(key) {
            value.clone_into(target);
        }
    }

    fn parse<T: FromStr>(&self, key: &str) -> Result<Option<T>>
    where
        T::Err: fmt::Display,
    {
        self.get(key)
            .map(|value| {
                value.parse().map_err(|error| Error::Config(format!("{key}={value:?}: {error}")))
            })
            .transpose()
    }

    fn millis(&self, key: &str, target: &mut Duration) -> Result<()> {
        if let Some(value) = self.parse(key)? {
            *target = Duration::from_millis(value);
        }
        Ok(())
    }

    /// `<name>.pem`, or the content of the file that `<name>.location` names.
    fn pem(&self, name: &str) -> Result<Option<String>> {
        let (pem, location) = (format!("{name}.pem"), format!("{name}.location"));
        match (self.get(&pem), self.get(&location)) {
            (Some(_), Some(_)) => {
                Err(Error::Config(format!("set only one of {pem} and {location}")))
            }
            (Some(text), None) => Ok(Some(text.to_owned())),
            (None, Some(path)) => std::fs::read_to_string(path).map(Some).map_err(|error| {
                Error::Config(format!("{location}={path:?} cannot be read: {error}"))
            }),
            (None, None) => Ok(None),
        }
    }

    fn tls(&self) -> Result<TlsConfig> {
        let client = match (self.pem("ssl.certificate")?, self.pem("ssl.key")?) {
            (None, None) => None,
            (Some(certificate_pem), Some(key)) => {
                Some(ClientIdentity { certificate_pem, key_pem: key.into() })
            }
            (Some(_), None) => {
                return Err(Error::Config("ssl.certificate is set without ssl.key".into()));
            }
            (None, Some(_)) => {
                return Err(Error::Config("ssl.key is set without ssl.certificate".into()));
            }
        };
        Ok(TlsConfig {
            ca_pem: self.pem("ssl.ca")?,
            client,
            skip_hostname_check: self.get("ssl.endpoint.identification.algorithm") == Some("none"),
            skip_certificate_check: self.parse("enable.ssl.certificate.verification")?
                == Some(false),
        })
    }

    fn sasl(&self, token_provider: Option<Arc<dyn TokenProvider>>) -> Result<SaslConfig> {
        let mechanism = self.required("sasl.mechanism", "security.protocol=SASL_*")?;
        let username = || Ok::<_, Error>(self.required("sasl.username", mechanism)?.into());
        let password = || Ok::<_, Error>(self.required("sasl.password", mechanism)?.into());
        match mechanism {
            "PLAIN" => Ok(SaslConfig::Plain { username: username()?, password: password()? }),
            "SCRAM-SHA-256" | "SCRAM-SHA-512" => {
                let hash = match mechanism {
                    "SCRAM-SHA-256" => ScramHash::Sha256,
                    _ => ScramHash::Sha512,
                };
                Ok(SaslConfig::Scram { hash, username: username()?, password: password()? })
            }
            "OAUTHBEARER" => {
                let provider = token_provider.ok_or_else(|| {
                    Error::Config(
                        "sasl.mechanism=OAUTHBEARER needs a token provider here: share groups \
                         and streams fetch no tokens by themselves \
                         (sasl.oauthbearer.token.endpoint.url serves the engine only)"
                            .into(),
                    )
                })?;
                Ok(SaslConfig::OAuthBearer { provider, extensions: self.extensions()? })
            }
            other => Err(Error::Config(format!(
                "sasl.mechanism={other:?} is not supported by share groups and streams; use \
                 PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER"
            ))),
        }
    }

    /// `name=value` pairs separated by commas.
    fn extensions(&self) -> Result<Vec<(String, String)>> {
        let Some(text) = self.get("sasl.oauthbearer.extensions") else { return Ok(Vec::new()) };
        text.split(',')
            .map(|pair| match pair.trim().split_once('=') {
                Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
                None => Err(Error::Config(
                    "sasl.oauthbearer.extensions: expected name=value pairs separated by commas"
                        .into(),
                )),
            })
            .collect()
    }
}

fn parse_bootstrap(text: &str) -> Result<Vec<(String, u16)>> {
    let addresses = text
        .split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .map(parse_address)
        .collect::<Result<Vec<_>>>()?;
    if addresses.is_empty() {
        return Err(Error::Config(
            "bootstrap.servers is empty; name at least one broker as host:port".into(),
        ));
    }
    Ok(addresses)
}

fn parse_address(entry: &str) -> Result<(String, u16)> {
    let wrong = || {
        Error::Config(format!(
            "bootstrap.servers: {entry:?} is not host:port (an IPv6 address goes in brackets)"
        ))
    };
    let (host, port) = entry.rsplit_once(':').ok_or_else(wrong)?;
    let port: u16 = port.parse().map_err(|_| wrong())?;
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = match bracketed {
        Some(host) => host,
        None if host.contains([':', '[', ']', '/']) => return Err(wrong()),
        None => host,
    };
    if host.is_empty() || port == 0 {
        return Err(wrong());
    }
    Ok((host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Config> {
        let options =
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Config::from_options("a:9092", &options, None)
    }

    #[test]
    fn several_addresses_and_ipv6_are_read() {
        let config = Config::new("a:9092, [::1]:9093,").unwrap();
        assert_eq!(config.bootstrap, [("a".into(), 9092), ("::1".into(), 9093)]);
    }

    #[test]
    fn wrong_addresses_are_named() {
        for text in ["a", "a:", "a:x", ":1", "a:0", "::1:9092", "http://a:9092"] {
            let error = Config::new(text).unwrap_err().to_string();
            assert!(error.contains("bootstrap.servers") && error.contains(text), "{error}");
        }
        assert!(Config::new(" , ").is_err());
    }

    #[test]
    fn every_mechanism_is_read_with_its_credentials() {
        for mechanism in ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] {
            let config = read(&[
                ("security.protocol", "SASL_PLAINTEXT"),
                ("sasl.mechanism", mechanism),
                ("sasl.username", "ann"),
                ("sasl.password", "hunter2"),
            ])
            .unwrap();
            assert_eq!(config.sasl.as_ref().map(SaslConfig::mechanism), Some(mechanism));
            assert!(config.tls.is_none());
            assert!(!format!("{config:?}").contains("hunter2"));
        }
    }

    #[test]
    fn missing_or_unknown_security_settings_name_the_key() {
        let sasl = ("security.protocol", "SASL_SSL");
        for (pairs, expected) in [
            (vec![("security.protocol", "TLS")], "security.protocol"),
            (vec![sasl], "sasl.mechanism"),
            (vec![sasl, ("sasl.mechanism", "PLAIN")], "sasl.username"),
            (vec![sasl, ("sasl.mechanism", "GSSAPI")], "GSSAPI"),
            (vec![sasl, ("sasl.mechanism", "OAUTHBEARER")], "token provider"),
            (vec![("security.protocol", "SSL"), ("ssl.key.pem", "k")], "ssl.certificate"),
            (vec![("security.protocol", "SSL"), ("ssl.ca.location", "/no/such/file")], "ssl.ca"),
            (vec![("request.timeout.ms", "soon")], "request.timeout.ms"),
        ] {
            let error = read(&pairs).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_programs_options_bring_the_defaults_of_their_part() {
        let options = crate::Options::new().kafka_option("metadata.max.age.ms", "1234");
        let (share, checked) = Config::of_part(Part::Share, "a:9092", &options).unwrap();
        assert_eq!(share.metadata_max_age, Duration::from_millis(1234));
        assert_eq!(share.request_timeout, Duration::from_secs(30));
        assert!(share.auto_create_topics);
        assert_eq!(checked["metadata.max.age.ms"], "1234");
        let (streams, _) = Config::of_part(Part::Streams, "a:9092", &options).unwrap();
        assert_eq!(streams.request_timeout, Duration::from_secs(40));
        assert!(!streams.auto_create_topics);
        let unknown = crate::Options::new().kafka_option("no.such.key", "1");
        let error = Config::of_part(Part::Share, "a:9092", &unknown).unwrap_err();
        assert!(error.to_string().contains("no.such.key"), "{error}");
    }

    #[test]
    fn times_and_switches_are_read() {
        let config = read(&[
            ("request.timeout.ms", "1500"),
            ("security.protocol", "SSL"),
            ("ssl.endpoint.identification.algorithm", "none"),
            ("enable.ssl.certificate.verification", "false"),
        ])
        .unwrap();
        assert_eq!(config.request_timeout, Duration::from_millis(1500));
        let tls = config.tls.unwrap();
        assert!(tls.skip_hostname_check && tls.skip_certificate_check);
    }
}

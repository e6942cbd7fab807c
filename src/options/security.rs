//! TLS and login: setters, inference of the protocol, and contradictions.

use std::error::Error;
use std::sync::Arc;

use super::catalogue::Part;
use super::check::Settings;
use super::{OAuthToken, Options, OptionsError};

const TLS_KEYS: &[&str] = &[
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.key.location",
    "ssl.key.pem",
    "enable.ssl.certificate.verification",
    "ssl.endpoint.identification.algorithm",
];

const PASSWORD_KEYS: &[&str] = &["sasl.username", "sasl.password"];

const OIDC_KEYS: &[&str] = &[
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.scope",
];

const GCP_KEYS: &[&str] = &["gcp.principal", "gcp.credentials.file"];

const AWS_KEYS: &[&str] = &["aws.region", "aws.profile", "aws.role.arn", "aws.role.session.name"];

/// # TLS
///
/// Any of these settings switches TLS on when `security.protocol` is not set.
/// TLS 1.2 or later is spoken.
impl Options {
    /// Uses TLS with the certificate authorities of the system.
    pub fn tls(mut self) -> Options {
        self.tls = true;
        self
    }

    /// `ssl.ca.location`: PEM file with the authorities that may sign the brokers'
    /// certificates, instead of those of the system.
    pub fn tls_ca_location(self, file: impl Into<String>) -> Options {
        self.set("ssl.ca.location", file)
    }

    /// `ssl.ca.pem`: the same as PEM text.
    pub fn tls_ca_pem(self, pem: impl Into<String>) -> Options {
        self.set("ssl.ca.pem", pem)
    }

    /// `ssl.certificate.location` and `ssl.key.location`: PEM files with the
    /// client's certificate chain and its private key, which must not be
    /// encrypted.
    pub fn tls_client_certificate(
        self,
        certificate_file: impl Into<String>,
        key_file: impl Into<String>,
    ) -> Options {
        self.set("ssl.certificate.location", certificate_file).set("ssl.key.location", key_file)
    }

    /// `ssl.certificate.pem` and `ssl.key.pem`: the same as PEM text.
    pub fn tls_client_certificate_pem(
        self,
        certificate_pem: impl Into<String>,
        key_pem: impl Into<String>,
    ) -> Options {
        self.set("ssl.certificate.pem", certificate_pem).set("ssl.key.pem", key_pem)
    }

    /// `enable.ssl.certificate.verification=false`: any certificate is accepted.
    /// For tests only: the connection is then open to whoever is on the way.
    pub fn disable_certificate_verification(self) -> Options {
        self.set("enable.ssl.certificate.verification", "false")
    }

    /// `ssl.endpoint.identification.algorithm=none`: the certificate need not carry
    /// the broker's host name, but must still be signed by a known authority.
    pub fn disable_hostname_verification(self) -> Options {
        self.set("ssl.endpoint.identification.algorithm", "none")
    }
}

/// # Login
///
/// Any of these settings switches SASL on when `security.protocol` is not set.
impl Options {
    /// Logs in by SASL PLAIN: the password is sent as it is, so use it over TLS.
    pub fn sasl_plain(self, user: impl Into<String>, password: impl Into<String>) -> Options {
        self.password("PLAIN", user, password)
    }

    /// Logs in by SASL SCRAM-SHA-256.
    pub fn sasl_scram_sha256(
        self,
        user: impl Into<String>,
        password: impl Into<String>,
    ) -> Options {
        self.password("SCRAM-SHA-256", user, password)
    }

    /// Logs in by SASL SCRAM-SHA-512.
    pub fn sasl_scram_sha512(
        self,
        user: impl Into<String>,
        password: impl Into<String>,
    ) -> Options {
        self.password("SCRAM-SHA-512", user, password)
    }

    /// Logs in by OAUTHBEARER with a token from an OpenID Connect provider, by the
    /// client credentials grant. The URL must be https, or http on the loopback
    /// interface.
    ///
    /// ```
    /// # use llingr_kafka::Options;
    /// let options = Options::new()
    ///     .tls()
    ///     .sasl_oauthbearer_oidc("https://login.example.com/oauth2/token", "billing", "a secret")
    ///     .oauthbearer_scope("kafka")
    ///     .oauthbearer_extensions("logicalCluster=lkc-1,identityPoolId=pool-2");
    /// # let _ = options;
    /// ```
    pub fn sasl_oauthbearer_oidc(
        self,
        token_endpoint_url: impl Into<String>,
        client_id: impl Into<String>,
        client_secret: impl Into<String>,
    ) -> Options {
        self.set("sasl.mechanism", "OAUTHBEARER")
            .set("sasl.oauthbearer.method", "oidc")
            .set("sasl.oauthbearer.token.endpoint.url", token_endpoint_url)
            .set("sasl.oauthbearer.client.id", client_id)
            .set("sasl.oauthbearer.client.secret", client_secret)
    }

    /// `sasl.oauthbearer.scope`: the scope to ask for, separated by spaces.
    pub fn oauthbearer_scope(self, scope: impl Into<String>) -> Options {
        self.set("sasl.oauthbearer.scope", scope)
    }

    /// `sasl.oauthbearer.extensions`: `name=value` pairs separated by commas
    /// (KIP-342). A token callback gives its extensions with the token instead.
    pub fn oauthbearer_extensions(self, extensions: impl Into<String>) -> Options {
        self.set("sasl.oauthbearer.extensions", extensions)
    }

    /// Logs in by OAUTHBEARER with tokens of the program's own making.
    ///
    /// The function is called for every login, from a thread of this crate, and
    /// may block for up to 20 s. Its error becomes the login's error, and its text
    /// may appear in logs. A panic in it counts as an error.
    ///
    /// ```
    /// use llingr_kafka::{OAuthToken, Options};
    ///
    /// let options = Options::new().tls().sasl_oauthbearer_callback(|| {
    ///     let token = std::fs::read_to_string("/var/run/secrets/kafka/token")?;
    ///     Ok(OAuthToken::new(token.trim()))
    /// });
    /// # let _ = options;
    /// ```
    pub fn sasl_oauthbearer_callback<F>(mut self, provider: F) -> Options
    where
        F: Fn() -> Result<OAuthToken, Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
    {
        self.token_provider = Some(Arc::new(provider));
        self.set("sasl.mechanism", "OAUTHBEARER").set("sasl.oauthbearer.method", "callback")
    }

    /// Logs in to Amazon MSK by IAM (engine only), with the credentials that the AWS
    /// environment offers. Always over TLS.
    pub fn sasl_aws_msk_iam(self) -> Options {
        self.set("sasl.mechanism", "AWS_MSK_IAM")
    }

    /// `aws.region`: region of the MSK cluster; default: from the AWS environment.
    pub fn aws_region(self, region: impl Into<String>) -> Options {
        self.set("aws.region", region)
    }

    /// `aws.profile`: profile of the shared AWS configuration files.
    pub fn aws_profile(self, profile: impl Into<String>) -> Options {
        self.set("aws.profile", profile)
    }

    /// `aws.role.arn` and `aws.role.session.name`: assumes this role first.
    pub fn aws_assume_role(
        self,
        role_arn: impl Into<String>,
        session_name: impl Into<String>,
    ) -> Options {
        self.set("aws.role.arn", role_arn).set("aws.role.session.name", session_name)
    }

    /// Logs in to Google Cloud's managed Kafka (engine only), with the credentials
    /// that the environment offers. Always over TLS.
    pub fn sasl_gcp_iam(self) -> Options {
        self.set("sasl.mechanism", "OAUTHBEARER").set("sasl.oauthbearer.method", "gcp")
    }

    /// `gcp.principal`: the service account to log in as; default:
    /// `GOOGLE_MANAGED_KAFKA_AUTH_PRINCIPAL`, then the one of the credentials.
    pub fn gcp_principal(self, principal: impl Into<String>) -> Options {
        self.set("gcp.principal", principal)
    }

    /// `gcp.credentials.file`: credentials of a service account; default: those of
    /// the environment.
    pub fn gcp_credentials_file(self, file: impl Into<String>) -> Options {
        self.set("gcp.credentials.file", file)
    }

    fn password(
        self,
        mechanism: &'static str,
        user: impl Into<String>,
        password: impl Into<String>,
    ) -> Options {
        self.set("sasl.mechanism", mechanism)
            .set("sasl.username", user)
            .set("sasl.password", password)
    }
}

/// Checks TLS and login against each other and fills in `security.protocol`.
pub(super) fn check(
    settings: &mut Settings,
    tls_called: bool,
    has_provider: bool,
) -> Result<(), OptionsError> {
    check_login(settings, has_provider)?;
    let cloud = cloud_login(settings);
    let tls_setting = settings.first_of(TLS_KEYS).or(tls_called.then_some("tls()"));
    let protocol = match settings.get("security.protocol") {
        Some(protocol) => protocol.to_owned(),
        None => {
            let tls = tls_setting.is_some() || cloud.is_some();
            match (tls, settings.has("sasl.mechanism")) {
                (false, false) => "PLAINTEXT",
                (true, false) => "SSL",
                (false, true) => "SASL_PLAINTEXT",
                (true, true) => "SASL_SSL",
            }
            .to_owned()
        }
    };
    let tls = protocol.ends_with("SSL");
    let sasl = protocol.starts_with("SASL");
    if let (Some(key), false) = (tls_setting, tls) {
        return Err(OptionsError::conflict(
            key,
            format!("security.protocol={protocol}"),
            format!("use {}, or remove {key}", if sasl { "SASL_SSL" } else { "SSL" }),
        ));
    }
    if let (Some(login), false) = (cloud, tls) {
        return Err(OptionsError::conflict(
            login,
            format!("security.protocol={protocol}"),
            "this login is accepted over TLS only; use SASL_SSL",
        ));
    }
    match settings.get("sasl.mechanism") {
        None if sasl => {
            return Err(OptionsError::missing(
                "sasl.mechanism",
                format!("security.protocol={protocol} needs it"),
            ));
        }
        Some(mechanism) if !sasl => {
            return Err(OptionsError::conflict(
                format!("sasl.mechanism={mechanism}"),
                format!("security.protocol={protocol}"),
                format!(
                    "use {}, or remove the login",
                    if tls { "SASL_SSL" } else { "SASL_PLAINTEXT" }
                ),
            ));
        }
        _ => {}
    }
    check_certificates(settings)?;
    settings.values.insert("security.protocol", protocol);
    Ok(())
}

/// The logins that cloud providers accept over TLS only.
fn cloud_login(settings: &Settings) -> Option<&'static str> {
    if settings.get("sasl.mechanism") == Some("AWS_MSK_IAM") {
        return Some("sasl.mechanism=AWS_MSK_IAM");
    }
    (settings.get("sasl.oauthbearer.method") == Some("gcp"))
        .then_some("sasl.oauthbearer.method=gcp")
}

fn check_certificates(settings: &Settings) -> Result<(), OptionsError> {
    for (file, pem) in [
        ("ssl.ca.location", "ssl.ca.pem"),
        ("ssl.certificate.location", "ssl.certificate.pem"),
        ("ssl.key.location", "ssl.key.pem"),
    ] {
        if settings.has(file) && settings.has(pem) {
            return Err(OptionsError::conflict(file, pem, "keep one of them"));
        }
    }
    let certificate = settings.first_of(&["ssl.certificate.location", "ssl.certificate.pem"]);
    let key = settings.first_of(&["ssl.key.location", "ssl.key.pem"]);
    match (certificate, key) {
        (Some(certificate), None) => Err(OptionsError::missing(
            if certificate.ends_with(".pem") { "ssl.key.pem" } else { "ssl.key.location" },
            format!("{certificate} is of no use without its private key"),
        )),
        (None, Some(key)) => Err(OptionsError::missing(
            if key.ends_with(".pem") { "ssl.certificate.pem" } else { "ssl.certificate.location" },
            format!("{key} is of no use without its certificate"),
        )),
        _ => Ok(()),
    }
}

fn check_login(settings: &Settings, has_provider: bool) -> Result<(), OptionsError> {
    let mechanism = settings.get("sasl.mechanism");
    let method = settings.get("sasl.oauthbearer.method");
    if mechanism == Some("AWS_MSK_IAM") && settings.part != Part::Engine {
        return Err(engine_only("sasl.mechanism=AWS_MSK_IAM", settings.part));
    }
    if method == Some("gcp") && settings.part != Part::Engine {
        return Err(engine_only("sasl.oauthbearer.method=gcp", settings.part));
    }
    if mechanism == Some("OAUTHBEARER")
        && matches!(method, None | Some("oidc"))
        && settings.part != Part::Engine
    {
        return Err(engine_only("sasl.oauthbearer.method=oidc", settings.part));
    }
    match mechanism {
        Some("PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512") => {
            for key in PASSWORD_KEYS {
                need(settings, key, "sasl.mechanism", mechanism)?;
            }
        }
        Some("OAUTHBEARER") => check_oauthbearer(settings, method, has_provider)?,
        _ => {}
    }
    // What belongs to another login than the chosen one.
    let allowed: &[&[&str]] = match (mechanism, method) {
        (Some("AWS_MSK_IAM"), _) => &[AWS_KEYS],
        (Some("OAUTHBEARER"), Some("gcp")) => &[GCP_KEYS, &["sasl.oauthbearer.method"]],
        (Some("OAUTHBEARER"), Some("callback")) => &[&["sasl.oauthbearer.method"]],
        (Some("OAUTHBEARER"), _) => {
            &[OIDC_KEYS, &["sasl.oauthbearer.method", "sasl.oauthbearer.extensions"]]
        }
        (Some(_), _) => &[PASSWORD_KEYS],
        (None, _) => &[],
    };
    let others = [
        PASSWORD_KEYS,
        OIDC_KEYS,
        &["sasl.oauthbearer.method", "sasl.oauthbearer.extensions"],
        GCP_KEYS,
        AWS_KEYS,
    ];
    for key in others.into_iter().flatten().copied() {
        if settings.has(key) && !allowed.iter().any(|keys| keys.contains(&key)) {
            return Err(match mechanism {
                None => OptionsError::missing(
                    "sasl.mechanism",
                    format!("{key} is set, but no login was chosen"),
                ),
                Some(mechanism) => OptionsError::conflict(
                    match method {
                        Some(method) => format!("{mechanism} ({method})"),
                        None => format!("sasl.mechanism={mechanism}"),
                    },
                    key,
                    format!("this login makes no use of it; remove {key} or choose another login"),
                ),
            });
        }
    }
    if settings.has("aws.role.session.name") && !settings.has("aws.role.arn") {
        return Err(OptionsError::missing(
            "aws.role.arn",
            "aws.role.session.name is of no use without it",
        ));
    }
    Ok(())
}

fn check_oauthbearer(
    settings: &Settings,
    method: Option<&str>,
    has_provider: bool,
) -> Result<(), OptionsError> {
    match method {
        Some("gcp") => {}
        Some("callback") if has_provider => {}
        Some("callback") => {
            return Err(OptionsError::missing(
                "sasl.oauthbearer.method",
                "callback needs a function: call sasl_oauthbearer_callback instead",
            ));
        }
        _ => {
            for key in &OIDC_KEYS[..3] {
                need(settings, key, "sasl.mechanism", Some("OAUTHBEARER"))?;
            }
        }
    }
    if let Some(url) = settings.get("sasl.oauthbearer.token.endpoint.url") {
        check_url(url)?;
    }
    if let Some(extensions) = settings.get("sasl.oauthbearer.extensions") {
        check_extensions(extensions)?;
    }
    Ok(())
}

fn need(
    settings: &Settings,
    key: &'static str,
    because: &str,
    value: Option<&str>,
) -> Result<(), OptionsError> {
    if settings.has(key) {
        return Ok(());
    }
    Err(OptionsError::missing(key, format!("{because}={} needs it", value.unwrap_or_default())))
}

fn engine_only(setting: &str, part: Part) -> OptionsError {
    OptionsError::conflict(
        setting,
        format!("the {part} part"),
        "this login exists in the engine only; use OAUTHBEARER with sasl_oauthbearer_callback",
    )
}

/// The client secret goes to this address, so it must be encrypted unless it stays on the machine.
fn check_url(url: &str) -> Result<(), OptionsError> {
    let problem = |expected: &str| OptionsError::Invalid {
        key: "sasl.oauthbearer.token.endpoint.url",
        value: "the address".to_owned(),
        expected: expected.to_owned(),
    };
    let (scheme, rest) =
        url.split_once("://").ok_or_else(|| problem("an address that starts with https://"))?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(problem(
            "without user information; give client id and secret by their options",
        ));
    }
    if authority.is_empty() || url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(problem("https://host/path without spaces"));
    }
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let loopback = host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    match scheme.to_ascii_lowercase().as_str() {
        "https" => Ok(()),
        "http" if loopback => Ok(()),
        _ => Err(problem("https, or http on the loopback interface")),
    }
}

/// Names are letters only, and `auth` is taken by the token (RFC 7628, KIP-342).
fn check_extensions(extensions: &str) -> Result<(), OptionsError> {
    let invalid = |expected: String| OptionsError::Invalid {
        key: "sasl.oauthbearer.extensions",
        value: "the value".to_owned(),
        expected,
    };
    let mut seen = Vec::new();
    for pair in extensions.split(',') {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(invalid("name=value pairs separated by commas".to_owned()));
        };
        let name = name.trim();
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphabetic()) {
            return Err(invalid("pairs with names of letters only".to_owned()));
        }
        if name == "auth" {
            return Err(invalid("without the name auth, which carries the token".to_owned()));
        }
        if seen.contains(&name) {
            return Err(invalid(format!("without repetition of the name {name}")));
        }
        let printable = |c: char| c.is_ascii_graphic() || matches!(c, ' ' | '\t' | '\r' | '\n');
        if !value.chars().all(printable) {
            return Err(invalid("values of printable ASCII characters".to_owned()));
        }
        seen.push(name);
    }
    Ok(())
}

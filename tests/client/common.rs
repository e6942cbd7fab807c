//! What the client's tests share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use llingr_kafka::client::{
    Admin, BoxError, Client, Config, NewTopic, Result, Token, TokenFuture, TokenProvider,
};
use tokio::time::Instant;

use crate::support::Conn;

/// A runtime of two threads, as services have.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(work)
}

/// Supplies one token again and again.
pub(crate) struct Fixed(pub(crate) String);

impl TokenProvider for Fixed {
    fn token(&self) -> TokenFuture<'_> {
        let token = Token { value: self.0.as_str().into(), extensions: Vec::new(), expires: None };
        Box::pin(async move { Ok::<_, BoxError>(token) })
    }
}

/// The option keys that a user would set for this way to connect.
pub(crate) fn config(conn: &Conn) -> Config {
    let mut options = BTreeMap::new();
    let mut set = |key: &str, value: &str| {
        options.insert(key.to_owned(), value.to_owned());
    };
    set(
        "security.protocol",
        match (&conn.tls, &conn.sasl) {
            (None, None) => "PLAINTEXT",
            (Some(_), None) => "SSL",
            (None, Some(_)) => "SASL_PLAINTEXT",
            (Some(_), Some(_)) => "SASL_SSL",
        },
    );
    if let Some(tls) = &conn.tls {
        set("ssl.ca.pem", &tls.ca);
        if !tls.cert.is_empty() {
            set("ssl.certificate.pem", &tls.cert);
            set("ssl.key.pem", &tls.key);
        }
    }
    let mut provider: Option<Arc<dyn TokenProvider>> = None;
    if let Some(sasl) = &conn.sasl {
        set("sasl.mechanism", sasl.mechanism);
        if sasl.token.is_empty() {
            set("sasl.username", &sasl.user);
            set("sasl.password", &sasl.password);
        } else {
            provider = Some(Arc::new(Fixed(sasl.token.clone())));
        }
    }
    Config::from_options(&conn.bootstrap, &options, provider).expect("a config")
}

pub(crate) fn plain_client(bootstrap: &str) -> Client {
    Client::new(config(&Conn::plaintext(bootstrap))).expect("a client")
}

pub(crate) fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// Connects and has an ordinary request answered, which needs a complete login.
pub(crate) async fn reach(config: Config) -> Result<Client> {
    let client = Client::new(config)?;
    client.ready(soon()).await?;
    Admin::new(client.clone()).describe_cluster().await?;
    Ok(client)
}

pub(crate) async fn create_topic(client: &Client, name: &str, partitions: i32) {
    let topic =
        NewTopic { name: name.to_owned(), partitions: Some(partitions), ..Default::default() };
    let results = Admin::new(client.clone()).create_topics(&[topic]).await.expect("an answer");
    for (_, result) in results {
        result.expect("a topic");
    }
}

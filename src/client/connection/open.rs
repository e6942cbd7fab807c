//! From an address to a stream: name resolution, TCP, TLS.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::Instant;

use super::{Connection, Error, Result, Settings};
use crate::client::tls::Tls;

/// Opens connections with one client's settings.
#[derive(Debug, Clone)]
pub(crate) struct Dialer {
    pub(crate) settings: Arc<Settings>,
    pub(crate) tls: Option<Tls>,
    /// `socket.connection.setup.timeout.ms`, for TCP and TLS of one address.
    pub(crate) setup_timeout: Duration,
}

impl Dialer {
    /// Tries every address the name stands for, then logs in.
    ///
    /// # Cancel safety
    /// Dropping the future closes what was opened.
    pub(crate) async fn connect(&self, host: &str, port: u16) -> Result<Connection> {
        let broker: Arc<str> = address(host, port).into();
        let stream = resolve_and_dial(&broker, host, port, self.setup_timeout).await?;
        let settings = self.settings.clone();
        match &self.tls {
            None => {
                let (reader, writer) = stream.into_split();
                Connection::start_split(broker, settings, reader, writer).await
            }
            Some(tls) => {
                let started = Instant::now();
                let handshake = tls.connect(&broker, host, stream);
                let stream =
                    tokio::time::timeout(self.setup_timeout, handshake).await.map_err(|_| {
                        Error::timeout(
                            format!(
                                "TLS handshake with broker {broker} (is the port an SSL or \
                                 SASL_SSL listener?)"
                            ),
                            started.elapsed(),
                        )
                    })??;
                Connection::start(broker, settings, stream).await
            }
        }
    }
}

/// `host:port`, with brackets around an IPv6 address.
fn address(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Connects to the first address that accepts; an error tells the last address's reason.
async fn resolve_and_dial(
    broker: &Arc<str>,
    host: &str,
    port: u16,
    timeout: Duration,
) -> Result<TcpStream> {
    let failed = |cause: String| Error::Connect { broker: broker.clone(), cause: cause.into() };
    let addresses: Vec<SocketAddr> = within(timeout, lookup_host((host, port)))
        .await
        .map_err(|error| failed(format!("the name cannot be resolved: {error}")))?
        .collect();
    let mut last = failed("the name stands for no address".into());
    for address in addresses {
        match within(timeout, TcpStream::connect(address)).await {
            Ok(stream) => {
                // Requests are written whole; waiting for more only adds latency.
                stream.set_nodelay(true).map_err(|error| failed(error.to_string()))?;
                return Ok(stream);
            }
            Err(error) => last = failed(format!("{error} (address {address})")),
        }
    }
    Err(last)
}

async fn within<T>(timeout: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(timeout, work).await.unwrap_or_else(|_| {
        Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {timeout:?}")))
    })
}

//! What the writer does before the first request, and again before the login expires.

use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncWrite;
use tokio::time::Instant;

use super::io::Writer;
use super::versions::ApiVersions;
use super::{Error, Result};
use crate::client::error::{ErrorCode, ErrorCodeExt as _};
use crate::client::sasl::{SaslConfig, Step};
use crate::wire::messages::{
    ApiVersionsRequest, ApiVersionsResponse, SaslAuthenticateRequest, SaslHandshakeRequest,
};
use crate::wire::{Message as _, Request as _};

const SOFTWARE_NAME: &str = "llingr-kafka";
/// SCRAM needs two rounds, a refused token two; more than this is a broker gone astray.
const MAX_ROUNDS: usize = 8;
/// Version 0 of the handshake announces bare tokens on the wire (before Kafka 1.0).
const HANDSHAKE_VERSION: i16 = 1;

/// Asks for the broker's versions. A broker that does not know our version of the question
/// answers in version 0, with the error UNSUPPORTED_VERSION and, from Kafka 2.4 on, its range.
pub(super) async fn negotiate<W: AsyncWrite + Unpin>(
    writer: &mut Writer<W>,
) -> Result<ApiVersions> {
    let mut version = ApiVersionsRequest::MAX_VERSION;
    loop {
        let request = match version {
            0..=2 => ApiVersionsRequest::default(),
            _ => ApiVersionsRequest {
                client_software_name: SOFTWARE_NAME.into(),
                client_software_version: env!("CARGO_PKG_VERSION").into(),
                ..Default::default()
            },
        };
        let frame = writer.exchange(&request, version).await?;
        let response = decode_versions(version, frame)
            .map_err(|cause| Error::malformed(&writer.shared.broker, "ApiVersions", cause))?;
        let versions = ApiVersions::new(&response);
        match ErrorCode::from(response.error_code) {
            ErrorCode::None => return Ok(versions),
            ErrorCode::UnsupportedVersion if version > 0 => {
                let offered = versions.max(ApiVersionsRequest::API_KEY).unwrap_or(0);
                version = offered.clamp(0, version - 1);
            }
            code => {
                let context = format!("ApiVersions at broker {}", writer.shared.broker);
                return Err(Error::broker(code, context));
            }
        }
    }
}

fn decode_versions(version: i16, mut frame: Bytes) -> crate::wire::Result<ApiVersionsResponse> {
    // Correlation id, then the error code that tells which version the rest is in.
    let refused = frame.get(4..6) == Some(&ErrorCode::UnsupportedVersion.code().to_be_bytes());
    let version = if refused { 0 } else { version };
    crate::wire::messages::ResponseHeader::decode(0, &mut frame)?;
    ApiVersionsResponse::decode(version, &mut frame)
}

/// Logs in if the settings say so. Returns when to do it again.
pub(super) async fn log_in<W: AsyncWrite + Unpin>(
    writer: &mut Writer<W>,
) -> Result<Option<Instant>> {
    let settings = writer.shared.settings.clone();
    let Some(sasl) = &settings.sasl else { return Ok(None) };
    let started = Instant::now();
    let lifetime = authenticate(writer, sasl).await?;
    // Java's choice too: between 85 and 95 % of the lifetime, spread so that the connections of
    // a client do not all log in at one moment.
    Ok(lifetime.map(|lifetime| started + lifetime.mul_f64(0.85 + 0.10 * fastrand::f64())))
}

async fn authenticate<W: AsyncWrite + Unpin>(
    writer: &mut Writer<W>,
    sasl: &SaslConfig,
) -> Result<Option<Duration>> {
    let broker = writer.shared.broker.clone();
    let refused = |cause: String| Error::Authentication {
        broker: broker.clone(),
        mechanism: sasl.mechanism(),
        cause: cause.into(),
    };
    let versions = writer.shared.versions.get().ok_or(Error::Closed)?.clone();
    versions.negotiate::<SaslHandshakeRequest>(&broker, HANDSHAKE_VERSION..=HANDSHAKE_VERSION)?;
    let version = versions.negotiate::<SaslAuthenticateRequest>(&broker, 0..=i16::MAX)?;

    let begin = tokio::time::timeout(writer.shared.settings.io_timeout, sasl.begin());
    let mut exchange = begin
        .await
        .map_err(|_| refused("the token provider did not answer in time".into()))?
        .map_err(refused)?;

    let handshake = SaslHandshakeRequest { mechanism: sasl.mechanism().into() };
    let response = writer.call(&handshake, HANDSHAKE_VERSION).await?;
    match ErrorCode::from(response.error_code) {
        ErrorCode::None => {}
        ErrorCode::UnsupportedSaslMechanism => {
            let offered = response.mechanisms.join(", ");
            return Err(refused(format!("the broker offers only: {offered}")));
        }
        code => return Err(refused(code.to_string())),
    }

    let mut message = exchange.first();
    for _ in 0..MAX_ROUNDS {
        let request = SaslAuthenticateRequest { auth_bytes: message.into() };
        let response = writer.call(&request, version).await?;
        let code = ErrorCode::from(response.error_code);
        if !code.is_ok() {
            let text = response.error_message.unwrap_or_else(|| code.to_string());
            return Err(refused(match exchange.refusal_detail() {
                Some(detail) => format!("{text} ({detail})"),
                None => text,
            }));
        }
        match exchange.answer(&response.auth_bytes).map_err(refused)? {
            Step::Send(next) => message = next,
            Step::Done => {
                let lifetime = u64::try_from(response.session_lifetime_ms).unwrap_or(0);
                return Ok((lifetime > 0).then(|| Duration::from_millis(lifetime)));
            }
        }
    }
    Err(refused(format!("no end after {MAX_ROUNDS} messages")))
}

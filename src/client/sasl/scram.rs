//! SCRAM (RFC 5802, RFC 7677) without channel binding, as Kafka's brokers offer it.
//!
//! Like Kafka's own client this does no SASLprep: names and passwords are UTF-8 as given.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::rand::SecureRandom as _;
use ring::{digest, hmac, pbkdf2};
use std::num::NonZeroU32;

use super::Step;
use crate::client::secret::Secret;

/// Fewer rounds than the RFC's minimum would let a false broker test passwords cheaply.
const MIN_ITERATIONS: u32 = 4096;
/// More rounds than any broker asks for (Kafka allows 16,384) would only burn this client's CPU.
const MAX_ITERATIONS: u32 = 200_000;
/// base64 of `n,,`: no channel binding, no other authorisation id.
const CHANNEL_BINDING: &str = "c=biws";

/// Hash of a SCRAM mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScramHash {
    /// `SCRAM-SHA-256`.
    Sha256,
    /// `SCRAM-SHA-512`.
    Sha512,
}

impl ScramHash {
    fn digest(self) -> &'static digest::Algorithm {
        match self {
            Self::Sha256 => &digest::SHA256,
            Self::Sha512 => &digest::SHA512,
        }
    }

    fn hmac(self) -> hmac::Algorithm {
        match self {
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha512 => hmac::HMAC_SHA512,
        }
    }

    fn pbkdf2(self) -> pbkdf2::Algorithm {
        match self {
            Self::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            Self::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        }
    }
}

/// A fresh client nonce: 144 random bits, printable.
pub(super) fn nonce() -> Result<String, String> {
    let mut bytes = [0u8; 18];
    ring::rand::SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| "the system's random source failed".to_owned())?;
    Ok(BASE64.encode(bytes))
}

pub(super) struct Scram {
    hash: ScramHash,
    password: Secret,
    nonce: String,
    first_bare: String,
    stage: Stage,
}

enum Stage {
    ServerFirst,
    ServerFinal { key: hmac::Key, message: String },
    Done,
}

impl Scram {
    pub(super) fn new(
        hash: ScramHash,
        username: &str,
        password: Secret,
        nonce: String,
    ) -> Result<Self, String> {
        if username.is_empty() {
            return Err("sasl.username must not be empty".into());
        }
        let escaped = username.replace('=', "=3D").replace(',', "=2C");
        let first_bare = format!("n={escaped},r={nonce}");
        Ok(Self { hash, password, nonce, first_bare, stage: Stage::ServerFirst })
    }

    pub(super) fn client_first(&self) -> Vec<u8> {
        format!("n,,{}", self.first_bare).into_bytes()
    }

    pub(super) fn answer(&mut self, bytes: &[u8]) -> Result<Step, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "SCRAM message is not UTF-8")?;
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::ServerFirst => self.server_first(text),
            Stage::ServerFinal { key, message } => server_final(text, &key, &message),
            Stage::Done => Err("the broker sent a SCRAM message after the last one".into()),
        }
    }

    fn server_first(&mut self, text: &str) -> Result<Step, String> {
        let (nonce, salt, iterations) = parse_server_first(text)?;
        if nonce.len() <= self.nonce.len() || !nonce.starts_with(&self.nonce) {
            return Err("the broker's SCRAM nonce does not extend ours".into());
        }
        let mut salted = vec![0u8; self.hash.digest().output_len()];
        let password = self.password.expose().as_bytes();
        pbkdf2::derive(self.hash.pbkdf2(), iterations, &salt, password, &mut salted);
        let salted = hmac::Key::new(self.hash.hmac(), &salted);
        let client_key = hmac::sign(&salted, b"Client Key");
        let stored_key = digest::digest(self.hash.digest(), client_key.as_ref());

        let without_proof = format!("{CHANNEL_BINDING},r={nonce}");
        let message = format!("{},{text},{without_proof}", self.first_bare);
        let signature =
            hmac::sign(&hmac::Key::new(self.hash.hmac(), stored_key.as_ref()), message.as_bytes());
        let proof: Vec<u8> = client_key
            .as_ref()
            .iter()
            .zip(signature.as_ref())
            .map(|(key, signature)| key ^ signature)
            .collect();
        let server_key = hmac::sign(&salted, b"Server Key");
        let key = hmac::Key::new(self.hash.hmac(), server_key.as_ref());
        self.stage = Stage::ServerFinal { key, message };
        Ok(Step::Send(format!("{without_proof},p={}", BASE64.encode(proof)).into_bytes()))
    }
}

fn parse_server_first(text: &str) -> Result<(&str, Vec<u8>, NonZeroU32), String> {
    let mut fields = text.split(',');
    let mut field = |name: &str| {
        fields
            .next()
            .and_then(|field| field.strip_prefix(name))
            .and_then(|field| field.strip_prefix('='))
            .ok_or_else(|| format!("SCRAM challenge lacks field {name}"))
    };
    // A mandatory extension (`m=`) would come first and fail here, as the RFC demands.
    let nonce = field("r")?;
    let salt = BASE64.decode(field("s")?).map_err(|_| "SCRAM salt is not base64")?;
    let iterations: u32 =
        field("i")?.parse().map_err(|_| "SCRAM iteration count is not a number")?;
    if !(MIN_ITERATIONS..=MAX_ITERATIONS).contains(&iterations) {
        return Err(format!(
            "SCRAM iteration count {iterations} is outside {MIN_ITERATIONS}..={MAX_ITERATIONS}"
        ));
    }
    let iterations = NonZeroU32::new(iterations).ok_or("SCRAM iteration count is zero")?;
    Ok((nonce, salt, iterations))
}

fn server_final(text: &str, key: &hmac::Key, message: &str) -> Result<Step, String> {
    if let Some(error) = text.strip_prefix("e=") {
        return Err(format!("the broker refused the login: {error}"));
    }
    let signature = text
        .split(',')
        .next()
        .and_then(|field| field.strip_prefix("v="))
        .ok_or("SCRAM answer lacks the broker's signature")?;
    let signature = BASE64.decode(signature).map_err(|_| "SCRAM signature is not base64")?;
    hmac::verify(key, message.as_bytes(), &signature)
        .map_err(|_| "the broker does not know this password: its SCRAM signature is wrong")?;
    Ok(Step::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
    const SERVER_FIRST: &str = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                                s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    fn rfc7677() -> Scram {
        Scram::new(ScramHash::Sha256, "user", "pencil".into(), NONCE.into()).unwrap()
    }

    #[test]
    fn sha256_follows_the_example_of_rfc_7677() {
        let mut scram = rfc7677();
        assert_eq!(scram.client_first(), b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let step = scram.answer(SERVER_FIRST.as_bytes()).unwrap();
        assert_eq!(
            step,
            Step::Send(
                b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                  p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
                    .to_vec()
            )
        );
        let done = scram.answer(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
        assert_eq!(done, Ok(Step::Done));
    }

    #[test]
    fn a_wrong_server_signature_is_refused() {
        let mut scram = rfc7677();
        scram.answer(SERVER_FIRST.as_bytes()).unwrap();
        let forged = format!("v={}", BASE64.encode([7u8; 32]));
        assert!(scram.answer(forged.as_bytes()).unwrap_err().contains("signature is wrong"));
    }

    #[test]
    fn a_foreign_or_unextended_nonce_is_refused() {
        for nonce in ["someoneelse", NONCE] {
            let challenge = format!("r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
            assert!(rfc7677().answer(challenge.as_bytes()).unwrap_err().contains("nonce"));
        }
    }

    #[test]
    fn iteration_counts_outside_the_bounds_are_refused_before_any_work() {
        for count in ["0", "1", "4095", "200001", "4294967295", "x"] {
            let challenge = format!("r={NONCE}abc,s=W22ZaJ0SNY7soEsUEjb6gQ==,i={count}");
            assert!(rfc7677().answer(challenge.as_bytes()).unwrap_err().contains("iteration"));
        }
    }

    #[test]
    fn an_error_of_the_server_and_a_late_message_are_refused() {
        let mut scram = rfc7677();
        scram.answer(SERVER_FIRST.as_bytes()).unwrap();
        assert!(scram.answer(b"e=invalid-proof").unwrap_err().contains("invalid-proof"));
        assert!(scram.answer(b"v=AAAA").unwrap_err().contains("after the last"));
    }

    #[test]
    fn separators_in_a_name_are_escaped() {
        let scram = Scram::new(ScramHash::Sha512, "a=b,c", "p".into(), "n".into()).unwrap();
        assert_eq!(scram.client_first(), b"n,,n=a=3Db=2Cc,r=n");
    }
}

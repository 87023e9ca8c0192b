//! A public key in PEM (RFC 7468), as `openssl pkey -pubout` writes it.
//!
//! Reads the few shapes that keys of our algorithms have, and no others: there is no parser of arbitrary structures to attack.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::crypto::aws_lc::DEFAULT_PROVIDER;
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};

use super::JwtKeyProblem;
use super::key::name;

/// What precedes the point in a key of the curve: a sequence of algorithm, curve and bit string.
#[rustfmt::skip]
const P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01,
    0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
#[rustfmt::skip]
const P384: [u8; 23] = [
    0x30, 0x76, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01,
    0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22, 0x03, 0x62, 0x00,
];
const ED25519: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// The one public key of the text.
pub(super) fn public_key(algorithm: Algorithm, pem: &[u8]) -> Result<DecodingKey, JwtKeyProblem> {
    let text = String::from_utf8_lossy(pem);
    if text.contains("PRIVATE KEY-----") {
        return Err(JwtKeyProblem::PrivateKey);
    }
    if text.contains("-----BEGIN CERTIFICATE-----") {
        return Err(JwtKeyProblem::Certificate);
    }
    let unreadable = || JwtKeyProblem::UnreadablePem(name(algorithm));
    let der = only_block(&text).ok_or_else(unreadable)?;
    let point = [P256.as_slice(), &P384, &ED25519].map(|prefix| der.strip_prefix(prefix));
    match (algorithm, point) {
        (Algorithm::ES256, [Some(point), _, _]) | (Algorithm::ES384, [_, Some(point), _]) => {
            Ok(DecodingKey::from_ec_der(point))
        }
        (Algorithm::EdDSA, [_, _, Some(point)]) => Ok(DecodingKey::from_ed_der(point)),
        (_, [None, None, None]) if algorithm.family() == AlgorithmFamily::Rsa => {
            let components = (DEFAULT_PROVIDER.key_utils.rsa_pub_components_from_public_key)(&der);
            let (modulus, exponent) = components.map_err(|_| unreadable())?;
            Ok(DecodingKey::from_rsa_raw_components(&modulus, &exponent))
        }
        (Algorithm::ES256 | Algorithm::ES384 | Algorithm::EdDSA, [None, None, None]) => Err(unreadable()),
        (Algorithm::ES256 | Algorithm::ES384 | Algorithm::EdDSA, _) => {
            Err(JwtKeyProblem::WrongCurve(name(algorithm)))
        }
        _ => Err(unreadable()),
    }
}

/// The bytes of the text's only block, if that is a public key.
fn only_block(text: &str) -> Option<Vec<u8>> {
    let (_, block) = text.split_once("-----BEGIN ")?;
    let (label, block) = block.split_once("-----")?;
    if !matches!(label, "PUBLIC KEY" | "RSA PUBLIC KEY") {
        return None;
    }
    let (body, behind) = block.split_once("-----END ")?;
    let behind = behind.strip_prefix(label)?.strip_prefix("-----")?;
    let lines: String = body.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
    // Of two keys we would have to choose one.
    if behind.contains("-----BEGIN ") { None } else { STANDARD.decode(lines).ok() }
}

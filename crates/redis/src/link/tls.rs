//! Whom to trust, and who we are, when the store is reached by TLS. The provider of cryptography is given: none is taken from, or
//! installed for, the process.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::TlsWish;

/// Why TLS cannot be had as wished.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsError {
    /// A file is not there, or holds nothing of its kind.
    BadFile {
        /// Which parameter of the URL names it.
        parameter: &'static str,
        /// The file.
        file: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The machine has no certificates of its own.
    NoRoots,
    /// Certificate and key do not belong together, or cannot be used.
    BadIdentity(String),
}

/// Makes connections trustworthy, as wished. The files are read once.
pub(crate) fn connector(wish: &TlsWish) -> Result<TlsConnector, TlsError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::BadIdentity(error.to_string()))?;
    let builder = if wish.is_insecure {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(BelievesAnything(provider)))
    } else {
        builder.with_root_certificates(roots(wish.ca.as_deref())?)
    };
    let config = match &wish.identity {
        None => builder.with_no_client_auth(),
        Some((cert, key)) => {
            let chain = certificates("cert", cert)?;
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| bad_file("key", key, &error))?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| TlsError::BadIdentity(error.to_string()))?
        }
    };
    Ok(TlsConnector::from(Arc::new(config)))
}

fn roots(ca: Option<&Path>) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    if let Some(file) = ca {
        let (added, _) = roots.add_parsable_certificates(certificates("ca", file)?);
        return if added == 0 { Err(bad_file("ca", file, &"no certificate can be used")) } else { Ok(roots) };
    }
    let (added, _) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if added == 0 { Err(TlsError::NoRoots) } else { Ok(roots) }
}

fn certificates(parameter: &'static str, file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let bad = |problem: &dyn fmt::Display| bad_file(parameter, file, problem);
    let found = CertificateDer::pem_file_iter(file).map_err(|error| bad(&error))?;
    let found: Vec<_> = found.collect::<Result<_, _>>().map_err(|error| bad(&error))?;
    if found.is_empty() { Err(bad(&"there is no certificate in it")) } else { Ok(found) }
}

fn bad_file(parameter: &'static str, file: &Path, problem: &dyn fmt::Display) -> TlsError {
    TlsError::BadFile { parameter, file: file.to_owned(), problem: problem.to_string() }
}

/// `insecure=true`: whoever answers is believed. What is sent is still encrypted, to whomever.
#[derive(Debug)]
struct BelievesAnything(Arc<CryptoProvider>);

impl ServerCertVerifier for BelievesAnything {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadFile { parameter, file, problem } => {
                write!(f, "`store`: `{parameter}` is {}: {problem}; name a readable PEM file", file.display())
            }
            Self::NoRoots => {
                write!(f, "`store`: this machine trusts no certificates; name whom to trust with ?ca=FILE")
            }
            Self::BadIdentity(problem) => {
                write!(
                    f,
                    "`store`: `cert` and `key` cannot be used: {problem}; give a certificate and its own key"
                )
            }
        }
    }
}

impl std::error::Error for TlsError {}

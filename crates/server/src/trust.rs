//! Whom to trust when we ask others over TLS: whoever the machine trusts (`SSL_CERT_FILE` and `SSL_CERT_DIR` say otherwise), or
//! whom the caller names.

use std::sync::Arc;

use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The authorities that the machine trusts; why there are none, otherwise. Reads files.
pub(crate) fn of_machine() -> Result<RootCertStore, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added > 0 {
        return Ok(roots);
    }
    let why = found.errors.first().map_or_else(String::new, |error| format!(" ({error})"));
    Err(format!(
        "this machine trusts no certificate{why}; install `ca-certificates`, or name a file in SSL_CERT_FILE"
    ))
}

/// What a TLS connection that trusts whom the machine trusts needs to know. Reads files.
pub fn tls_of_machine() -> Result<ClientConfig, String> {
    config(of_machine()?)
}

/// What a TLS connection that trusts these needs to know.
pub(crate) fn config(roots: RootCertStore) -> Result<ClientConfig, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

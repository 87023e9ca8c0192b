//! Whom to trust with key sets over TLS: whoever the machine trusts (`SSL_CERT_FILE` and `SSL_CERT_DIR` say otherwise).
//!
//! It is read for every fetch and forgotten afterwards: fetches are minutes apart, and certificates change.

use std::sync::Arc;

use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// What a TLS connection needs to know; why it cannot, otherwise. Reads files.
pub(super) fn config() -> Result<Arc<ClientConfig>, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let why = found.errors.first().map_or_else(String::new, |error| format!(" ({error})"));
        return Err(format!(
            "this machine trusts no certificate{why}; install `ca-certificates`, or name a file in SSL_CERT_FILE"
        ));
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

//! An authority of our own, and what it signs.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// An authority, and a server's certificate for `localhost` and 127.0.0.1, as PEM files.
pub(crate) struct Certificates {
    folder: PathBuf,
}

impl Certificates {
    /// Writes them into a folder.
    pub(crate) fn write(folder: &Path) -> Certificates {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // OpenSSL takes whoever is named as its issuer for self-signed.
        params.distinguished_name.push(DnType::CommonName, "authority of a test");
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("ca.pem"), authority.pem()).unwrap();
        std::fs::write(folder.join("cert.pem"), certificate.pem()).unwrap();
        std::fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
        Certificates { folder: folder.to_owned() }
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// What a server needs to speak TLS on a port, and to ask its clients for certificates if it `wants_clients`.
    pub(crate) fn settings(&self, port: u16, wants_clients: bool) -> String {
        let (ca, cert, key) = (self.file("ca.pem"), self.file("cert.pem"), self.file("key.pem"));
        let clients = if wants_clients { "yes" } else { "no" };
        format!(
            "--tls-port {port} --tls-ca-cert-file {ca} --tls-cert-file {cert} --tls-key-file {key} --tls-auth-clients {clients}"
        )
    }
}

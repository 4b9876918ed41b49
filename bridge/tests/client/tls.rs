//! TLS: a server that is trusted, and one that asks who we are.

use std::{fs, path::Path, sync::Arc};

use drawbridge_bridge::slurm::{
    calls::Pings,
    client::{Client, Settings, SettingsError, TlsFiles},
};
use drawbridge_core::SlurmFault;
use rcgen::{CertificateParams, CertifiedIssuer, DnType, KeyPair};
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::server::{LIMIT, Server, VIA};

/// An authority that signs certificates.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for this name, and its key.
    fn sign(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }
}

/// Serves a port by TLS and wants a certificate from whoever comes.
async fn serve(server: Server, authority: &Authority, clients: &Authority) -> u16 {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(clients.pem().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let (certificate, key) = authority.sign("localhost");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
            PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            if let Ok(stream) = acceptor.accept(stream).await {
                tokio::spawn(server.clone().serve(stream));
            }
        }
    });
    port
}

fn write(folder: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

async fn ping(port: u16, tls: &TlsFiles) -> Result<(), SlurmFault> {
    let address = format!("https://localhost:{port}").parse().unwrap();
    let mut settings = Settings::new(vec![address]);
    settings.tls = tls.clone();
    Client::new(settings).unwrap().send(VIA, &Pings, LIMIT).await.map(drop)
}

#[tokio::test]
async fn both_sides_show_who_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, clients, stranger) =
        (Authority::new("servers"), Authority::new("clients"), Authority::new("stranger"));
    let server = Server::ponging();
    let port = serve(server.clone(), &authority, &clients).await;
    let file = |name: &str, text: &str| write(folder.path(), name, text);
    let pair = |name: &str, (certificate, key): (String, String)| {
        Some((file(&format!("{name}.crt"), &certificate), file(&format!("{name}.key"), &key)))
    };
    let good = TlsFiles {
        ca: Some(file("ca.crt", &authority.pem())),
        client: pair("client", clients.sign("bridge")),
        server_name: None,
    };
    ping(port, &good).await.unwrap();
    assert_eq!(server.requests().len(), 1);

    let untrusted = TlsFiles { ca: Some(file("other.crt", &stranger.pem())), ..good.clone() };
    let fault = ping(port, &untrusted).await.unwrap_err();
    assert!(
        matches!(&fault, SlurmFault::Unreachable { why } if why.contains("UnknownIssuer")),
        "{fault}"
    );

    let misnamed = TlsFiles { server_name: Some("elsewhere".to_owned()), ..good.clone() };
    let fault = ping(port, &misnamed).await.unwrap_err();
    assert!(matches!(fault, SlurmFault::Unreachable { .. }), "{fault}");

    for client in [None, pair("stranger", stranger.sign("bridge"))] {
        ping(port, &TlsFiles { client, ..good.clone() }).await.unwrap_err();
    }
    assert_eq!(server.requests().len(), 1, "nobody else gets through");
}

#[tokio::test]
async fn a_certificate_that_is_renewed_is_used_from_the_next_connection_on() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, clients, stranger) =
        (Authority::new("servers"), Authority::new("clients"), Authority::new("stranger"));
    let server = Server::ponging();
    let port = serve(server.clone(), &authority, &clients).await;
    let renew = |(certificate, key): (String, String)| {
        // Ahead of time, so that the change shows however coarse the file system's clock is.
        let (crt, pem) =
            (write(folder.path(), "tls.crt", &certificate), write(folder.path(), "tls.key", &key));
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
        fs::File::options().write(true).open(&crt).unwrap().set_modified(later).unwrap();
        (crt, pem)
    };
    let pair = {
        let (certificate, key) = stranger.sign("bridge");
        (write(folder.path(), "tls.crt", &certificate), write(folder.path(), "tls.key", &key))
    };
    let ca = write(folder.path(), "ca.crt", &authority.pem());
    let address = format!("https://localhost:{port}").parse().unwrap();
    let mut settings = Settings::new(vec![address]);
    settings.tls = TlsFiles { ca: Some(ca), client: Some(pair), server_name: None };
    let client = Client::new(settings).unwrap();
    client.send(VIA, &Pings, LIMIT).await.unwrap_err();
    renew(clients.sign("bridge"));
    client.send(VIA, &Pings, LIMIT).await.unwrap();
}

#[test]
fn files_that_can_t_be_used_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let empty = write(folder.path(), "empty.crt", "nothing\n");
    let complaint = |tls: TlsFiles| {
        let mut settings = Settings::new(vec!["https://localhost".parse().unwrap()]);
        settings.tls = tls;
        let error = Client::new(settings).unwrap_err();
        assert!(matches!(error, SettingsError::Tls(_)));
        error.to_string().replace(&folder.path().display().to_string(), "DIR")
    };
    let ca = |path: &Path| TlsFiles { ca: Some(path.to_owned()), ..TlsFiles::default() };
    assert_eq!(complaint(ca(&folder.path().join("missing"))), "can't read DIR/missing");
    assert_eq!(complaint(ca(&empty)), "DIR/empty.crt holds no certificate in PEM");
}

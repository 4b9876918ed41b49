//! Every way leads there: a Unix socket, TCP, TLS with a certificate of ours; and the newest version.

use std::{fs, path::Path, sync::Arc, time::Duration};

use drawbridge_bridge::slurm::{
    calls::{Licenses, Nodes},
    client::TlsFiles,
    session::Session,
};
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use tokio::net::{TcpListener, UnixStream};
use tokio_rustls::TlsAcceptor;

use crate::site::Site;

pub(crate) fn every_way_leads_there(site: &Site) {
    let newest = *site.versions().last().unwrap();
    let tcp = format!("http://{}", site.tcp);
    let session = session(site, &[&tcp], TlsFiles::default());
    assert_eq!(session.version().unwrap(), newest);
    for _ in 0..20 {
        assert_eq!(session.ask(&Nodes).unwrap().items.len(), 2);
    }

    // The first is nobody's address.
    let both = session_of(site, &["unix:///nonexistent/socket", &tcp]);
    both.ask(&Licenses).unwrap();
    assert_eq!(both.line().status().current, 1);

    let folder = tempfile::tempdir().unwrap();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
    let (tls, port) = runtime.block_on(proxy(folder.path(), site.socket.clone()));
    let address = format!("https://localhost:{port}");
    let safe = self::session(site, &[&address], tls.clone());
    assert_eq!(safe.version().unwrap(), newest);
    assert_eq!(safe.ask(&Nodes).unwrap().items.len(), 2);
    let anonymous = self::session(site, &[&address], TlsFiles { client: None, ..tls });
    assert!(anonymous.ask(&Licenses).unwrap_err().is_unreachable());
}

fn session_of(site: &Site, addresses: &[&str]) -> Session {
    session(site, addresses, TlsFiles::default())
}

fn session(site: &Site, addresses: &[&str], tls: TlsFiles) -> Session {
    let mut settings = site.settings("root");
    settings.client.endpoints = addresses.iter().map(|address| address.parse().unwrap()).collect();
    settings.client.tls = tls;
    settings.patience = Duration::ZERO;
    Session::new(settings).unwrap()
}

/// Ends TLS in front of slurmrestd, for those who show a certificate.
async fn proxy(folder: &Path, socket: std::path::PathBuf) -> (TlsFiles, u16) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let sign = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &authority).unwrap().pem(), key.serialize_pem())
    };
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).unwrap();
        folder.join(name)
    };
    let der = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(der(&authority.pem())).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let (certificate, key) = sign("localhost");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(
            vec![der(&certificate)],
            PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (acceptor, socket) = (acceptor.clone(), socket.clone());
            tokio::spawn(async move {
                if let Ok(mut stream) = acceptor.accept(stream).await {
                    let mut behind = UnixStream::connect(socket).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut stream, &mut behind).await;
                }
            });
        }
    });
    let (certificate, key) = sign("bridge");
    let client = Some((write("tls.crt", &certificate), write("tls.key", &key)));
    (TlsFiles { ca: Some(write("ca.crt", &authority.pem())), client, server_name: None }, port)
}

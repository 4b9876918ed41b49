//! A certificate authority made at start, with a certificate for the server and the administrator.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use drawbridge_fakes::base64_encode;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use serde::{Deserialize, Serialize};
use tokio_rustls::TlsAcceptor;

use crate::{ServerError, identity::random_token};

/// A certificate with its key, in PEM.
#[derive(Clone, Serialize, Deserialize)]
struct Pair {
    certificate: String,
    key: String,
}

/// What the server shows and whom it believes. Kept, clients know the server again after a restart.
#[derive(Clone, Serialize, Deserialize)]
pub struct Keys {
    address: IpAddr,
    authority: String,
    server: Pair,
    admin: Pair,
    token: String,
}

/// Keys are nobody's business.
impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

fn failed(error: impl std::fmt::Display) -> ServerError {
    ServerError::Tls(error.to_string())
}

impl Keys {
    /// Makes all of them; the server's certificate is for this address too.
    pub fn make(address: IpAddr) -> Result<Self, ServerError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = named("drawbridge-ca", None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().map_err(failed)?;
        let authority = params.self_signed(&key).map_err(failed)?.pem();
        let issuer = Issuer::new(params, key);
        let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1", "kubernetes"]
            .into_iter()
            .chain(["kubernetes.default", "kubernetes.default.svc"])
            .map(Into::into)
            .collect();
        if !names.contains(&address.to_string()) && !address.is_unspecified() {
            names.push(address.to_string());
        }
        let mut server = CertificateParams::new(names).map_err(failed)?;
        server.distinguished_name = named("kube-apiserver", None);
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let mut admin = CertificateParams::default();
        admin.distinguished_name = named("kubernetes-admin", Some("system:masters"));
        admin.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let (server, admin) = (sign(&server, &issuer)?, sign(&admin, &issuer)?);
        Ok(Self { address, authority, server, admin, token: random_token()? })
    }

    /// Whether a server at this address can show them.
    pub fn are_for(&self, address: IpAddr) -> bool {
        self.address == address
    }

    /// The administrator's token.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// The authority's certificate, in PEM.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// What does the handshakes: clients may show a certificate of ours, and need not.
    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor, ServerError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        let authority =
            CertificateDer::from_pem_slice(self.authority.as_bytes()).map_err(failed)?;
        roots.add(authority).map_err(failed)?;
        let clients = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone())
            .allow_unauthenticated()
            .build()
            .map_err(failed)?;
        let chain = CertificateDer::from_pem_slice(self.server.certificate.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(self.server.key.as_bytes()).map_err(failed)?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(failed)?
            .with_client_cert_verifier(clients)
            .with_single_cert(vec![chain.map_err(failed)?], key)
            .map_err(failed)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// A kubeconfig for the administrator.
    pub(crate) fn kubeconfig(&self, address: SocketAddr) -> String {
        let data = |pem: &str| base64_encode(pem.as_bytes());
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: drawbridge\nclusters:\n\
             - name: drawbridge\n  cluster:\n    server: https://{}\n    \
             certificate-authority-data: {}\nusers:\n- name: kubernetes-admin\n  user:\n    \
             client-certificate-data: {}\n    client-key-data: {}\ncontexts:\n\
             - name: drawbridge\n  context:\n    cluster: drawbridge\n    \
             user: kubernetes-admin\n    namespace: default\n",
            reachable(address),
            data(&self.authority),
            data(&self.admin.certificate),
            data(&self.admin.key),
        )
    }
}

/// Where a client on this machine finds the server.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        ip if !ip.is_unspecified() => address,
        IpAddr::V4(_) => ([127, 0, 0, 1], address.port()).into(),
        IpAddr::V6(_) => ([0, 0, 0, 0, 0, 0, 0, 1_u16], address.port()).into(),
    }
}

fn named(name: &str, organization: Option<&str>) -> DistinguishedName {
    let mut all = DistinguishedName::new();
    if let Some(organization) = organization {
        all.push(DnType::OrganizationName, organization);
    }
    all.push(DnType::CommonName, name);
    all
}

fn sign(params: &CertificateParams, issuer: &Issuer<'_, KeyPair>) -> Result<Pair, ServerError> {
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = params.signed_by(&key, issuer).map_err(failed)?.pem();
    Ok(Pair { certificate, key: key.serialize_pem() })
}

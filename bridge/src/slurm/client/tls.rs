//! TLS: whom we trust, and who we are.
//!
//! The files are read when a connection is opened, if they changed since they were last read: a
//! certificate that is renewed in its place is used from the next connection on.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::SystemTime,
};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

/// Certificates, as files in PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// Whom to trust; the system's own list if unset.
    pub ca: Option<PathBuf>,
    /// Our certificate and what it was signed with, and its key.
    pub client: Option<(PathBuf, PathBuf)>,
    /// The name that the server's certificate must have; the address's if unset.
    pub server_name: Option<String>,
}

/// Why certificates can't be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file can't be read.
    #[error("can't read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file doesn't hold what it should.
    #[error("{} holds no {what}", path.display())]
    Empty {
        /// Which.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
    },
    /// The name can't be one of a server.
    #[error("`{0}` can't be the name of a server")]
    ServerName(String),
    /// The system trusts nobody.
    #[error("the system has no list of trusted certificates: name a file with one")]
    NoRoots,
    /// The certificate and the key can't be used.
    #[error("the client certificate can't be used")]
    Client(#[source] rustls::Error),
}

/// TLS towards one server.
pub(super) struct Tls {
    files: TlsFiles,
    name: ServerName<'static>,
    /// With the times at which the files were last changed.
    ready: Mutex<(Vec<Option<SystemTime>>, Arc<ClientConfig>)>,
}

impl Tls {
    pub(super) fn new(files: &TlsFiles, host: &str) -> Result<Self, TlsError> {
        let name = files.server_name.as_deref().unwrap_or(host);
        let name = ServerName::try_from(name.to_owned())
            .map_err(|_| TlsError::ServerName(name.to_owned()))?;
        let ready = Mutex::new((files.times(), Arc::new(files.config()?)));
        Ok(Self { files: files.clone(), name, ready })
    }

    pub(super) async fn shake_hands(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let config = self.config().map_err(io::Error::other)?;
        TlsConnector::from(config).connect(self.name.clone(), stream).await
    }

    fn config(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let times = self.files.times();
        // A poisoned lock only means that somebody died while he read files.
        let mut ready = self.ready.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if ready.0 != times {
            *ready = (times, Arc::new(self.files.config()?));
        }
        Ok(Arc::clone(&ready.1))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tls({:?})", self.name)
    }
}

impl TlsFiles {
    fn times(&self) -> Vec<Option<SystemTime>> {
        let client = self.client.iter().flat_map(|(certificate, key)| [certificate, key]);
        let changed = |path: &PathBuf| fs::metadata(path).and_then(|file| file.modified()).ok();
        self.ca.iter().chain(client).map(changed).collect()
    }

    fn config(&self) -> Result<ClientConfig, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Client)?
            .with_root_certificates(self.roots()?);
        match &self.client {
            None => Ok(builder.with_no_client_auth()),
            Some((certificate, key)) => {
                let chain = certificates(certificate)?;
                builder.with_client_auth_cert(chain, private_key(key)?).map_err(TlsError::Client)
            }
        }
    }

    fn roots(&self) -> Result<RootCertStore, TlsError> {
        let mut roots = RootCertStore::empty();
        let trusted = match &self.ca {
            Some(path) => certificates(path)?,
            None => rustls_native_certs::load_native_certs().certs,
        };
        // One of them that can't be read isn't trusted; that is for the others to make up for.
        let (_good, _odd) = roots.add_parsable_certificates(trusted);
        if !roots.is_empty() {
            return Ok(roots);
        }
        Err(self.ca.clone().map_or(TlsError::NoRoots, |path| TlsError::Empty {
            path,
            what: "certificate that can be trusted",
        }))
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    found
        .ok()
        .filter(|found| !found.is_empty())
        .ok_or_else(|| TlsError::Empty { path: path.to_owned(), what: "certificate in PEM" })
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(&read(path)?)
        .map_err(|_| TlsError::Empty { path: path.to_owned(), what: "private key in PEM" })
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::Read { path: path.to_owned(), source })
}

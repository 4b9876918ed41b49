//! The certificate that is shown, and where it comes from.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::SystemTime,
};

use drawbridge_core::custody::{LIFETIME, Pair};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::{
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

use crate::clock::{duration, system_time};

/// Why a certificate can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file can't be read.
    #[error("can't read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It isn't one, or its key isn't its own.
    #[error("the certificate can't be used: {0}")]
    Unusable(String),
}

/// The certificate that every new connection is shown.
#[derive(Clone)]
pub struct Shown(Arc<Inner>);

struct Inner {
    /// Looked at whenever a connection is opened.
    files: Option<PathBuf>,
    now: RwLock<Option<(Times, Arc<CertifiedKey>)>>,
}

/// When the files were last changed.
type Times = [Option<SystemTime>; 2];

impl Shown {
    /// Nothing yet: connections fail until [`Self::set`] is called.
    pub fn nothing() -> Self {
        Self(Arc::new(Inner { files: None, now: RwLock::default() }))
    }

    /// The certificate in these files, read anew whenever they have changed.
    pub fn files(folder: &Path) -> Result<Self, CertificateError> {
        let pair = read(folder)?;
        let now = RwLock::new(Some((times(folder), pair)));
        Ok(Self(Arc::new(Inner { files: Some(folder.to_owned()), now })))
    }

    /// Shows this from the next connection on.
    pub fn set(&self, pair: &Pair) -> Result<(), CertificateError> {
        let key = certified(pair.certificate.as_bytes(), pair.key.as_bytes())?;
        self.keep([None, None], key);
        Ok(())
    }

    fn keep(&self, times: Times, key: Arc<CertifiedKey>) {
        *self.0.now.write().unwrap_or_else(PoisonError::into_inner) = Some((times, key));
    }

    fn current(&self) -> Option<Arc<CertifiedKey>> {
        let last = self.0.now.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(folder) = &self.0.files else { return last.map(|(_, key)| key) };
        let times = times(folder);
        match last {
            Some((read_at, key)) if read_at == times => Some(key),
            // Half of a renewal is no certificate: the one before is shown until both files fit.
            last => match read(folder) {
                Ok(key) => {
                    self.keep(times, key.clone());
                    Some(key)
                }
                Err(_) => last.map(|(_, key)| key),
            },
        }
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current()
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shown").field("files", &self.0.files).finish_non_exhaustive()
    }
}

fn paths(folder: &Path) -> [PathBuf; 2] {
    ["tls.crt", "tls.key"].map(|name| folder.join(name))
}

fn times(folder: &Path) -> Times {
    paths(folder).map(|path| fs::metadata(path).and_then(|file| file.modified()).ok())
}

fn read(folder: &Path) -> Result<Arc<CertifiedKey>, CertificateError> {
    let text = |path: &PathBuf| {
        fs::read(path).map_err(|source| CertificateError::Read { path: path.clone(), source })
    };
    let [certificate, key] = paths(folder);
    certified(&text(&certificate)?, &text(&key)?)
}

fn certified(certificate: &[u8], key: &[u8]) -> Result<Arc<CertifiedKey>, CertificateError> {
    let unusable = |error: &dyn fmt::Display| CertificateError::Unusable(error.to_string());
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
    let chain = chain.map_err(|error| unusable(&error))?;
    if chain.is_empty() {
        return Err(CertificateError::Unusable("there is none in PEM".to_owned()));
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| unusable(&error))?;
    let provider = rustls::crypto::ring::default_provider();
    let certified = CertifiedKey::from_der(chain, key, &provider);
    certified.map(Arc::new).map_err(|error| unusable(&error))
}

/// Makes an authority that signs this one certificate and is then forgotten.
pub(crate) fn make(names: &[String]) -> Result<Pair, CertificateError> {
    let failed = |error: rcgen::Error| CertificateError::Unusable(error.to_string());
    // A clock that is a little behind ours believes it, too.
    let from = system_time() - duration(drawbridge_sim::Span::hours(1));
    let until = system_time() + duration(LIFETIME);
    let valid = |mut params: CertificateParams, name: &str| {
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_before = from.into();
        params.not_after = until.into();
        params
    };
    let mut authority = valid(CertificateParams::default(), "drawbridge-webhook-ca");
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let key = KeyPair::generate().map_err(failed)?;
    let root = authority.self_signed(&key).map_err(failed)?.pem();
    let issuer = Issuer::new(authority, key);
    let first = names.first().map_or("drawbridge", String::as_str);
    let mut leaf = valid(CertificateParams::new(names.to_vec()).map_err(failed)?, first);
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = leaf.signed_by(&key, &issuer).map_err(failed)?.pem();
    Ok(Pair { certificate, key: key.serialize_pem(), authority: root })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, pair: &Pair) {
        let [certificate, key] = paths(folder);
        fs::write(certificate, &pair.certificate).unwrap();
        fs::write(key, &pair.key).unwrap();
    }

    #[test]
    fn files_that_are_renewed_are_shown_and_half_of_them_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let one = make(&["a.svc".into(), "127.0.0.1".into()]).unwrap();
        let two = make(&["a.svc".into()]).unwrap();
        write(folder.path(), &one);
        let shown = Shown::files(folder.path()).unwrap();
        let first = shown.current().unwrap().cert.clone();
        let later = SystemTime::now() + std::time::Duration::from_secs(5);
        let touch = |name: &str| {
            let file = fs::File::options().write(true).open(folder.path().join(name)).unwrap();
            file.set_modified(later).unwrap();
        };
        fs::write(folder.path().join("tls.crt"), &two.certificate).unwrap();
        touch("tls.crt");
        assert_eq!(shown.current().unwrap().cert, first, "its key isn't there yet");
        fs::write(folder.path().join("tls.key"), &two.key).unwrap();
        touch("tls.key");
        assert_ne!(shown.current().unwrap().cert, first);
    }

    #[test]
    fn what_is_no_certificate_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let missing = Shown::files(folder.path()).unwrap_err().to_string();
        assert!(missing.starts_with("can't read "), "{missing}");
        let pair = make(&["a".into()]).unwrap();
        let other = make(&["a".into()]).unwrap();
        let mixed = Pair { key: other.key, ..pair.clone() };
        assert!(Shown::nothing().set(&mixed).is_err(), "the key is another's");
        let empty = Pair { certificate: String::new(), ..pair };
        assert!(Shown::nothing().set(&empty).is_err());
    }
}

//! Tokens: wrong, expired, renewed in their file.

use std::{
    fs,
    time::{SystemTime, UNIX_EPOCH},
};

use drawbridge_bridge::slurm::{
    calls::{Licenses, Pings},
    client::TokenSource,
    session::{Session, SessionError},
};
use drawbridge_core::SlurmFault;

use crate::site::Site;

pub(crate) fn tokens(site: &Site) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    let mut settings = site.settings("root");
    settings.client.token = TokenSource::File(file.clone());
    settings.client.user = Some("root".to_owned());
    for wrong in ["not.a.token".to_owned(), site.signed(now - 7200, now - 3600)] {
        fs::write(&file, &wrong).unwrap();
        let session = Session::new(settings.clone()).unwrap();
        assert!(session.ask(&Pings).is_ok(), "a ping is no test of a token");
        let error = session.ask(&Licenses).unwrap_err();
        let SessionError::Fault { fault: SlurmFault::Unauthorized { .. }, .. } = error else {
            panic!("{error}");
        };
        fs::write(&file, site.signed(now - 10, now + 600)).unwrap();
        // As long as the refusal is fresh nothing is sent.
        session.ask(&Licenses).unwrap_err();
        std::thread::sleep(std::time::Duration::from_millis(1_100));
        session.ask(&Licenses).unwrap();
    }
    let mut silent = site.settings("root");
    silent.client.token = TokenSource::None;
    let error = Session::new(silent).unwrap().ask(&Licenses).unwrap_err();
    assert_eq!(error.to_string(), "the token is not accepted: Authentication failure");
}

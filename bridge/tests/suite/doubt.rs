//! slurmctld is silent, or gone: what slurmrestd says then, and what it means.

use std::time::Duration;

use drawbridge_bridge::slurm::{
    calls::{Call, Cancel, JobStates, Nodes},
    session::{Session, SessionError},
};
use drawbridge_core::SlurmFault;

use crate::site::{Site, wait_for};

fn fault<C: Call>(session: &Session, call: &C) -> SlurmFault {
    match session.ask(call) {
        Err(SessionError::Fault { fault, .. }) => fault,
        Ok(_) => panic!("an answer"),
        Err(other) => panic!("{other}"),
    }
}

/// A submit that slurmctld doesn't answer in time may take effect afterwards, and does.
pub(crate) fn silence_leaves_doubt(site: &mut Site) {
    let mut settings = site.settings("alice");
    settings.patience = Duration::ZERO;
    settings.pin = site.versions().last().copied();
    let fresh = || Session::new(settings.clone()).unwrap();
    let known = fresh().ask(&JobStates::default()).unwrap().len();
    assert!(site.run("pkill -STOP -x slurmctld"));
    for lost in [
        fault(&fresh(), &Site::waiting()),
        fault(&fresh(), &Cancel { job: "1".into(), ..Cancel::default() }),
        fault(&fresh(), &Nodes),
    ] {
        assert!(lost.leaves_doubt(), "{lost}");
    }
    assert!(site.run("pkill -CONT -x slurmctld"));
    std::thread::sleep(Duration::from_secs(1));
    let jobs = fresh().ask(&JobStates::default()).unwrap();
    assert_eq!(jobs.len(), known + 1, "it took effect");
    let job = jobs.last().unwrap().job_id.clone();
    fresh().ask(&Cancel { job: job.clone(), ..Cancel::default() }).unwrap();
    wait_for(&fresh(), &job, "CANCELLED");
}

/// Where there is no slurmctld nothing is done, and that is certain.
pub(crate) fn absence_leaves_none(site: &mut Site) {
    let mut settings = site.settings("alice");
    settings.patience = Duration::ZERO;
    settings.pin = site.versions().last().copied();
    assert!(site.run("pkill -KILL -x slurmctld"));
    let gone = fault(&Session::new(settings).unwrap(), &Site::waiting());
    assert!(matches!(gone, SlurmFault::Unreachable { .. }), "{gone}");
}

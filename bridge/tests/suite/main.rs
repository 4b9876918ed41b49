//! One suite, two arms: the client against the fake slurmrestd and against the real one, of both
//! releases, in every version that they serve.
//!
//! The real arm needs a lab: Linux, root and Debian's packages. Where none can be started its tests
//! say so and show nothing. `.ci/client` runs them.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::panic, reason = "tests")]
#![allow(clippy::print_stdout, reason = "a skipped test says so")]

mod calls;
mod cluster;
mod doubt;
mod site;
mod tokens;
mod ways;

use drawbridge_sim::Release;

use self::site::Site;

fn every_call(site: &mut Site) {
    for version in site.versions() {
        calls::jobs(site, *version);
        calls::what_others_have(site, *version);
        cluster::nodes(site, *version);
        cluster::cluster(site, *version);
        calls::as_the_core_asks(site, *version);
    }
    cluster::accounting(site);
    ways::every_way_leads_there(site);
    tokens::tokens(site);
}

#[test]
fn the_fake_24_11_understands_every_call_and_is_understood() {
    every_call(&mut Site::fake(Release::V24_11));
}

#[test]
fn the_fake_26_05_understands_every_call_and_is_understood() {
    every_call(&mut Site::fake(Release::V26_05));
}

#[test]
fn slurm_24_11_understands_every_call_and_is_understood() {
    real(Release::V24_11);
}

#[test]
fn slurm_26_05_understands_every_call_and_is_understood() {
    real(Release::V26_05);
}

fn real(release: Release) {
    let Some(mut site) = Site::real(release) else { return };
    every_call(&mut site);
    doubt::silence_leaves_doubt(&mut site);
    doubt::absence_leaves_none(&mut site);
}

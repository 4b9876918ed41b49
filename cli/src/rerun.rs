//! `drawbridge run RECORDING`: what a served twin was asked comes again, to the same hash.

use std::path::{Path, PathBuf};

use drawbridge_scenarios::{Run, World};
use drawbridge_sim::{Epoch, Seed};

use crate::{
    args::{RunArgs, Transport},
    failure::Failure,
    serve::{
        recording::{End, Recording},
        state::repeat,
        twin::Twin,
    },
};

/// The recordings that are to be run, if that is what is asked for.
pub(crate) fn recordings(args: &RunArgs) -> Result<Vec<PathBuf>, Failure> {
    let all = &args.paths;
    let found: Vec<PathBuf> = all.iter().filter(|path| Recording::is_one(path)).cloned().collect();
    let Some(first) = found.first() else { return Ok(vec![]) };
    let refuse = |what, hint| Err(Failure::path(first, what, hint));
    if found.len() < all.len() {
        return refuse("this is a recording, the others aren't", "run recordings by themselves");
    }
    if args.seed.is_some() || args.transport != Transport::Direct {
        return refuse(
            "a recording has a seed and a way of its own",
            "leave --seed and --transport out",
        );
    }
    if args.check_snapshots.is_some() || args.update_snapshots.is_some() {
        return refuse("a recording has no snapshot: it has its hash", "leave the snapshots out");
    }
    Ok(found)
}

/// Runs one again.
pub(crate) fn run(path: &Path) -> Result<Run, Failure> {
    let recording = Recording::read(path)?;
    let header = &recording.header;
    let (epoch, seed) = (Epoch::from_unix(header.began_unix), Seed(header.seed));
    let Some(scenario) = header.setting.scenario(epoch)? else {
        let what = "this is a recording of Kubernetes alone, which has no story";
        return Err(Failure::path(
            path,
            what,
            "go on with it: `drawbridge serve --kube-only --state-dir`",
        ));
    };
    let world = header.setting.world(&scenario, seed)?;
    let mut twin = Twin::listening(world);
    repeat(&mut twin, &recording);
    let (mut world, records) = twin.finish(recording.last());
    let differs = recording.end.as_ref().and_then(|(_, end)| difference(&world, end));
    let mut run = Run::of_live(&scenario, seed, &mut world, records);
    run.report.passed &= differs.is_none();
    run.report.violations.extend(differs);
    Ok(run)
}

/// What isn't as it was.
fn difference(world: &World, end: &End) -> Option<String> {
    let now = End { events: world.events(), hash: world.hash().to_string() };
    (now != *end).then(|| {
        format!(
            "the recording ended with {} events and hash {}, this run with {} and {}",
            end.events, end.hash, now.events, now.hash
        )
    })
}

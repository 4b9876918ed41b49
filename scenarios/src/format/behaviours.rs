//! The `behaviour:` part.

use drawbridge_bridge::yaml::path;
use drawbridge_fakes::{Across, Behaviour, Mpi, PodMatch, Program, Runtime, Spread, Straggler};

use crate::format::{
    ScenarioError,
    duration::Lasting,
    file::{BehaviourEntry, MpiEntry, UniformEntry},
    source::Source,
    text_or::TextOr,
};

/// What an entry means; what it leaves out is as [`Behaviour::default`] says.
pub(crate) fn read(
    entry: &BehaviourEntry,
    at: &str,
    source: &Source,
) -> Result<Behaviour, ScenarioError> {
    check_numbers(entry, at, source)?;
    let usual = Behaviour::default();
    let startup = match &entry.startup {
        Some(startup) => spread(startup, &path::key(at, "startup"), source)?,
        None => usual.startup,
    };
    let runtime = match &entry.runtime {
        Some(TextOr::Text(text)) if text == "forever" => Runtime::Forever,
        Some(runtime) => Runtime::For(spread(runtime, &path::key(at, "runtime"), source)?),
        None => usual.program.runtime,
    };
    Ok(Behaviour {
        matches: PodMatch {
            namespace: entry.namespace.clone(),
            name: entry.name.clone(),
            labels: entry.labels.clone(),
        },
        refused: entry.refused.clone(),
        startup,
        program: Program {
            runtime,
            exit_code: entry.exit_code,
            stop: entry.stop.map_or(usual.program.stop, |stop| stop.0),
            ..usual.program
        },
        mpi: match &entry.mpi {
            Some(mpi) => Some(program(mpi, &path::key(at, "mpi"), source)?),
            None => None,
        },
        ..usual
    })
}

fn program(entry: &MpiEntry, at: &str, source: &Source) -> Result<Mpi, ScenarioError> {
    let mut stragglers = vec![];
    for (index, it) in entry.stragglers.iter().enumerate() {
        let at = path::index(&path::key(at, "stragglers"), index);
        let permille = permille(it.slowdown, &at, source)?;
        stragglers.push(Straggler { name: it.name.clone(), permille });
    }
    let across = match &entry.across {
        Some(it) => Some(Across {
            node_label: it.node_label.clone(),
            permille: permille(it.slowdown, &path::key(at, "across"), source)?,
        }),
        None => None,
    };
    Ok(Mpi {
        group_label: entry.group_label.clone(),
        ranks: entry.ranks,
        abort: entry.abort.map(|it| it.0),
        finalize: entry.finalize,
        stragglers,
        across,
    })
}

/// `1.5` is 1500 thousandths.
fn permille(slowdown: f64, at: &str, source: &Source) -> Result<u32, ScenarioError> {
    if !(1.0..=1000.0).contains(&slowdown) {
        let at = path::key(at, "slowdown");
        return Err(source
            .at(&at, format!("a slowdown of {slowdown}"))
            .hinted("write 1 to 1000: `1.5` is half as long again"));
    }
    Ok((slowdown * 1000.0).round() as u32)
}

fn check_numbers(entry: &BehaviourEntry, at: &str, source: &Source) -> Result<(), ScenarioError> {
    if !(0..=255).contains(&entry.exit_code) {
        return Err(source
            .at(&path::key(at, "exitCode"), format!("no program exits with {}", entry.exit_code))
            .hinted("exit codes are 0 to 255"));
    }
    if entry.mpi.as_ref().is_some_and(|mpi| mpi.ranks == 0) {
        return Err(source
            .at(&path::key(&path::key(at, "mpi"), "ranks"), "an MPI program without ranks")
            .hinted("write 1 or more"));
    }
    Ok(())
}

fn spread(
    entry: &TextOr<UniformEntry>,
    at: &str,
    source: &Source,
) -> Result<Spread, ScenarioError> {
    match entry {
        TextOr::Text(text) => match Lasting::parse(text) {
            Ok(lasting) => Ok(Spread::Fixed(lasting.0)),
            Err(wrong) => Err(source.two_lines(at, &wrong)),
        },
        TextOr::Full(UniformEntry { uniform: [least, most] }) if least <= most => {
            Ok(Spread::Uniform(least.0, most.0))
        }
        TextOr::Full(UniformEntry { uniform: [least, most] }) => Err(source
            .at(&path::key(at, "uniform"), format!("{least} is longer than {most}"))
            .hinted("the shorter duration comes first")),
    }
}

//! `drawbridge oracle --timed`: when things happen, on a real Slurm and in the model.

use std::{collections::VecDeque, fs, path::Path, sync::Mutex, thread};

use drawbridge_oracle::{
    Case, Judgement, LabError, LabOptions, NotModelled, install, judge, record, recordings,
};
use serde_json::json;

use super::{BAD, GOOD, lab, no_slurm, progress, read_case, unreadable};
use crate::{
    args::{OracleArgs, VerifyOutput},
    failure::{Failure, print},
    table::{Cell, Table},
};

type Judged = (String, Result<Judgement, NotModelled>);

pub(super) fn timed(args: &OracleArgs) -> Result<(), Failure> {
    let mut cases = if args.case.is_empty() {
        recordings().map_err(|(name, error)| unreadable(&name, &error))?
    } else {
        args.case.iter().map(|path| read_case(path)).collect::<Result<_, _>>()?
    };
    if !args.recorded {
        let lab = lab(args)?;
        install(&lab).map_err(no_slurm)?;
        let recorded = record_all(&lab, cases, args.jobs.map_or(2, usize::from));
        cases = recorded.map_err(no_slurm)?;
    }
    if let Some(folder) = &args.keep {
        keep(folder, &cases)?;
    }
    let judged: Vec<Judged> = cases.iter().map(|(name, it)| (name.clone(), judge(it))).collect();
    print(render(args.output, &judged).as_bytes())?;
    let wrong = |(_, judged): &&Judged| !judged.as_ref().is_ok_and(|it| it.wrong.is_empty());
    match judged.iter().filter(wrong).count() {
        0 => Ok(()),
        n => Err(Failure::Unmet(format!("{n} of {} timed cases differ", judged.len()))),
    }
}

/// Records cases on real Slurms, several at a time: they mostly wait.
fn record_all(
    lab: &LabOptions,
    cases: Vec<(String, Case)>,
    jobs: usize,
) -> Result<Vec<(String, Case)>, LabError> {
    let bar = progress();
    bar.set_length(cases.len() as u64);
    bar.set_message("recorded");
    let (left, done) = (Mutex::new(VecDeque::from(cases)), Mutex::new(vec![]));
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((name, case)) = left.lock().ok().and_then(|mut it| it.pop_front()) {
                    let recorded = record(lab, &case).map(|case| (name, case));
                    done.lock().map(|mut done| done.push(recorded)).unwrap_or_default();
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    let done = done.into_inner().unwrap_or_default();
    let mut done = done.into_iter().collect::<Result<Vec<_>, _>>()?;
    done.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(done)
}

fn keep(folder: &Path, cases: &[(String, Case)]) -> Result<(), Failure> {
    let failed = |error| Failure::path(folder, error, "give a folder that can be written");
    fs::create_dir_all(folder).map_err(failed)?;
    cases.iter().try_for_each(|(name, case)| {
        fs::write(folder.join(format!("{name}.txt")), case.to_string()).map_err(failed)
    })
}

fn render(output: VerifyOutput, judged: &[Judged]) -> String {
    if output == VerifyOutput::Json {
        let cases: serde_json::Map<_, _> =
            judged.iter().map(|it| (it.0.clone(), json(it))).collect();
        return format!("{}\n", serde_json::Value::from(cases));
    }
    let mut table = Table::new(&["CASE", "TIMES", "WORST", "PRIORITIES", "RESULT"]);
    let mut details = String::new();
    for (name, judgement) in judged {
        let (cells, wrong) = match judgement {
            Ok(it) => (
                [it.times.to_string(), format!("{} s", it.worst), it.priorities.to_string()],
                it.wrong.clone(),
            ),
            Err(why) => (Default::default(), vec![format!("not modelled: {why}")]),
        };
        let result = match wrong.len() {
            0 => Cell::styled("as recorded", GOOD),
            n => Cell::styled(format!("{n} DIFFER"), BAD),
        };
        table.row(
            [Cell::new(name)].into_iter().chain(cells.map(Cell::new)).chain([result]).collect(),
        );
        wrong.iter().for_each(|line| details += &format!("{name}: {line}\n"));
    }
    format!("{}\n{details}", table.render(100))
}

fn json((_, judgement): &Judged) -> serde_json::Value {
    match judgement {
        Ok(it) => json!({
            "times": it.times, "worstSeconds": it.worst, "priorities": it.priorities,
            "wrong": it.wrong,
        }),
        Err(why) => json!({ "notModelled": why.to_string() }),
    }
}

//! Columns of jobs in two runs.

use drawbridge_scenarios::JobRow;

use super::{
    Column, Sort,
    jobs::{state_code, state_tone},
};
use crate::{
    model::{divergence::Pair, moment::kubectl, scene::Scene},
    theme::Tone,
};

/// The columns: this run's, then the other's.
pub(crate) const fn columns<'a>() -> [Column<Pair<'a>>; 10] {
    [
        column("JOB", |_, it| it.name.clone()),
        column("HERE", |_, it| number(it.this)).right(|_, it| number_key(it.this)),
        column("ST", |_, it| state(it.this)).tone(|_, it| tone(it.this)),
        column("START", |scene, it| start(scene, it.this))
            .right(|_, it| Sort::time(it.this.and_then(|job| job.start_ms))),
        column("NODES", |_, it| nodes(it.this)),
        column("THERE", |_, it| number(it.other)).right(|_, it| number_key(it.other)),
        column("ST ", |_, it| state(it.other)).tone(|_, it| tone(it.other)),
        column("START ", |scene, it| start(scene, it.other))
            .right(|_, it| Sort::time(it.other.and_then(|job| job.start_ms))),
        column("NODES ", |_, it| nodes(it.other)),
        column("MOVED", |_, it| moved(it))
            .right(|_, it| Sort::Number(it.moved()))
            .tone(|_, it| moved_tone(it)),
    ]
}

const fn column<'a>(
    name: &'static str,
    text: fn(Scene<'_>, &Pair<'a>) -> String,
) -> Column<Pair<'a>> {
    Column::new(name, text)
}

fn number(job: Option<&JobRow>) -> String {
    job.map_or_else(|| "-".to_owned(), |job| job.job_id.to_string())
}

fn number_key(job: Option<&JobRow>) -> Sort {
    Sort::Number(job.map(|job| i64::from(job.job_id.0)))
}

fn state(job: Option<&JobRow>) -> String {
    job.map(|job| state_code(&job.state).to_owned()).unwrap_or_default()
}

fn tone(job: Option<&JobRow>) -> Tone {
    job.map_or(Tone::Plain, |job| state_tone(&job.state))
}

fn start(scene: Scene<'_>, job: Option<&JobRow>) -> String {
    job.and_then(|job| job.start_ms).map(|at| scene.brief(at)).unwrap_or_default()
}

fn nodes(job: Option<&JobRow>) -> String {
    job.map(|job| job.nodes.clone()).unwrap_or_default()
}

/// `+5m` if it starts later there, `-30s` if earlier.
fn moved(pair: &Pair<'_>) -> String {
    match pair.moved() {
        None | Some(0) => String::new(),
        Some(ms) => {
            let sign = if ms < 0 { '-' } else { '+' };
            format!("{sign}{}", kubectl(drawbridge_sim::Span::ms(ms.unsigned_abs())))
        }
    }
}

fn moved_tone(pair: &Pair<'_>) -> Tone {
    match pair.moved() {
        Some(ms) if ms < 0 => Tone::Good,
        Some(ms) if 0 < ms => Tone::Bad,
        Some(_) | None => Tone::Plain,
    }
}

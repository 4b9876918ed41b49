//! `SchedulerParameters` and `Priority…`: what decides when jobs are looked at, and in which order.
//!
//! A value outside its range is what slurmctld makes of it: the default, with a note.

use crate::Span;

use super::{ConfError, Note, Params, known, line::Word, value};

/// `SchedulerType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerType {
    /// `sched/backfill`.
    Backfill,
    /// `sched/builtin`: first come, first served.
    Builtin,
}

/// `defer`, `defer_batch`: what is left to the next tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defer {
    /// Nothing.
    No,
    /// Batch jobs aren't compared with the queue when they are submitted.
    Batch,
    /// No job is.
    All,
}

/// `SchedulerParameters=bf_…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackfillParams {
    /// `bf_interval`: time between cycles; `None` is never.
    pub interval: Option<Span>,
    /// `bf_window`: how far it plans ahead.
    pub window: Span,
    /// `bf_resolution`: to what it rounds plans.
    pub resolution: Span,
    /// `bf_max_job_test`: jobs that it tries in a cycle.
    pub max_job_test: usize,
    /// `bf_max_job_start`: jobs that it starts in a cycle; 0 is without a limit.
    pub max_job_start: usize,
    /// `bf_max_job_user`: jobs of a user; 0 is without a limit.
    pub max_job_user: usize,
    /// `bf_max_job_part`: jobs of a partition; 0 is without a limit.
    pub max_job_part: usize,
    /// `bf_max_job_user_part`: jobs of a user in a partition; 0 is without a limit.
    pub max_job_user_part: usize,
    /// `bf_max_job_array_resv`: tasks of an array that it plans for.
    pub max_job_array_resv: usize,
    /// `bf_min_age_reserve`: younger jobs hold back nobody.
    pub min_age_reserve: Span,
    /// `bf_min_prio_reserve`: jobs of lower priority hold back nobody.
    pub min_prio_reserve: u32,
    /// `bf_job_part_count_reserve`: plans for each partition; 0 is without a limit.
    pub job_part_count_reserve: usize,
    /// `bf_node_space_size`: stretches of time in the plan.
    pub node_space_size: usize,
    /// `bf_one_resv_per_job`: a job of several partitions has one plan.
    pub one_resv_per_job: bool,
    /// `bf_running_job_reserve`: running jobs that hold whole nodes are part of the plan.
    pub running_job_reserve: bool,
    /// `bf_busy_nodes`: plans prefer nodes that are in use.
    pub busy_nodes: bool,
    /// `bf_licenses`: licences are part of the plan.
    pub licenses: bool,
    /// `bf_window_linear`: by how much the step between tries grows; 0 doubles it.
    pub window_linear: Span,
}

impl BackfillParams {
    /// What Slurm 24.11 uses when `slurm.conf` is silent.
    pub(super) const fn as_shipped() -> Self {
        Self {
            interval: Some(Span::secs(30)),
            window: Span::mins(1440),
            resolution: Span::secs(60),
            max_job_test: 500,
            max_job_start: 0,
            max_job_user: 0,
            max_job_part: 0,
            max_job_user_part: 0,
            max_job_array_resv: 20,
            min_age_reserve: Span::ZERO,
            min_prio_reserve: 0,
            job_part_count_reserve: 0,
            node_space_size: 500,
            one_resv_per_job: false,
            running_job_reserve: false,
            busy_nodes: false,
            licenses: false,
            window_linear: Span::ZERO,
        }
    }
}

pub(super) fn scheduler_type(word: &Word) -> Result<SchedulerType, ConfError> {
    let types = [SchedulerType::Backfill, SchedulerType::Builtin];
    value::one_of(word, &["sched/backfill", "sched/builtin"]).map(|at| types[at])
}

/// One `key=text` of `SchedulerParameters`.
struct Setting<'a> {
    word: &'a Word,
    key: &'a str,
    text: &'a str,
}

impl Setting<'_> {
    fn number(&self) -> Result<i64, ConfError> {
        let (key, text) = (self.key, self.text);
        text.parse().map_err(|_| {
            let what = format!("{key}={text} in SchedulerParameters is not understood");
            self.word.value_place.error(what, "write a whole number")
        })
    }

    /// A number from `least` to `most`; otherwise `default`, with a note.
    fn ranged(
        &self,
        least: i64,
        most: i64,
        default: u64,
        notes: &mut Vec<Note>,
    ) -> Result<u64, ConfError> {
        let number = self.number()?;
        if (least..=most).contains(&number) {
            return Ok(u64::try_from(number).unwrap_or_default());
        }
        let (key, text) = (self.key, self.text);
        notes
            .push(self.note(&format!("{key}={text} is out of range, so slurmctld uses {default}")));
        Ok(default)
    }

    /// A number that isn't negative; otherwise `default`, with a note.
    fn count(&self, default: u64, notes: &mut Vec<Note>) -> Result<usize, ConfError> {
        let count = self.ranged(0, i64::from(i32::MAX), default, notes)?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    fn note(&self, text: &str) -> Note {
        self.word.place.note(format!("SchedulerParameters: {text}"))
    }
}

const JOBS_MAX: i64 = 1_000_000;
const MONTH: i64 = 30 * 24 * 60 * 60;

/// Parameters about how long slurmctld computes, or about threads. Nothing takes time here.
const ABOUT_REAL_TIME: [&str; 7] = [
    "bf_continue",
    "bf_max_time",
    "bf_yield_interval",
    "bf_yield_sleep",
    "build_queue_timeout",
    "max_rpc_cnt",
    "max_sched_time",
];

pub(super) fn scheduler_parameters(
    params: &mut Params,
    word: &Word,
    notes: &mut Vec<Note>,
) -> Result<(), ConfError> {
    let mut table_size = None;
    for part in word.value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (key, text) = part.split_once('=').unwrap_or((part, ""));
        let setting = Setting { word, key, text };
        let lower = key.to_ascii_lowercase();
        let read = main_parameter(params, &lower, &setting, notes)?
            || backfill_parameter(&mut params.backfill, &lower, &setting, notes)?
            || backfill_flag(&mut params.backfill, &lower);
        if lower == "bf_node_space_size" {
            table_size = Some(params.backfill.node_space_size);
        }
        if !read {
            note_or_refuse(&lower, &setting, notes)?;
        }
    }
    params.backfill.node_space_size = table_size.unwrap_or(params.backfill.max_job_test);
    Ok(())
}

fn main_parameter(
    params: &mut Params,
    key: &str,
    setting: &Setting<'_>,
    notes: &mut Vec<Note>,
) -> Result<bool, ConfError> {
    let int = i64::from(i32::MAX);
    match key {
        "batch_sched_delay" => {
            params.batch_sched_delay = Span::secs(setting.ranged(0, int, 3, notes)?);
        }
        "sched_interval" if setting.text == "-1" => params.sched_interval = None,
        "sched_interval" => {
            params.sched_interval = Some(Span::secs(setting.ranged(0, int, 60, notes)?.max(1)));
        }
        // In microseconds.
        "sched_min_interval" => {
            params.sched_min_interval = Span::ms(setting.ranged(0, int, 2, notes)? / 1000);
        }
        "default_queue_depth" => params.default_queue_depth = setting.count(100, notes)?,
        "partition_job_depth" => params.partition_job_depth = setting.count(0, notes)?,
        "sched_max_job_start" => params.sched_max_job_start = setting.count(0, notes)?,
        "kill_invalid_depend" => params.kill_invalid_depend = true,
        "enable_user_top" => params.enable_user_top = true,
        "defer" if params.defer != Defer::Batch => params.defer = Defer::All,
        "defer" => {}
        "defer_batch" => params.defer = Defer::Batch,
        _ => return Ok(false),
    }
    Ok(true)
}

fn backfill_parameter(
    backfill: &mut BackfillParams,
    key: &str,
    setting: &Setting<'_>,
    notes: &mut Vec<Note>,
) -> Result<bool, ConfError> {
    let jobs = |most, default, notes: &mut Vec<Note>| -> Result<usize, ConfError> {
        let count = setting.ranged(0, most, default, notes)?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    };
    match key {
        "bf_interval" if setting.text == "-1" => backfill.interval = None,
        "bf_interval" => {
            backfill.interval = Some(Span::secs(setting.ranged(1, 10_800, 30, notes)?));
        }
        "bf_window" => backfill.window = Span::mins(setting.ranged(1, MONTH / 60, 1440, notes)?),
        "bf_resolution" => {
            backfill.resolution = Span::secs(setting.ranged(1, 3_600, 60, notes)?);
        }
        "bf_max_job_test" => {
            let tests = setting.ranged(1, JOBS_MAX, 500, notes)?;
            backfill.max_job_test = usize::try_from(tests).unwrap_or(usize::MAX);
        }
        "bf_node_space_size" => {
            let default = backfill.max_job_test as u64;
            let size = setting.ranged(2, 2 * JOBS_MAX, default, notes)?;
            backfill.node_space_size = usize::try_from(size).unwrap_or(usize::MAX);
        }
        "bf_max_job_start" => backfill.max_job_start = jobs(10_000, 0, notes)?,
        "bf_max_job_user" => backfill.max_job_user = setting.count(0, notes)?,
        "bf_max_job_part" => backfill.max_job_part = setting.count(0, notes)?,
        "bf_max_job_user_part" => backfill.max_job_user_part = setting.count(0, notes)?,
        "bf_max_job_array_resv" => backfill.max_job_array_resv = jobs(1_000, 20, notes)?,
        "bf_job_part_count_reserve" => backfill.job_part_count_reserve = jobs(100_000, 0, notes)?,
        "bf_min_age_reserve" => {
            backfill.min_age_reserve = Span::secs(setting.ranged(0, MONTH, 0, notes)?);
        }
        "bf_min_prio_reserve" => {
            let least = setting.ranged(1, i64::from(u32::MAX), 0, notes)?;
            backfill.min_prio_reserve = u32::try_from(least).unwrap_or(u32::MAX);
        }
        "bf_window_linear" => {
            backfill.window_linear =
                Span::secs(setting.ranged(1, i64::from(i32::MAX), 0, notes)?);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn backfill_flag(backfill: &mut BackfillParams, key: &str) -> bool {
    match key {
        "bf_one_resv_per_job" => backfill.one_resv_per_job = true,
        "bf_running_job_reserve" => backfill.running_job_reserve = true,
        "bf_busy_nodes" => backfill.busy_nodes = true,
        "bf_licenses" => (backfill.licenses, backfill.running_job_reserve) = (true, true),
        _ => return false,
    }
    true
}

fn note_or_refuse(
    key: &str,
    setting: &Setting<'_>,
    notes: &mut Vec<Note>,
) -> Result<(), ConfError> {
    let name = setting.key;
    // The lines of the nodes have asked for the latter already.
    if ABOUT_REAL_TIME.contains(&key) || key == "spec_cores_first" {
        notes.push(setting.note(&format!("{name} changes nothing, as no cycle takes time here")));
    } else if key == "bf_max_job_assoc" {
        notes.push(setting.note(&format!("{name} changes nothing without accounting")));
    } else if known::SCHEDULER.contains(&key) {
        let place = setting.word.place;
        notes.push(place.note(format!("SchedulerParameters={name} is not honoured yet")));
    } else {
        let what = format!("SchedulerParameters does not know `{name}`");
        let hint = known::did_you_mean(name, known::SCHEDULER);
        return Err(setting.word.value_place.error(what, hint));
    }
    Ok(())
}

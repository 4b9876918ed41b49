//! `Priority…`: what a job's place in the queue is worth.

use crate::Span;

use super::{ConfError, Note, line::Word, value};

/// `PriorityType`, and the parameters of `priority/multifactor`.
#[derive(Clone, Debug, PartialEq)]
pub struct PriorityParams {
    /// `PriorityType`.
    pub kind: PriorityType,
    /// `PriorityWeightAge`. Counts only where there is a slurmdbd.
    pub weight_age: u32,
    /// `PriorityWeightJobSize`.
    pub weight_job_size: u32,
    /// `PriorityWeightPartition`.
    pub weight_partition: u32,
    /// `PriorityWeightTRES`.
    pub weight_tres: TresWeights,
    /// `PriorityMaxAge`: older jobs gain no more.
    pub max_age: Span,
    /// `PriorityCalcPeriod`: how often ages are looked at.
    pub calc_period: Span,
    /// `PriorityFavorSmall`.
    pub favor_small: bool,
    /// `PriorityFlags`.
    pub flags: PriorityFlags,
    /// `AccountingStorageType=accounting_storage/slurmdbd`.
    pub slurmdbd: bool,
}

/// `PriorityType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorityType {
    /// `priority/basic`: earlier jobs first, by number.
    Basic,
    /// `priority/multifactor`: a weighted sum.
    Multifactor,
}

/// `PriorityWeightTRES`, for each CPU, MiB and node or, unless `NO_NORMAL_TRES`, for all of the
/// partition's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TresWeights {
    /// `CPU`.
    pub cpu: f64,
    /// `Mem`.
    pub mem: f64,
    /// `Node`.
    pub node: f64,
}

/// `PriorityFlags`, as far as they matter without fair share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PriorityFlags {
    /// `ACCRUE_ALWAYS`: age counts from the submission.
    pub accrue_always: bool,
    /// `CALCULATE_RUNNING`: running jobs have a priority too.
    pub calculate_running: bool,
    /// `SMALL_RELATIVE_TO_TIME`: size is CPUs by time limit.
    pub small_relative_to_time: bool,
    /// `INCR_ONLY`: no priority falls.
    pub incr_only: bool,
    /// `NO_NORMAL_PART`: `PriorityJobFactor` as it stands.
    pub no_normal_part: bool,
    /// `NO_NORMAL_TRES`: counts as they stand.
    pub no_normal_tres: bool,
}

impl PriorityParams {
    /// What Slurm 24.11 uses when `slurm.conf` is silent.
    pub(super) const fn as_shipped() -> Self {
        Self {
            kind: PriorityType::Multifactor,
            weight_age: 0,
            weight_job_size: 0,
            weight_partition: 0,
            weight_tres: TresWeights { cpu: 0.0, mem: 0.0, node: 0.0 },
            max_age: Span::hours(7 * 24),
            calc_period: Span::mins(5),
            favor_small: false,
            flags: PriorityFlags {
                accrue_always: false,
                calculate_running: false,
                small_relative_to_time: false,
                incr_only: false,
                no_normal_part: false,
                no_normal_tres: false,
            },
            slurmdbd: false,
        }
    }
}

const AGE_IGNORED: &str = "PriorityWeightAge counts only with \
    AccountingStorageType=accounting_storage/slurmdbd, so slurmctld ignores it";

/// Reads one of the parameters above; whether it was one.
pub(super) fn read(
    params: &mut PriorityParams,
    word: &Word,
    notes: &mut Vec<Note>,
) -> Result<bool, ConfError> {
    match word.key.to_ascii_lowercase().as_str() {
        "prioritytype" => {
            let types = [PriorityType::Basic, PriorityType::Multifactor];
            let at = value::one_of(word, &["priority/basic", "priority/multifactor"])?;
            params.kind = types[at];
        }
        "priorityweightage" => {
            params.weight_age = value::number(word)?;
            if params.weight_age != 0 && !params.slurmdbd {
                notes.push(word.place.note(AGE_IGNORED));
            }
        }
        "priorityweightjobsize" => params.weight_job_size = value::number(word)?,
        "priorityweightpartition" => params.weight_partition = value::number(word)?,
        "priorityweighttres" => params.weight_tres = tres_weights(word, notes)?,
        "prioritymaxage" => {
            params.max_age = value::limit(word)?.unwrap_or(Span::secs(u32::MAX.into()));
        }
        "prioritycalcperiod" => {
            let period = value::limit(word)?.filter(|period| Span::mins(1) <= *period);
            params.calc_period = period.ok_or_else(|| word.bad("write one minute at least"))?;
        }
        "priorityfavorsmall" => params.favor_small = value::yes_no(word)?,
        "priorityflags" => params.flags = flags(word, notes)?,
        "accountingstoragetype" => {
            params.slurmdbd = word.value.eq_ignore_ascii_case("accounting_storage/slurmdbd");
            if params.slurmdbd {
                notes.retain(|note| note.text != AGE_IGNORED);
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn tres_weights(word: &Word, notes: &mut Vec<Note>) -> Result<TresWeights, ConfError> {
    let mut weights = TresWeights::default();
    for part in word.value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let hint = "write name=weight, such as CPU=1000,Mem=500";
        let (name, text) = part.split_once('=').ok_or_else(|| word.bad(hint))?;
        let weight = text.parse().ok().filter(|weight: &f64| weight.is_finite());
        let weight = weight.ok_or_else(|| word.bad(hint))?;
        match name.to_ascii_lowercase().as_str() {
            "cpu" => weights.cpu = weight,
            "mem" => weights.mem = weight,
            "node" => weights.node = weight,
            _ => {
                let text = format!("PriorityWeightTRES: {name} is not honoured yet");
                notes.push(word.place.note(text));
            }
        }
    }
    Ok(weights)
}

fn flags(word: &Word, notes: &mut Vec<Note>) -> Result<PriorityFlags, ConfError> {
    const KNOWN: [&str; 12] = [
        "ACCRUE_ALWAYS",
        "CALCULATE_RUNNING",
        "DEPTH_OBLIVIOUS",
        "INCR_ONLY",
        "MAX_TRES",
        "NO_FAIR_TREE",
        "NO_NORMAL_ALL",
        "NO_NORMAL_ASSOC",
        "NO_NORMAL_PART",
        "NO_NORMAL_QOS",
        "NO_NORMAL_TRES",
        "SMALL_RELATIVE_TO_TIME",
    ];
    let mut flags = PriorityFlags::default();
    for part in word.value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match part.to_ascii_uppercase().as_str() {
            "ACCRUE_ALWAYS" => flags.accrue_always = true,
            "CALCULATE_RUNNING" => flags.calculate_running = true,
            "INCR_ONLY" => flags.incr_only = true,
            "SMALL_RELATIVE_TO_TIME" => flags.small_relative_to_time = true,
            "NO_NORMAL_PART" => flags.no_normal_part = true,
            "NO_NORMAL_TRES" => flags.no_normal_tres = true,
            "NO_NORMAL_ALL" => (flags.no_normal_part, flags.no_normal_tres) = (true, true),
            upper if KNOWN.contains(&upper) => {
                let text = format!("PriorityFlags={part} changes nothing without accounting");
                notes.push(word.place.note(text));
            }
            _ => return Err(word.bad(format!("write some of {}", KNOWN.join(", ")))),
        }
    }
    Ok(flags)
}

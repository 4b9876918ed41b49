//! `sbatch`'s flags, read as sbatch reads them.
//!
//! What sbatch knows and the model doesn't is refused, saying so; flags that only say where output
//! goes pass.

mod flags;
mod layout;
mod moments;
mod words;

use crate::{
    ArraySpec, Begin, GresAsk, GresPer, MemoryAsk, PartitionName, Signal, SlurmNode, Span,
    Submission, TimeLimit, Warning, conf::parse_megabytes, expand_hostlist, parse_time_limit,
    time_spec::TIME_LIMIT_FORMS,
};
use flags::Flag;
use words::Word;

/// Why a command line can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct SbatchError {
    /// Column, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub hint: String,
}

impl SbatchError {
    fn new(column: usize, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { column, what: what.into(), hint: hint.into() }
    }
}

/// Reads `-N2 --exclusive -t 30 -J name --wrap 'sleep 600'`, with or without `sbatch` in front.
pub fn parse_sbatch(args: &str) -> Result<Submission, SbatchError> {
    let mut job = Submission::new("user");
    job.name = String::new();
    read_words(&mut job, args)?;
    if job.name.is_empty() {
        job.name = if job.external { "external" } else { "wrap" }.into();
    }
    finish(job)
}

/// Reads a batch script with its `#SBATCH` lines, and the command line, which goes before them.
pub fn parse_sbatch_script(
    args: &str,
    name: &str,
    script: &str,
) -> Result<Submission, SbatchError> {
    let mut job = Submission::new("user");
    job.name = name.into();
    for line in directives(script) {
        read_words(&mut job, line)?;
    }
    job.gres = overridden(&mut job, args)?;
    if !job.script.is_empty() {
        let hint = "give either a script or --wrap";
        return Err(SbatchError::new(1, "script arguments are not permitted with --wrap", hint));
    }
    job.script = script.into();
    finish(job)
}

fn finish(mut job: Submission) -> Result<Submission, SbatchError> {
    if job.external && !job.script.is_empty() {
        let what = "an external job has no script";
        return Err(SbatchError::new(1, what, "leave out --external, or the script and --wrap"));
    }
    layout::complete(&mut job);
    layout::check(&job)?;
    Ok(job)
}

/// Lines that sbatch reads: until the first that is neither empty nor a comment.
fn directives(script: &str) -> impl Iterator<Item = &str> {
    let comments = script
        .lines()
        .map(str::trim_start)
        .take_while(|line| line.is_empty() || line.starts_with('#'));
    comments.filter_map(|line| line.strip_prefix("#SBATCH")).map(without_comment)
}

fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, '#') => return &line[..at],
            _ => {}
        }
    }
    line
}

/// Reads the command line over what the script says: of generic resources the later list counts.
fn overridden(job: &mut Submission, args: &str) -> Result<Vec<GresAsk>, SbatchError> {
    let before = std::mem::take(&mut job.gres);
    read_words(job, args)?;
    Ok(if job.gres.is_empty() { before } else { std::mem::take(&mut job.gres) })
}

fn read_words(job: &mut Submission, args: &str) -> Result<(), SbatchError> {
    let words = words::split(args)?;
    let skip = usize::from(words.first().is_some_and(|word| word.text == "sbatch"));
    let mut words = words.into_iter().skip(skip).peekable();
    while let Some(word) = words.next() {
        let Some(found) = flags::find(&word)? else {
            let hint = "give the job's commands with --wrap '…'";
            return Err(SbatchError::new(
                word.column,
                format!("`{}`: a script file can't be read here", word.text),
                hint,
            ));
        };
        let value = match (found.value, found.flag.takes_value()) {
            (Some(value), _) => value,
            (None, false) => Word { text: String::new(), column: word.column },
            (None, true) => words.next().ok_or_else(|| {
                let what = format!("`{}` needs a value", word.text);
                SbatchError::new(word.column, what, "write it behind the flag")
            })?,
        };
        apply(job, found.flag, &value)?;
    }
    Ok(())
}

fn apply(job: &mut Submission, flag: Flag, value: &Word) -> Result<(), SbatchError> {
    let text = || value.text.clone();
    match flag {
        Flag::Nodes => (job.min_nodes, job.max_nodes) = nodes(value)?,
        Flag::Tasks => job.tasks = Some(count(value)?),
        Flag::CpusPerTask => job.cpus_per_task = Some(count(value)?),
        Flag::TasksPerNode => job.ntasks_per_node = Some(count(value)?),
        Flag::Time => {
            let limit = parse_time_limit(&value.text);
            // As sbatch(1) says, 0 is no limit at all.
            job.time_limit = Some(match limit.ok_or_else(|| bad(value, TIME_LIMIT_FORMS))? {
                TimeLimit::Of(Span::ZERO) => TimeLimit::Unlimited,
                limit @ (TimeLimit::Of(_) | TimeLimit::Unlimited) => limit,
            });
        }
        Flag::Partition => {
            job.partitions = value.text.split(',').map(PartitionName::from).collect();
        }
        Flag::JobName => job.name = text(),
        Flag::Account => job.account = Some(text().into()),
        Flag::NodeList => job.required_nodes = hosts(value)?,
        Flag::Exclude => job.excluded_nodes = hosts(value)?,
        Flag::Dependency => job.dependency = Some(text()),
        Flag::KillOnInvalidDep => job.kill_on_invalid_dep = Some(yes_no(value)?),
        Flag::Hold => job.hold = true,
        Flag::Constraint => job.constraints = Some(text()),
        Flag::Mem => job.memory = MemoryAsk::PerNode(megabytes(value)?),
        Flag::MemPerCpu => job.memory = MemoryAsk::PerCpu(megabytes(value)?),
        Flag::Gres => job.gres.extend(gres(value, &text(), GresPer::Node)?),
        Flag::Gpus => job.gres.extend(gres(value, &gpu(value), GresPer::Job)?),
        Flag::GpusPerNode => job.gres.extend(gres(value, &gpu(value), GresPer::Node)?),
        Flag::GpusPerTask => job.gres.extend(gres(value, &gpu(value), GresPer::Task)?),
        Flag::Layout(flag) => layout::apply(job, flag, value)?,
        Flag::Exclusive if value.text.is_empty() => job.exclusive = true,
        Flag::Exclusive if value.text == "user" => job.exclusive_user = true,
        Flag::Exclusive => {
            let what = format!("--exclusive={} is not modelled", value.text);
            return Err(SbatchError::new(
                value.column,
                what,
                "write --exclusive or --exclusive=user",
            ));
        }
        Flag::Nice => job.nice = if value.text.is_empty() { 100 } else { signed(value)? },
        Flag::Priority => job.priority = Some(count(value)?),
        Flag::Requeue => job.requeue = Some(true),
        Flag::NoRequeue => job.requeue = Some(false),
        Flag::External => job.external = true,
        Flag::Begin => job.begin = Some(moment(value)?),
        Flag::Deadline => job.deadline = Some(moment(value)?),
        Flag::Array => job.array = Some(array(value)?),
        Flag::TimeMin => {
            let limit =
                parse_time_limit(&value.text).ok_or_else(|| bad(value, TIME_LIMIT_FORMS))?;
            job.time_min = match limit {
                TimeLimit::Of(Span::ZERO) | TimeLimit::Unlimited => None,
                TimeLimit::Of(span) => Some(span),
            };
        }
        Flag::Licenses => job.licenses = Some(text()),
        Flag::NoKill => job.no_kill = value.text != "off",
        Flag::Signal => job.warning = warning(value)?,
        Flag::Wrap => job.script = format!("#!/bin/sh\n{}\n", value.text),
        Flag::User => job.user = text().into(),
        Flag::Comment => job.comment = text(),
        Flag::WcKey => job.wckey = Some(text()),
        Flag::McsLabel => job.mcs_label = Some(text()),
        Flag::Chdir => job.working_directory = text(),
        Flag::NoBearing { .. } => {}
    }
    Ok(())
}

fn bad(value: &Word, hint: impl Into<String>) -> SbatchError {
    SbatchError::new(value.column, format!("`{}` is not understood", value.text), hint)
}

fn count(value: &Word) -> Result<u32, SbatchError> {
    let number = value.text.parse().ok().filter(|number| *number != 0);
    number.ok_or_else(|| bad(value, "write a whole number of at least 1"))
}

fn signed(value: &Word) -> Result<i32, SbatchError> {
    value.text.parse().map_err(|_| bad(value, "write a whole number"))
}

fn yes_no(value: &Word) -> Result<bool, SbatchError> {
    match value.text.as_str() {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(bad(value, "write yes or no")),
    }
}

/// `2` is exactly 2; `2-4` is a range.
fn nodes(value: &Word) -> Result<(Option<u32>, Option<u32>), SbatchError> {
    let (min, max) = value.text.split_once('-').unwrap_or((&value.text, &value.text));
    let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number != 0);
    match (number(min), number(max)) {
        (Some(min), Some(max)) if min <= max => Ok((Some(min), Some(max))),
        _ => Err(bad(value, "write a number of nodes such as 2, or a range such as 2-4")),
    }
}

fn hosts(value: &Word) -> Result<Vec<SlurmNode>, SbatchError> {
    let names = expand_hostlist(&value.text)
        .map_err(|error| SbatchError::new(value.column, error.to_string(), "write n[1-3],n7"))?;
    Ok(names.into_iter().map(SlurmNode::from).collect())
}

fn megabytes(value: &Word) -> Result<u64, SbatchError> {
    parse_megabytes(&value.text)
        .ok_or_else(|| bad(value, "write megabytes, or an amount such as 8G"))
}

fn gpu(value: &Word) -> String {
    format!("gpu:{}", value.text)
}

fn gres(value: &Word, text: &str, per: GresPer) -> Result<Vec<GresAsk>, SbatchError> {
    GresAsk::parse_list(text, per).map_err(|what| {
        SbatchError::new(value.column, what, "write name[:type][:count], such as gpu:2")
    })
}

fn moment(value: &Word) -> Result<Begin, SbatchError> {
    moments::read(&value.text).ok_or_else(|| bad(value, moments::FORMS))
}

/// What can be said without knowing `MaxArraySize`.
fn array(value: &Word) -> Result<ArraySpec, SbatchError> {
    let spec = ArraySpec { text: value.text.clone() };
    let hint = "write indices such as 0-7, 1,3,5 or 0-20:4, with %2 for at most two at once";
    spec.read(u32::MAX / 2).map(|_| spec).ok_or_else(|| bad(value, hint))
}

/// `[[R][B]:]<signal>[@<seconds>]`.
fn warning(value: &Word) -> Result<Option<Warning>, SbatchError> {
    let hint = "write [B:]signal[@seconds], such as B:USR1@120";
    let (to, rest) = value.text.split_once(':').unwrap_or(("", &value.text));
    if !to.chars().all(|c| matches!(c, 'B' | 'b' | 'R' | 'r')) {
        return Err(bad(value, hint));
    }
    let (name, seconds) = rest.split_once('@').unwrap_or((rest, "60"));
    if name == "0" {
        return Ok(None);
    }
    let signal = Signal::parse(name).ok_or_else(|| bad(value, hint))?;
    let seconds = seconds.parse::<u16>().map_err(|_| bad(value, hint))?;
    let before = Span::secs(seconds.into());
    Ok(Some(Warning { signal, before, to_script: to.contains(['B', 'b']) }))
}

#[cfg(test)]
mod tests;

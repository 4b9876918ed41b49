//! Accounting records: what `sacct --parsable2` prints, or the same with commas.
//!
//! ```text
//!   JobID|User|Partition|Submit|Start|Elapsed|Timelimit|ReqTRES|State      the header decides
//!   12|ann|main|2026-01-01T00:00:00|2026-01-01T00:00:05|00:10:00|01:00:00|cpu=4,node=1|COMPLETED
//!   12.batch|…                                                           steps are passed over
//! ```

mod columns;
mod values;

use crate::trace::{Format, Trace, TraceError, TraceJob};
use columns::{Column, Columns};
use values::{Value, instant};

/// The sacct command whose output has everything that a replay can use.
pub const COMMAND: &str = "sacct --allusers --allocations --parsable2 --starttime=2026-01-01 \
--format=JobID,User,Account,Partition,QOS,Submit,Start,End,Elapsed,Timelimit,ReqNodes,ReqCPUS,ReqTRES,AllocTRES,NodeList,State";

/// Reads a whole file, or says where it is damaged.
pub fn parse(text: &str) -> Result<Trace, TraceError> {
    let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let Some((header, at)) = lines.next() else {
        return Err(TraceError::new((1, 1), "the file is empty", format!("try: {COMMAND}")));
    };
    let comma = !header.contains('|');
    let columns = Columns::read(header, at, comma)?;
    let format = if comma { Format::Csv } else { Format::Sacct };
    let mut trace = Trace { format, ..Trace::default() };
    for unread in columns.unread() {
        trace.notes.add(&format!("column `{unread}` is not used"), 0);
    }
    for (line, at) in lines {
        let record = columns.record(line, at)?;
        read_job(&record, &mut trace)?;
    }
    if trace.jobs.is_empty() {
        return Err(TraceError::new(
            (1, 1),
            "there is no job in it that ran",
            "give a dump that covers a time in which jobs ended",
        ));
    }
    Ok(trace)
}

/// Whether the first line looks like its header.
pub fn looks_like(text: &[u8]) -> bool {
    let line = text.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    let header = String::from_utf8_lossy(line.unwrap_or_default()).to_lowercase();
    let id = header.contains("jobid") || header.contains("job_id");
    id && (header.contains('|') || header.contains(','))
}

fn read_job(record: &columns::Record<'_>, trace: &mut Trace) -> Result<(), TraceError> {
    let id = record.text(Column::JobId);
    if id.contains('.') {
        return Ok(());
    }
    let submit = record.value(Column::Submit, instant)?.known();
    let start = record.value(Column::Start, instant)?.known();
    let end = record.value(Column::End, instant)?.known();
    let shown = record.value(Column::Elapsed, values::span)?.known();
    let run = shown.or(record.value(Column::ElapsedRaw, values::seconds)?.known());
    let run = run.or_else(|| Some(end?.saturating_sub(start?)));
    let state = record.text(Column::State);
    let amounts = Amounts::read(record)?;
    let why = match (submit, run) {
        (None, _) => Some("left out: no submit time"),
        _ if state.starts_with("PENDING") => Some("left out: had not started"),
        (_, None) => Some("left out: no run time"),
        (_, Some(0)) if start.is_none() || state.starts_with("CANCELLED") => {
            Some("left out: cancelled before it ran")
        }
        _ if amounts.cpus == 0 => Some("left out: no number of CPUs or nodes"),
        _ => None,
    };
    let (Some(submit), Some(run), None) = (submit, run, why) else {
        trace.notes.count(why.unwrap_or("left out: no times"));
        return Ok(());
    };
    if state.starts_with("RUNNING") {
        trace.notes.count("was still running: ends when the record does");
    }
    if id.contains('+') {
        trace.notes.count("part of a heterogeneous job: replayed on its own");
    }
    let partition = trace.names.partitions.place(record.name(Column::Partition));
    read_nodes(record, trace, partition)?;
    trace.jobs.push(TraceJob {
        id: id.to_owned(),
        submit,
        start,
        run,
        limit: limit(record)?,
        cpus: amounts.cpus,
        nodes: amounts.nodes,
        memory_per_cpu_mib: amounts.memory_per_cpu_mib,
        gpus: amounts.gpus,
        user: trace.names.users.place(record.name(Column::User)),
        partition,
        qos: trace.names.qos.place(record.name(Column::Qos)),
    });
    Ok(())
}

fn limit(record: &columns::Record<'_>) -> Result<Option<u64>, TraceError> {
    let shown = record.value(Column::Timelimit, values::span)?.known();
    let raw = record.value(Column::TimelimitRaw, values::minutes)?.known();
    let secs = record.value(Column::LimitSeconds, values::seconds)?.known();
    Ok(shown.or(raw).or(secs).filter(|limit| *limit != 0))
}

fn read_nodes(
    record: &columns::Record<'_>,
    trace: &mut Trace,
    partition: u32,
) -> Result<(), TraceError> {
    let Some(list) = record.cell(Column::NodeList).filter(|list| is_node_list(list.text)) else {
        return Ok(());
    };
    let names = drawbridge_sim::expand_hostlist(list.text).map_err(|error| {
        let what = format!("NodeList `{}`: {error}", list.text);
        TraceError::new(list.place, what, "write a list of hosts: `n[1-4,7]`")
    })?;
    trace.machine.node_names.entry(partition).or_default().extend(names);
    Ok(())
}

fn is_node_list(text: &str) -> bool {
    !matches!(text, "" | "None assigned" | "None" | "Unknown" | "(null)")
}

/// What a job asked for, or else what it was given.
struct Amounts {
    cpus: u32,
    nodes: Option<u32>,
    memory_per_cpu_mib: Option<u64>,
    gpus: u32,
}

impl Amounts {
    fn read(record: &columns::Record<'_>) -> Result<Self, TraceError> {
        let number = |column| record.value(column, values::count).map(Value::known);
        let asked = record.value(Column::ReqTres, values::tres)?.known().unwrap_or_default();
        let given = record.value(Column::AllocTres, values::tres)?.known().unwrap_or_default();
        let some = |n: Option<u64>| n.filter(|n| *n != 0);
        let nodes = some(number(Column::ReqNodes)?)
            .or(some(asked.nodes))
            .or(some(number(Column::Nodes)?))
            .or(some(given.nodes));
        let cpus = some(number(Column::ReqCpus)?)
            .or(some(asked.cpus))
            .or(some(number(Column::Cpus)?))
            .or(some(given.cpus))
            .or(nodes);
        let cpus = cpus.map_or(0, narrow);
        let memory = record.value(Column::ReqMem, values::memory)?.known();
        let per_cpu = match memory {
            Some((mib, values::Per::Cpu)) => Some(mib),
            Some((mib, values::Per::Node)) => {
                Some(mib * nodes.unwrap_or(1) / u64::from(cpus.max(1)))
            }
            Some((mib, values::Per::Job)) => Some(mib / u64::from(cpus.max(1))),
            None => asked.memory_mib.map(|mib| mib / u64::from(cpus.max(1))),
        };
        let gpus = some(number(Column::Gpus)?).or(asked.gpus).or(given.gpus).unwrap_or(0);
        Ok(Self {
            cpus,
            nodes: nodes.map(narrow),
            memory_per_cpu_mib: per_cpu.filter(|mib| *mib != 0),
            gpus: narrow(gpus),
        })
    }
}

fn narrow(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;

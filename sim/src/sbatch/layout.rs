//! Flags about sockets, cores, threads and devices, and what sbatch itself concludes from all the
//! numbers before it sends them.

use std::collections::BTreeSet;

use crate::{CoreOrder, GresPer, Submission, select};

use super::{SbatchError, bad, count, flags::Layout, gpu, gres, megabytes, words::Word};

pub(super) fn apply(job: &mut Submission, flag: Layout, value: &Word) -> Result<(), SbatchError> {
    match flag {
        Layout::MinCpus => job.min_cpus_per_node = Some(count(value)?),
        Layout::TasksPerSocket => job.shape.ntasks_per_socket = Some(count(value)?),
        Layout::TasksPerCore => job.shape.ntasks_per_core = Some(count(value)?),
        Layout::TasksPerGpu => job.per_gpu.tasks = Some(count(value)?),
        Layout::SocketsPerNode => job.shape.sockets_per_node = Some(count(value)?),
        Layout::CoresPerSocket => job.shape.cores_per_socket = Some(count(value)?),
        Layout::ThreadsPerCore => job.shape.threads_per_core = Some(count(value)?),
        Layout::ExtraNodeInfo => extra_node_info(job, value)?,
        Layout::Hint => hint(job, value)?,
        Layout::Distribution => distribution(job, value)?,
        Layout::Contiguous => job.contiguous = true,
        Layout::SpreadJob => job.spread = true,
        Layout::UseMinNodes => job.use_min_nodes = true,
        Layout::Overcommit => job.overcommit = true,
        Layout::Oversubscribe => job.oversubscribe = true,
        Layout::CpusPerGpu => job.per_gpu.cpus = Some(count(value)?),
        Layout::MemPerGpu => job.per_gpu.memory = Some(megabytes(value)?),
        Layout::GpusPerSocket => {
            job.gres.extend(gres(value, &gpu(value), GresPer::Socket)?);
        }
        Layout::GresFlags => gres_flags(job, value)?,
    }
    Ok(())
}

/// `sockets[:cores[:threads]]`, each a number or `*`.
fn extra_node_info(job: &mut Submission, value: &Word) -> Result<(), SbatchError> {
    let hint = "write sockets[:cores[:threads]], such as 2:4 or *:*:1";
    let mut parts = value.text.split(':').map(|part| match part {
        "*" => Ok(None),
        part => part.parse::<u32>().ok().filter(|n| *n != 0).map(Some).ok_or(()),
    });
    let mut next = || parts.next().unwrap_or(Ok(None)).map_err(|()| bad(value, hint));
    job.shape.sockets_per_node = next()?;
    job.shape.cores_per_socket = next()?;
    job.shape.threads_per_core = next()?;
    if parts.next().is_some() { Err(bad(value, hint)) } else { Ok(()) }
}

fn hint(job: &mut Submission, value: &Word) -> Result<(), SbatchError> {
    match value.text.as_str() {
        "nomultithread" => job.shape.threads_per_core = Some(1),
        "multithread" => job.shape.threads_per_core = None,
        "compute_bound" => {
            job.shape.sockets_per_node = None;
            job.shape.cores_per_socket = None;
            job.shape.threads_per_core = Some(1);
        }
        "memory_bound" => {
            job.shape.cores_per_socket = Some(1);
            job.shape.threads_per_core = Some(1);
        }
        _ => {
            let hint = "write compute_bound, memory_bound, multithread or nomultithread";
            return Err(bad(value, hint));
        }
    }
    Ok(())
}

/// `block`, `cyclic:block`, `plane=2`: the part behind the colon orders the cores of a node.
fn distribution(job: &mut Submission, value: &Word) -> Result<(), SbatchError> {
    let hint = "write block, cyclic or plane=n, and behind a colon block, cyclic or fcyclic";
    // Packing is for steps.
    let text = value.text.split(',').next().unwrap_or_default();
    let mut parts = text.split(':');
    let nodes = parts.next().unwrap_or_default();
    match nodes.split_once('=').unwrap_or((nodes, "")) {
        ("block" | "cyclic" | "*", "") => {}
        ("plane", size) => {
            job.plane =
                Some(size.parse().ok().filter(|n| *n != 0).ok_or_else(|| bad(value, hint))?);
        }
        ("arbitrary", _) => {
            let what = "--distribution=arbitrary is not modelled";
            return Err(SbatchError::new(value.column, what, "leave it out"));
        }
        _ => return Err(bad(value, hint)),
    }
    match parts.next() {
        None | Some("*") => {}
        Some("block") => job.core_order = Some(CoreOrder::Block),
        Some("cyclic" | "fcyclic") => job.core_order = Some(CoreOrder::Cyclic),
        Some(_) => return Err(bad(value, hint)),
    }
    Ok(())
}

fn gres_flags(job: &mut Submission, value: &Word) -> Result<(), SbatchError> {
    for flag in value.text.split(',') {
        match flag {
            "enforce-binding" => job.enforce_binding = true,
            "disable-binding" => job.enforce_binding = false,
            _ => return Err(bad(value, "write enforce-binding or disable-binding")),
        }
    }
    Ok(())
}

/// sbatch itself looks whether counts of devices, tasks and nodes agree.
pub(super) fn check(job: &Submission) -> Result<(), SbatchError> {
    select::gres_agrees(job).map_err(|error| {
        let hint = "make the numbers of devices, tasks, nodes and sockets agree";
        SbatchError::new(1, error.to_string().to_lowercase(), hint)
    })
}

/// What sbatch makes of the numbers: tasks from nodes, nodes from tasks, CPUs from both.
pub(super) fn complete(job: &mut Submission) {
    if job.min_nodes.is_none() && !job.required_nodes.is_empty() {
        let distinct: BTreeSet<_> = job.required_nodes.iter().collect();
        job.min_nodes = u32::try_from(distinct.len()).ok();
    }
    let exact = job.max_nodes.is_none() || job.max_nodes == job.min_nodes;
    let shape =
        [job.shape.sockets_per_node, job.shape.cores_per_socket, job.shape.threads_per_core];
    let mut tasks = job.tasks.unwrap_or(1);
    if job.tasks.is_none() && job.ntasks_per_node.is_none() && exact {
        if let Some(nodes) = job.min_nodes {
            tasks = shape.into_iter().flatten().fold(nodes.max(1), u32::saturating_mul);
            if shape.iter().any(Option::is_some) {
                job.tasks = Some(tasks);
            }
        }
    } else if let (Some(tasks), Some(nodes)) = (job.tasks, job.min_nodes) {
        job.max_nodes = job.max_nodes.map(|max| max.min(tasks));
        if tasks < nodes {
            // sbatch itself lowers the number of nodes to that of the tasks.
            (job.min_nodes, job.max_nodes) = (Some(tasks), Some(tasks));
        }
    }
    if let (None, Some(per_node), true) = (job.tasks, job.ntasks_per_node, exact) {
        tasks = job.min_nodes.unwrap_or(1).saturating_mul(per_node);
    }
    job.min_cpus = Some(if job.overcommit {
        job.min_nodes.unwrap_or(1).max(1)
    } else {
        tasks.saturating_mul(job.cpus_per_task.unwrap_or(1))
    });
}

//! Generic resources in a job description: `tres_per_node`, `cpus_per_tres` and their like.

use drawbridge_sim::{GresAsk, GresPer, PerGpu, SlurmError};

use crate::slurmrestd::{fields::Fields, reply::Trouble};

use super::{Source, count};

/// The devices that a job asks for.
pub(super) fn devices(source: Source, job: &Fields) -> Result<Vec<GresAsk>, Trouble> {
    let fields = [
        ("tres_per_node", GresPer::Node),
        ("tres_per_socket", GresPer::Socket),
        ("tres_per_task", GresPer::Task),
        ("tres_per_job", GresPer::Job),
    ];
    let mut all = vec![];
    for (key, per) in fields {
        let text = job.text(key).unwrap_or_default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            check_name(source, key, word)?;
            let asks = GresAsk::parse_list(word, per);
            all.extend(asks.map_err(|_| source.failed(SlurmError::InvalidGres))?);
        }
    }
    all.retain(|ask| 0 < ask.count);
    Ok(all)
}

/// Slurm wants `gres/` in front here; the other kinds (`cpu`, `mem`, `license`) aren't modelled.
fn check_name(source: Source, key: &str, word: &str) -> Result<(), Trouble> {
    if word.starts_with("gres/") || word.starts_with("gres:") {
        return Ok(());
    }
    let kind = word.split(['/', ':', '=']).next().unwrap_or(word);
    let known = ["cpu", "mem", "energy", "node", "billing", "fs", "vmem", "pages", "license", "bb"];
    if known.contains(&kind) {
        return Err(Trouble::not_modelled("drawbridge", &format!("`{kind}` in `{key}`")));
    }
    Err(source.failed_with(2115, "Invalid Trackable RESource (TRES) specification"))
}

/// What comes with each GPU: `cpus_per_tres: "gres/gpu:4"`, `memory_per_tres` in MiB.
pub(super) fn per_gpu(source: Source, job: &Fields) -> Result<PerGpu, Trouble> {
    let cpus = each(source, job, "cpus_per_tres")?.and_then(|count| u32::try_from(count).ok());
    let memory = each(source, job, "memory_per_tres")?;
    Ok(PerGpu { cpus, memory, tasks: count(job, "ntasks_per_tres") })
}

fn each(source: Source, job: &Fields, key: &str) -> Result<Option<u64>, Trouble> {
    let Some(text) = job.text(key) else {
        return Ok(None);
    };
    let invalid = || source.failed(SlurmError::InvalidGres);
    let gpu = text.strip_prefix("gres/").or_else(|| text.strip_prefix("gres:")).unwrap_or(text);
    let number = gpu.strip_prefix("gpu").ok_or_else(invalid)?.trim_start_matches([':', '=']);
    number.parse().map(Some).map_err(|_| invalid())
}

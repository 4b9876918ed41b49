//! The generic resources of a request: one need for each name and type, with every count that was
//! given, and what the counts say about tasks and nodes.

use crate::{GresAsk, GresPer, SlurmError, Submission};

use super::draft::Draft;

/// More devices than any cluster has: larger counts are as impossible.
const COUNT_MAX: u64 = 1 << 24;

/// So much of one resource (of one type) for each of these; 0 where nothing is said.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GresNeed {
    pub(crate) name: String,
    pub(crate) kind: Option<String>,
    pub(crate) per_job: u64,
    pub(crate) per_node: u64,
    pub(crate) per_socket: u64,
    pub(crate) per_task: u64,
    /// CPUs with each device, if the job says so.
    pub(crate) cpus_per: u32,
    /// CPUs with each device, if slurm.conf says so and the job doesn't.
    pub(crate) default_cpus_per: u32,
    /// Memory with each device, MiB.
    pub(crate) memory_per: u64,
    /// Tasks with each device.
    pub(crate) tasks_per: u32,
}

impl GresNeed {
    fn new(name: &str, kind: Option<&str>) -> Self {
        Self {
            name: name.into(),
            kind: kind.map(Into::into),
            per_job: 0,
            per_node: 0,
            per_socket: 0,
            per_task: 0,
            cpus_per: 0,
            default_cpus_per: 0,
            memory_per: 0,
            tasks_per: 0,
        }
    }

    /// CPUs with each device, whoever says so.
    pub(crate) const fn told_cpus_per(&self) -> u32 {
        if self.cpus_per == 0 { self.default_cpus_per } else { self.cpus_per }
    }

    /// CPUs with each device as the job says, itself or by its tasks.
    pub(crate) const fn own_cpus_per(&self, cpus_per_task: u32) -> u32 {
        if self.cpus_per == 0 { self.tasks_per * cpus_per_task } else { self.cpus_per }
    }

    const fn counts_nothing(&self) -> bool {
        self.per_job == 0 && self.per_node == 0 && self.per_socket == 0 && self.per_task == 0
    }

    /// The devices of the whole job, as far as that can be said before it has nodes.
    fn total(&self, draft: &Draft) -> u64 {
        let nodes = u64::from(draft.min_nodes.unwrap_or(1));
        let sockets = u64::from(draft.sockets_per_node.unwrap_or(1));
        let tasks = u64::from(draft.tasks.unwrap_or(1));
        self.per_job
            .max(self.per_node.saturating_mul(nodes))
            .max(self.per_socket.saturating_mul(nodes * sockets))
            .max(self.per_task.saturating_mul(tasks))
    }
}

/// The needs of a submission. Completes `draft` by what they say.
pub(super) fn needs(
    submission: &Submission,
    draft: &mut Draft,
    known: &impl Fn(&str) -> bool,
) -> Result<Vec<GresNeed>, SlurmError> {
    let mut needs = collect(submission, draft)?;
    if needs.iter().any(|need| !known(&need.name)) {
        return Err(SlurmError::InvalidGres);
    }
    imply_tasks(submission, draft);
    let gpus = needs.iter().any(|need| need.name == "gpu" && !need.counts_nothing());
    if (submission.per_gpu.cpus.is_some() || submission.per_gpu.memory.is_some()) && !gpus {
        return Err(SlurmError::InvalidGres);
    }
    let cpus_per = submission.per_gpu.cpus.map_or(0, u64::from);
    let mut gpu_cpus = 0_u64;
    for need in &mut needs {
        agree(need, draft).ok_or(SlurmError::InvalidGres)?;
        if need.name == "gpu" {
            gpu_cpus = gpu_cpus.saturating_add(cpus_per.saturating_mul(need.total(draft)));
        }
    }
    if draft.min_cpus.is_some_and(|cpus| cpus < gpu_cpus) {
        draft.min_cpus = Some(gpu_cpus);
    }
    merge_generic(&mut needs)?;
    Ok(needs)
}

fn collect(submission: &Submission, draft: &mut Draft) -> Result<Vec<GresNeed>, SlurmError> {
    let mut needs = vec![];
    if let Some(cpus) = submission.per_gpu.cpus {
        find(&mut needs, "gpu", None).cpus_per = cpus;
    }
    for per in [GresPer::Job, GresPer::Node, GresPer::Socket, GresPer::Task] {
        for ask in submission.gres.iter().filter(|ask| ask.per == per && ask.count != 0) {
            set(find(&mut needs, &ask.name, ask.kind.as_deref()), ask);
        }
    }
    if let Some(mib) = submission.per_gpu.memory {
        find(&mut needs, "gpu", None).memory_per = mib;
    }
    if let Some(tasks_per) = draft.tasks_per_gpu {
        let gpus: u64 =
            needs.iter().filter(|need| need.name == "gpu").map(|n| n.total(draft)).sum();
        match (gpus, draft.tasks) {
            (0, Some(tasks)) => {
                find(&mut needs, "gpu", None).per_job = u64::from(tasks / tasks_per);
            }
            (0, None) => return Err(SlurmError::InvalidGres),
            (gpus, _) => {
                let tasks = gpus.saturating_mul(tasks_per.into());
                draft.tasks = Some(u32::try_from(tasks).unwrap_or(u32::MAX));
            }
        }
        for need in &mut needs {
            need.tasks_per = tasks_per;
        }
    }
    Ok(needs)
}

fn find<'a>(needs: &'a mut Vec<GresNeed>, name: &str, kind: Option<&str>) -> &'a mut GresNeed {
    let same = |need: &GresNeed| need.name == name && need.kind.as_deref() == kind;
    let at = needs.iter().position(same).unwrap_or_else(|| {
        needs.push(GresNeed::new(name, kind));
        needs.len() - 1
    });
    &mut needs[at]
}

fn set(need: &mut GresNeed, ask: &GresAsk) {
    let count = ask.count.min(COUNT_MAX);
    match ask.per {
        GresPer::Job => need.per_job = count,
        GresPer::Node => need.per_node = count,
        GresPer::Socket => need.per_socket = count,
        GresPer::Task => need.per_task = count,
    }
}

/// Devices for each task, on a fixed number of nodes, say how many tasks there are.
fn imply_tasks(submission: &Submission, draft: &mut Draft) {
    let per_task = submission.gres.iter().any(|ask| ask.per == GresPer::Task);
    let fixed = draft.min_nodes.is_some() && draft.min_nodes == draft.max_nodes;
    if per_task && fixed && draft.tasks.is_none() {
        let nodes = draft.min_nodes.unwrap_or(1);
        match draft.ntasks_per_node {
            Some(per_node) => draft.tasks = Some(nodes.saturating_mul(per_node)),
            None if draft.cpus_per_task.is_none() => draft.tasks = Some(nodes),
            None => {}
        }
    }
}

/// Whether the counts of one need agree with each other and with the rest; settles what they imply.
fn agree(need: &mut GresNeed, draft: &mut Draft) -> Option<()> {
    let GresNeed { per_job, per_node, per_socket, per_task, .. } = *need;
    let least = per_node.max(per_socket).max(per_task);
    let sound = (per_job == 0 || least <= per_job)
        && (per_node == 0 || per_socket.max(per_task) <= per_node)
        && (per_socket == 0 || draft.sockets_per_node.is_some());
    sound.then_some(())?;
    if per_job != 0 && per_node != 0 {
        let nodes = u32::try_from(whole(per_job, per_node)?).ok()?;
        let least = draft.min_nodes.unwrap_or(1);
        (least <= nodes && nodes <= draft.max_nodes.unwrap_or(u32::MAX)).then_some(())?;
        (draft.min_nodes, draft.max_nodes) = (Some(nodes), Some(nodes));
    }
    if per_node != 0 && per_socket != 0 {
        settle(&mut draft.sockets_per_node, whole(per_node, per_socket)?)?;
    }
    if need.tasks_per != 0 && draft.tasks.is_some_and(|tasks| tasks % need.tasks_per != 0) {
        return None;
    }
    if per_task != 0 {
        agree_on_tasks(need, draft)?;
    }
    if per_node != 0 && per_task != 0 {
        settle(&mut draft.ntasks_per_node, whole(per_node, per_task)?)?;
    }
    if per_socket != 0 && per_task != 0 {
        settle(&mut draft.ntasks_per_socket, whole(per_socket, per_task)?)?;
    }
    if need.cpus_per != 0 && per_task != 0 {
        settle(&mut draft.cpus_per_task, per_task * u64::from(need.cpus_per))?;
    }
    if need.per_job != 0 {
        let most = u32::try_from(need.per_job).unwrap_or(u32::MAX);
        draft.min_nodes.is_none_or(|nodes| nodes <= most).then_some(())?;
        draft.max_nodes = draft.max_nodes.map(|nodes| nodes.min(most));
    }
    Some(())
}

fn agree_on_tasks(need: &mut GresNeed, draft: &mut Draft) -> Option<()> {
    match (need.per_job, draft.tasks) {
        (0, None) => return None,
        (0, Some(tasks)) => need.per_job = need.per_task.saturating_mul(tasks.into()),
        (per_job, tasks) => {
            let implied = u32::try_from(whole(per_job, need.per_task)?).ok()?;
            tasks.is_none_or(|tasks| tasks == implied).then_some(())?;
            draft.tasks = Some(implied);
        }
    }
    Some(())
}

/// How often `part` goes into `all`, if nothing remains.
const fn whole(all: u64, part: u64) -> Option<u64> {
    if all.is_multiple_of(part) { Some(all / part) } else { None }
}

/// Sets a number, or agrees with it.
fn settle(number: &mut Option<u32>, implied: u64) -> Option<()> {
    let implied = u32::try_from(implied).ok()?;
    (*number.get_or_insert(implied) == implied).then_some(())
}

/// A need of no type that only says what goes with each device is for all types.
fn merge_generic(needs: &mut Vec<GresNeed>) -> Result<(), SlurmError> {
    let typed = |needs: &[GresNeed], name: &str| {
        needs.iter().any(|need| need.name == name && need.kind.is_some())
    };
    let Some(at) = needs.iter().position(|need| need.kind.is_none() && typed(needs, &need.name))
    else {
        return Ok(());
    };
    let generic = needs.remove(at);
    if !generic.counts_nothing() {
        return Err(SlurmError::InvalidGres);
    }
    for need in needs.iter_mut().filter(|need| need.name == generic.name) {
        if need.cpus_per == 0 {
            need.cpus_per = generic.cpus_per;
        }
        if need.memory_per == 0 {
            need.memory_per = generic.memory_per;
        }
    }
    merge_generic(needs)
}

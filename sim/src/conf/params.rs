//! The parameters that the model honours, under slurm.conf's own names and with its defaults.

use crate::{IndexSet, LicenseAsk, Span, array::read_tasks};

use super::{
    BackfillParams, ConfError, Defer, Note, PriorityParams, SchedulerType, known, line::Word,
    priority, scheduling, value,
};

/// Largest number of a job: the bits above say which cluster of a federation it is of.
const JOB_ID_MAX: u32 = 0x03ff_ffff;

/// Parameters, each with the value that Slurm gives it when `slurm.conf` is silent.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// `ClusterName`.
    pub cluster_name: String,
    /// `SelectTypeParameters`: what is given out.
    pub unit: ResourceUnit,
    /// `SelectTypeParameters=…_Memory`: memory is given out too.
    pub memory: bool,
    /// `SelectTypeParameters=CR_LLN`: least loaded nodes first.
    pub lln: bool,
    /// `SelectTypeParameters=CR_ONE_TASK_PER_CORE`: a core for each task.
    pub one_task_per_core: bool,
    /// `SelectTypeParameters=CR_CORE_DEFAULT_DIST_BLOCK`: cores of one socket after the other.
    pub block_cores: bool,
    /// `SchedulerType`.
    pub scheduler: SchedulerType,
    /// `SchedulerParameters=batch_sched_delay`.
    pub batch_sched_delay: Span,
    /// `SchedulerParameters=sched_interval`; `None` is never.
    pub sched_interval: Option<Span>,
    /// `SchedulerParameters=sched_min_interval`, to the millisecond.
    pub sched_min_interval: Span,
    /// `SchedulerParameters=default_queue_depth`.
    pub default_queue_depth: usize,
    /// `SchedulerParameters=partition_job_depth`; 0 is without a limit.
    pub partition_job_depth: usize,
    /// `SchedulerParameters=defer`, `defer_batch`.
    pub defer: Defer,
    /// `SchedulerParameters=enable_user_top`: users may order their own jobs.
    pub enable_user_top: bool,
    /// `SchedulerParameters=sched_max_job_start`; 0 is without a limit.
    pub sched_max_job_start: usize,
    /// `SchedulerParameters=kill_invalid_depend`.
    pub kill_invalid_depend: bool,
    /// `SchedulerParameters=bf_…`.
    pub backfill: BackfillParams,
    /// `PriorityType` and `Priority…`.
    pub priority: PriorityParams,
    /// `DefMemPerNode`, `DefMemPerCPU`.
    pub def_mem: Option<MemoryDefault>,
    /// `MaxMemPerNode`, `MaxMemPerCPU`.
    pub max_mem: Option<MemoryDefault>,
    /// `KillWait`.
    pub kill_wait: Span,
    /// `MinJobAge`; `None` keeps jobs for ever.
    pub min_job_age: Option<Span>,
    /// `OverTimeLimit`; `None` is without end.
    pub over_time_limit: Option<Span>,
    /// `FirstJobId`.
    pub first_job_id: u32,
    /// `MaxJobId`: when a number comes to it, the next one is `first_job_id` again.
    pub max_job_id: u32,
    /// `MaxArraySize`: indices of tasks lie below it.
    pub max_array_size: u32,
    /// `Licenses`.
    pub licenses: LicenseAsk,
    /// `RequeueExit`: exit codes that queue a job again.
    pub requeue_exit: IndexSet,
    /// `RequeueExitHold`: exit codes that queue a job again, held.
    pub requeue_exit_hold: IndexSet,
    /// `PrologFlags=Alloc`: the prolog runs as soon as nodes are allocated.
    pub prolog_at_allocation: bool,
    /// `MaxJobCount`.
    pub max_job_count: usize,
    /// `ReturnToService`.
    pub return_to_service: u32,
    /// `AccountingStorageEnforce` is set: a job needs an association.
    pub enforce_associations: bool,
    /// It names `qos`: a job may use only what its association lets it.
    pub enforce_qos: bool,
    /// `EnforcePartLimits`.
    pub enforce_part_limits: EnforcePartLimits,
    /// `DisableRootJobs`.
    pub disable_root_jobs: bool,
    /// `DefMemPerGPU`, MiB.
    pub def_mem_per_gpu: Option<u64>,
    /// `DefCpuPerGPU`.
    pub def_cpus_per_gpu: Option<u32>,
    /// `MaxNodeCount`: places for nodes, those for dynamic ones too.
    pub max_node_count: Option<u32>,
    /// `SlurmdTimeout`; zero is never.
    pub slurmd_timeout: Span,
    /// `MessageTimeout`: how long slurmctld waits for a slurmd's answer.
    pub message_timeout: Span,
    /// `ReconfigFlags`.
    pub reconfig: ReconfigFlags,
    /// `JobRequeue`.
    pub job_requeue: bool,
    /// `AuthInfo=cred_expire`: how long a requeued job waits, less a second.
    pub cred_expire: Span,
    /// `GresTypes`.
    pub gres_types: Vec<String>,
}

/// `EnforcePartLimits`: whether a job is refused that no partition would run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnforcePartLimits {
    /// It waits for other limits.
    No,
    /// It is refused unless one of its partitions would run it.
    Any,
    /// It is refused unless all of its partitions would run it.
    All,
}

/// `ReconfigFlags`: what of a partition outlives a reconfiguration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReconfigFlags {
    /// `KeepPartInfo`: everything that operators changed.
    pub keep_part_info: bool,
    /// `KeepPartState`: the state.
    pub keep_part_state: bool,
}

/// What is given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceUnit {
    /// Single CPUs, counted; a core is still never shared.
    Cpu,
    /// Whole cores.
    Core,
    /// Whole sockets.
    Socket,
}

/// An amount of memory for each node or each CPU, MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryDefault {
    /// For each node.
    PerNode(u64),
    /// For each CPU.
    PerCpu(u64),
}

impl MemoryDefault {
    /// Slurm's 0 is no default at all.
    pub(super) fn per_node(mib: u64) -> Option<Self> {
        (mib != 0).then_some(Self::PerNode(mib))
    }

    pub(super) fn per_cpu(mib: u64) -> Option<Self> {
        (mib != 0).then_some(Self::PerCpu(mib))
    }
}

impl Params {
    /// From one round of pings to the next.
    pub(crate) const fn ping_interval(&self) -> Span {
        let third = self.slurmd_timeout.as_ms() / 3000;
        Span::secs(if third == 0 { 100 } else { third })
    }

    /// The values that Slurm 24.11 uses when `slurm.conf` is silent.
    pub fn as_shipped() -> Self {
        Self {
            cluster_name: "cluster".into(),
            unit: ResourceUnit::Core,
            memory: true,
            lln: false,
            one_task_per_core: false,
            block_cores: false,
            scheduler: SchedulerType::Backfill,
            batch_sched_delay: Span::secs(3),
            sched_interval: Some(Span::secs(60)),
            sched_min_interval: Span::ZERO,
            default_queue_depth: 100,
            partition_job_depth: 0,
            defer: Defer::No,
            enable_user_top: false,
            sched_max_job_start: 0,
            kill_invalid_depend: false,
            backfill: BackfillParams::as_shipped(),
            priority: PriorityParams::as_shipped(),
            def_mem: None,
            max_mem: None,
            kill_wait: Span::secs(30),
            min_job_age: Some(Span::secs(300)),
            over_time_limit: Some(Span::ZERO),
            first_job_id: 1,
            max_job_id: 0x03ff_0000,
            max_array_size: 1001,
            licenses: LicenseAsk::default(),
            requeue_exit: IndexSet::new(),
            requeue_exit_hold: IndexSet::new(),
            prolog_at_allocation: false,
            max_job_count: 10_000,
            return_to_service: 0,
            enforce_associations: false,
            enforce_qos: false,
            enforce_part_limits: EnforcePartLimits::No,
            disable_root_jobs: false,
            def_mem_per_gpu: None,
            def_cpus_per_gpu: None,
            max_node_count: None,
            slurmd_timeout: Span::secs(300),
            message_timeout: Span::secs(10),
            reconfig: ReconfigFlags::default(),
            job_requeue: true,
            cred_expire: Span::secs(120),
            gres_types: vec![],
        }
    }
}

const ENFORCED: &str = "of AccountingStorageEnforce only associations and qos are looked at, when a \
    job comes over the REST API; limits aren't enforced";

/// Reads one parameter.
pub(super) fn read(
    params: &mut Params,
    word: &Word,
    notes: &mut Vec<Note>,
) -> Result<(), ConfError> {
    if priority::read(&mut params.priority, word, notes)? {
        return Ok(());
    }
    match word.key.to_ascii_lowercase().as_str() {
        "clustername" => params.cluster_name.clone_from(&word.value),
        "selecttype" => select_type(word, notes)?,
        "selecttypeparameters" => select_parameters(params, word, notes)?,
        "schedulertype" => params.scheduler = scheduling::scheduler_type(word)?,
        "schedulerparameters" => scheduling::scheduler_parameters(params, word, notes)?,
        "defmempernode" => params.def_mem = MemoryDefault::per_node(value::megabytes(word)?),
        "defmempercpu" => params.def_mem = MemoryDefault::per_cpu(value::megabytes(word)?),
        "maxmempernode" => params.max_mem = MemoryDefault::per_node(value::megabytes(word)?),
        "maxmempercpu" => params.max_mem = MemoryDefault::per_cpu(value::megabytes(word)?),
        "defmempergpu" => {
            params.def_mem_per_gpu = value::megabytes_or_unlimited(word)?;
        }
        "defcpupergpu" => {
            params.def_cpus_per_gpu = Some(value::number(word)?);
        }
        "accountingstorageenforce" => {
            let words = || word.value.split(',').map(|word| word.trim().to_ascii_lowercase());
            let none = |word: &str| matches!(word, "" | "0" | "none");
            params.enforce_associations = words().any(|word| !none(&word));
            params.enforce_qos = words().any(|word| matches!(word.as_str(), "qos" | "all"));
            notes.push(word.place.note(ENFORCED));
        }
        "enforcepartlimits" => params.enforce_part_limits = enforce_part_limits(word)?,
        "disablerootjobs" => params.disable_root_jobs = value::yes_no(word)?,
        "maxnodecount" => params.max_node_count = Some(value::number(word)?),
        "slurmdtimeout" => params.slurmd_timeout = value::seconds(word)?,
        "messagetimeout" => params.message_timeout = value::seconds(word)?,
        "reconfigflags" => params.reconfig = reconfig_flags(word, notes)?,
        "killwait" => params.kill_wait = value::seconds(word)?,
        "minjobage" => {
            let age = value::seconds(word)?;
            params.min_job_age = (age != Span::ZERO).then_some(age);
        }
        "overtimelimit" => {
            params.over_time_limit = value::count_or_unlimited(word)?.map(|m| Span::mins(m.into()));
        }
        "firstjobid" => params.first_job_id = value::up_to(word, JOB_ID_MAX)?,
        "maxjobid" => params.max_job_id = value::up_to(word, JOB_ID_MAX)?,
        "maxjobcount" => params.max_job_count = value::positive(word)? as usize,
        "returntoservice" => {
            let at = value::one_of(word, &["0", "1", "2"])?;
            params.return_to_service = u32::try_from(at).unwrap_or_default();
        }
        "maxarraysize" => params.max_array_size = value::up_to(word, 4_000_001)?,
        "licenses" => params.licenses = licenses(word)?,
        "requeueexit" => params.requeue_exit = exit_codes(word)?,
        "requeueexithold" => params.requeue_exit_hold = exit_codes(word)?,
        "prologflags" => prolog_flags(params, word, notes)?,
        "jobrequeue" => params.job_requeue = value::one_of(word, &["0", "1"])? == 1,
        "authinfo" => auth_info(params, word, notes)?,
        "grestypes" => {
            params.gres_types = word.value.split(',').map(|name| name.trim().into()).collect();
        }
        other if known::NO_BEARING.contains(&other) => {}
        _ => return known::refuse_or_note(word, known::GLOBAL, "slurm.conf", notes),
    }
    Ok(())
}

fn enforce_part_limits(word: &Word) -> Result<EnforcePartLimits, ConfError> {
    const WORDS: [&str; 6] = ["NO", "ANY", "ALL", "YES", "0", "1"];
    value::one_of(word, &WORDS).map(|at| match at {
        0 | 4 => EnforcePartLimits::No,
        1 => EnforcePartLimits::Any,
        // YES is the old word for it.
        _ => EnforcePartLimits::All,
    })
}

fn reconfig_flags(word: &Word, notes: &mut Vec<Note>) -> Result<ReconfigFlags, ConfError> {
    let mut flags = ReconfigFlags::default();
    for part in word.value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match part.to_ascii_lowercase().as_str() {
            "keeppartinfo" => flags.keep_part_info = true,
            "keeppartstate" => flags.keep_part_state = true,
            "keepnodestatefuture" | "keeppowersavesettings" => {
                notes.push(word.place.note(format!("ReconfigFlags={part} is not honoured yet")));
            }
            _ => return Err(word.bad("write KeepPartInfo, KeepPartState")),
        }
    }
    Ok(flags)
}

fn select_type(word: &Word, notes: &mut Vec<Note>) -> Result<(), ConfError> {
    if value::one_of(word, &["select/cons_tres", "select/linear"])? == 1 {
        notes.push(word.place.note(
            "SelectType=select/linear is not modelled; nodes are given out as by select/cons_tres",
        ));
    }
    Ok(())
}

fn select_parameters(
    params: &mut Params,
    word: &Word,
    notes: &mut Vec<Note>,
) -> Result<(), ConfError> {
    const KNOWN: [&str; 11] = [
        "CR_CPU",
        "CR_CPU_Memory",
        "CR_Core",
        "CR_Core_Memory",
        "CR_Socket",
        "CR_Socket_Memory",
        "CR_Memory",
        "CR_LLN",
        "CR_Pack_Nodes",
        "CR_ONE_TASK_PER_CORE",
        "CR_CORE_DEFAULT_DIST_BLOCK",
    ];
    for part in word.value.split(',').map(str::trim) {
        let lower = part.to_ascii_lowercase();
        match lower.as_str() {
            "cr_cpu" | "cr_cpu_memory" => {
                (params.unit, params.memory) = (ResourceUnit::Cpu, lower.ends_with("_memory"));
            }
            "cr_core" | "cr_core_memory" => {
                (params.unit, params.memory) = (ResourceUnit::Core, lower.ends_with("_memory"));
            }
            "cr_socket" | "cr_socket_memory" => {
                (params.unit, params.memory) = (ResourceUnit::Socket, lower.ends_with("_memory"));
            }
            "cr_lln" => params.lln = true,
            "cr_one_task_per_core" => params.one_task_per_core = true,
            "cr_core_default_dist_block" => params.block_cores = true,
            // Seen to change nothing that is modelled.
            "cr_pack_nodes" => {}
            _ if KNOWN.iter().any(|name| name.eq_ignore_ascii_case(part)) => {
                notes.push(
                    word.place.note(format!("SelectTypeParameters={part} is not honoured yet")),
                );
            }
            _ => {
                let hint = known::did_you_mean(part, &KNOWN);
                let what = format!("SelectTypeParameters does not know `{part}`");
                return Err(word.value_place.error(what, hint));
            }
        }
    }
    Ok(())
}

fn auth_info(params: &mut Params, word: &Word, notes: &mut Vec<Note>) -> Result<(), ConfError> {
    for part in word.value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match part.split_once('=').unwrap_or((part, "")) {
            ("cred_expire", secs) => {
                let secs = secs.parse().map_err(|_| word.bad("write cred_expire=seconds"))?;
                params.cred_expire = Span::secs(secs);
            }
            // How daemons trust each other: nothing here depends on it.
            ("socket" | "ttl", _) => {}
            (key, _) => {
                notes.push(word.place.note(format!("AuthInfo={key} is not honoured yet")));
            }
        }
    }
    Ok(())
}

fn licenses(word: &Word) -> Result<LicenseAsk, ConfError> {
    LicenseAsk::parse(&word.value).ok_or_else(|| word.bad("write name:count, such as fluent:30"))
}

/// `1,5-9`: codes that a script may end with.
fn exit_codes(word: &Word) -> Result<IndexSet, ConfError> {
    let codes = read_tasks(&word.value, 256);
    codes.ok_or_else(|| word.bad("write exit codes from 0 to 255, such as 1,5-9"))
}

fn prolog_flags(params: &mut Params, word: &Word, notes: &mut Vec<Note>) -> Result<(), ConfError> {
    const KNOWN: [&str; 8] = [
        "Alloc",
        "Contain",
        "DeferBatch",
        "ForceRequeueOnFail",
        "NoHold",
        "RunInJob",
        "Serial",
        "X11",
    ];
    let parts: Vec<_> = word.value.split(',').map(str::trim).collect();
    for part in &parts {
        let Some(known) = KNOWN.iter().find(|known| known.eq_ignore_ascii_case(part)) else {
            let what = format!("PrologFlags does not know `{part}`");
            return Err(word.value_place.error(what, known::did_you_mean(part, &KNOWN)));
        };
        match *known {
            "Alloc" | "Contain" | "RunInJob" | "X11" => params.prolog_at_allocation = true,
            "NoHold" => {}
            other => {
                notes.push(word.place.note(format!("PrologFlags={other} is not honoured yet")));
            }
        }
    }
    // Nobody waits for it, so nobody sees it run.
    if parts.iter().any(|part| part.eq_ignore_ascii_case("NoHold")) {
        params.prolog_at_allocation = false;
    }
    Ok(())
}

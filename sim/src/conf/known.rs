//! The names that slurm.conf(5) of 24.11 and 26.05 knows, so that a typo is told from a parameter
//! that the model doesn't honour yet.

use super::{ConfError, Note, line::Word};

/// A known name is noted, an unknown one refused with the closest known one.
pub(super) fn refuse_or_note(
    word: &Word,
    known: &[&str],
    place: &str,
    notes: &mut Vec<Note>,
) -> Result<(), ConfError> {
    if known.iter().any(|name| word.is(name)) {
        notes.push(word.not_honoured());
        return Ok(());
    }
    let what = format!("{place} does not know `{}`", word.key);
    Err(word.place.error(what, did_you_mean(&word.key, known)))
}

/// A hint: the closest known name, or where to look.
pub(super) fn did_you_mean(name: &str, known: &[&str]) -> String {
    match closest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "see slurm.conf(5) for the names there are".into(),
    }
}

/// The known name that looks most like `name`, if any is near.
fn closest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = name.to_ascii_lowercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&lower, &known.to_ascii_lowercase());
    let near = known.iter().map(|known| (distance(known), *known)).min()?;
    (near.0 <= (name.len() / 3).max(1)).then_some(near.1)
}

/// Parameters that decide where files lie, who runs what or what is logged: nothing here depends
/// on them, so they pass without a note. Lower case.
#[rustfmt::skip]
pub(super) const NO_BEARING: &[&str] = &[
    "authalttypes", "authaltparameters", "authtype", "certmgrparameters", "certmgrtype",
    "communicationparameters", "controladdr", "controlmachine", "backupaddr", "backupcontroller",
    "credtype", "cryptotype", "cli_filter_plugins", "dataparserparameters", "debugflags",
    "hashplugin", "interactivestepoptions", "jobcompparameters", "jobcomphost", "jobcomploc",
    "jobcomppass", "jobcomppassscript", "jobcompport", "jobcomptype", "jobcompuser",
    "jobcontainertype", "jobcredentialprivatekey", "jobcredentialpubliccertificate",
    "jobacctgatherfrequency", "jobacctgatherparams", "jobacctgathertype", "launchparameters",
    "launchtype", "logtimeformat", "mailprog", "maildomain", "mpidefault",
    "mpiparams", "plugindir", "plugstackconfig", "proctracktype", "propagateprioprocess",
    "propagateresourcelimits", "propagateresourcelimitsexcept", "slurmctldaddr", "slurmctlddebug",
    "slurmctldhost", "slurmctldlogfile", "slurmctldpidfile", "slurmctldport",
    "slurmctldsyslogdebug", "slurmddebug", "slurmdlogfile", "slurmdparameters", "slurmdpidfile",
    "slurmdport", "slurmdspooldir", "slurmdsyslogdebug", "slurmduser", "slurmschedlogfile",
    "slurmschedloglevel", "slurmuser", "srunportrange", "statesavelocation", "switchtype",
    "taskplugin", "taskpluginparam", "tcptimeout", "tlsparameters", "tlstype", "tmpfs",
    "unkillablestepprogram", "unkillablesteptimeout", "accountingstoragehost",
    "accountingstoragebackuphost", "accountingstorageexternalhost", "accountingstorageparameters",
    "accountingstoragepass", "accountingstorageport",
    "accountingstorageuser", "accountingstoreflags", "acctgathernodefreq",
    "acctgatherenergytype", "acctgatherfilesystemtype", "acctgatherinterconnecttype",
    "acctgatherprofiletype", "httpparsertype", "urlparsertype", "metricstype",
    "slurmctldtimeout", "inactivelimit", "fairshareawareorder",
];

/// Parameters of slurm.conf, the honoured ones too.
#[rustfmt::skip]
pub(super) const GLOBAL: &[&str] = &[
    "AccountingStorageEnforce", "AccountingStorageTRES", "AuthInfo", "BatchStartTimeout",
    "BcastExclude", "BcastParameters", "BurstBufferType", "ClusterName", "CompleteWait",
    "CpuFreqDef", "CpuFreqGovernors", "DefCpuPerGPU", "DefMemPerCPU", "DefMemPerGPU",
    "DefMemPerNode", "DependencyParameters", "DisableRootJobs", "EioTimeout", "EnforcePartLimits",
    "Epilog", "EpilogMsgTime", "EpilogSlurmctld", "EpilogTimeout", "FederationParameters",
    "FirstJobId", "GetEnvTimeout", "GpuFreqDef", "GresTypes", "GroupUpdateForce", "GroupUpdateTime",
    "HealthCheckInterval", "HealthCheckNodeState", "HealthCheckProgram", "JobFileAppend",
    "JobRequeue", "JobSubmitPlugins", "KillOnBadExit", "KillWait", "Licenses", "MaxArraySize",
    "MaxBatchRequeue", "MaxDBDMsgs", "MaxJobCount", "MaxJobId", "MaxMemPerCPU", "MaxMemPerNode",
    "MaxNodeCount", "MaxStepCount", "MaxTasksPerNode", "MCSParameters", "MCSPlugin", "MinJobAge",
    "NodeFeaturesPlugins", "OverTimeLimit", "PreemptExemptTime", "PreemptMode",
    "PreemptParameters", "PreemptType", "PrEpParameters", "PrEpPlugins", "PriorityCalcPeriod",
    "PriorityDecayHalfLife", "PriorityFavorSmall", "PriorityFlags", "PriorityMaxAge",
    "PriorityParameters", "PrioritySiteFactorParameters", "PrioritySiteFactorPlugin",
    "PriorityType", "PriorityUsageResetPeriod", "PriorityWeightAge", "PriorityWeightAssoc",
    "PriorityWeightFairshare", "PriorityWeightJobSize", "PriorityWeightPartition",
    "PriorityWeightQOS", "PriorityWeightTRES", "PrivateData", "Prolog", "PrologEpilogTimeout",
    "PrologFlags", "PrologSlurmctld", "PrologTimeout", "RebootProgram", "ReconfigFlags",
    "RequeueExit", "RequeueExitHold", "ResumeFailProgram", "ResumeProgram", "ResumeRate",
    "ResumeTimeout", "ResvEpilog", "ResvOverRun", "ResvProlog", "ReturnToService",
    "SchedulerParameters", "SchedulerTimeSlice", "SchedulerType", "ScronParameters", "SelectType",
    "SelectTypeParameters", "SlurmctldParameters", "SlurmctldPrimaryOffProg",
    "SlurmctldPrimaryOnProg", "SrunEpilog", "SrunProlog", "SuspendExcNodes", "SuspendExcParts",
    "SuspendExcStates", "SuspendProgram", "SuspendRate", "SuspendTime", "SuspendTimeout",
    "TaskEpilog", "TaskProlog", "TopologyParam", "TopologyPlugin", "TrackWCKey", "TreeWidth",
    "UsePAM", "VSizeFactor", "WaitTime", "X11Parameters", "NodeName", "PartitionName", "NodeSet",
    "DownNodes", "SlurmctldHost", "SlurmUser", "SlurmdPort", "SlurmctldPort", "SlurmdSpoolDir",
    "StateSaveLocation", "SlurmctldLogFile", "SlurmdLogFile", "SlurmctldPidFile", "SlurmdPidFile",
    "AuthType", "ProctrackType", "TaskPlugin", "SwitchType", "MpiDefault", "JobAcctGatherType",
    "AccountingStorageType", "AccountingStorageHost", "SlurmctldDebug", "SlurmdDebug",
    "SlurmctldTimeout", "SlurmdTimeout", "InactiveLimit", "MessageTimeout", "CommunicationParameters",
];

/// Words of a NodeName line.
#[rustfmt::skip]
pub(super) const NODE: &[&str] = &[
    "NodeName", "BcastAddr", "Boards", "CoreSpecCount", "CoresPerSocket", "CpuBind", "CPUs",
    "CpuSpecList", "Features", "Feature", "Gres", "GresConf", "MemSpecLimit", "NodeAddr",
    "NodeHostname", "Parameters", "Port", "Procs", "RealMemory", "Reason", "RestrictedCoresPerGPU", "Sockets",
    "SocketsPerBoard", "State", "ThreadsPerCore", "TmpDisk", "Topology", "Weight",
];

/// Words of a PartitionName line.
#[rustfmt::skip]
pub(super) const PARTITION: &[&str] = &[
    "PartitionName", "AllocNodes", "AllowAccounts", "AllowGroups", "AllowQos", "Alternate",
    "CpuBind", "Default", "DefaultTime", "DefCpuPerGPU", "DefMemPerCPU", "DefMemPerGPU",
    "DefMemPerNode", "DenyAccounts", "DenyQos", "DisableRootJobs", "ExclusiveTopo",
    "ExclusiveUser", "GraceTime", "Hidden", "LLN", "MaxCPUsPerNode", "MaxCPUsPerSocket",
    "MaxMemPerCPU", "MaxMemPerNode", "MaxNodes", "MaxTime", "MinNodes", "Nodes", "OverSubscribe",
    "OverTimeLimit", "PowerDownOnIdle", "PreemptMode", "Priority", "PriorityJobFactor",
    "PriorityTier", "QOS", "ReqResv", "ResumeTimeout", "RootOnly", "SelectTypeParameters",
    "Shared", "State", "SuspendTime", "SuspendTimeout", "Topology", "TRESBillingWeights",
];

/// Keys of SchedulerParameters, lower case.
#[rustfmt::skip]
pub(super) const SCHEDULER: &[&str] = &[
    "allow_zero_lic", "assoc_limit_stop", "batch_sched_delay", "bb_array_stage_cnt",
    "bf_allow_magnetic_slot", "bf_busy_nodes", "bf_continue", "bf_hetjob_immediate",
    "bf_hetjob_prio", "bf_interval", "bf_job_part_count_reserve", "bf_licenses",
    "bf_max_job_array_resv", "bf_max_job_assoc", "bf_max_job_part", "bf_max_job_start",
    "bf_max_job_test", "bf_max_job_user", "bf_max_job_user_part", "bf_max_time",
    "bf_min_age_reserve", "bf_min_prio_reserve", "bf_node_space_size", "bf_one_resv_per_job",
    "bf_resolution", "bf_running_job_reserve", "bf_topopt_enable", "bf_topopt_iterations",
    "bf_window", "bf_window_linear", "bf_yield_interval", "bf_yield_sleep",
    "build_queue_timeout", "correspond_after_task_cnt", "default_queue_depth", "defer",
    "defer_batch", "delay_boot", "disable_hetjob_steps", "disable_job_shrink", "enable_hetjob_steps",
    "enable_job_state_cache", "enable_user_top", "extra_constraints", "ignore_constraint_validation",
    "ignore_numa", "ignore_prefer_validation", "kill_invalid_depend", "max_array_tasks",
    "max_rpc_cnt", "max_sched_time", "max_script_size", "max_submit_line_size", "max_switch_wait",
    "no_backup_scheduling", "nohold_on_prolog_fail", "no_env_cache", "pack_serial_at_end",
    "partition_job_depth", "preempt_reorder_count", "preempt_send_user_signal",
    "preempt_strict_order", "preempt_youngest_first", "reduce_completing_frag",
    "requeue_delay", "requeue_setup_env_fail", "salloc_wait_nodes", "sbatch_wait_nodes",
    "sched_interval", "sched_max_job_start", "sched_min_interval", "spec_cores_first",
    "step_retry_count", "step_retry_time", "time_min_as_soft_limit", "whole_hetjob", "whole_pack",
];

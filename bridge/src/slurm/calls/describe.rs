//! A job to submit, or how one shall be changed.

mod revision;

use drawbridge_core::slurm::{ApiVersion, Memory, Submission, Wishes};
use drawbridge_sim::SlurmNode;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Unserved, served};
use crate::slurm::types::Number;

/// The flag of a job without a script.
const EXTERNAL_JOB: &str = "EXTERNAL_JOB";

/// Declares a struct of which everything may be left out.
macro_rules! description {
    ($($(#[$note:meta])* $field:ident: $kind:ty,)*) => {
        /// A job as `sbatch` describes it. What is `None` isn't sent. Limits are minutes, memory is
        /// MiB, times are seconds since the epoch.
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        #[allow(missing_docs, reason = "named as on the wire; the vendor's document explains them")]
        pub struct JobDescription {
            $($(#[$note])* #[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<$kind>,)*
        }
    };
}

description! {
    account: String,
    account_gather_frequency: String,
    admin_comment: String,
    argv: Vec<String>,
    array: String,
    batch_features: String,
    begin_time: Number,
    burst_buffer: String,
    cluster_constraint: String,
    clusters: String,
    comment: String,
    constraints: String,
    container: String,
    container_id: String,
    /// Since v0.0.45.
    container_type: String,
    contiguous: bool,
    core_specification: u32,
    /// v0.0.40 and v0.0.45 only.
    cores_per_socket: u32,
    cpu_binding: String,
    cpu_binding_flags: Vec<String>,
    cpu_frequency: String,
    cpus_per_task: u32,
    cpus_per_tres: String,
    /// Must be set for a batch job.
    current_working_directory: String,
    deadline: u64,
    delay_boot: u32,
    dependency: String,
    distribution: String,
    /// Plain in v0.0.40, with flags later.
    distribution_plane_size: u32,
    end_time: u64,
    /// Must be set and have something in it for a batch job.
    environment: Vec<String>,
    excluded_nodes: Vec<String>,
    extra: String,
    flags: Vec<String>,
    group_id: String,
    hold: bool,
    immediate: bool,
    kill_on_node_fail: bool,
    kill_warning_delay: Number,
    kill_warning_flags: Vec<String>,
    kill_warning_signal: String,
    licenses: String,
    mail_type: Vec<String>,
    mail_user: String,
    maximum_cpus: u32,
    maximum_nodes: u32,
    mcs_label: String,
    memory_binding: String,
    memory_binding_type: Vec<String>,
    memory_per_cpu: Number,
    memory_per_node: Number,
    memory_per_tres: String,
    minimum_boards_per_node: u32,
    minimum_cpus: u32,
    minimum_cpus_per_node: u32,
    minimum_nodes: u32,
    minimum_sockets_per_board: u32,
    name: String,
    network: String,
    nice: i32,
    /// A range: `2-4`.
    nodes: String,
    ntasks_per_tres: u32,
    /// Since v0.0.42.
    oom_kill_step: i32,
    open_mode: Vec<String>,
    overcommit: bool,
    partition: String,
    prefer: String,
    priority: Number,
    profile: Vec<String>,
    qos: String,
    reboot: bool,
    requeue: bool,
    required_nodes: Vec<String>,
    required_switches: Number,
    reservation: String,
    reserve_ports: u32,
    script: String,
    /// Since v0.0.41.
    segment_size: Number,
    selinux_context: String,
    /// `["none"]` takes whole nodes. The older `exclusive` is ignored since v0.0.42.
    shared: Vec<String>,
    site_factor: i32,
    sockets_per_node: u32,
    spank_environment: Vec<String>,
    standard_error: String,
    standard_input: String,
    standard_output: String,
    tasks: u32,
    tasks_per_board: u32,
    tasks_per_core: u32,
    tasks_per_node: u32,
    tasks_per_socket: u32,
    temporary_disk_per_node: u32,
    thread_specification: u32,
    threads_per_core: u32,
    time_limit: Number,
    time_minimum: Number,
    tres_bind: String,
    tres_freq: String,
    tres_per_job: String,
    tres_per_node: String,
    tres_per_socket: String,
    tres_per_task: String,
    user_id: String,
    wait_all_nodes: bool,
    wait_for_switch: u32,
    wckey: String,
}

impl JobDescription {
    /// As this version writes it, or what in it the version doesn't know.
    pub fn body(&self, version: ApiVersion) -> Result<Map<String, Value>, Unserved> {
        let Value::Object(mut body) = json!(self) else { return Ok(Map::new()) };
        if let Some(size) = self.distribution_plane_size
            && served::has_flags(version)
        {
            body.insert("distribution_plane_size".to_owned(), json!(Number::Is(size.into())));
        }
        served::check(&body, version)?;
        Ok(body)
    }
}

impl From<&Submission> for JobDescription {
    fn from(job: &Submission) -> Self {
        // Destructured so that a new field can't be forgotten here.
        let Submission {
            name,
            script,
            partition,
            account,
            qos,
            reservation,
            wckey,
            licenses,
            constraints,
            user_id,
            group_id,
            tasks,
            cpus_per_task,
            memory,
            tres_per_task,
            tres_per_node,
            tasks_per_node,
            min_nodes,
            max_nodes,
            excluded_nodes,
            required_nodes,
            time_limit_minutes,
            priority,
            wishes,
            exclusive,
            admin_comment,
            mcs_label,
        } = job.clone();
        let (per_node, per_cpu) = match memory {
            Memory::PerNode(mib) => (Some(mib), None),
            Memory::PerCpu(mib) => (None, Some(mib)),
        };
        let names = |nodes: &[SlurmNode]| {
            let names: Vec<String> = nodes.iter().map(ToString::to_string).collect();
            (!names.is_empty()).then_some(names)
        };
        Self {
            name: Some(name),
            flags: script.is_none().then(|| vec![EXTERNAL_JOB.to_owned()]),
            script,
            partition: partition.map(|name| name.to_string()),
            account,
            qos,
            reservation,
            wckey,
            licenses,
            constraints,
            user_id,
            group_id,
            tasks: Some(tasks),
            cpus_per_task: Some(cpus_per_task),
            memory_per_node: per_node.map(Number::Is),
            memory_per_cpu: per_cpu.map(Number::Is),
            tres_per_task,
            tres_per_node,
            tasks_per_node,
            minimum_nodes: min_nodes,
            maximum_nodes: max_nodes,
            excluded_nodes: names(&excluded_nodes),
            required_nodes: names(&required_nodes),
            time_limit: time_limit_minutes.map(|minutes| Number::Is(minutes.into())),
            priority: priority.map(|priority| Number::Is(priority.into())),
            shared: exclusive.then(|| vec!["none".to_owned()]),
            admin_comment: Some(admin_comment),
            mcs_label,
            ..Self::of_wishes(wishes)
        }
    }
}

impl JobDescription {
    /// When it may run and the like, in its surroundings.
    fn of_wishes(wishes: Wishes) -> Self {
        let Wishes { begin_time, deadline, dependency, nice, comment, prefer, signal, switches } =
            wishes;
        Self {
            begin_time: begin_time.map(Number::Is),
            deadline,
            dependency,
            nice,
            comment,
            prefer,
            kill_warning_delay: signal.as_ref().map(|it| Number::Is(it.seconds_before.into())),
            kill_warning_signal: signal.map(|it| it.signal),
            required_switches: switches.map(|it| Number::Is(it.count.into())),
            wait_for_switch: switches.and_then(|it| it.wait_seconds),
            ..Self::surroundings()
        }
    }

    /// What a placeholder needs around its script: slurmctld refuses a job without an environment
    /// or a directory, and its output interests nobody.
    fn surroundings() -> Self {
        Self {
            environment: Some(vec!["PATH=/usr/bin:/bin".to_owned()]),
            current_working_directory: Some("/tmp".to_owned()),
            standard_output: Some("/dev/null".to_owned()),
            standard_error: Some("/dev/null".to_owned()),
            ..Self::default()
        }
    }
}

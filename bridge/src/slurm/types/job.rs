//! A job as slurmctld knows it.

use super::{JobResources, Number, Real, wire};

wire! {
    /// A job, with everything that `squeue` and `scontrol show job` print. Times are seconds since
    /// the epoch, limits are minutes, memory is MiB.
    Job {
        account: String,
        accrue_time: Number,
        admin_comment: String,
        allocating_node: String,
        array_job_id: Number,
        array_task_id: Number,
        array_max_tasks: Number,
        array_task_string: String,
        association_id: i64,
        batch_features: String,
        batch_flag: bool,
        batch_host: String,
        flags: Vec<String>,
        burst_buffer: String,
        burst_buffer_state: String,
        cluster: String,
        cluster_features: String,
        command: String,
        comment: String,
        container: String,
        container_id: String,
        /// Since v0.0.45.
        container_type: String,
        contiguous: bool,
        core_spec: i64,
        thread_spec: i64,
        cores_per_socket: Number,
        billable_tres: Real,
        cpus_per_task: Number,
        cpu_frequency_minimum: Number,
        cpu_frequency_maximum: Number,
        cpu_frequency_governor: Number,
        cpus_per_tres: String,
        cron: String,
        deadline: Number,
        delay_boot: Number,
        dependency: String,
        derived_exit_code: ExitCode,
        eligible_time: Number,
        end_time: Number,
        excluded_nodes: String,
        exit_code: ExitCode,
        extra: String,
        failed_node: String,
        features: String,
        federation_origin: String,
        federation_siblings_active: String,
        federation_siblings_viable: String,
        gres_detail: Vec<String>,
        group_id: i64,
        group_name: String,
        het_job_id: Number,
        het_job_id_set: String,
        het_job_offset: Number,
        job_id: u32,
        /// `None` while it has no nodes.
        job_resources: Option<JobResources>,
        job_size_str: Vec<String>,
        /// One base state, and flags beside it.
        job_state: Vec<String>,
        last_sched_evaluation: Number,
        licenses: String,
        /// Since v0.0.43.
        licenses_allocated: String,
        mail_type: Vec<String>,
        mail_user: String,
        max_cpus: Number,
        max_nodes: Number,
        mcs_label: String,
        memory_per_tres: String,
        /// Since v0.0.45.
        memory_update_delay: i64,
        /// Since v0.0.45.
        memory_update_margin: i64,
        name: String,
        network: String,
        /// As a host list: `n[003-006]`.
        nodes: String,
        nice: i64,
        tasks_per_core: Number,
        tasks_per_tres: Number,
        tasks_per_node: Number,
        tasks_per_socket: Number,
        tasks_per_board: Number,
        cpus: Number,
        node_count: Number,
        tasks: Number,
        partition: String,
        prefer: String,
        memory_per_cpu: Number,
        memory_per_node: Number,
        minimum_cpus_per_node: Number,
        minimum_tmp_disk_per_node: Number,
        preempt_time: Number,
        preemptable_time: Number,
        pre_sus_time: Number,
        hold: bool,
        priority: Number,
        /// Since v0.0.42.
        priority_by_partition: Vec<PartitionPriority>,
        profile: Vec<String>,
        qos: String,
        reboot: bool,
        required_nodes: String,
        /// `minimum_switches` up to v0.0.41.
        #[serde(alias = "minimum_switches")]
        required_switches: i64,
        requeue: bool,
        resize_time: Number,
        restart_cnt: i64,
        resv_name: String,
        scheduled_nodes: String,
        /// Since v0.0.43.
        segment_size: i64,
        selinux_context: String,
        /// `none` where it takes whole nodes; empty where it shares them.
        shared: Vec<String>,
        sockets_per_board: i64,
        sockets_per_node: Number,
        start_time: Number,
        state_description: String,
        /// One word; `None` where there is no reason.
        state_reason: String,
        standard_error: String,
        standard_input: String,
        standard_output: String,
        /// Since v0.0.43.
        stdin_expanded: String,
        /// Since v0.0.43.
        stdout_expanded: String,
        /// Since v0.0.43.
        stderr_expanded: String,
        /// Since v0.0.44.
        step_id: JobStep,
        /// Since v0.0.44.
        submit_line: String,
        submit_time: Number,
        suspend_time: Number,
        system_comment: String,
        time_limit: Number,
        time_minimum: Number,
        threads_per_core: Number,
        tres_bind: String,
        tres_freq: String,
        tres_per_job: String,
        tres_per_node: String,
        tres_per_socket: String,
        tres_per_task: String,
        tres_req_str: String,
        tres_alloc_str: String,
        user_id: i64,
        user_name: String,
        maximum_switch_wait_time: i64,
        wckey: String,
        current_working_directory: String,
    }

    /// How a job or step ended: `status` says which of the two numbers counts.
    ExitCode {
        status: Vec<String>,
        return_code: Number,
        signal: ExitSignal,
    }

    /// The signal that ended it.
    ExitSignal {
        id: Number,
        name: String,
    }

    /// A job's identity since v0.0.44.
    JobStep {
        sluid: String,
        job_id: Number,
        step_het_component: Number,
        step_id: String,
    }

    /// A job's priority in one of its partitions.
    PartitionPriority {
        partition: String,
        priority: i64,
    }
}

impl Job {
    /// Whether this word is among its states.
    pub fn is(&self, state: &str) -> bool {
        self.job_state.iter().any(|word| word == state)
    }
}

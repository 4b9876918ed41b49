//! What slurmdbd keeps: jobs that were, accounts, users.

use super::{ExitCode, Number, wire};

wire! {
    /// A job in the records, with everything that `sacct` prints.
    AccountingJob {
        account: String,
        comment: AccountingComment,
        allocation_nodes: i64,
        array: AccountingArray,
        association: AssociationId,
        block: String,
        cluster: String,
        constraints: String,
        container: String,
        derived_exit_code: ExitCode,
        time: AccountingTime,
        exit_code: ExitCode,
        /// Since v0.0.45.
        exclusive: String,
        extra: String,
        failed_node: String,
        flags: Vec<String>,
        group: String,
        het: HetJob,
        job_id: u32,
        name: String,
        licenses: String,
        mcs: McsLabel,
        nodes: String,
        /// Since v0.0.45.
        original_sluid: String,
        /// Since v0.0.45.
        oversubscribe: String,
        partition: String,
        hold: bool,
        priority: Number,
        qos: String,
        /// Since v0.0.42.
        qosreq: String,
        required: AccountingRequired,
        kill_request_user: String,
        reservation: AccountingReservation,
        /// Since v0.0.42.
        restart_cnt: i64,
        script: String,
        /// Since v0.0.43.
        segment_size: i64,
        /// Since v0.0.45.
        sluid: String,
        state: AccountingState,
        steps: Vec<Step>,
        stdin: String,
        stdout: String,
        stderr: String,
        stdin_expanded: String,
        stdout_expanded: String,
        stderr_expanded: String,
        submit_line: String,
        tres: TresPair,
        used_gres: String,
        user: String,
        wckey: WckeyUse,
        working_directory: String,
    }

    /// Comments on a job.
    AccountingComment {
        administrator: String,
        job: String,
        system: String,
    }

    /// A job's place in an array.
    AccountingArray {
        job_id: i64,
        limits: ArrayLimits,
        task_id: Number,
        task: String,
    }

    /// What an array may have at a time.
    ArrayLimits {
        max: ArrayMaximum,
    }

    /// The most of it.
    ArrayMaximum {
        running: ArrayRunning,
    }

    /// How many tasks may run.
    ArrayRunning {
        tasks: u32,
    }

    /// Who, in which account, on which cluster.
    AssociationId {
        account: String,
        cluster: String,
        partition: String,
        user: String,
        id: i64,
    }

    /// When things happened, in seconds since the epoch, and how long they took, in seconds. The
    /// limit is minutes.
    AccountingTime {
        elapsed: i64,
        eligible: i64,
        end: i64,
        /// Since v0.0.41.
        planned: Number,
        start: i64,
        submission: i64,
        suspended: i64,
        limit: Number,
        system: CpuTime,
        total: CpuTime,
        user: CpuTime,
    }

    /// CPU time.
    CpuTime {
        seconds: i64,
        microseconds: i64,
    }

    /// A job's place in a heterogeneous job.
    HetJob {
        job_id: i64,
        job_offset: Number,
    }

    /// A security label.
    McsLabel {
        label: String,
    }

    /// What a job asked for.
    AccountingRequired {
        #[serde(rename = "CPUs")]
        cpus: i64,
        memory_per_cpu: Number,
        memory_per_node: Number,
    }

    /// The reservation that a job used.
    AccountingReservation {
        id: i64,
        name: String,
        /// Since v0.0.43.
        requested: String,
    }

    /// A job's state and why.
    AccountingState {
        current: Vec<String>,
        reason: String,
    }

    /// What was asked for, what was given.
    TresPair {
        allocated: Vec<Tres>,
        requested: Vec<Tres>,
    }

    /// So much of one resource.
    Tres {
        #[serde(rename = "type")]
        kind: String,
        name: String,
        id: i64,
        count: i64,
    }

    /// A workload key, and whether it was the default.
    WckeyUse {
        wckey: String,
        flags: Vec<String>,
    }

    /// A step of a job.
    Step {
        time: StepTime,
        exit_code: ExitCode,
        nodes: StepNodes,
        tasks: StepTasks,
        #[serde(rename = "CPU")]
        cpu: StepCpu,
        kill_request_user: String,
        state: Vec<String>,
        statistics: StepStatistics,
        step: StepId,
        /// Since v0.0.45.
        submit_line: String,
        task: StepTask,
        tres: StepTres,
    }

    /// When a step began and ended, and how long it took.
    StepTime {
        elapsed: i64,
        end: Number,
        start: Number,
        suspended: i64,
        /// Since v0.0.43.
        limit: Number,
        system: CpuTime,
        total: CpuTime,
        user: CpuTime,
    }

    /// Where a step ran.
    StepNodes {
        count: i64,
        range: String,
        list: Vec<String>,
    }

    /// How many tasks a step had.
    StepTasks {
        count: i64,
    }

    /// The frequencies that a step asked for.
    StepCpu {
        requested_frequency: StepFrequency,
        governor: String,
    }

    /// A range of frequencies.
    StepFrequency {
        min: Number,
        max: Number,
    }

    /// What was measured of a step.
    StepStatistics {
        #[serde(rename = "CPU")]
        cpu: StepUsage,
    }

    /// The frequency that was measured.
    StepUsage {
        actual_frequency: i64,
    }

    /// A step's name.
    StepId {
        id: String,
        name: String,
        stdin: String,
        stdout: String,
        stderr: String,
    }

    /// How tasks were dealt out.
    StepTask {
        distribution: String,
    }

    /// What a step was given.
    StepTres {
        allocated: Vec<Tres>,
    }

    /// An account.
    Account {
        associations: Vec<AssociationId>,
        coordinators: Vec<Coordinator>,
        description: String,
        name: String,
        organization: String,
        flags: Vec<String>,
    }

    /// Who looks after an account.
    Coordinator {
        name: String,
        direct: bool,
    }

    /// A user.
    User {
        administrator_level: Vec<String>,
        associations: Vec<AssociationId>,
        coordinators: Vec<Coordinator>,
        default: UserDefaults,
        flags: Vec<String>,
        name: String,
        old_name: String,
    }

    /// What a user's jobs get where they say nothing.
    UserDefaults {
        account: String,
        wckey: String,
        /// Since v0.0.44.
        qos: i64,
    }
}

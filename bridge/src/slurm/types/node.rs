//! A node as slurmctld knows it.

use super::{Number, Real, wire};

wire! {
    /// A node, with everything that `sinfo` and `scontrol show node` print. Memory is MiB.
    Node {
        architecture: String,
        burstbuffer_network_address: String,
        boards: i64,
        boot_time: Number,
        cluster_name: String,
        cores: i64,
        specialized_cores: i64,
        cpu_binding: i64,
        /// Hundredths.
        cpu_load: i64,
        free_mem: Number,
        cpus: u32,
        effective_cpus: i64,
        specialized_cpus: String,
        energy: Energy,
        extra: String,
        features: Vec<String>,
        active_features: Vec<String>,
        gpu_spec: String,
        gres: String,
        gres_drained: String,
        gres_used: String,
        instance_id: String,
        instance_type: String,
        last_busy: Number,
        mcs_label: String,
        specialized_memory: i64,
        name: String,
        next_state_after_reboot: Vec<String>,
        address: String,
        hostname: String,
        /// One base state, and flags beside it.
        state: Vec<String>,
        operating_system: String,
        owner: String,
        partitions: Vec<String>,
        port: i64,
        real_memory: u64,
        res_cores_per_gpu: i64,
        comment: String,
        reason: String,
        reason_changed_at: Number,
        reason_set_by_user: String,
        resume_after: Number,
        reservation: String,
        alloc_memory: i64,
        alloc_cpus: i64,
        alloc_idle_cpus: i64,
        tres_used: String,
        /// Up to v0.0.44.
        tres_weighted: Real,
        slurmd_start_time: Number,
        sockets: i64,
        /// Since v0.0.45.
        suspend_time: Number,
        threads: i64,
        temporary_disk: i64,
        tls_cert_last_renewal: Number,
        cert_flags: Vec<String>,
        /// Since v0.0.43.
        topology: String,
        weight: i64,
        tres: String,
        version: String,
    }

    /// What a node's sensors say.
    Energy {
        average_watts: i64,
        base_consumed_energy: i64,
        consumed_energy: i64,
        current_watts: Number,
        previous_consumed_energy: i64,
        last_collected: i64,
    }

    /// What a job was given on one node, since v0.0.44.
    NodeGrant {
        node: String,
        sockets_per_node: i64,
        cores_per_socket: i64,
        /// MiB.
        mem_alloc: u64,
        /// `0-3,8`
        core_bitmap: String,
        channel: Number,
        gres: Vec<Gres>,
    }

    /// Devices that a job was given.
    Gres {
        name: String,
        #[serde(rename = "type")]
        kind: String,
        count: i64,
        /// Which: `0-1`.
        index: String,
    }
}

impl Node {
    /// Whether this word is among its states.
    pub fn is(&self, state: &str) -> bool {
        self.state.iter().any(|word| word == state)
    }
}

//! A partition.

use super::{Number, Words, wire};

wire! {
    /// A partition, with everything that `sinfo` and `scontrol show partition` print. Times are
    /// minutes, memory is MiB.
    Partition {
        nodes: PartitionNodes,
        accounts: AllowDeny,
        groups: PartitionGroups,
        qos: PartitionQos,
        alternate: String,
        tres: PartitionTres,
        cluster: String,
        cpus: PartitionCpus,
        defaults: PartitionDefaults,
        /// Since v0.0.45.
        flags: Vec<String>,
        grace_time: i64,
        maximums: PartitionMaximums,
        minimums: PartitionMinimums,
        name: String,
        node_sets: String,
        partition: PartitionState,
        /// Since v0.0.45.
        preempt_mode: Vec<String>,
        priority: PartitionTiers,
        select_type: Vec<String>,
        suspend_time: Number,
        timeouts: PartitionTimeouts,
        topology: String,
    }

    /// Its nodes.
    PartitionNodes {
        allowed_allocation: String,
        configured: String,
        total: i64,
    }

    /// Who may use it, and who may not.
    AllowDeny {
        allowed: String,
        deny: String,
    }

    /// Which groups may use it.
    PartitionGroups {
        allowed: String,
    }

    /// Which QOS may be used in it, and which it has itself.
    PartitionQos {
        allowed: String,
        deny: String,
        assigned: String,
    }

    /// Its resources.
    PartitionTres {
        billing_weights: String,
        configured: String,
    }

    /// Its CPUs.
    PartitionCpus {
        /// Words since v0.0.45.
        task_binding: Words,
        total: i64,
    }

    /// What a job gets that asks for nothing.
    PartitionDefaults {
        memory_per_cpu: i64,
        partition_memory_per_cpu: Number,
        partition_memory_per_node: Number,
        time: Number,
        job: String,
    }

    /// What a job may ask for at most.
    PartitionMaximums {
        cpus_per_node: Number,
        cpus_per_socket: Number,
        memory_per_cpu: i64,
        partition_memory_per_cpu: Number,
        partition_memory_per_node: Number,
        nodes: Number,
        shares: i64,
        oversubscribe: Oversubscribe,
        time: Number,
        over_time_limit: Number,
    }

    /// How many jobs may share a resource.
    Oversubscribe {
        jobs: i64,
        flags: Vec<String>,
    }

    /// What a job must ask for at least.
    PartitionMinimums {
        nodes: i64,
    }

    /// Where it stands among partitions.
    PartitionTiers {
        job_factor: i64,
        tier: i64,
    }

    /// Power saving.
    PartitionTimeouts {
        resume: Number,
        suspend: Number,
    }

    /// Whether it takes and starts jobs.
    PartitionState {
        state: Vec<String>,
        /// Since v0.0.45.
        exclusive: String,
        /// Since v0.0.45.
        oversubscribe: String,
    }
}

//! What the model does with the vendor's job description (`job_desc_msg`). Which fields there are, and
//! of which type, is in the version's table; what is named here neither way is refused.

use super::fields::Uses;

/// A job to submit or to change.
#[rustfmt::skip]
pub(super) const JOB_DESC: Uses = Uses {
    honoured: &[
        "account", "admin_comment", "array", "begin_time", "comment", "constraints", "contiguous",
        "cores_per_socket", "cpus_per_task", "cpus_per_tres", "current_working_directory", "deadline",
        "dependency", "environment", "excluded_nodes", "exclusive", "flags", "hold", "job_id",
        "kill_on_node_fail", "kill_warning_delay", "kill_warning_flags", "kill_warning_signal",
        "licenses", "maximum_nodes", "mcs_label", "memory_per_cpu", "memory_per_node",
        "memory_per_tres", "minimum_cpus", "minimum_cpus_per_node", "minimum_nodes", "name", "nice",
        "nodes", "ntasks_per_tres", "overcommit", "oversubscribe", "partition", "priority", "qos",
        "requeue", "required_nodes", "reservation", "script", "shared", "sockets_per_node", "tasks",
        "tasks_per_core", "tasks_per_node", "tasks_per_socket", "threads_per_core", "time_limit",
        "time_minimum", "tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task", "user_id",
        "wckey",
    ],
    noted: &[
        "account_gather_frequency", "allocation_node_list", "allocation_node_port", "argv",
        "cpu_binding", "cpu_binding_flags", "cpu_frequency", "extra", "group_id", "mail_type",
        "mail_user", "memory_binding", "memory_binding_type", "network", "oom_kill_step", "open_mode",
        "profile", "rlimits", "selinux_context", "spank_environment", "standard_error",
        "standard_input", "standard_output", "tres_bind", "tres_freq", "wait_all_nodes", "x11",
        "x11_magic_cookie", "x11_target_host", "x11_target_port",
    ],
};

/// Flags of a job that the model honours.
pub(super) const FLAGS: &[&str] = &[
    "KILL_INVALID_DEPENDENCY",
    "NO_KILL_INVALID_DEPENDENCY",
    "SPREAD_JOB",
    "PREFER_MINIMUM_NODE_COUNT",
    "GRES_BINDING_ENFORCED",
    "EXTERNAL_JOB",
];

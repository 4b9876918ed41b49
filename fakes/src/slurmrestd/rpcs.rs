//! Remote procedure calls, as the daemons count them for `diag`.

use std::collections::BTreeMap;

/// How often who asked for what.
#[derive(Clone, Debug, Default)]
pub(super) struct Rpcs {
    /// By operation, `slurm_get_jobs`.
    operations: BTreeMap<&'static str, u64>,
    /// By daemon and user.
    users: BTreeMap<(Daemon, String), u64>,
}

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Daemon {
    Slurmctld,
    Slurmdbd,
}

impl Rpcs {
    /// One more.
    pub(super) fn count(&mut self, operation: &'static str, user: &str) {
        let daemon = daemon(operation);
        *self.operations.entry(operation).or_default() += 1;
        *self.users.entry((daemon, user.to_owned())).or_default() += 1;
    }

    /// Messages that a daemon got, with Slurm's names and numbers for them.
    pub(super) fn messages(&self, of: Daemon) -> Vec<(&'static str, u32, u64)> {
        let mut all: BTreeMap<(&str, u32), u64> = BTreeMap::new();
        for (operation, count) in self.operations.iter().filter(|(it, _)| daemon(it) == of) {
            if let Some((_, name, number)) = MESSAGES.iter().find(|(it, ..)| it == operation) {
                *all.entry((name, *number)).or_default() += count;
            }
        }
        all.into_iter().map(|((name, number), count)| (name, number, count)).collect()
    }

    /// Users that asked a daemon, and how often.
    pub(super) fn users(&self, of: Daemon) -> impl Iterator<Item = (&str, u64)> {
        let own = self.users.iter().filter(move |((daemon, _), _)| *daemon == of);
        own.map(|((_, user), count)| (user.as_str(), *count))
    }
}

fn daemon(operation: &str) -> Daemon {
    if operation.starts_with("slurmdb_") { Daemon::Slurmdbd } else { Daemon::Slurmctld }
}

/// Which message an operation sends, and its number; slurmdbd's have none here.
#[rustfmt::skip]
const MESSAGES: &[(&str, &str, u32)] = &[
    ("slurm_delete_job",          "REQUEST_KILL_JOBS",          5041),
    ("slurm_delete_jobs",         "REQUEST_KILL_JOBS",          5041),
    ("slurm_delete_node",         "REQUEST_DELETE_NODE",        3014),
    ("slurm_delete_partition",    "REQUEST_DELETE_PARTITION",   3004),
    ("slurm_delete_reservation",  "REQUEST_DELETE_RESERVATION", 3008),
    ("slurm_get_conf",            "REQUEST_BUILD_INFO",         2001),
    ("slurm_get_diag",            "REQUEST_STATS_INFO",         2035),
    ("slurm_get_job",             "REQUEST_JOB_INFO_SINGLE",    2021),
    ("slurm_get_job_requeue",     "REQUEST_JOB_REQUEUE",        5023),
    ("slurm_get_jobs",            "REQUEST_JOB_INFO",           2003),
    ("slurm_get_jobs_state",      "REQUEST_JOB_STATE",          2057),
    ("slurm_get_licenses",        "REQUEST_LICENSE_INFO",       1021),
    ("slurm_get_node",            "REQUEST_NODE_INFO_SINGLE",   2040),
    ("slurm_get_nodes",           "REQUEST_NODE_INFO",          2007),
    ("slurm_get_partition",       "REQUEST_PARTITION_INFO",     2009),
    ("slurm_get_partitions",      "REQUEST_PARTITION_INFO",     2009),
    ("slurm_get_ping",            "REQUEST_PING",               1008),
    ("slurm_get_reservation",     "REQUEST_RESERVATION_INFO",   2024),
    ("slurm_get_reservations",    "REQUEST_RESERVATION_INFO",   2024),
    ("slurm_get_resources",       "REQUEST_RESOURCE_LAYOUT",    4007),
    ("slurm_get_shares",          "REQUEST_SHARE_INFO",         2022),
    ("slurm_post_job",            "REQUEST_UPDATE_JOB",         3001),
    ("slurm_post_job_submit",     "REQUEST_SUBMIT_BATCH_JOB",   4003),
    ("slurm_post_jobs_requeue",   "REQUEST_JOB_REQUEUE",        5023),
    ("slurm_post_new_node",       "REQUEST_CREATE_NODE",        3015),
    ("slurm_post_node",           "REQUEST_UPDATE_NODE",        3002),
    ("slurm_post_nodes",          "REQUEST_UPDATE_NODE",        3002),
    ("slurmdb_delete_account",    "DBD_REMOVE_ACCOUNTS",        0),
    ("slurmdb_delete_user",       "DBD_REMOVE_USERS",           0),
    ("slurmdb_get_account",       "DBD_GET_ACCOUNTS",           0),
    ("slurmdb_get_accounts",      "DBD_GET_ACCOUNTS",           0),
    ("slurmdb_get_associations",  "DBD_GET_ASSOCS",             0),
    ("slurmdb_get_clusters",      "DBD_GET_CLUSTERS",           0),
    ("slurmdb_get_diag",          "DBD_GET_STATS",              0),
    ("slurmdb_get_jobs",          "DBD_GET_JOBS_COND",          0),
    ("slurmdb_get_job",           "DBD_GET_JOBS_COND",          0),
    ("slurmdb_get_qos",           "DBD_GET_QOS",                0),
    ("slurmdb_get_tres",          "DBD_GET_TRES",               0),
    ("slurmdb_get_user",          "DBD_GET_USERS",              0),
    ("slurmdb_get_users",         "DBD_GET_USERS",              0),
    ("slurmdb_get_wckeys",        "DBD_GET_WCKEYS",             0),
    ("slurmdb_post_accounts",     "DBD_ADD_ACCOUNTS",           0),
    ("slurmdb_post_associations", "DBD_ADD_ASSOCS",             0),
    ("slurmdb_post_qos",          "DBD_ADD_QOS",                0),
    ("slurmdb_post_users",        "DBD_ADD_USERS",              0),
    ("slurmdb_post_wckeys",       "DBD_ADD_WCKEYS",             0),
];

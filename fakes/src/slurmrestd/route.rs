//! Which operation a path names.
//!
//! A trailing slash makes no difference, nor does a doubled one; a word beats a variable. What
//! slurmrestd doesn't serve is 404 in plain text.

use drawbridge_sim::Release;

use crate::Method;

use super::api::{Operation, Table};

/// Slurm's answer to any URL, version or method that it doesn't have.
pub(super) const fn not_found(release: Release) -> &'static str {
    match release {
        Release::V24_11 => "Unable find requested URL. Please view /openapi/v3 for API reference.",
        Release::V26_05 => {
            "Unable to find requested URL endpoint. Please query the '/openapi/v3' endpoint or visit \
             'https://slurm.schedmd.com/rest_api.html' for the OpenAPI specification which includes a \
             list of all possible slurmrestd endpoints."
        }
    }
}

/// An operation, and what stands in its path for its variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route<'a> {
    /// Which.
    pub(super) operation: &'static Operation,
    /// The job, node, partition or account that the path names; empty if none.
    pub(super) name: &'a str,
}

/// Finds the operation.
pub(super) fn route(release: Release, method: Method, path: &str) -> Option<Route<'_>> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let operations = Table::of(release).operations.iter();
    let fitting = operations.filter(|operation| operation.method == method);
    let fitting = fitting.filter_map(|operation| {
        let name = fit(operation, &parts)?;
        Some(Route { operation, name })
    });
    fitting.min_by_key(|route| !route.name.is_empty())
}

/// What stands for the variable; empty if there is none, nothing if the path is another.
fn fit<'a>(operation: &Operation, parts: &[&'a str]) -> Option<&'a str> {
    if operation.parts.len() != parts.len() {
        return None;
    }
    let mut name = "";
    for (pattern, part) in operation.parts.iter().zip(parts) {
        if pattern.starts_with('{') {
            name = part;
        } else if **pattern != **part {
            return None;
        }
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_operations() {
        use {Method as M, Release as R};
        #[rustfmt::skip]
        let rows = [
            (R::V24_11, M::Get,    "/slurm/v0.0.42/ping",         Some(("slurm_get_ping", ""))),
            (R::V24_11, M::Get,    "/slurm/v0.0.42//ping",        Some(("slurm_get_ping", ""))),
            (R::V24_11, M::Get,    "/slurm/v0.0.40/jobs/",        Some(("slurm_get_jobs", ""))),
            (R::V24_11, M::Get,    "/slurm/v0.0.42/jobs/state",   Some(("slurm_get_jobs_state", ""))),
            (R::V24_11, M::Get,    "/slurm/v0.0.42/job/7",        Some(("slurm_get_job", "7"))),
            (R::V24_11, M::Post,   "/slurm/v0.0.42/job/submit",   Some(("slurm_post_job_submit", ""))),
            (R::V24_11, M::Post,   "/slurm/v0.0.41/job/allocate", Some(("slurm_post_job_allocate", ""))),
            (R::V24_11, M::Post,   "/slurm/v0.0.40/job/allocate", Some(("slurm_post_job", "allocate"))),
            (R::V26_05, M::Get,    "/slurm/v0.0.45/job/7/requeue", Some(("slurm_get_job_requeue", "7"))),
            (R::V26_05, M::Get,    "/slurm/v0.0.44/job/7/requeue", None),
            (R::V24_11, M::Delete, "/slurm/v0.0.42/jobs/",        Some(("slurm_delete_jobs", ""))),
            (R::V24_11, M::Get,    "/slurmdb/v0.0.42/jobs",       Some(("slurmdb_get_jobs", ""))),
            (R::V24_11, M::Put,    "/slurm/v0.0.42/jobs",         None),
            (R::V24_11, M::Get,    "/slurm/v0.0.42/nope",         None),
            (R::V24_11, M::Get,    "/slurm/v0.0.43/ping",         None),
            (R::V26_05, M::Get,    "/slurm/v0.0.40/ping",         None),
            (R::V24_11, M::Get,    "/SLURM/v0.0.42/ping",         None),
            (R::V24_11, M::Get,    "/",                           None),
        ];
        for (release, method, path, expected) in rows {
            let found = route(release, method, path);
            let found = found.map(|route| (&*route.operation.name, route.name));
            assert_eq!(found, expected, "{release} {path}");
        }
    }
}

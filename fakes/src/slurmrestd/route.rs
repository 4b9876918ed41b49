//! Which endpoint a path names, in which version of the API.
//!
//! A trailing slash makes no difference. What slurmrestd doesn't serve is 404 in plain text, and so
//! are its versions that we don't serve yet.

use drawbridge_sim::Release;

use crate::Method;

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

/// A version of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// v0.0.42.
    V42,
}

/// One endpoint, with what the path says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Endpoint<'a> {
    /// `GET ping`.
    Ping,
    /// `GET diag`.
    Diag,
    /// `GET licenses`.
    Licenses,
    /// `POST job/submit`.
    Submit,
    /// `GET jobs`.
    Jobs,
    /// `GET jobs/state`.
    JobsState,
    /// `DELETE jobs`.
    CancelJobs,
    /// `GET job/{id}`.
    Job(&'a str),
    /// `POST job/{id}`.
    UpdateJob(&'a str),
    /// `DELETE job/{id}`.
    CancelJob(&'a str),
    /// `GET nodes`.
    Nodes,
    /// `GET node/{name}`.
    Node(&'a str),
    /// `POST nodes`.
    UpdateNodes,
    /// `POST node/{name}`.
    UpdateNode(&'a str),
    /// `DELETE node/{name}`.
    DeleteNode(&'a str),
    /// `GET partitions`.
    Partitions,
    /// `GET partition/{name}`.
    Partition(&'a str),
    /// Served by the real one and not by us.
    NotModelled(&'static str),
}

/// Why a path leads nowhere: the text of the 404.
pub(super) type Nowhere = String;

impl Version {
    /// As it is written in paths.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::V42 => "v0.0.42",
        }
    }
}

/// Finds the endpoint.
pub(super) fn route(
    release: Release,
    method: Method,
    path: &str,
) -> Result<(Version, Endpoint<'_>), Nowhere> {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    if path.starts_with("/openapi") {
        return Err("drawbridge does not serve /openapi yet".into());
    }
    let (Some("slurm"), Some(version)) = (parts.next(), parts.next()) else {
        return Err(not_found(release).into());
    };
    let version = find_version(release, version)?;
    let rest: Vec<&str> = parts.collect();
    endpoint(method, &rest)
        .map(|endpoint| (version, endpoint))
        .ok_or_else(|| not_found(release).into())
}

fn find_version(release: Release, name: &str) -> Result<Version, Nowhere> {
    let served: &[&str] = match release {
        Release::V24_11 => &["v0.0.40", "v0.0.41", "v0.0.42"],
        Release::V26_05 => &["v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45"],
    };
    match name {
        "v0.0.42" => Ok(Version::V42),
        _ if served.contains(&name) => {
            Err(format!("drawbridge does not serve {name} yet; v0.0.42 is served"))
        }
        _ => Err(not_found(release).into()),
    }
}

fn endpoint<'a>(method: Method, rest: &[&'a str]) -> Option<Endpoint<'a>> {
    use Endpoint as To;
    let to = match (method, rest) {
        (Method::Get, ["ping"]) => To::Ping,
        (Method::Get, ["diag"]) => To::Diag,
        (Method::Get, ["licenses"]) => To::Licenses,
        (Method::Get, ["shares"]) => To::NotModelled("fair-share (`shares`)"),
        (Method::Get, ["reconfigure"]) => To::NotModelled("`reconfigure`"),
        (Method::Get, ["reservations"] | ["reservation", _]) => To::NotModelled("reservations"),
        (Method::Post, ["job", "submit"]) => To::Submit,
        (Method::Post, ["job", "allocate"]) => To::NotModelled("`job/allocate`"),
        (Method::Get, ["jobs"]) => To::Jobs,
        (Method::Get, ["jobs", "state"]) => To::JobsState,
        (Method::Delete, ["jobs"]) => To::CancelJobs,
        (Method::Get, ["job", id]) => To::Job(id),
        (Method::Post, ["job", id]) => To::UpdateJob(id),
        (Method::Delete, ["job", id]) => To::CancelJob(id),
        (Method::Get, ["nodes"]) => To::Nodes,
        (Method::Post, ["nodes"]) => To::UpdateNodes,
        (Method::Get, ["node", name]) => To::Node(name),
        (Method::Post, ["node", name]) => To::UpdateNode(name),
        (Method::Delete, ["node", name]) => To::DeleteNode(name),
        (Method::Get, ["partitions"]) => To::Partitions,
        (Method::Get, ["partition", name]) => To::Partition(name),
        _ => return None,
    };
    Some(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_endpoints() {
        #[rustfmt::skip]
        let rows = [
            (Method::Get,    "/slurm/v0.0.42/ping",       Some(Endpoint::Ping)),
            (Method::Get,    "/slurm/v0.0.42/jobs/",      Some(Endpoint::Jobs)),
            (Method::Get,    "/slurm/v0.0.42/jobs/state", Some(Endpoint::JobsState)),
            (Method::Get,    "/slurm/v0.0.42/job/7",      Some(Endpoint::Job("7"))),
            (Method::Post,   "/slurm/v0.0.42/job/submit", Some(Endpoint::Submit)),
            (Method::Delete, "/slurm/v0.0.42/jobs/",      Some(Endpoint::CancelJobs)),
            (Method::Put,    "/slurm/v0.0.42/jobs",       None),
            (Method::Get,    "/slurm/v0.0.42/nope",       None),
            (Method::Get,    "/slurm/v0.0.99/ping",       None),
            (Method::Get,    "/slurmdb/v0.0.42/jobs",     None),
            (Method::Get,    "/",                         None),
        ];
        for (method, path, expected) in rows {
            let found = route(Release::V24_11, method, path);
            match expected {
                Some(endpoint) => assert_eq!(found, Ok((Version::V42, endpoint)), "{path}"),
                None => assert_eq!(found, Err(not_found(Release::V24_11).into()), "{path}"),
            }
        }
    }

    #[test]
    fn versions_that_are_not_served_yet_are_named() {
        let found = route(Release::V24_11, Method::Get, "/slurm/v0.0.40/ping");
        assert_eq!(found, Err("drawbridge does not serve v0.0.40 yet; v0.0.42 is served".into()));
    }
}

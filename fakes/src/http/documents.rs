//! Documents about the server itself: version, health, discovery, OpenAPI.

use drawbridge_sim::fnv1a;
use serde_json::{Value, json};

use super::{HttpRequest, Reply, discovery, health, openapi, swagger};
use crate::{KubeApi, kube::Refusal};

/// The server's version. kubectl picks its behaviour by it.
fn version() -> Value {
    json!({
        "major": "1", "minor": "36", "emulationMajor": "1", "emulationMinor": "36",
        "minCompatibilityMajor": "1", "minCompatibilityMinor": "35",
        "gitVersion": "v1.36.4", "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc",
        "platform": "linux/amd64",
    })
}

/// Whether a path is that of a document, and not of a resource.
pub(crate) fn is_one(api: &KubeApi, path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        [] | ["healthz" | "livez" | "readyz" | "openapi", ..] | ["version" | "api" | "apis"] => {
            true
        }
        ["api", version] => discovery::resources(api, "", version).is_some(),
        ["apis", group] => discovery::group(api, group).is_some(),
        ["apis", group, version] => discovery::resources(api, group, version).is_some(),
        _ => false,
    }
}

/// The document under a path, if it is one.
pub(crate) fn answer(
    api: &KubeApi,
    http: &HttpRequest,
    path: &str,
    query: &[(String, String)],
) -> Option<Reply> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let reply = match parts.as_slice() {
        [endpoint @ ("healthz" | "livez" | "readyz"), rest @ ..] => {
            return Some(health::answer(endpoint, &rest.join("/"), query));
        }
        ["version"] => Reply::json(200, &version(), true),
        ["api"] => discover(api, http, true),
        ["apis"] => discover(api, http, false),
        ["api", version] => Reply::json(200, &discovery::resources(api, "", version)?, false),
        ["apis", group] => Reply::json(200, &discovery::group(api, group)?, false),
        ["apis", group, version] => {
            Reply::json(200, &discovery::resources(api, group, version)?, false)
        }
        ["openapi", "v2"] => return Some(swagger::answer(api, http)),
        ["openapi", "v3", rest @ ..] => return openapi::answer(api, http, rest),
        [] => Reply::json(200, &root(api), true),
        _ => return None,
    };
    if !matches!(http.method.as_str(), "GET" | "HEAD") {
        let refusal = Refusal::method_not_allowed().response();
        return Some(Reply::json(refusal.status, &refusal.body, true));
    }
    Some(cached(http, reply))
}

/// Says "not modified" to who knows the document already.
pub(super) fn cached(http: &HttpRequest, mut reply: Reply) -> Reply {
    let etag = format!("\"{:016x}\"", fnv1a(&reply.body));
    let known = http.header("if-none-match").is_some_and(|tags| tags.contains(&etag));
    reply.headers.push(("etag", etag));
    if known {
        reply.status = 304;
        reply.body.clear();
    }
    reply
}

/// `/api` and `/apis`, aggregated for clients that ask for it.
fn discover(api: &KubeApi, http: &HttpRequest, core: bool) -> Reply {
    let accept = http.header("accept").unwrap_or("");
    for version in ["v2", "v2beta1"] {
        let wanted =
            format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
        if accept.contains(&wanted) {
            let body = discovery::aggregated(api, core, version).to_string() + "\n";
            return Reply::new(200, &wanted, body);
        }
    }
    let body = match core {
        true => json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
        }),
        false => discovery::group_list(api),
    };
    Reply::json(200, &body, false)
}

fn root(api: &KubeApi) -> Value {
    let mut paths: Vec<String> = [
        "/api",
        "/apis",
        "/healthz",
        "/livez",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ]
    .into_iter()
    .map(Into::into)
    .collect();
    for (group, version) in discovery::group_versions(api) {
        paths.push(match group {
            "" => format!("/api/{version}"),
            group => format!("/apis/{group}/{version}"),
        });
    }
    paths.sort();
    json!({"paths": paths})
}

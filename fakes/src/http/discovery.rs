//! What is served, as clients discover it: the lists of old, and the aggregated documents.

use serde_json::{Value, json};

use crate::{
    KubeApi,
    kube::{Kind, StatusWrites},
};

/// A part of an object with a path of its own.
struct Part {
    name: &'static str,
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    verbs: &'static [&'static str],
}

/// A resource that is answered but not stored.
struct Review {
    group: &'static str,
    resource: &'static str,
    kind: &'static str,
    namespaced: bool,
}

const REVIEWS: [Review; 6] = [
    Review {
        group: "authentication.k8s.io",
        resource: "selfsubjectreviews",
        kind: "SelfSubjectReview",
        namespaced: false,
    },
    Review {
        group: "authentication.k8s.io",
        resource: "tokenreviews",
        kind: "TokenReview",
        namespaced: false,
    },
    Review {
        group: "authorization.k8s.io",
        resource: "localsubjectaccessreviews",
        kind: "LocalSubjectAccessReview",
        namespaced: true,
    },
    Review {
        group: "authorization.k8s.io",
        resource: "selfsubjectaccessreviews",
        kind: "SelfSubjectAccessReview",
        namespaced: false,
    },
    Review {
        group: "authorization.k8s.io",
        resource: "selfsubjectrulesreviews",
        kind: "SelfSubjectRulesReview",
        namespaced: false,
    },
    Review {
        group: "authorization.k8s.io",
        resource: "subjectaccessreviews",
        kind: "SubjectAccessReview",
        namespaced: false,
    },
];

const CHANGED: &[&str] = &["get", "patch", "update"];

/// What hands a request on to a program that listens somewhere.
const PROXIED: &[&str] = &["create", "delete", "get", "patch", "update"];

fn parts(kind: &Kind) -> Vec<Part> {
    let (group, version) = if kind.custom { (kind.group, kind.versions[0]) } else { ("", "") };
    let own = |name, verbs| Part { name, group, version, kind: kind.kind, verbs };
    let named = |name, kind, verbs| Part { kind, ..own(name, verbs) };
    let of = |group, version, kind, name, verbs| Part { name, group, version, kind, verbs };
    let mut parts = match kind.key {
        "namespaces" => vec![own("finalize", &["update"])],
        "nodes" => vec![named("proxy", "NodeProxyOptions", PROXIED)],
        "services" => vec![named("proxy", "ServiceProxyOptions", PROXIED)],
        "serviceaccounts" => {
            vec![of("authentication.k8s.io", "v1", "TokenRequest", "token", &["create"])]
        }
        "certificatesigningrequests.certificates.k8s.io" => vec![own("approval", CHANGED)],
        "pods" => vec![
            named("attach", "PodAttachOptions", &["create", "get"]),
            named("binding", "Binding", &["create"]),
            own("ephemeralcontainers", CHANGED),
            of("policy", "v1", "Eviction", "eviction", &["create"]),
            named("exec", "PodExecOptions", &["create", "get"]),
            own("log", &["get"]),
            named("portforward", "PodPortForwardOptions", &["create", "get"]),
            named("proxy", "PodProxyOptions", PROXIED),
            own("resize", CHANGED),
        ],
        _ => vec![],
    };
    let status = (kind.status != StatusWrites::None).then(|| own("status", CHANGED));
    let scale = kind.scale.then(|| of("autoscaling", "v1", "Scale", "scale", CHANGED));
    match kind.custom {
        true => parts.extend(status.into_iter().chain(scale)),
        false => parts.extend(scale.into_iter().chain(status)),
    }
    parts
}

fn verbs(kind: &Kind) -> Vec<&'static str> {
    if kind.custom {
        return vec![
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "create",
            "update",
            "watch",
        ];
    }
    let all = kind.verbs.iter().copied();
    all.filter(|verb| kind.key != "namespaces" || *verb != "deletecollection").collect()
}

/// `pod`: what people write for one object.
fn singular(kind: &Kind) -> String {
    kind.definition.map_or_else(|| kind.kind.to_lowercase(), |it| it.singular.clone())
}

/// The order in which a real server lists its groups; those of definitions follow by name.
const ORDER: [&str; 20] = [
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
];

/// Groups in their order, each with its versions; core is the group without a name.
fn groups(api: &KubeApi) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut groups: Vec<(&'static str, Vec<&'static str>)> = vec![];
    let mut add = |group: &'static str, version: &'static str| match groups
        .iter_mut()
        .find(|(name, _)| *name == group)
    {
        Some((_, versions)) if versions.contains(&version) => {}
        Some((_, versions)) => versions.push(version),
        None => groups.push((group, vec![version])),
    };
    for kind in api.kinds().iter() {
        kind.versions.iter().for_each(|version| add(kind.group, version));
    }
    for review in &REVIEWS {
        add(review.group, "v1");
    }
    let place = |group: &str| match group {
        "" => 0,
        group => ORDER.iter().position(|it| *it == group).map_or(ORDER.len() + 1, |it| it + 1),
    };
    groups.sort_by(|(one, _), (two, _)| (place(one), one).cmp(&(place(two), two)));
    groups
}

/// Every group and version that is served: `("", "v1")`, `("apps", "v1")`.
pub(crate) fn group_versions(api: &KubeApi) -> Vec<(&'static str, &'static str)> {
    let all = groups(api).into_iter();
    all.flat_map(|(group, versions)| versions.into_iter().map(move |it| (group, it))).collect()
}

fn in_version<'a>(
    api: &'a KubeApi,
    group: &'a str,
    version: &'a str,
) -> impl Iterator<Item = &'static Kind> + 'a {
    let mut kinds: Vec<&'static Kind> = api
        .kinds()
        .iter()
        .filter(|kind| kind.group == group && kind.versions.contains(&version))
        .collect();
    kinds.sort_by_key(|kind| kind.resource);
    kinds.into_iter()
}

fn reviews_in(group: &str, version: &str) -> impl Iterator<Item = &'static Review> {
    let found: Vec<&Review> =
        REVIEWS.iter().filter(|review| review.group == group && version == "v1").collect();
    found.into_iter()
}

/// The aggregated document: the core group or all others.
pub(crate) fn aggregated(api: &KubeApi, core: bool, version: &str) -> Value {
    let chosen = groups(api).into_iter().filter(|(group, _)| group.is_empty() == core);
    let items: Vec<Value> = chosen
        .map(|(group, versions)| {
            let metadata = if group.is_empty() { json!({}) } else { json!({"name": group}) };
            let versions: Vec<Value> =
                versions.iter().map(|version| aggregated_version(api, group, version)).collect();
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {}, "items": items,
    })
}

fn aggregated_version(api: &KubeApi, group: &str, version: &str) -> Value {
    let answers = |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    let scope = |namespaced: bool| if namespaced { "Namespaced" } else { "Cluster" };
    let mut resources: Vec<Value> = in_version(api, group, version)
        .map(|kind| {
            let parts: Vec<Value> = parts(kind)
                .iter()
                .map(|part| {
                    json!({
                        "subresource": part.name, "verbs": part.verbs,
                        "responseKind": answers(part.group, part.version, part.kind),
                    })
                })
                .collect();
            let (group, version) = if kind.custom { (group, version) } else { ("", "") };
            let mut resource = json!({
                "resource": kind.resource, "responseKind": answers(group, version, kind.kind),
                "scope": scope(kind.namespaced), "singularResource": singular(kind),
                "verbs": verbs(kind),
            });
            set(&mut resource, "shortNames", json!(kind.short));
            set(&mut resource, "categories", json!(kind.categories));
            set(&mut resource, "subresources", json!(parts));
            resource
        })
        .collect();
    resources.extend(reviews_in(group, version).map(|review| {
        json!({
            "resource": review.resource, "responseKind": answers("", "", review.kind),
            "scope": scope(review.namespaced), "singularResource": review.kind.to_lowercase(),
            "verbs": ["create"],
        })
    }));
    json!({"version": version, "resources": resources, "freshness": "Current"})
}

fn set(object: &mut Value, key: &str, list: Value) {
    if list.as_array().is_some_and(|list| !list.is_empty()) {
        object[key] = list;
    }
}

/// `/apis`: the groups by name.
pub(crate) fn group_list(api: &KubeApi) -> Value {
    let named = groups(api).into_iter().filter(|(group, _)| !group.is_empty());
    let all: Vec<Value> = named.map(|(group, versions)| group_entry(group, &versions)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": all})
}

fn group_entry(group: &str, versions: &[&str]) -> Value {
    let entry =
        |version: &&str| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    let all: Vec<Value> = versions.iter().map(entry).collect();
    json!({"name": group, "versions": all, "preferredVersion": all[0]})
}

/// `/apis/apps`: one group.
pub(crate) fn group(api: &KubeApi, name: &str) -> Option<Value> {
    let (group, versions) = groups(api).into_iter().find(|(group, _)| *group == name)?;
    let mut entry = group_entry(group, &versions);
    entry["kind"] = "APIGroup".into();
    entry["apiVersion"] = "v1".into();
    Some(entry)
}

/// `/api/v1`, `/apis/apps/v1`: the resources of one version.
pub(crate) fn resources(api: &KubeApi, group: &str, version: &str) -> Option<Value> {
    if !group_versions(api).contains(&(group, version)) {
        return None;
    }
    let mut list = vec![];
    for kind in in_version(api, group, version) {
        let mut resource = json!({
            "name": kind.resource, "singularName": singular(kind), "namespaced": kind.namespaced,
            "kind": kind.kind, "verbs": verbs(kind),
        });
        set(&mut resource, "shortNames", json!(kind.short));
        set(&mut resource, "categories", json!(kind.categories));
        list.push(resource);
        for part in parts(kind) {
            let mut entry = json!({
                "name": format!("{}/{}", kind.resource, part.name), "singularName": "",
                "namespaced": kind.namespaced, "kind": part.kind, "verbs": part.verbs,
            });
            let foreign = !kind.custom || part.group != kind.group;
            if foreign && !part.group.is_empty() {
                entry["group"] = part.group.into();
                entry["version"] = part.version.into();
            }
            list.push(entry);
        }
    }
    list.extend(reviews_in(group, version).map(|review| {
        json!({
            "name": review.resource, "singularName": review.kind.to_lowercase(),
            "namespaced": review.namespaced, "kind": review.kind, "verbs": ["create"],
        })
    }));
    let group_version =
        if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut body =
        json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": list});
    if !group.is_empty() {
        body["apiVersion"] = "v1".into();
    }
    Some(body)
}

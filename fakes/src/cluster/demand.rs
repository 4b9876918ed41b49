//! What a pod asks of a node. Pods with equal demands are equal to the scheduler.

mod peers;
mod terms;

use serde_json::Value;

pub(crate) use self::{
    peers::{Peers, PodTerm, Spread},
    terms::{Requirement, Taint, Term, Toleration},
};
use super::{
    amounts::Amounts,
    object::{items, pairs, text},
};

/// All that decides which nodes a pod may be placed on, and which it would rather be.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Demand {
    /// What it reserves, with one of `pods`.
    pub(crate) requests: Amounts,
    /// What it counts as when nodes are compared: thousandths of a CPU, and of a byte.
    pub(crate) weight: [u64; 2],
    /// `nodeSelector`: all must hold.
    pub(crate) selector: Vec<Requirement>,
    /// Required node affinity: one of the terms must hold.
    pub(crate) affinity: Option<Vec<Term>>,
    /// Preferred node affinity, with its weights.
    pub(crate) preferences: Vec<(i64, Term)>,
    pub(crate) tolerations: Vec<Toleration>,
    /// Ports of the host: protocol, address and number.
    pub(crate) ports: Vec<Port>,
    /// What it asks of pods near it.
    pub(crate) peers: Option<Box<Peers>>,
    /// `namespace/name` of the claims that it uses.
    pub(crate) claims: Vec<(String, String)>,
    pub(crate) images: Vec<String>,
    /// Fields that narrow the choice in ways that aren't modelled: such a pod isn't placed.
    pub(crate) unmodelled: Vec<&'static str>,
}

/// A port of the host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Port {
    pub(crate) protocol: String,
    pub(crate) address: String,
    pub(crate) number: u64,
}

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
/// What a container without a request counts as when nodes are compared: 100m and 200Mi.
const NO_REQUEST: [(&str, u64); 2] = [("cpu", 100), ("memory", 200 * 1024 * 1024 * 1000)];

impl Demand {
    /// Reads a pod.
    pub(crate) fn read(pod: &Value) -> Self {
        let spec = &pod["spec"];
        let affinity = &spec["affinity"]["nodeAffinity"];
        let terms = &affinity[REQUIRED]["nodeSelectorTerms"];
        let preferences = items(&affinity[PREFERRED]).iter();
        Self {
            requests: requests(spec),
            weight: weight(spec),
            selector: pairs(&spec["nodeSelector"])
                .map(|(key, value)| Requirement::is(key, text(value)))
                .collect(),
            affinity: terms.is_array().then(|| items(terms).iter().map(Term::read).collect()),
            preferences: preferences
                .map(|it| (it["weight"].as_i64().unwrap_or(1), Term::read(&it["preference"])))
                .collect(),
            tolerations: items(&spec["tolerations"]).iter().map(Toleration::read).collect(),
            ports: ports(spec),
            peers: Peers::read(pod),
            claims: claims(pod),
            images: images(spec),
            unmodelled: match items(&spec["resourceClaims"]).is_empty() {
                true => vec![],
                false => vec!["spec.resourceClaims"],
            },
        }
    }
}

impl Port {
    /// Whether two pods can't have both on one node.
    pub(crate) fn clashes(&self, other: &Self) -> bool {
        let any = |it: &Self| it.address == "0.0.0.0";
        self.number == other.number
            && self.protocol == other.protocol
            && (self.address == other.address || any(self) || any(other))
    }
}

fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    items(&spec["containers"]).iter()
}

fn ports(spec: &Value) -> Vec<Port> {
    let sidecars =
        items(&spec["initContainers"]).iter().filter(|it| it["restartPolicy"] == "Always");
    let all = containers(spec).chain(sidecars).flat_map(|it| items(&it["ports"]));
    let host = spec["hostNetwork"] == true;
    all.filter_map(|port| {
        let own = || port["containerPort"].as_u64().filter(|_| host);
        let number = port["hostPort"].as_u64().filter(|it| *it > 0).or_else(own)?;
        let or = |key: &str, usual: &str| port[key].as_str().unwrap_or(usual).to_owned();
        let (protocol, address) = (or("protocol", "TCP"), or("hostIP", "0.0.0.0"));
        Some(Port { protocol, address, number })
    })
    .collect()
}

fn claims(pod: &Value) -> Vec<(String, String)> {
    let metadata = &pod["metadata"];
    let volumes = items(&pod["spec"]["volumes"]).iter();
    let names = volumes.filter_map(|volume| {
        let named = volume["persistentVolumeClaim"]["claimName"].as_str().map(str::to_owned);
        // A volume that lives as long as its pod has a claim named after both.
        let own = || format!("{}-{}", text(&metadata["name"]), text(&volume["name"]));
        named.or_else(|| volume["ephemeral"].is_object().then(own))
    });
    names.map(|name| (text(&metadata["namespace"]).to_owned(), name)).collect()
}

fn images(spec: &Value) -> Vec<String> {
    let all = items(&spec["initContainers"]).iter().chain(containers(spec));
    all.map(|it| text(&it["image"]).to_owned()).collect()
}

fn of_container(resources: &Value) -> Amounts {
    Amounts::read(&resources["requests"]).or(Amounts::read(&resources["limits"]))
}

/// What the pod reserves: its containers together, or more if an init container needs more.
fn requests(spec: &Value) -> Amounts {
    let sum = together(spec, of_container);
    let mut all = of_container(&spec["resources"]).or(sum);
    all.add(&Amounts::read(&spec["overhead"]));
    all.set("pods", 1000);
    all
}

/// What it counts as when nodes are compared: pods that reserve nothing still weigh something.
fn weight(spec: &Value) -> [u64; 2] {
    let own = of_container(&spec["resources"]);
    let sum = together(spec, |resources| {
        let mut asked = of_container(resources);
        for (resource, least) in NO_REQUEST.into_iter().filter(|(it, _)| !own.has(it)) {
            if asked.get(resource) == 0 {
                asked.set(resource, least);
            }
        }
        asked
    });
    let mut all = own.or(sum);
    all.add(&Amounts::read(&spec["overhead"]));
    NO_REQUEST.map(|(resource, _)| all.get(resource))
}

fn together(spec: &Value, of: impl Fn(&Value) -> Amounts) -> Amounts {
    let mut sum = Amounts::default();
    for container in containers(spec) {
        sum.add(&of(&container["resources"]));
    }
    let (mut sidecars, mut peak) = (Amounts::default(), Amounts::default());
    for container in items(&spec["initContainers"]) {
        let own = of(&container["resources"]);
        if container["restartPolicy"] == "Always" {
            sidecars.add(&own);
            peak.raise_to(&sidecars);
        } else {
            let mut with_sidecars = sidecars.clone();
            with_sidecars.add(&own);
            peak.raise_to(&with_sidecars);
        }
    }
    sum.add(&sidecars);
    sum.raise_to(&peak);
    sum
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_reserves_the_most_that_it_needs_at_once() {
        let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let sidecar =
            |cpu: &str| json!({"restartPolicy": "Always", "resources": {"limits": {"cpu": cpu}}});
        #[rustfmt::skip]
        let rows = [
            ("two containers",   json!({"containers": [container("1"), container("500m")]}), 1500),
            ("a big init",       json!({"containers": [container("1")], "initContainers": [container("3")]}), 3000),
            ("a sidecar stays",  json!({"containers": [container("1")], "initContainers": [sidecar("1")]}), 2000),
            ("init and sidecar", json!({"containers": [container("1")], "initContainers": [sidecar("1"), container("2")]}), 3000),
            ("overhead",         json!({"containers": [container("1")], "overhead": {"cpu": "250m"}}), 1250),
        ];
        for (name, spec, cpu) in rows {
            assert_eq!(requests(&spec).get("cpu"), cpu, "{name}");
            assert_eq!(requests(&spec).get("pods"), 1000, "{name}");
        }
    }

    #[test]
    fn a_container_without_a_request_weighs_something() {
        let spec = json!({"containers": [{}, {"resources": {"requests": {"cpu": "1"}}}]});
        assert_eq!(weight(&spec), [1100, 400 * 1024 * 1024 * 1000]);
        let whole = json!({"containers": [{}], "resources": {"requests": {"cpu": "2"}}});
        assert_eq!(weight(&whole), [2000, 200 * 1024 * 1024 * 1000]);
    }

    #[test]
    fn ports_of_the_host_clash_unless_their_addresses_differ() {
        let port = |number: u64, address: &str| {
            let spec =
                json!({"containers": [{"ports": [{"hostPort": number, "hostIP": address}]}]});
            ports(&spec).remove(0)
        };
        #[rustfmt::skip]
        let rows = [
            (port(80, "0.0.0.0"),  port(80, "0.0.0.0"),  true),
            (port(80, "10.0.0.1"), port(80, "0.0.0.0"),  true),
            (port(80, "10.0.0.1"), port(80, "10.0.0.2"), false),
            (port(80, "0.0.0.0"),  port(81, "0.0.0.0"),  false),
        ];
        for (one, other, clash) in rows {
            assert_eq!(one.clashes(&other), clash, "{one:?} {other:?}");
        }
    }
}

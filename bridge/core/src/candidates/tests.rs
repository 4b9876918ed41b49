//! Tables: pods that are there, a pod that comes, and what each node says.

use serde_json::{Value, json};

use super::*;
use crate::tenants::Tenant;

/// Nodes with who lives there.
#[derive(Default)]
struct Place {
    store: Store,
    tenants: Tenants,
    refusals: Refusals,
    storage: Storage,
    slurm: BTreeMap<SlurmNode, NodeInfo>,
    mapping: Mapping,
}

impl Place {
    /// Nodes n1, n2 … of so many CPUs; the first half is in zone a, the others in zone b.
    fn new(n_nodes: u32, cpus: u32) -> Self {
        let mut place = Self::default();
        for n in 1..=n_nodes {
            let (name, zone) = (format!("n{n}"), if n <= n_nodes / 2 { "a" } else { "b" });
            let labels = json!({ "kubernetes.io/hostname": name, "zone": zone });
            let allocatable = json!({
                "cpu": cpus, "memory": "8Gi", "pods": 6, "ephemeral-storage": "100Gi",
            });
            let node = json!({
                "metadata": { "name": name, "uid": name, "labels": labels },
                "status": { "allocatable": allocatable },
            });
            place.store.put_node(serde_json::from_value(node).unwrap());
            place.slurm.insert(name.as_str().into(), info(&name, cpus));
        }
        place.mapping = Mapping::of(&place.store, &place.slurm);
        place
    }

    /// With somebody else's pod on a node.
    fn with_other(mut self, node: &str, spec: &Value) -> Self {
        let name = format!("other-{}", self.tenants.others().len());
        self.tenants.put_other(&pod(&name, &json!({ "app": "other" }), &bound(spec, node)));
        self
    }

    /// With a pod of ours on a node.
    fn with_ours(mut self, node: &str, spec: &Value) -> Self {
        let name = format!("ours-{}", self.tenants.iter().count());
        self.tenants.put_ours(&pod(&name, &json!({ "app": "web" }), &bound(spec, node)));
        self
    }

    fn field(&self) -> Field<'_> {
        Field {
            now: Time::ZERO,
            store: &self.store,
            mapping: &self.mapping,
            slurm: &self.slurm,
            tenants: &self.tenants,
            refusals: &self.refusals,
            storage: &self.storage,
        }
    }

    /// What each node has against the pod: `n1 fine, n2 …`.
    fn judge(&self, spec: &Value, when: When) -> String {
        let pod = pod("new", &json!({ "app": "web" }), spec);
        let nobody = BTreeSet::new();
        let Around { field, company } = self.field().drafting(&nobody, &[]);
        let around = Around { field, company: Company { when, ..company } };
        let demands = Demands::of(around, &pod);
        let verdict = |node: &std::sync::Arc<NodeView>| match fits(&demands, node, around) {
            Ok(()) => format!("{} fine", node.metadata.name),
            Err(obstacle) => format!("{}: {obstacle}", node.metadata.name),
        };
        self.store.nodes().map(verdict).collect::<Vec<_>>().join("; ")
    }

    /// How so many pods go together.
    fn lay_out(&self, n_pods: usize, spec: &Value) -> String {
        let made = |n: usize| pod(&format!("g-{n}"), &json!({ "app": "web" }), spec);
        let pods: Vec<_> = (0..n_pods).map(made).collect();
        let pods: Vec<_> = pods.iter().collect();
        let tried = BTreeMap::new();
        let party = Party { pods: &pods, partition: None, cpus_per_task: 1, tried: &tried };
        let Choice { excluded, layout, unkept, hold } = choose(self.field(), party);
        let words = [
            layout.per_node.map(|most| format!("{most} per node")),
            layout.one_node.then(|| "one node".into()),
            (!excluded.is_empty()).then(|| {
                let names: Vec<_> = excluded.iter().map(|(node, _)| node.to_string()).collect();
                format!("not {}", names.join(" "))
            }),
            unkept.first().map(ToString::to_string),
            hold.map(|hold| match hold {
                Hold::Wait(words) => words,
                Hold::Never(words) => format!("never: {words}"),
            }),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

fn info(name: &str, cpus: u32) -> NodeInfo {
    NodeInfo {
        name: name.into(),
        state: Vec::new(),
        reason: String::new(),
        comment: String::new(),
        partitions: Vec::new(),
        cpus,
        memory_mib: 8192,
        gres: String::new(),
        features: Vec::new(),
        topology: String::new(),
    }
}

fn pod(name: &str, labels: &Value, spec: &Value) -> PodView {
    let metadata = json!({ "name": name, "namespace": "a", "uid": name, "labels": labels });
    serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).unwrap()
}

fn bound(spec: &Value, node: &str) -> Value {
    let mut spec = spec.clone();
    spec["nodeName"] = json!(node);
    spec
}

fn asks(requests: &Value) -> Value {
    json!({ "containers": [{ "name": "c", "resources": { "requests": requests } }] })
}

fn on_port(port: &Value) -> Value {
    json!({ "containers": [{ "name": "c", "ports": [port] }] })
}

/// A required term about pods of this app.
fn term(side: &str, app: &str, key: &str) -> Value {
    let term = json!({ "labelSelector": { "matchLabels": { "app": app } }, "topologyKey": key });
    json!({ "affinity": { side: { "requiredDuringSchedulingIgnoredDuringExecution": [term] } } })
}

fn spread(key: &str, max_skew: u32) -> Value {
    json!({ "topologySpreadConstraints": [{
        "maxSkew": max_skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": { "matchLabels": { "app": "web" } },
    }] })
}

const HOST: &str = "kubernetes.io/hostname";

#[test]
fn a_node_must_have_room_beside_the_pods_of_others() {
    let place = || Place::new(1, 8).with_other("n1", &asks(&json!({ "cpu": "6" })));
    let beside_ours = || Place::new(1, 8).with_ours("n1", &asks(&json!({ "cpu": "6" })));
    let stored =
        || Place::new(1, 8).with_ours("n1", &asks(&json!({ "ephemeral-storage": "60Gi" })));
    let crowded = || (0..6).fold(Place::new(1, 8), |it, _| it.with_ours("n1", &json!({})));
    use When::{Allocated, Drafted};
    #[rustfmt::skip]
    let rows = [
        (place(),       json!({ "cpu": "2" }),                 Drafted,   "n1 fine"),
        (place(),       json!({ "cpu": "3" }),                 Drafted,   "n1: other pods hold 6 of its 8 cpu, and 3 is asked for"),
        (place(),       json!({ "cpu": "9" }),                 Drafted,   "n1: it has 8 of cpu, and 9 is asked for"),
        (place(),       json!({ "memory": "9Gi" }),            Drafted,   "n1: it has 8192Mi of memory, and 9216Mi is asked for"),
        (place(),       json!({ "hugepages-2Mi": "4Mi" }),     Drafted,   "n1: it has 0Mi of hugepages-2Mi, and 4Mi is asked for"),
        (place(),       json!({ "rdma/hca": "1" }),            Drafted,   "n1: it has 0 of rdma/hca, and 1 is asked for"),
        (place(),       json!({ "nvidia.com/gpu": "1" }),      Drafted,   "n1 fine"), // Slurm counts GPUs, whoever hands them out
        (beside_ours(), json!({ "cpu": "3" }),                 Drafted,   "n1 fine"), // Slurm knows
        (beside_ours(), json!({ "cpu": "3" }),                 Allocated, "n1: other pods hold 6 of its 8 cpu, and 3 is asked for"),
        (stored(),      json!({ "ephemeral-storage": "50Gi" }),Drafted,   "n1: other pods hold 61440Mi of its 102400Mi ephemeral-storage, and 51200Mi is asked for"),
        (crowded(),     json!({ "cpu": "1" }),                 Drafted,   "n1: other pods hold 6 of its 6 pods, and 1 is asked for"),
    ];
    for (place, requests, when, expected) in rows {
        assert_eq!(place.judge(&asks(&requests), when), expected, "{requests} {when:?}");
    }
}

#[test]
fn a_port_of_a_node_is_taken_once() {
    let on = |port: Value| Place::new(1, 8).with_other("n1", &on_port(&port));
    let taken = "n1: pod a/other-0 has its port 80";
    #[rustfmt::skip]
    let rows = [
        (on(json!({ "hostPort": 80 })),                          json!({ "hostPort": 80 }),                          taken),
        (on(json!({ "hostPort": 80 })),                          json!({ "hostPort": 81 }),                          "n1 fine"),
        (on(json!({ "hostPort": 80 })),                          json!({ "hostPort": 80, "protocol": "UDP" }),       "n1 fine"),
        (on(json!({ "hostPort": 80, "hostIP": "10.0.0.1" })),    json!({ "hostPort": 80, "hostIP": "10.0.0.2" }),    "n1 fine"),
        (on(json!({ "hostPort": 80, "hostIP": "10.0.0.1" })),    json!({ "hostPort": 80 }),                          taken),
        (on(json!({ "containerPort": 80 })),                     json!({ "hostPort": 80 }),                          "n1 fine"),
    ];
    for (place, port, expected) in rows {
        assert_eq!(place.judge(&on_port(&port), When::Drafted), expected, "{port}");
    }
    let mut host = on_port(&json!({ "containerPort": 80 }));
    host["hostNetwork"] = json!(true);
    assert_eq!(
        Place::new(1, 8)
            .with_other("n1", &host)
            .judge(&on_port(&json!({ "hostPort": 80 })), When::Drafted),
        taken
    );
}

#[test]
fn neighbours_that_are_there_rule_nodes_in_and_out() {
    let web = || Place::new(2, 8).with_ours("n1", &json!({}));
    let zones = || Place::new(4, 8).with_ours("n1", &json!({}));
    let shy = || Place::new(2, 8).with_other("n1", &term("podAntiAffinity", "web", HOST));
    let both = "n1 fine; n2 fine";
    #[rustfmt::skip]
    let rows = [
        (web(),   term("podAntiAffinity", "web", HOST),   "n1: pod a/ours-0 is in the same kubernetes.io/hostname, which the pod's anti-affinity forbids; n2 fine"),
        (web(),   term("podAntiAffinity", "db", HOST),    both),
        (zones(), term("podAntiAffinity", "web", "zone"), "n1: pod a/ours-0 is in the same zone, which the pod's anti-affinity forbids; n2: pod a/ours-0 is in the same zone, which the pod's anti-affinity forbids; n3 fine; n4 fine"),
        (shy(),   json!({}),                              "n1: pod a/other-0 is in the same kubernetes.io/hostname, and its anti-affinity forbids it; n2 fine"),
        (web(),   term("podAffinity", "web", HOST),       "n1 fine; n2: no pod that the pod's affinity asks for is in the same kubernetes.io/hostname"),
        (zones(), term("podAffinity", "web", "zone"),     "n1 fine; n2 fine; n3: no pod that the pod's affinity asks for is in the same zone; n4: no pod that the pod's affinity asks for is in the same zone"),
        (Place::new(2, 8), term("podAffinity", "web", HOST), both), // the first of its kind is near itself
        (Place::new(2, 8), term("podAffinity", "web", "rack"), "n1: it has no label rack; n2: it has no label rack"),
        (web(),   spread(HOST, 1),                        "n1: the pods' spread over kubernetes.io/hostname would differ by more than 1; n2 fine"),
        (web(),   spread(HOST, 2),                        both),
        (zones(), spread("zone", 1),                      "n1: the pods' spread over zone would differ by more than 1; n2: the pods' spread over zone would differ by more than 1; n3 fine; n4 fine"),
    ];
    for (place, spec, expected) in rows {
        assert_eq!(place.judge(&spec, When::Drafted), expected, "{spec}");
    }
}

#[test]
fn what_pods_demand_of_each_other_becomes_a_layout() {
    let place = || Place::new(4, 8);
    let port = on_port(&json!({ "hostPort": 80 }));
    let six = json!({ "cpu": "6" });
    let beside = || (1..=4).fold(place(), |it, n| it.with_other(&format!("n{n}"), &asks(&six)));
    let spec = |requests: Value| asks(&requests);
    #[rustfmt::skip]
    let rows = [
        (place(),          4, json!({}),                                           ""),
        (place(),          4, port.clone(),                                        "1 per node"),
        (place(),          1, port,                                                ""),
        (place(),          4, term("podAntiAffinity", "web", HOST),                "1 per node"),
        (place(),          4, term("podAntiAffinity", "db", HOST),                 ""),
        (place(),          4, term("podAffinity", "web", HOST),                    "one node"),
        (place(),          4, spread(HOST, 1),                                     "1 per node"),
        (place(),          4, spread(HOST, 4),                                     ""),
        (place(),          8, spread(HOST, 2),                                     "2 per node"),
        (place(),          1, spread("zone", 1),                                   ""),
        (Place::new(2, 8), 2, term("podAntiAffinity", "web", "zone"),              "1 per node"), // a node for each zone
        (place(),          2, spec(json!({ "ephemeral-storage": "60Gi" })),        "1 per node"),
        (place(),          8, spec(json!({ "cpu": "1" })),                         "6 per node"), // so many pods
        (beside(),         3, spec(json!({ "cpu": "2" })),                         "1 per node"),
        (place(),          2, term("podAffinity", "db", HOST),                     "waiting for a pod that its affinity asks for"),
    ];
    for (place, n_pods, spec, expected) in rows {
        let told = place.lay_out(n_pods, &spec);
        assert_eq!(told, expected, "{n_pods} of {spec}");
    }
}

#[test]
fn what_slurm_has_no_words_for_is_named() {
    let place = || Place::new(4, 8);
    let mut by_namespace = term("podAffinity", "web", HOST);
    by_namespace["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
        ["namespaceSelector"] = json!({ "matchLabels": { "team": "a" } });
    let mut both = term("podAntiAffinity", "web", HOST);
    both["affinity"]["podAffinity"] =
        term("podAffinity", "web", HOST)["affinity"]["podAffinity"].clone();
    let beyond = "can't be kept: the pods are placed together, and Slurm can't be told to";
    let by_zone = "choose nodes by zone; use kubernetes.io/hostname, or the annotation constraints with a feature of the nodes";
    let even = "use ScheduleAnyway, or kubernetes.io/hostname with enough nodes";
    #[rustfmt::skip]
    let rows = [
        (2, term("podAffinity", "web", "zone"),     format!("spec.affinity.podAffinity (required) {beyond} {by_zone}")),
        (2, term("podAntiAffinity", "web", "zone"), format!("spec.affinity.podAntiAffinity (required) {beyond} {by_zone}")),
        (4, spread("zone", 1),                      format!("spec.topologySpreadConstraints (DoNotSchedule) {beyond} spread them over zone by at most 1; {even}")),
        (9, spread(HOST, 2),                        format!("6 per node; spec.topologySpreadConstraints (DoNotSchedule) {beyond} spread them over kubernetes.io/hostname by at most 2; {even}")),
        (1, by_namespace,                           "spec.affinity.podAffinity (required) can't be kept: its namespaceSelector asks for labels of namespaces, which the bridge doesn't read; name the namespaces".into()),
        (2, both,                                   "1 per node; one node; the demands of the pods on each other can't be kept: they have to share one node, and can't".into()),
    ];
    for (n_pods, spec, expected) in rows {
        assert_eq!(place().lay_out(n_pods, &spec), expected, "{n_pods} of {spec}");
    }
}

#[test]
fn a_job_is_kept_in_the_queue_when_all_that_is_in_the_way_may_pass() {
    let full = asks(&json!({ "cpu": "6" }));
    let one = Place::new(2, 8).with_other("n1", &full);
    let all = Place::new(2, 8).with_other("n1", &full).with_other("n2", &full);
    assert_eq!(one.lay_out(1, &asks(&json!({ "cpu": "4" }))), "not n1");
    assert_eq!(all.lay_out(1, &asks(&json!({ "cpu": "4" }))), "");
    assert_eq!(all.lay_out(1, &asks(&json!({ "cpu": "9" }))), "not n1 n2", "that never passes");
}

#[test]
fn a_seat_counts_until_it_is_given_up() {
    let mut place = Place::new(1, 8);
    let port = on_port(&json!({ "hostPort": 80 }));
    let waiting = pod("waiting", &json!({}), &port);
    place.tenants.seat(&waiting, &"n1".into());
    assert_eq!(place.judge(&port, When::Drafted), "n1: pod a/waiting has its port 80");
    place.tenants.put_ours(&waiting);
    assert_eq!(place.judge(&port, When::Drafted), "n1: pod a/waiting has its port 80");
    place.tenants.unseat(waiting.uid(), Some(&waiting));
    assert_eq!(place.judge(&port, When::Drafted), "n1 fine");
    assert_eq!(Tenant::of(&waiting, true).claims, []);
}

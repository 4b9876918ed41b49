//! Kubernetes nodes that Slurm shall have as external nodes.

use drawbridge_core::Config;
use serde_json::{Value, json};

use crate::town::{Fate, Town};

const LABEL: &str = "scheduler.slinky.slurm.net/external-node";
const PARTITIONS: &str = "scheduler.slinky.slurm.net/external-node-partitions";
const TOPOLOGY: &str = "topology.slinky.slurm.net/spec";

fn town() -> Town {
    Town::with(Config { taint_nodes: false, ..Config::as_shipped() })
}

fn size(cpu: &str, memory: &str) -> Value {
    json!({ "cpu": cpu, "memory": memory })
}

/// Kubernetes node e1, labelled as external, with 4 CPUs and two GPUs.
fn with_e1(mut town: Town) -> Town {
    town.add_node("e1", &json!({ LABEL: "true" }));
    town.kube.change("/api/v1/nodes/e1", |node| {
        node["status"] = json!({
            "allocatable": size("3920m", "8000Mi"),
            "capacity": { "cpu": "4", "memory": "9000Mi", "nvidia.com/gpu": "2" },
            "addresses": [{ "type": "InternalIP", "address": "10.0.0.5" }],
        });
    });
    town
}

fn annotate(town: &mut Town, key: &str, value: &str) {
    town.change_node("e1", &format!("{key}={value}"), |node| {
        node["metadata"]["annotations"][key] = json!(value);
    });
}

fn resize(town: &mut Town, cpu: &str, memory: &str) {
    town.change_node("e1", &format!("has {cpu} CPUs, {memory}"), |node| {
        node["status"]["allocatable"] = size(cpu, memory);
    });
}

#[test]
fn an_external_node_is_made_described_made_anew_and_removed() {
    let mut town = with_e1(town()).start();
    town.pass(15);
    annotate(&mut town, PARTITIONS, "gpu, debug");
    annotate(&mut town, TOPOLOGY, "default:s1");
    town.pass(15);
    // A kernel that finds a little less memory is the same machine.
    resize(&mut town, "3920m", "7990Mi");
    town.pass(15);
    town.slurm("e1 is busy", |slurm| slurm.nodes.get_mut("e1").unwrap().state[0] = "MIXED".into());
    resize(&mut town, "7920m", "7990Mi");
    town.pass(30);
    town.slurm("e1 is idle", |slurm| slurm.nodes.get_mut("e1").unwrap().state[0] = "IDLE".into());
    town.pass(30);
    town.change_node("e1", "loses its label", |node| {
        node["metadata"]["labels"] = json!({});
    });
    town.pass(60);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000     > create a Slurm node: NodeName=e1 Sockets=1 CoresPerSocket=3 ThreadsPerCore=1 CPUs=3 RealMemory=8000 State=External Feature=drawbridge-drawbridge NodeAddr=10.0.0.5 Gres="gpu:2" GresConf="count=2,name=gpu"
    00:00:00.000     > condition on nodes/e1/status: SlurmRegistered=True: Slurm node e1: 3 CPUs, 8000 MiB, in main
    00:00:15.000 < node e1 scheduler.slinky.slurm.net/external-node-partitions=gpu, debug
    00:00:15.000     > Drain e1: slurm-bridge: making external node anew: e1: its partitions have changed
    00:00:15.000     > delete Slurm node e1
    00:00:15.000     > create a Slurm node: NodeName=e1 Sockets=1 CoresPerSocket=3 ThreadsPerCore=1 CPUs=3 RealMemory=8000 State=External Feature=drawbridge-drawbridge,gpu,debug NodeAddr=10.0.0.5 Gres="gpu:2" GresConf="count=2,name=gpu"
    00:00:15.000     > condition on nodes/e1/status: SlurmRegistered=True: Slurm node e1: 3 CPUs, 8000 MiB, in main; not in gpu, debug, which no NodeSet gives nodes of this feature
    00:00:15.000 < node e1 topology.slinky.slurm.net/spec=default:s1
    00:00:15.000     > describe Slurm node e1: topology default:s1
    00:00:30.000 < node e1 has 3920m CPUs, 7990Mi
    00:00:45.000 < e1 is busy
    00:00:45.000 < node e1 has 7920m CPUs, 7990Mi
    00:00:45.000     > Drain e1: slurm-bridge: making external node anew: e1: its size has changed
    00:01:15.000 < e1 is idle
    00:01:25.000     > delete Slurm node e1
    00:01:25.000     > create a Slurm node: NodeName=e1 Sockets=1 CoresPerSocket=7 ThreadsPerCore=1 CPUs=7 RealMemory=7990 State=External Feature=drawbridge-drawbridge,gpu,debug NodeAddr=10.0.0.5 Gres="gpu:2" GresConf="count=2,name=gpu" Topology=default:s1
    00:01:25.000     > condition on nodes/e1/status: SlurmRegistered=True: Slurm node e1: 7 CPUs, 7990 MiB, in main; not in gpu, debug, which no NodeSet gives nodes of this feature
    00:01:45.000 < node e1 loses its label
    00:01:45.000     > Drain e1: slurm-bridge: removing external node e1: it is no longer labelled as one
    00:01:45.000     > delete Slurm node e1
    00:01:45.000     > condition on nodes/e1/status: SlurmRegistered=False: it is no external node of Slurm
    "#);
    insta::assert_snapshot!(town.facts(), @"
    http://slurm-restapi.slurm:6820 speaks v0.0.45
    made e1 an external node of Slurm: 3 CPUs, 8000 MiB, gpu:2
    wrote on node e1: SlurmRegistered=True: Slurm node e1: 3 CPUs, 8000 MiB, in main
    drained Slurm node e1: its partitions have changed
    removed external node e1 from Slurm: its partitions have changed
    made e1 an external node of Slurm: 3 CPUs, 8000 MiB, gpu:2
    wrote on node e1: SlurmRegistered=True: Slurm node e1: 3 CPUs, 8000 MiB, in main; not in gpu, debug, which no NodeSet gives nodes of this feature
    described external node e1 of Slurm: default:s1
    drained Slurm node e1: its size has changed
    removed external node e1 from Slurm: its size has changed
    made e1 an external node of Slurm: 7 CPUs, 7990 MiB, gpu:2
    wrote on node e1: SlurmRegistered=True: Slurm node e1: 7 CPUs, 7990 MiB, in main; not in gpu, debug, which no NodeSet gives nodes of this feature
    drained Slurm node e1: it is no longer labelled as one
    removed external node e1 from Slurm: it is no longer labelled as one
    wrote on node e1: SlurmRegistered=False: it is no external node of Slurm
    ");
}

#[test]
fn whatever_request_is_lost_an_external_node_is_made_once_and_removed() {
    for fate in Fate::ALL {
        for request in ["create a Slurm node", "Drain e1", "delete Slurm node"] {
            let mut town = with_e1(town());
            town.fate(request, fate);
            let mut town = town.start();
            town.pass(30);
            town.restart_if_dead();
            town.pass(90);
            assert!(town.slurm.nodes.contains_key("e1"), "{fate:?} {request}");
            town.delete_node("e1");
            town.pass(30);
            town.restart_if_dead();
            town.pass(180);
            assert!(!town.slurm.nodes.contains_key("e1"), "{fate:?} {request}");
            assert_eq!(town.slurm.nodes.len(), 2, "{fate:?} {request}");
        }
    }
}

#[test]
fn a_node_that_went_while_no_bridge_ran_is_removed() {
    let mut town = with_e1(town()).start();
    town.pass(15);
    town.crash();
    town.delete_node("e1");
    town.dialogue();
    town.restart();
    town.pass(30);
    insta::assert_snapshot!(town.dialogue(), @"
    00:00:25.000     > Drain e1: slurm-bridge: removing external node e1: its Kubernetes node is gone
    00:00:25.000     > delete Slurm node e1
    ");
}

/// Makes a node in the way that a row says, in these words.
type Making = fn(&mut Town, &str);

#[test]
fn nothing_is_changed_that_is_not_external_and_ours() {
    let words = |features: &str| format!("CPUs=1 RealMemory=1 Feature={features}");
    let rows: [(&str, Making, &str); 3] = [
        ("a node with slurmd", |town, _| town.slurm.add_node("e1"), ""),
        ("another cluster's", |town, words| town.slurm.create("e1", words), "drawbridge-other"),
        (
            "one of slurm.conf",
            |town, words| {
                town.slurm.create("e1", words);
                town.slurm.nodes.get_mut("e1").unwrap().state.truncate(2);
            },
            "x",
        ),
    ];
    let mut said = vec![];
    for (what, make, features) in rows {
        let mut town = with_e1(town());
        make(&mut town, &words(features));
        let mut town = town.start();
        town.pass(30);
        town.change_node("e1", "loses its label", |node| node["metadata"]["labels"] = json!({}));
        town.pass(60);
        said.push(format!("{what}\n{}", town.dialogue()));
    }
    insta::assert_snapshot!(said.join("\n"), @"
    a node with slurmd
    00:00:00.000     > condition on nodes/e1/status: SlurmRegistered=False: Slurm has a node e1 that isn't external, or is in slurm.conf
    00:00:30.000 < node e1 loses its label
    another cluster's
    00:00:00.000     > condition on nodes/e1/status: SlurmRegistered=False: Slurm node e1 belongs to cluster other
    00:00:30.000 < node e1 loses its label
    one of slurm.conf
    00:00:00.000     > condition on nodes/e1/status: SlurmRegistered=False: Slurm has a node e1 that isn't external, or is in slurm.conf
    00:00:30.000 < node e1 loses its label
    ");
}

#[test]
fn an_external_node_of_the_bridge_before_ours_is_adopted() {
    let mut town = with_e1(town());
    town.slurm.create("e1", "CPUs=3 RealMemory=8000 Gres=gpu:2 Feature=");
    let mut town = town.start();
    town.pass(30);
    insta::assert_snapshot!(town.dialogue(), @"
    00:00:00.000     > describe Slurm node e1: features drawbridge-drawbridge
    00:00:00.000     > condition on nodes/e1/status: SlurmRegistered=True: Slurm node e1: 3 CPUs, 8000 MiB, in main
    ");
}

#[test]
fn a_slurm_without_external_nodes_is_told_on_the_node_and_asked_rarely() {
    let mut town = with_e1(town());
    town.slurm.refuse_nodes =
        Some((0, "creating a node needs another version of slurmrestd's API"));
    let mut town = town.start();
    town.pass(600);
    insta::assert_snapshot!(town.dialogue(), @r#"
    00:00:00.000     > create a Slurm node: NodeName=e1 Sockets=1 CoresPerSocket=3 ThreadsPerCore=1 CPUs=3 RealMemory=8000 State=External Feature=drawbridge-drawbridge NodeAddr=10.0.0.5 Gres="gpu:2" GresConf="count=2,name=gpu"
    00:00:00.000     > condition on nodes/e1/status: SlurmRegistered=False: Slurm can't have it as an external node: creating a node needs another version of slurmrestd's API
    00:01:00.000     > create a Slurm node: NodeName=e1 Sockets=1 CoresPerSocket=3 ThreadsPerCore=1 CPUs=3 RealMemory=8000 State=External Feature=drawbridge-drawbridge NodeAddr=10.0.0.5 Gres="gpu:2" GresConf="count=2,name=gpu"
    00:03:00.000     > create a Slurm node: NodeName=e1 Sockets=1 CoresPerSocket=3 ThreadsPerCore=1 CPUs=3 RealMemory=8000 State=External Feature=drawbridge-drawbridge NodeAddr=10.0.0.5 Gres="gpu:2" GresConf="count=2,name=gpu"
    00:07:00.000     > create a Slurm node: NodeName=e1 Sockets=1 CoresPerSocket=3 ThreadsPerCore=1 CPUs=3 RealMemory=8000 State=External Feature=drawbridge-drawbridge NodeAddr=10.0.0.5 Gres="gpu:2" GresConf="count=2,name=gpu"
    "#);
}

#[test]
fn a_node_that_slurm_makes_something_else_of_is_not_made_again_and_again() {
    let mut town = with_e1(town()).start();
    town.pass(15);
    town.slurm("Slurm counts otherwise", |slurm| {
        slurm.nodes.get_mut("e1").unwrap().gres = "gpu:tesla:2(S:0)".into();
    });
    town.pass(300);
    let said = town.dialogue();
    assert_eq!(said.matches("create").count(), 1, "{said}");
    assert!(!said.contains("Drain"), "{said}");
}

#[test]
fn a_node_that_does_not_say_its_size_is_not_made() {
    let mut town = town();
    town.add_node("e1", &json!({ LABEL: "" }));
    let mut town = town.start();
    town.pass(30);
    insta::assert_snapshot!(town.dialogue(), @"
    00:00:00.000     > condition on nodes/e1/status: SlurmRegistered=False: Slurm can't have it: it doesn't say how many CPUs and how much memory pods can have
    ");
}

//! What a job has on each node. v0.0.40 writes it in another form than all later versions.
//!
//! ```text
//!   v0.0.40   {"nodes": "n[1-2]", "allocated_nodes": [{"nodename": "n1", "sockets": {"0": {"cores": {"3": "allocated"}}}}]}
//!   v0.0.41   {"nodes": {"list": "n[1-2]", "allocation": [{"name": "n1", "cpus": {"count": 1}, "sockets": [{"index": 0, "cores": [{"index": 3, "status": ["ALLOCATED"]}]}]}]}}
//! ```
//!
//! The old form doesn't count CPUs. They follow from the cores, and from how many CPUs the job has
//! in all: a core with two threads is two CPUs.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::Number;

/// What a job has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Wire")]
pub struct JobResources {
    /// Its nodes as a host list.
    pub list: String,
    /// Whole nodes only. Not known in v0.0.40.
    pub whole: bool,
    /// CPUs in all, as slurmctld counts them; 0 in v0.0.40.
    pub cpus: u64,
    /// Cores in all; 0 after v0.0.40.
    pub cores: u64,
    /// Threads that it may use of each core.
    pub threads_per_core: Number,
    /// What it has on each node, in the order of the node list.
    pub allocation: Vec<NodeResources>,
}

/// What a job has on one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeResources {
    /// Its name.
    pub name: String,
    /// CPUs; `None` in v0.0.40, which doesn't count them.
    pub cpus: Option<u32>,
    /// Memory, MiB.
    pub memory_allocated: u64,
    /// The cores.
    pub cores: Vec<Core>,
    /// How many cores each socket has, theirs or not; 0 in v0.0.40.
    pub cores_per_socket: u32,
}

/// A core by its place on the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Core {
    /// The socket.
    pub socket: u32,
    /// Its number on that socket.
    pub core: u32,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Wire {
    nodes: Nodes,
    cpus: u64,
    threads_per_core: Number,
    allocated_cores: u64,
    allocated_nodes: Vec<OldNode>,
}

/// A host list alone, or with everything about the nodes.
#[derive(Default)]
struct Nodes {
    list: String,
    whole: bool,
    allocation: Vec<NewNode>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NewNodes {
    list: String,
    whole: bool,
    allocation: Vec<NewNode>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NewNode {
    index: u32,
    name: String,
    cpus: NewCpus,
    memory: NewMemory,
    sockets: Vec<NewSocket>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NewCpus {
    count: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NewMemory {
    allocated: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NewSocket {
    index: u32,
    cores: Vec<NewCore>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NewCore {
    index: u32,
    status: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OldNode {
    nodename: String,
    memory_allocated: u64,
    /// By number, as text.
    sockets: BTreeMap<String, OldSocket>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OldSocket {
    cores: BTreeMap<String, String>,
}

impl From<Wire> for JobResources {
    fn from(wire: Wire) -> Self {
        let Wire { nodes, cpus, threads_per_core, allocated_cores, allocated_nodes } = wire;
        let mut new = nodes.allocation;
        // Stable: where the index is left out, the order of the list is kept.
        new.sort_by_key(|node| node.index);
        let old = allocated_nodes.into_iter().map(OldNode::into_node);
        Self {
            list: nodes.list,
            whole: nodes.whole,
            cpus,
            cores: allocated_cores,
            threads_per_core,
            allocation: old.chain(new.into_iter().map(NewNode::into_node)).collect(),
        }
    }
}

impl NewNode {
    fn into_node(self) -> NodeResources {
        let taken = |core: &NewCore| core.status.iter().any(|word| word == "ALLOCATED");
        let cores = self.sockets.iter().flat_map(|socket| {
            let taken = socket.cores.iter().filter(|core| taken(core));
            taken.map(|core| Core { socket: socket.index, core: core.index })
        });
        let per_socket = self.sockets.first().map_or(0, |socket| socket.cores.len());
        NodeResources {
            cores: cores.collect(),
            cores_per_socket: u32::try_from(per_socket).unwrap_or(0),
            name: self.name,
            cpus: self.cpus.count,
            memory_allocated: self.memory.allocated,
        }
    }
}

impl OldNode {
    fn into_node(self) -> NodeResources {
        let mut cores: Vec<Core> = self.sockets.iter().flat_map(OldSocket::cores).collect();
        cores.sort_unstable();
        NodeResources {
            name: self.nodename,
            cpus: None,
            memory_allocated: self.memory_allocated,
            cores,
            cores_per_socket: 0,
        }
    }
}

impl OldSocket {
    fn cores<'a>((socket, of): (&'a String, &'a Self)) -> impl Iterator<Item = Core> + 'a {
        let number = |text: &String| text.parse::<u32>().ok();
        let taken = of.cores.iter().filter(|(_, state)| state.starts_with("allocated"));
        taken.filter_map(move |(core, _)| {
            Some(Core { socket: number(socket)?, core: number(core)? })
        })
    }
}

impl<'de> Deserialize<'de> for Nodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodesVisitor)
    }
}

struct NodesVisitor;

impl<'de> Visitor<'de> for NodesVisitor {
    type Value = Nodes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a host list or the nodes of a job")
    }

    fn visit_str<E>(self, list: &str) -> Result<Nodes, E> {
        Ok(Nodes { list: list.to_owned(), ..Nodes::default() })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Nodes, A::Error> {
        let new = NewNodes::deserialize(MapAccessDeserializer::new(map))?;
        let NewNodes { list, whole, allocation } = new;
        Ok(Nodes { list, whole, allocation })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_forms_say_the_same() {
        let old = json!({"nodes": "n[1-2]", "allocated_cores": 3, "allocated_nodes": [
            {"nodename": "n1", "memory_allocated": 64, "sockets": {"10": {"cores": {"2": "allocated"}}, "0": {"cores": {"0": "allocated", "1": "allocated and in use", "3": "unassigned"}}}},
        ]});
        let core = |index: u32, status: &str| json!({"index": index, "status": [status]});
        let sockets = json!([
            {"index": 0, "cores": [core(0, "ALLOCATED"), core(1, "ALLOCATED"), core(3, "UNALLOCATED")]},
            {"index": 10, "cores": [core(2, "ALLOCATED")]},
        ]);
        let new = json!({"cpus": 3, "nodes": {"list": "n[1-2]", "allocation": [
            {"index": 0, "name": "n1", "cpus": {"count": 3}, "memory": {"allocated": 64}, "sockets": sockets},
        ]}});
        let read = |wire| JobResources::deserialize(wire).unwrap();
        let (old, new) = (read(old), read(new));
        assert_eq!(old.list, new.list);
        assert_eq!(old.allocation[0].cores, new.allocation[0].cores);
        assert_eq!(old.allocation[0].memory_allocated, new.allocation[0].memory_allocated);
        assert_eq!((old.allocation[0].cpus, new.allocation[0].cpus), (None, Some(3)));
    }

    #[test]
    fn the_allocation_is_in_the_order_of_the_node_list() {
        let node = |index: u32, name: &str| json!({"index": index, "name": name});
        let wire = json!({"nodes": {"allocation": [node(1, "b"), node(0, "c"), node(2, "a")]}});
        let read = JobResources::deserialize(wire).unwrap();
        let order: Vec<&str> = read.allocation.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(order, ["c", "b", "a"]);
    }
}

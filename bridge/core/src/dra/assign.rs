//! The devices of one pod, given what Slurm gave its job on its node.
//!
//! Pods of a job that share a node take the devices there in the order of their ranks, each as many
//! as a task of the job was given: so it doesn't matter who is looked at first, or again after a
//! crash.

use std::collections::BTreeMap;

use super::{
    demand::{Demand, Source},
    grant,
    shelf::Shelf,
    step::extended_key,
    view::{Device, DeviceId},
};
use crate::{
    config::{Config, Gres},
    names::ObjectKey,
    placement::Placement,
    slurm::ObservedJob,
    translate::CPU_CLASS,
    view::PodView,
};

/// A device for a request of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assigned {
    pub(crate) source: Source,
    pub(crate) request: String,
    pub(crate) class: String,
    pub(crate) device: DeviceId,
}

/// Why a pod can't be given its devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Snag {
    /// It may pass by itself.
    Wait(String),
    /// Only another allocation helps.
    Never(String),
}

/// What the choice is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'a> {
    pub(crate) config: &'a Config,
    pub(crate) shelf: &'a Shelf,
    pub(crate) job: &'a ObservedJob,
    /// CPUs of each task.
    pub(crate) cpus: u32,
    /// How many devices of each kind a task was given.
    pub(crate) per_task: &'a BTreeMap<Gres, u32>,
}

/// The devices of a pod with these demands, at this place.
pub(crate) fn assign(
    table: Table<'_>,
    pod: &PodView,
    place: &Placement,
    demands: &[Demand],
) -> Result<Vec<Assigned>, Snag> {
    let mut taken: BTreeMap<Gres, u32> = BTreeMap::new();
    let mut all = Vec::new();
    for demand in demands {
        let (gres, devices) = match demand.class.as_str() {
            CPU_CLASS => (cpu_gres(), table.cpus_of(place)?),
            class => table.devices_of(place, class)?,
        };
        let per_task = match demand.class.as_str() {
            CPU_CLASS => table.cpus,
            _ => table.per_task.get(&gres).copied().unwrap_or(demand.count),
        };
        let used = taken.entry(gres.clone()).or_default();
        let first = place.local_id * per_task as usize + *used as usize;
        *used += demand.count;
        let own: Vec<_> = devices.into_iter().skip(first).take(demand.count as usize).collect();
        if own.len() < demand.count as usize {
            let Demand { class, count, .. } = demand;
            let node = &place.slurm;
            return Err(Snag::Never(format!(
                "not enough allocated Slurm GRES indices for DeviceClass \"{class}\" on {node}: \
                 requested {count}, allocated {}",
                own.len()
            )));
        }
        for device in own {
            let claim = key_of(pod, &demand.source);
            if let Some(holder) = table.shelf.holder(&device, &claim) {
                return Err(Snag::Wait(format!(
                    "device {device} is still held by ResourceClaim {holder}"
                )));
            }
            let Demand { source, request, class, .. } = demand.clone();
            all.push(Assigned { source, request, class, device });
        }
    }
    Ok(all)
}

/// The claim that a demand is of.
fn key_of(pod: &PodView, source: &Source) -> ObjectKey {
    match source {
        Source::Claim(key) => key.clone(),
        Source::Extended { .. } => extended_key(pod),
    }
}

fn cpu_gres() -> Gres {
    Gres { name: "cpu".into(), kind: None }
}

impl Table<'_> {
    /// The devices of a class that the job has on the node, in order.
    fn devices_of(&self, place: &Placement, class: &str) -> Result<(Gres, Vec<DeviceId>), Snag> {
        let known = self.config.devices.class(class);
        let Some(known) = known else {
            return Err(Snag::Never(format!("device class {class} stands for nothing in Slurm")));
        };
        let gres = known.as_gres(class);
        let driver = known.driver.as_deref().unwrap_or(class);
        let mut here: Vec<(u32, DeviceId)> = self
            .shelf
            .devices(&place.node, driver)
            .filter_map(|(id, device)| Some((index_of(&known, driver, device)?, id)))
            .collect();
        here.sort();
        if here.is_empty() {
            let node = &place.node;
            return Err(Snag::Wait(format!(
                "no ResourceSlice of driver {driver} lists devices of node {node}"
            )));
        }
        let indices = match grant::of(&self.grants(place)?, &gres) {
            (_, Some(indices)) => indices,
            // All there are: then it doesn't matter that Slurm doesn't say which.
            (count, None) if here.len() <= count as usize => here.iter().map(|it| it.0).collect(),
            (count, None) => return Err(untold(place, &gres, count)),
        };
        let find = |index: u32| {
            let found = here.iter().find(|(other, _)| *other == index);
            found.map(|(_, id)| id.clone()).ok_or_else(|| {
                let node = &place.slurm;
                let what = format!("Slurm gave device {index} of {gres} on {node}");
                Snag::Never(format!("{what}, which no ResourceSlice of driver {driver} lists"))
            })
        };
        let devices = indices.into_iter().map(find).collect::<Result<_, _>>()?;
        Ok((gres, devices))
    }

    /// What Slurm gave on the node. The lines are in the order of the allocation.
    fn grants(&self, place: &Placement) -> Result<Vec<grant::Grant>, Snag> {
        let lines = &self.job.gres_detail;
        if lines.len() != self.job.allocation.len() {
            let (lines, nodes) = (lines.len(), self.job.allocation.len());
            return Err(Snag::Never(format!(
                "Slurm says for {lines} of {nodes} nodes which devices job {} has there",
                self.job.id
            )));
        }
        Ok(grant::read(&lines[place.node_id]))
    }

    /// The CPUs that the job has on the node, as devices: abstract core by abstract core.
    fn cpus_of(&self, place: &Placement) -> Result<Vec<DeviceId>, Snag> {
        let cores = self.job.cores.get(place.node_id).and_then(|text| grant::numbers(text));
        let Some(cores) = cores else {
            let why = "slurmrestd's API doesn't say which cores a job has before v0.0.41";
            return Err(Snag::Never(format!("CPUs can't be chosen: {why}")));
        };
        let mut here: Vec<(u32, u32, u32, DeviceId)> = self
            .shelf
            .devices(&place.node, CPU_CLASS)
            .filter(|(_, device)| device.word(CPU_CLASS, "coreType") != Some("e-core"))
            .filter_map(|(id, device)| {
                let number = |name| device.number(CPU_CLASS, name);
                Some((number("socketID")?, number("coreID")?, number("cpuID")?, id))
            })
            .collect();
        here.sort();
        let mut siblings: Vec<Vec<DeviceId>> = Vec::new();
        let mut last = None;
        for (socket, core, _, id) in here {
            if last.replace((socket, core)) != Some((socket, core)) {
                siblings.push(Vec::new());
            }
            siblings.last_mut().into_iter().for_each(|set| set.push(id.clone()));
        }
        let lacking = || {
            let node = &place.node;
            Snag::Wait(format!(
                "no ResourceSlice of driver {CPU_CLASS} lists all CPUs of node {node}"
            ))
        };
        let sets = cores.iter().map(|core| siblings.get(*core as usize).ok_or_else(lacking));
        Ok(sets.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().cloned().collect())
    }
}

fn index_of(class: &crate::config::DeviceClass, driver: &str, device: &Device) -> Option<u32> {
    match &class.index_attribute {
        Some(attribute) => device.number(driver, attribute),
        None => device.number_in_name(),
    }
}

fn untold(place: &Placement, gres: &Gres, count: u32) -> Snag {
    let node = &place.slurm;
    match count {
        0 => Snag::Never(format!("Slurm gave no {gres} on {node}")),
        _ => Snag::Never(format!(
            "cannot build a device allocation: missing GRES index for {gres} on {node}; Slurm gave \
             {count} and doesn't say which"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{dra::demands, placement::Whole, slurm::NodeAllocation};
    use drawbridge_sim::JobId;
    use serde_json::{Value, json};

    fn slice(node: &str, driver: &str, devices: &Value) -> Value {
        let pool = json!({ "name": node, "generation": 1 });
        json!({
            "metadata": { "name": format!("{node}-{driver}"), "uid": format!("{node}-{driver}") },
            "spec": { "driver": driver, "nodeName": node, "pool": pool, "devices": devices },
        })
    }

    /// Four GPUs, of which the attribute counts the other way round, and two cores of two threads.
    fn shelf() -> Shelf {
        let named: Vec<_> = (0..4).map(|i| json!({ "name": format!("gpu-{i}") })).collect();
        let counted: Vec<_> = (0..4)
            .map(
                |i| json!({ "name": format!("d{i}"), "attributes": { "index": { "int": 3 - i } } }),
            )
            .collect();
        let cpu = |cpu: u32, core: u32, kind: &str| {
            json!({ "name": format!("cpu{cpu}"), "attributes": {
                "dra.cpu/cpuID": { "int": cpu }, "dra.cpu/coreID": { "int": core },
                "dra.cpu/socketID": { "int": 0 }, "dra.cpu/coreType": { "string": kind },
            } })
        };
        let cpus = [
            cpu(0, 0, "p-core"),
            cpu(1, 1, "p-core"),
            cpu(2, 0, "p-core"),
            cpu(3, 1, "p-core"),
            cpu(4, 2, "e-core"),
        ];
        let mut shelf = Shelf::default();
        (0..3).for_each(|kind| shelf.note(kind, super::super::Listing::Known));
        for slice in [
            slice("k1", "gpu.nvidia.com", &json!(named)),
            slice("k1", "gpu.example.com", &json!(counted)),
            slice("k1", "dra.cpu", &json!(cpus)),
        ] {
            shelf.put_slice(serde_json::from_value(slice).unwrap());
        }
        shelf
    }

    fn chosen(class: &str, count: u32, local_id: usize, gres: &str, cores: &str) -> String {
        let (shelf, config) = (shelf(), Config::as_shipped());
        let limits = json!({ format!("deviceclass.resource.kubernetes.io/{class}"): count });
        let containers = json!([{ "name": "c", "resources": { "limits": limits } }]);
        let metadata = json!({ "name": "p", "namespace": "a", "uid": "u" });
        let pod = json!({ "metadata": metadata, "spec": { "containers": containers } });
        let pod: PodView = serde_json::from_value(pod).unwrap();
        let job = ObservedJob {
            id: JobId(7),
            state: crate::slurm::ObservedState::RUNNING,
            reason: None,
            reason_text: None,
            admin_comment: String::new(),
            submit_time: 0,
            allocation: vec![NodeAllocation { node: "n1".into(), cpus: 4 }],
            gres_detail: vec![gres.into()],
            cores: vec![cores.into()],
            start_time: None,
            end_time: None,
            partition: "main".into(),
        };
        let gres = config.devices.class(class).map(|it| it.as_gres(class));
        let per_task = gres.into_iter().map(|gres| (gres, count)).collect();
        let table =
            Table { config: &config, shelf: &shelf, job: &job, cpus: count, per_task: &per_task };
        let whole = Whole::new(JobId(7), &[], std::iter::empty());
        let (slurm, node) = ("n1".into(), "k1".into());
        let place = Placement { slurm, node, rank: local_id, node_id: 0, local_id, whole };
        let demands = demands(&shelf, &pod).unwrap();
        match assign(table, &pod, &place, &demands) {
            Ok(all) => all.iter().map(|it| it.device.device.clone()).collect::<Vec<_>>().join(" "),
            Err(Snag::Wait(words)) => format!("wait: {words}"),
            Err(Snag::Never(words)) => format!("never: {words}"),
        }
    }

    #[test]
    fn pods_of_a_job_on_one_node_take_its_devices_in_the_order_of_their_ranks() {
        #[rustfmt::skip]
        let rows = [
            ("gpu.nvidia.com",  1, 0, "gpu:gpu.nvidia.com:2(IDX:1,3)",  "", "gpu-1"),
            ("gpu.nvidia.com",  1, 1, "gpu:gpu.nvidia.com:2(IDX:1,3)",  "", "gpu-3"),
            ("gpu.nvidia.com",  2, 1, "gpu:gpu.nvidia.com:4(IDX:0-3)",  "", "gpu-2 gpu-3"),
            ("gpu.nvidia.com",  2, 1, "gpu:gpu.nvidia.com:3(IDX:0-2)",  "", "never: not enough allocated Slurm GRES indices for DeviceClass \"gpu.nvidia.com\" on n1: requested 2, allocated 1"),
            ("gpu.nvidia.com",  1, 0, "gpu:gpu.nvidia.com:1(IDX:7)",    "", "never: Slurm gave device 7 of gpu:gpu.nvidia.com on n1, which no ResourceSlice of driver gpu.nvidia.com lists"),
            ("gpu.nvidia.com",  1, 0, "",                               "", "never: Slurm gave no gpu:gpu.nvidia.com on n1"),
            ("gpu.example.com", 1, 0, "gpu:gpu.example.com:1(IDX:0)",   "", "d3"),
            ("dra.cpu",         2, 0, "",                            "0-1", "cpu0 cpu2"),
            ("dra.cpu",         2, 1, "",                            "0-1", "cpu1 cpu3"),
            ("dra.cpu",         2, 0, "",                              "1", "cpu1 cpu3"),
            ("dra.cpu",         2, 0, "",                              "2", "wait: no ResourceSlice of driver dra.cpu lists all CPUs of node k1"),
            ("dra.cpu",         2, 0, "",                               "", "never: CPUs can't be chosen: slurmrestd's API doesn't say which cores a job has before v0.0.41"),
        ];
        for (class, count, local_id, gres, cores, expected) in rows {
            assert_eq!(
                chosen(class, count, local_id, gres, cores),
                expected,
                "{class} {gres} {cores}"
            );
        }
    }
}

//! Where a webhook's Service leads to.
//!
//! 1. A Service of type ExternalName leads to that name, on the port that the configuration gives; so does
//!    a real server. `externalName: localhost` is a webhook on this machine.
//! 2. Else to the first ready address of its EndpointSlices, then of its Endpoints, on the port there.
//!    No pod of this cluster has an address that anything could be reached at, so these are made by hand.

use serde_json::Value;

use super::Place;
use crate::kube::{
    KubeApi,
    object::{items, text},
};

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// A name or an address.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl KubeApi {
    /// Where a webhook is to be called, or why nobody knows.
    pub fn locate(&self, place: &Place) -> Result<Located, String> {
        let (namespace, name, port) = match place {
            Place::Url { host, port } => {
                return Ok(Located { host: host.clone(), port: *port });
            }
            Place::Service { namespace, name, port } => (namespace, name, *port),
        };
        let service = self
            .get("services", namespace, name)
            .ok_or_else(|| format!("service \"{name}\" not found"))?;
        if service["spec"]["type"] == "ExternalName" {
            let host = text(service, &["spec", "externalName"]).to_owned();
            return Ok(Located { host, port });
        }
        let wanted = items(service, &["spec", "ports"]).iter().find(|it| it["port"] == port);
        let wanted = wanted.ok_or_else(|| {
            format!(
                "service port {port} not found for service \"{name}\" in namespace \"{namespace}\""
            )
        })?;
        let slices = self.list_in("endpointslices.discovery.k8s.io", namespace);
        let sliced = slices
            .filter(|it| it["metadata"]["labels"]["kubernetes.io/service-name"] == name.as_str())
            .find_map(|slice| of_slice(slice, text(wanted, &["name"])));
        let endpoints = || {
            let subsets = self.get("endpoints", namespace, name);
            let subsets = subsets.map_or(&[][..], |it| items(it, &["subsets"]));
            subsets.iter().find_map(|subset| of_subset(subset, text(wanted, &["name"])))
        };
        sliced
            .or_else(endpoints)
            .ok_or_else(|| format!("no endpoints available for service \"{name}\""))
    }
}

fn port_named(list: &[Value], name: &str) -> Option<u16> {
    let found = list.iter().find(|port| text(port, &["name"]) == name)?;
    found["port"].as_u64().and_then(|port| u16::try_from(port).ok())
}

fn of_slice(slice: &Value, port: &str) -> Option<Located> {
    let ready = |it: &&Value| it["conditions"]["ready"] != false;
    let endpoint = items(slice, &["endpoints"]).iter().find(ready)?;
    let host = items(endpoint, &["addresses"]).first()?.as_str()?.to_owned();
    Some(Located { host, port: port_named(items(slice, &["ports"]), port)? })
}

fn of_subset(subset: &Value, port: &str) -> Option<Located> {
    let host = text(items(subset, &["addresses"]).first()?, &["ip"]).to_owned();
    Some(Located { host, port: port_named(items(subset, &["ports"]), port)? })
}

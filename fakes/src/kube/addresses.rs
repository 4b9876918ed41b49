//! Addresses of Services: each gets one of its own, and ports of nodes where it needs them.
//!
//! Nothing routes here; but clients expect that a Service has an address, and that it keeps it.

use std::{collections::BTreeSet, net::Ipv4Addr};

use serde_json::{Value, json};

use super::{
    Call, KubeApi,
    object::{self, at, items, text},
    status::Refusal,
    validate::FieldError,
};

/// The first address that is given out; those before it are for who asks for one.
const FIRST: u32 = u32::from_be_bytes([10, 96, 0, 16]);
/// The last of them.
const LAST: u32 = u32::from_be_bytes([10, 111, 255, 254]);
/// The address of the API server itself.
pub(crate) const OWN: &str = "10.96.0.1";
/// The ports of nodes that Services may have.
const PORTS: std::ops::RangeInclusive<i64> = 30000..=32767;

impl KubeApi {
    /// Gives a Service what it needs, or lets it keep what it had.
    pub(crate) fn assign_addresses(
        &self,
        call: &Call<'_>,
        service: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), Refusal> {
        if !self.full || call.target.kind.key != "services" {
            return Ok(());
        }
        let kind = text(service, &["spec", "type"]).to_owned();
        let spec = object::map_mut(service, "spec");
        if kind == "ExternalName" {
            for key in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                spec.remove(key);
            }
            return Ok(());
        }
        if let Some(old) = old {
            keep(service, old);
        }
        self.assign_ip(call, service)?;
        match ["NodePort", "LoadBalancer"].contains(&kind.as_str()) {
            true => self.assign_ports(call, service),
            false => Ok(()),
        }
    }

    fn assign_ip(&self, call: &Call<'_>, service: &mut Value) -> Result<(), Refusal> {
        let own = object::uid(service).to_owned();
        let others = self.list("services").filter(|it| object::uid(it) != own);
        let taken: BTreeSet<&str> =
            others.map(|it| text(it, &["spec", "clusterIP"])).filter(|ip| !ip.is_empty()).collect();
        let given = text(service, &["spec", "clusterIP"]).to_owned();
        let ip = match given.as_str() {
            "" => {
                let mut free = (FIRST..=LAST).map(|ip| Ipv4Addr::from_bits(ip).to_string());
                free.find(|ip| !taken.contains(ip.as_str())).ok_or_else(|| {
                    Refusal::internal("failed to allocate a serviceIP: range is full")
                })?
            }
            "None" => given,
            _ => {
                let why = match given.parse::<Ipv4Addr>() {
                    Err(_) => Some("must be a valid IP address".to_owned()),
                    Ok(_) if taken.contains(given.as_str()) => Some(format!(
                        "failed to allocate IP {given}: provided IP is already allocated"
                    )),
                    Ok(_) => None,
                };
                if let Some(why) = why {
                    let error = FieldError::invalid("spec.clusterIPs", &json!([given]), &why);
                    let name = object::name(service);
                    return Err(Refusal::invalid(call.target.kind, name, &[error]));
                }
                given
            }
        };
        let spec = object::map_mut(service, "spec");
        spec.insert("clusterIPs".into(), json!([ip]));
        spec.insert("clusterIP".into(), ip.into());
        Ok(())
    }

    fn assign_ports(&self, call: &Call<'_>, service: &mut Value) -> Result<(), Refusal> {
        let own = object::uid(service).to_owned();
        let others = self.list("services").filter(|it| object::uid(it) != own);
        let mut taken: BTreeSet<i64> = others
            .flat_map(|it| items(it, &["spec", "ports"]))
            .filter_map(|port| port["nodePort"].as_i64())
            .collect();
        let name = object::name(service).to_owned();
        let wanted = service["spec"]["allocateLoadBalancerNodePorts"] != false;
        let ports = object::map_mut(service, "spec").get_mut("ports").and_then(Value::as_array_mut);
        for (index, port) in ports.into_iter().flatten().enumerate() {
            let given = port["nodePort"].as_i64().unwrap_or(0);
            let number = match given {
                0 if !wanted => continue,
                0 => PORTS.into_iter().find(|it| !taken.contains(it)),
                given => Some(given),
            };
            let why = match number {
                None => "no port is left".to_owned(),
                Some(number) if given != 0 && taken.contains(&number) => {
                    "provided port is already allocated".to_owned()
                }
                Some(number) if !PORTS.contains(&number) => {
                    "provided port is not in the valid range. The range of valid ports is 30000-32767"
                        .to_owned()
                }
                Some(number) => {
                    taken.insert(number);
                    if let Some(map) = port.as_object_mut() {
                        map.insert("nodePort".into(), number.into());
                    }
                    continue;
                }
            };
            let field = format!("spec.ports[{index}].nodePort");
            let error = FieldError::invalid(field, &given.into(), &why);
            return Err(Refusal::invalid(call.target.kind, &name, &[error]));
        }
        Ok(())
    }
}

/// A Service that is written anew keeps what it was given, unless the client says otherwise.
fn keep(service: &mut Value, old: &Value) {
    let fresh = text(service, &["spec", "clusterIP"]).is_empty()
        && items(service, &["spec", "clusterIPs"]).is_empty();
    let spec = object::map_mut(service, "spec");
    if fresh {
        for key in ["clusterIP", "clusterIPs"] {
            if let Some(value) = at(old, &["spec", key]) {
                spec.insert(key.into(), value.clone());
            }
        }
    }
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        let same = |it: &&Value| {
            it.get("port") == port.get("port") && it.get("protocol") == port.get("protocol")
        };
        let before = items(old, &["spec", "ports"]).iter().find(same);
        if let Some(number) = before.and_then(|it| at(it, &["nodePort"])) {
            object::default(port, "nodePort", number.clone());
        }
    }
}

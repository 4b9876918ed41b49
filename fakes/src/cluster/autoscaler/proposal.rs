//! How many pods a metric asks for.

use std::sync::Arc;

use drawbridge_sim::Quantity;
use serde_json::{Value, json};

use super::{
    super::{
        object::{count, items, text},
        pod::{Phase, Pod},
    },
    Reading,
};

/// How far a value may be from its target without consequence, in thousandths.
const TOLERANCE: u64 = 100;

/// The pods that are scaled.
pub(super) struct Pods {
    ready: Vec<Arc<Pod>>,
    unready: u64,
}

impl Pods {
    pub(super) fn of<'a>(all: impl Iterator<Item = &'a Arc<Pod>>) -> Self {
        let (ready, unready): (Vec<Arc<Pod>>, Vec<Arc<Pod>>) = all
            .filter(|pod| pod.active())
            .cloned()
            .partition(|pod| pod.phase == Phase::Running && pod.ready.is_some());
        Self { ready, unready: unready.len() as u64 }
    }

    fn n(&self) -> u64 {
        self.ready.len() as u64
    }
}

/// So many pods, by this metric, which reads so.
#[derive(Debug)]
pub(super) struct Proposal {
    pub(super) replicas: u64,
    pub(super) name: String,
    pub(super) status: Value,
}

/// A metric that can't be had.
#[derive(Debug)]
pub(super) struct Unknown {
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// What is asked about each metric.
pub(super) struct Ask<'a> {
    pub(super) target: &'a str,
    pub(super) now: u64,
    pub(super) pods: &'a Pods,
    /// The rules downwards and upwards, which may have tolerances of their own.
    pub(super) tolerances: [&'a Value; 2],
}

type Read<'a> = dyn Fn(&str, &str) -> Option<Reading> + 'a;
type Found = Result<Proposal, Unknown>;

impl Ask<'_> {
    pub(super) fn about(&self, metric: &Value, read: &Read<'_>) -> Found {
        match text(&metric["type"]) {
            "Resource" => self.resource(&metric["resource"], None, read),
            "ContainerResource" => {
                let it = &metric["containerResource"];
                self.resource(it, Some(text(&it["container"])), read)
            }
            "Pods" => self.pods(&metric["pods"], read),
            "Object" => {
                let it = &metric["object"];
                let whose = text(&it["describedObject"]["name"]);
                self.value(it, whose, ("Object", "object"), "FailedGetObjectMetric", read)
            }
            _ => {
                let names = ("External", "external");
                self.value(&metric["external"], "", names, "FailedGetExternalMetric", read)
            }
        }
    }

    /// All of the pods' usage, if a metric says anything of it.
    fn usage(&self, name: &str, read: &Read<'_>) -> Option<u64> {
        Some(match read(self.target, name)? {
            Reading::PerPod(milli) => milli.saturating_mul(self.pods.n()),
            Reading::Total(milli) => milli,
        })
    }

    fn resource(&self, it: &Value, container: Option<&str>, read: &Read<'_>) -> Found {
        let name = text(&it["name"]);
        let (reason, kind) = match container {
            None => ("FailedGetResourceMetric", "resource"),
            Some(_) => ("FailedGetContainerResourceMetric", "container resource"),
        };
        let unknown = |what: &str| {
            let message = format!("failed to get {name} utilization: {what}");
            Err(Unknown { reason, message })
        };
        if self.pods.n() == 0 {
            return unknown("did not receive metrics for any ready pods");
        }
        let Some(usage) = self.usage(name, read) else {
            return unknown(&format!(
                "unable to get metrics for resource {name}: no metrics returned from resource \
                 metrics API"
            ));
        };
        let each = usage / self.pods.n();
        let mut current = json!({"averageValue": spell(each)});
        let target = &it["target"];
        let (wanted, name_of) = match target["averageUtilization"].as_u64() {
            Some(percent) => {
                let requests = match self.requests(name, container) {
                    Ok(requests) => requests,
                    Err(what) => return unknown(&what),
                };
                current["averageUtilization"] = (usage.saturating_mul(100) / requests).into();
                let wanted = requests.saturating_mul(percent) / 100;
                (wanted, format!("{name} {kind} utilization (percentage of request)"))
            }
            None => {
                let wanted = milli(&target["averageValue"]).saturating_mul(self.pods.n());
                (wanted, format!("{name} {kind}"))
            }
        };
        let mut shown = json!({"name": name, "current": current});
        let (list, place) = match container {
            None => ("Resource", "resource"),
            Some(container) => {
                shown["container"] = container.into();
                ("ContainerResource", "containerResource")
            }
        };
        Ok(Proposal {
            replicas: self.shared(usage, wanted),
            name: name_of,
            status: json!({"type": list, place: shown}),
        })
    }

    /// What the ready pods, or one container of each, ask for.
    fn requests(&self, name: &str, container: Option<&str>) -> Result<u64, String> {
        let mut sum = 0_u64;
        for pod in &self.pods.ready {
            let all = items(&pod.object["spec"]["containers"]).iter();
            for it in all.filter(|it| container.is_none_or(|name| it["name"] == name)) {
                let request = &it["resources"]["requests"][name];
                if request.is_null() {
                    return Err(format!(
                        "missing request for {name} in container {} of Pod {}",
                        text(&it["name"]),
                        pod.key.name
                    ));
                }
                sum = sum.saturating_add(milli(request));
            }
        }
        if sum == 0 { Err("no metrics returned matched known pods".into()) } else { Ok(sum) }
    }

    fn pods(&self, it: &Value, read: &Read<'_>) -> Found {
        let name = text(&it["metric"]["name"]);
        let unknown = |what: &str| {
            let message = format!("failed to get pods metric value: {what}");
            Unknown { reason: "FailedGetPodsMetric", message }
        };
        if self.pods.n() == 0 {
            return Err(unknown("did not receive metrics for any ready pods"));
        }
        let usage = self.usage(name, read);
        let none =
            format!("unable to get metric {name}: no metrics returned from custom metrics API");
        let usage = usage.ok_or_else(|| unknown(&none))?;
        let wanted = milli(&it["target"]["averageValue"]).saturating_mul(self.pods.n());
        let current = json!({"averageValue": spell(usage / self.pods.n())});
        Ok(Proposal {
            replicas: self.shared(usage, wanted),
            name: format!("pods metric {name}"),
            status: json!({"type": "Pods", "pods": {"metric": it["metric"], "current": current}}),
        })
    }

    /// A metric that isn't the pods' own.
    fn value(
        &self,
        it: &Value,
        whose: &str,
        (kind, place): (&str, &str),
        reason: &'static str,
        read: &Read<'_>,
    ) -> Found {
        let name = text(&it["metric"]["name"]);
        let reading = read(whose, name).ok_or_else(|| Unknown {
            reason,
            message: format!(
                "failed to get {place} metric value: unable to get metric {name}: no metrics \
                 returned from {place} metrics API"
            ),
        })?;
        let usage = match reading {
            Reading::PerPod(milli) => milli.saturating_mul(self.pods.n()),
            Reading::Total(milli) => milli,
        };
        let target = &it["target"];
        let (replicas, current) = match target["type"] == "AverageValue" {
            false => {
                let wanted = milli(&target["value"]).max(1);
                let replicas = match self.is_close(usage, wanted) {
                    true => self.now,
                    false => ceil(usage, self.pods.n(), wanted),
                };
                (replicas, json!({"value": spell(usage)}))
            }
            true => {
                let each = milli(&target["averageValue"]).max(1);
                let replicas = match self.is_close(usage, each.saturating_mul(self.now)) {
                    true => self.now,
                    false => usage.div_ceil(each),
                };
                (replicas, json!({"averageValue": spell(usage / self.now.max(1))}))
            }
        };
        let mut shown = json!({"metric": it["metric"], "current": current});
        if !it["describedObject"].is_null() {
            shown["describedObject"] = it["describedObject"].clone();
        }
        let name = format!("{place} metric {name}");
        Ok(Proposal { replicas, name, status: json!({"type": kind, place: shown}) })
    }

    /// How many pods share a usage so that each has what was wanted of the ready ones together.
    fn shared(&self, usage: u64, wanted: u64) -> u64 {
        let (ready, wanted) = (self.pods.n(), wanted.max(1));
        let replicas = ceil(usage, ready, wanted);
        if self.pods.unready == 0 || usage <= wanted {
            return if self.is_close(usage, wanted) { self.now } else { replicas };
        }
        // Pods that aren't ready yet will take their part; until then they count as idle.
        let later = ceil(wanted, ready + self.pods.unready, ready);
        match self.is_close(usage, later) || usage < later {
            true => self.now,
            false => replicas.max(self.now),
        }
    }

    fn is_close(&self, usage: u64, wanted: u64) -> bool {
        let own = |rules: &Value| rules.get("tolerance").map(milli);
        let [down, up] = self.tolerances.map(|rules| own(rules).unwrap_or(TOLERANCE));
        let (usage, wanted) = (u128::from(usage) * 1000, u128::from(wanted));
        let range =
            wanted * u128::from(1000_u64.saturating_sub(down))..=wanted * u128::from(1000 + up);
        range.contains(&usage)
    }
}

/// `a * b / c`, rounded up.
fn ceil(a: u64, b: u64, c: u64) -> u64 {
    let value = (u128::from(a) * u128::from(b)).div_ceil(u128::from(c.max(1)));
    u64::try_from(value).unwrap_or(u64::MAX)
}

fn milli(value: &Value) -> u64 {
    match value.as_str() {
        Some(text) => Quantity::parse(text).map_or(0, Quantity::milli),
        None => count(value).saturating_mul(1000),
    }
}

fn spell(milli: u64) -> String {
    match milli % 1000 {
        0 => (milli / 1000).to_string(),
        _ => format!("{milli}m"),
    }
}

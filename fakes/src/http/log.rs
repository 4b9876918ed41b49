//! `kubectl logs`: what a container has written, as far as its behaviour says.
//!
//! No program runs, so the text is what the twin was told that it writes: the behaviour's, or the pod's
//! annotation `drawbridge.dev/log` (for one of several containers `drawbridge.dev/log.NAME`).

use drawbridge_sim::{Epoch, Time};
use serde_json::Value;

use crate::{Cluster, Request, cluster::Log, kube::Refusal};

const ANNOTATION: &str = "drawbridge.dev/log";

/// What is asked for.
#[derive(Clone, Debug)]
struct Wanted {
    namespace: String,
    pod: String,
    container: String,
    previous: bool,
    timestamps: bool,
    tail: Option<usize>,
    most: Option<usize>,
    /// In seconds since 1970: what was written before isn't wanted.
    since: Option<u64>,
}

/// The log of a container, followed.
#[derive(Clone)]
pub struct LogStream {
    wanted: Wanted,
    sent: usize,
}

/// A log at once, or as it grows.
pub(crate) enum Told {
    Text(String),
    Follow(Box<LogStream>),
}

/// Answers a request for a log.
pub(crate) fn answer(
    cluster: &Cluster,
    now: Time,
    namespace: &str,
    pod: &str,
    request: &Request,
) -> Result<Told, Refusal> {
    let found = cluster.api().get("pods", namespace, pod);
    let found = found.ok_or_else(|| Refusal::no_pod(pod))?.clone();
    let wanted = read(cluster, now, &found, namespace, pod, request)?;
    let text = wanted.text(cluster)?;
    match is_true(request, "follow") {
        true => Ok(Told::Follow(Box::new(LogStream { wanted, sent: 0 }))),
        false => Ok(Told::Text(text)),
    }
}

fn is_true(request: &Request, key: &str) -> bool {
    matches!(request.query(key), Some("true" | "1"))
}

fn read(
    cluster: &Cluster,
    now: Time,
    object: &Value,
    namespace: &str,
    pod: &str,
    request: &Request,
) -> Result<Wanted, Refusal> {
    let number = |key: &str| -> Result<Option<usize>, Refusal> {
        let text = request.query(key).filter(|text| !text.is_empty());
        let wrong = |_| Refusal::bad_request(format!("{key}: must be greater than or equal to 0"));
        text.map(|text| text.parse().map_err(wrong)).transpose()
    };
    let since = match (number("sinceSeconds")?, request.query("sinceTime")) {
        (Some(secs), _) => Some(cluster.api().epoch().unix(now).saturating_sub(secs as u64)),
        (None, Some(text)) => Epoch::parse(text).ok().map(|it| it.unix(Time::ZERO)),
        (None, None) => None,
    };
    Ok(Wanted {
        namespace: namespace.to_owned(),
        pod: pod.to_owned(),
        container: container(object, pod, request.query("container").unwrap_or(""))?,
        previous: is_true(request, "previous"),
        timestamps: is_true(request, "timestamps"),
        tail: number("tailLines")?,
        most: number("limitBytes")?,
        since,
    })
}

fn names<'a>(pod: &'a Value, key: &str) -> Vec<&'a str> {
    let list = pod["spec"][key].as_array().into_iter().flatten();
    list.filter_map(|it| it["name"].as_str()).collect()
}

/// The container that is meant: the one that is named, or the only one.
fn container(object: &Value, pod: &str, given: &str) -> Result<String, Refusal> {
    let (main, first) = (names(object, "containers"), names(object, "initContainers"));
    if main.contains(&given) || first.contains(&given) {
        return Ok(given.to_owned());
    }
    match (given, main.as_slice()) {
        ("", [only]) => Ok((*only).to_owned()),
        ("", all) => {
            let more = match first.is_empty() {
                true => String::new(),
                false => format!(" or one of the init containers: [{}]", first.join(" ")),
            };
            Err(Refusal::bad_request(format!(
                "a container name must be specified for pod {pod}, choose one of: [{}]{more}",
                all.join(" ")
            )))
        }
        (given, _) => {
            Err(Refusal::bad_request(format!("container {given} is not valid for pod {pod}")))
        }
    }
}

impl Wanted {
    fn text(&self, cluster: &Cluster) -> Result<String, Refusal> {
        let pod = cluster.api().get("pods", &self.namespace, &self.pod);
        let pod = pod.ok_or_else(|| Refusal::no_pod(&self.pod))?;
        if pod["spec"]["nodeName"].as_str().unwrap_or("").is_empty() {
            let text = format!("pod {} does not have a host assigned", self.pod);
            return Err(Refusal::bad_request(text));
        }
        let name = Some(self.container.as_str());
        let text = match cluster.log(&self.namespace, &self.pod, name, self.previous) {
            Log::Text(text) => text,
            Log::NoPrevious => {
                return Err(Refusal::bad_request(format!(
                    "previous terminated container \"{}\" in pod \"{}\" not found",
                    self.container, self.pod
                )));
            }
            Log::NotStarted | Log::NoSuchContainer => match self.started(pod) {
                Some(_) => String::new(),
                None => return Err(self.waits(pod)),
            },
        };
        Ok(self.cut(pod, &if text.is_empty() { self.annotated(pod) } else { text }))
    }

    fn status<'a>(&self, pod: &'a Value) -> Option<&'a Value> {
        let lists = ["containerStatuses", "initContainerStatuses"];
        let mut all = lists.iter().filter_map(|key| pod["status"][*key].as_array()).flatten();
        all.find(|it| it["name"] == self.container.as_str())
    }

    /// When the container began.
    fn started<'a>(&self, pod: &'a Value) -> Option<&'a str> {
        let state = &self.status(pod)?["state"];
        let running = state["running"]["startedAt"].as_str();
        running.or(state["terminated"]["startedAt"].as_str())
    }

    fn waits(&self, pod: &Value) -> Refusal {
        let reason = self.status(pod).and_then(|it| it["state"]["waiting"]["reason"].as_str());
        Refusal::bad_request(format!(
            "container \"{}\" in pod \"{}\" is waiting to start: {}",
            self.container,
            self.pod,
            reason.unwrap_or("ContainerCreating")
        ))
    }

    fn annotated(&self, pod: &Value) -> String {
        let all = &pod["metadata"]["annotations"];
        let own = all[format!("{ANNOTATION}.{}", self.container)].as_str();
        let text = own.or(all[ANNOTATION].as_str()).unwrap_or("").to_owned();
        if text.is_empty() || text.ends_with('\n') { text } else { text + "\n" }
    }

    /// The part of a text that is wanted. All of it was written when the container began.
    fn cut(&self, pod: &Value, text: &str) -> String {
        let began = self.started(pod).unwrap_or("");
        let unix = Epoch::parse(began).map_or(0, |it| it.unix(Time::ZERO));
        if self.since.is_some_and(|since| unix < since) {
            return String::new();
        }
        let lines: Vec<&str> = text.lines().collect();
        let skipped = self.tail.map_or(0, |tail| lines.len().saturating_sub(tail));
        let stamp = if self.timestamps { format!("{began} ") } else { String::new() };
        let mut cut: String =
            lines[skipped..].iter().map(|line| format!("{stamp}{line}\n")).collect();
        if let Some(most) = self.most.filter(|most| *most < cut.len()) {
            let end = (0..=most).rev().find(|at| cut.is_char_boundary(*at)).unwrap_or(0);
            cut.truncate(end);
        }
        cut
    }
}

impl LogStream {
    /// What was written since the last call, and whether nothing will follow.
    pub(crate) fn more(&mut self, cluster: &Cluster) -> (Vec<u8>, bool) {
        let pod = cluster.api().get("pods", &self.wanted.namespace, &self.wanted.pod);
        let over = pod.is_none_or(|pod| {
            let ended = |it: &Value| it["state"].get("terminated").is_some();
            let phase = pod["status"]["phase"].as_str().unwrap_or("");
            self.wanted.status(pod).is_some_and(ended) || ["Succeeded", "Failed"].contains(&phase)
        });
        let text = self.wanted.text(cluster).unwrap_or_default();
        let new = text.get(self.sent..).unwrap_or("").as_bytes().to_vec();
        self.sent = self.sent.max(text.len());
        (new, over)
    }
}

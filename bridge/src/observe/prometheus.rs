//! Prometheus' text format, version 0.0.4.
//!
//! | family | what |
//! |---|---|
//! | `drawbridge_leads` | whether this replica does the work |
//! | `drawbridge_slurm_requests_total` | requests by call and outcome |
//! | `drawbridge_slurm_request_seconds` | how long they took |
//! | `drawbridge_slurm_reply_bytes_total` | how much came back |
//! | `drawbridge_kube_requests_total` | the same for the API server, by verb and status |
//! | `drawbridge_kube_request_seconds`, `drawbridge_kube_reply_bytes_total` | |
//! | `drawbridge_slurm_server_up` | which servers can be used |
//! | `drawbridge_slurm_server_info` | in which version |
//! | `drawbridge_slurm_server_failures` | troubles in a row |
//! | `drawbridge_slurm_token_accepted` | whether the token is |
//! | `drawbridge_dependency_up` | whatever is needed |
//! | `drawbridge_reviews_total` | pods that were judged, by path and verdict |
//! | `drawbridge_events_total` | the core's counters |

use std::fmt::Write;

use drawbridge_core::{
    Role,
    link::{EndpointState, EndpointStatus, LinkStatus},
};

use super::{Snapshot, health};
use crate::{shell::Status, slurm::client::Tally, webhook::ReviewMetrics};

/// What the page is.
pub(super) const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All metrics; before the loop has begun there is little to tell.
pub(super) fn text(snapshot: &Snapshot) -> String {
    let mut page = Text::default();
    page.family("drawbridge_build_info", "gauge", "Which Drawbridge this is.");
    page.sample("", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    let status = snapshot.last.as_ref().map(|(_, status)| status);
    if let Some(status) = status {
        of_loop(&mut page, status);
    }
    page.family("drawbridge_dependency_up", "gauge", "Whether what the bridge needs is there.");
    let needed = status.map(health::of_loop).unwrap_or_default();
    for one in needed.iter().chain(&snapshot.beside.dependencies) {
        page.sample("", &[("name", one.name)], u8::from(one.trouble.is_none()));
    }
    reviews(&mut page, &snapshot.beside.reviews);
    page.text
}

fn of_loop(page: &mut Text, status: &Status) {
    page.family("drawbridge_leads", "gauge", "Whether this replica does the work.");
    page.sample("", &[], u8::from(status.role == Role::Leading));
    let slurm = status.slurm.by_call.iter();
    let slurm: Vec<_> = slurm
        .map(|((call, outcome), tally)| ([("call", *call), ("outcome", outcome.as_str())], tally))
        .collect();
    requests(page, &SLURM, &slurm);
    let kube = status.kube.iter();
    let kube: Vec<_> = kube
        .map(|((verb, ended), tally)| ([("verb", *verb), ("status", ended.as_str())], tally))
        .collect();
    requests(page, &KUBE, &kube);
    way(page, &status.link);
    page.family("drawbridge_events_total", "counter", "What the bridge did, by kind.");
    for (event, count) in &status.counters {
        page.sample("", &[("event", event)], count);
    }
}

fn reviews(page: &mut Text, reviews: &ReviewMetrics) {
    page.family("drawbridge_reviews_total", "counter", "Pods that were judged.");
    for ((path, verdict), count) in reviews {
        page.sample("", &[("path", path), ("verdict", verdict)], count);
    }
}

/// The families of requests to one server: how many, how much, how long; each with its help.
type Families = [(&'static str, &'static str); 3];

const SLURM: Families = [
    ("drawbridge_slurm_requests_total", "Requests to slurmrestd."),
    ("drawbridge_slurm_reply_bytes_total", "Bytes of slurmrestd's replies."),
    ("drawbridge_slurm_request_seconds", "How long requests to slurmrestd took."),
];

const KUBE: Families = [
    ("drawbridge_kube_requests_total", "Requests to the Kubernetes API server."),
    ("drawbridge_kube_reply_bytes_total", "Bytes of the API server's replies."),
    ("drawbridge_kube_request_seconds", "How long requests to the API server took."),
];

fn requests(page: &mut Text, families: &Families, all: &[([(&str, &str); 2], &Tally)]) {
    let [counts, sizes, times] = families;
    page.family(counts.0, "counter", counts.1);
    for (labels, tally) in all {
        page.sample("", labels, tally.count);
    }
    page.family(sizes.0, "counter", sizes.1);
    for (labels, tally) in all {
        page.sample("", labels, tally.bytes);
    }
    page.family(times.0, "histogram", times.1);
    for (labels, tally) in all {
        histogram(page, labels, tally);
    }
}

/// Buckets hold whatever took up to their bound, so each holds those before.
fn histogram(page: &mut Text, labels: &[(&str, &str)], tally: &Tally) {
    let mut so_far = 0;
    for (bound, count) in Tally::BOUNDS_MS.iter().zip(tally.buckets) {
        so_far += count;
        let bound = format!("{}.{:03}", bound / 1000, bound % 1000);
        let bound = bound.trim_end_matches('0').trim_end_matches('.');
        page.sample("_bucket", &[labels, &[("le", bound)]].concat(), so_far);
    }
    page.sample("_bucket", &[labels, &[("le", "+Inf")]].concat(), tally.count);
    page.sample("_sum", labels, tally.time.as_secs_f64());
    page.sample("_count", labels, tally.count);
}

fn way(page: &mut Text, link: &LinkStatus) {
    page.family("drawbridge_slurm_server_up", "gauge", "Whether this slurmrestd can be used.");
    for EndpointStatus { name, state, .. } in &link.endpoints {
        let is_up = matches!(state, EndpointState::Ready(_));
        page.sample("", &[("server", name)], u8::from(is_up));
    }
    page.family("drawbridge_slurm_server_info", "gauge", "Which version is spoken with it.");
    for EndpointStatus { name, state, .. } in &link.endpoints {
        if let EndpointState::Ready(version) = state {
            page.sample("", &[("server", name), ("version", version.as_str())], 1);
        }
    }
    page.family("drawbridge_slurm_server_failures", "gauge", "Troubles in a row.");
    for EndpointStatus { name, failures, .. } in &link.endpoints {
        page.sample("", &[("server", name)], failures);
    }
    page.family("drawbridge_slurm_token_accepted", "gauge", "Whether Slurm accepts the token.");
    page.sample("", &[], u8::from(link.token_refused.is_none()));
}

#[derive(Default)]
struct Text {
    text: String,
    name: &'static str,
}

impl Text {
    fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.name = name;
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let _ = writeln!(self.text, "{}{suffix}{labels} {value}", self.name);
    }
}

/// Addresses are the operator's own words, and may hold anything.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

//! The model's side: what it did, and in which second.

use drawbridge_sim::{Job, JobState, Node, Slurmctld, Time};

use crate::view::View;

/// What is seen of the model now.
pub(super) fn look(ctld: &Slurmctld, now: Time) -> View {
    let mut view = View::default();
    for job in ctld.jobs() {
        put_job(job, &mut view);
    }
    for row in ctld.sprio(now) {
        super::put_priority(&row.to_string(), &mut view);
    }
    for node in ctld.nodes() {
        put_node(node, &mut view);
    }
    view
}

fn put_node(node: &Node, view: &mut View) {
    let name = format!("node {}", node.name());
    let lost = node.reason.as_ref().filter(|reason| reason.text == "Not responding");
    if let Some(reason) = lost {
        view.set(&name, "lost", (reason.at.as_ms() / 1000).to_string());
    }
    view.set(&name, "state", node.state().scontrol());
}

fn put_job(job: &Job, view: &mut View) {
    let name = format!("job {}", job.id);
    let mut put = |key: &str, time: Option<Time>| {
        if let Some(time) = time {
            view.set(&name, key, (time.as_ms() / 1000).to_string());
        }
    };
    if job.state == JobState::Pending {
        // Whoever waits for a time is told that time.
        put("expected", job.expected_start.or(job.begin_time));
    } else {
        put("start", job.start_time);
        put("end", job.end_time.filter(|_| job.state.is_end()));
    }
    view.set(&name, "state", job.squeue_state());
}

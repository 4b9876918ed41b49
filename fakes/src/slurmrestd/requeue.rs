//! `job/{id}/requeue` and `jobs/requeue`: back to the queue. Served from v0.0.45 on.

use drawbridge_sim::{JobTarget, Requeue, SlurmError};
use serde_json::json;

use super::{
    call::{Answer, Call, UNREADABLE},
    reply::{Reply, Trouble},
};

/// `GET job/{id}/requeue`. It is a GET that changes something, as in Slurm.
pub(super) fn one(call: &mut Call<'_>) -> Answer {
    let source = "op_handler_job_requeue";
    let target = call.job_target(source)?;
    let warnings = call.query_warnings("DATA_PARSER_OPENAPI_JOB_REQUEUE_QUERY");
    let what = format!("Requeue JobID={} failed", target.job());
    let reply = requeue(call, target, &what, source);
    Ok(reply.unwrap_or_else(|refusal| refusal).warnings(&warnings))
}

/// `POST jobs/requeue` with `{"jobs": ["3", "9"]}`. The first that can't be ends it.
pub(super) fn many(call: &mut Call<'_>) -> Answer {
    let source = "op_handler_jobs_requeue";
    let body = call.body();
    if body.refused {
        return Err(call.refuse(empty(), body));
    }
    let jobs = body.fields.list("jobs");
    let mut reply = empty();
    if jobs.is_empty() {
        let error = SlurmError::InvalidJobId;
        reply = reply.error(404, Trouble::slurm(error, "Query missing JobIds", source));
    }
    for text in jobs {
        let what = format!("Requeue JobId={text} failed");
        let Some(target) = JobTarget::parse(text) else {
            let error = SlurmError::InvalidJobId;
            reply = reply.error(404, Trouble::slurm(error, what, source));
            break;
        };
        match requeue(call, target, &what, source) {
            Ok(_) => {}
            Err(refusal) => {
                reply = refusal;
                break;
            }
        }
    }
    Ok(reply.warnings(&body.warnings).errors(UNREADABLE, body.troubles))
}

fn requeue(call: &mut Call<'_>, target: JobTarget, what: &str, source: &str) -> Answer {
    call.connect(empty(), what, source)?;
    let by = call.request.user.as_str().into();
    match call.ctld.requeue(call.now, target, Requeue::Plain, &by) {
        Ok(()) => Ok(empty()),
        Err(error) => {
            Err(empty().error(call.status_of(error), Trouble::slurm(error, what, source)))
        }
    }
}

/// An answer has a list for what went wrong with single jobs, which stays empty.
fn empty() -> Reply {
    Reply::ok().with("status", json!([]))
}

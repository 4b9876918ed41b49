//! The step `scontrol`: one line, as an administrator types it behind the command's name.
//!
//! ```text
//!   suspend JOB · resume JOB · hold JOB · release JOB · requeue JOB · requeuehold JOB
//!   update JobId=JOB Priority=5000
//!   create NodeName=ext1 CPUs=4 RealMemory=8192 State=EXTERNAL · delete NodeName=ext1
//! ```
//!
//! A job is known by its number, or by its name: then all live ones of that name are meant.

use crate::scenario::{JobVerb, Scontrol};

const RIGHT: &str = "write suspend, resume, hold, release, requeue or requeuehold and a job, \
     `update JobId=… Priority=…`, `create NodeName=…` or `delete NodeName=…`";

/// Reads the line; otherwise says what is wrong and what would be right.
pub(super) fn parse(line: &str) -> Result<Scontrol, (String, String)> {
    let (verb, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    let rest = rest.trim();
    let job = match verb {
        "suspend" => JobVerb::Suspend,
        "resume" => JobVerb::Resume,
        "hold" => JobVerb::Hold,
        "release" => JobVerb::Release,
        "requeue" => JobVerb::Requeue,
        "requeuehold" => JobVerb::RequeueHold,
        "create" => return Ok(Scontrol::CreateNodes(node_words(rest)?)),
        "delete" => return delete(rest),
        "update" => return update(rest),
        _ => return Err((format!("the twin has no `scontrol {verb}`"), RIGHT.into())),
    };
    if rest.is_empty() || rest.contains(' ') {
        let hint = format!("write `{verb}` and the job's name or number");
        return Err((format!("`scontrol {verb}` needs one job"), hint));
    }
    Ok(Scontrol::Job(job, rest.into()))
}

/// What follows `create`: Slurm itself judges all but the first word.
fn node_words(words: &str) -> Result<String, (String, String)> {
    match named(words) {
        Some(_) => Ok(words.into()),
        None => Err(("`scontrol create` needs a node's name first".into(), RIGHT.into())),
    }
}

fn delete(words: &str) -> Result<Scontrol, (String, String)> {
    let name = named(words).filter(|_| !words.contains(' '));
    let wrong = || ("`scontrol delete` needs a node's name, and nothing else".into(), RIGHT.into());
    name.map(|name| Scontrol::DeleteNode(name.into())).ok_or_else(wrong)
}

fn update(words: &str) -> Result<Scontrol, (String, String)> {
    let wrong = || {
        let hint = "write `update JobId=` and the job's name or number, then `Priority=5000`";
        ("`scontrol update` needs a job and its new priority".into(), hint.into())
    };
    let (job, priority) = words.split_once(' ').ok_or_else(wrong)?;
    let job = value(job, "jobid").ok_or_else(wrong)?;
    let priority = value(priority.trim(), "priority").and_then(|it| it.parse().ok());
    Ok(Scontrol::Job(JobVerb::Priority(priority.ok_or_else(wrong)?), job.into()))
}

/// The name in `NodeName=ext1`, if that is the first word.
fn named(words: &str) -> Option<&str> {
    value(words.split(' ').next()?, "nodename")
}

/// The value in `Key=value`.
fn value<'a>(word: &'a str, key: &str) -> Option<&'a str> {
    let (its, value) = word.split_once('=')?;
    (its.eq_ignore_ascii_case(key) && !value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_an_administrator_types() {
        let rows = [
            ("suspend train", "Ok(Job(Suspend, \"train\"))"),
            ("requeuehold 7", "Ok(Job(RequeueHold, \"7\"))"),
            ("create NodeName=e1 CPUs=4", "Ok(CreateNodes(\"NodeName=e1 CPUs=4\"))"),
            ("update JobId=train priority=9", "Ok(Job(Priority(9), \"train\"))"),
            ("delete nodename=e1", "Ok(DeleteNode(\"e1\"))"),
        ];
        for (line, expected) in rows {
            assert_eq!(format!("{:?}", parse(line)), expected);
        }
        let wrong = [
            "",
            "shutdown",
            "hold",
            "hold 1 2",
            "create CPUs=4",
            "delete e1",
            "delete NodeName=",
            "update JobId=7",
            "update JobId=7 Priority=high",
            "update JobId=7 Priority=9 Nice=1",
        ];
        for line in wrong {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}

//! The real Slurm's side: what is typed, and what its commands print.

use std::collections::BTreeMap;

use drawbridge_sim::{IndexSet, TimeLimit, expand_hostlist, parse_time_limit};

use crate::{
    case::{Cluster, Record},
    lab::{Lab, LabError, LabOptions},
    operation::STUBBORN,
    plumbing::Plumbing,
    view::{Answer, JobLook, View, reason_text, share_text},
};

/// Longest wait, in Slurm's own seconds, until nothing moves any more.
const SETTLE_SECS: u32 = 120;

/// A real Slurm with a cluster on it.
#[derive(Debug)]
pub(crate) struct Real {
    lab: Lab,
    /// The second, since 1970, that its time is counted from.
    pub(crate) epoch: u64,
}

impl Real {
    pub(crate) fn start(options: &LabOptions, cluster: &Cluster) -> Result<Self, LabError> {
        let mut lab = Lab::start(&options.released(cluster.release), cluster)?;
        let now = lab.run("date +%s")?;
        Ok(Self { lab, epoch: now.trim().parse().unwrap_or(0) })
    }

    /// What is seen before anything is done.
    pub(crate) fn look(&mut self) -> Result<View, LabError> {
        let said = self.lab.run("settle 10; look")?;
        Ok(self.read(said.strip_prefix(UNSETTLED).unwrap_or(&said)).1)
    }

    /// Does an operation and waits until nothing moves; whether that came to pass in time.
    pub(crate) fn perform(&mut self, operation: &str) -> Result<(Record, bool), LabError> {
        let typed = command(&mut self.lab.plumbing, operation)?;
        let script = format!("date +%s.%N\n{typed}\nsettle {SETTLE_SECS}\nlook\n");
        let said = self.lab.run(&script)?;
        let (first, rest) = said.split_once('\n').unwrap_or_default();
        let (answer, rest) = split_answer(operation, rest);
        let unsettled = rest.strip_prefix(UNSETTLED);
        let (seen_ms, view) = self.read(unsettled.unwrap_or(rest));
        let record = Record { asked_ms: self.since_start(first), seen_ms, answer, view };
        Ok((record, unsettled.is_none()))
    }

    fn since_start(&self, text: &str) -> u64 {
        milliseconds(text, self.epoch)
    }

    fn read(&self, said: &str) -> (u64, View) {
        let (time, rest) = said.split_once('\n').unwrap_or_default();
        let (jobs, nodes) = rest.split_once("\n--\n").unwrap_or((rest, ""));
        let mut view = View::default();
        for line in jobs.lines().filter(|line| line.starts_with("JobId=")) {
            job_look(line, self.epoch).put(&mut view);
        }
        for line in nodes.lines().filter(|line| line.starts_with("NodeName=")) {
            put_node(line, &mut view);
        }
        (self.since_start(time), view)
    }
}

/// `date +%s.%N` in milliseconds since a second.
pub(crate) fn milliseconds(text: &str, epoch: u64) -> u64 {
    let (secs, nanos) = text.trim().split_once('.').unwrap_or((text.trim(), "0"));
    let (secs, nanos): (u64, u64) = (secs.parse().unwrap_or(0), nanos.parse().unwrap_or(0));
    secs.saturating_sub(epoch) * 1000 + nanos / 1_000_000
}

/// What the lab says when something still moves.
const UNSETTLED: &str = "did not settle\n";

const ANSWER_ENDS: &str = "=== answered";

/// What to type for an operation.
pub(crate) fn command(plumbing: &mut Plumbing, operation: &str) -> Result<String, LabError> {
    let (first, rest) = operation.split_once(' ').unwrap_or((operation, ""));
    let typed = match first {
        "sbatch" if rest.contains("--external") => format!("sbatch --parsable {rest}"),
        "sbatch" => {
            let script = if rest.contains(STUBBORN) { "/run/stubborn" } else { "/run/job" };
            format!("sbatch --parsable -o /dev/null {rest} {script}")
        }
        "finish" if !rest.contains(' ') => format!("finish {rest} 0"),
        "wait" => format!("sleep {}", rest.trim_end_matches('s')),
        "reconfigure" => plumbing.change_script(rest, "scontrol reconfigure")?,
        "restart" => plumbing.change_script(rest, "restart_ctld")?,
        "kill_slurmd" => format!("stop_slurmds {rest}"),
        "kill_node" => format!("stop_nodes {rest}"),
        "start_slurmd" => format!("start_slurmds {rest}"),
        "dynamic_slurmd" => plumbing.dynamic_script(rest),
        "scontrol" if rest.starts_with("delete NodeName=") => {
            let names = rest.trim_start_matches("delete NodeName=");
            format!("control {operation}\nstop_deleted {names}")
        }
        "scontrol" => format!("control {operation}"),
        _ => operation.to_owned(),
    };
    Ok(format!("{typed}\necho '{ANSWER_ENDS}'"))
}

pub(crate) fn split_answer<'a>(operation: &str, said: &'a str) -> (Answer, &'a str) {
    let (words, rest) = said.split_once(&format!("{ANSWER_ENDS}\n")).unwrap_or((said, ""));
    // A warning may come before the refusal proper.
    let told = |line: &&str| line.contains("submission failed") || line.starts_with("delete_");
    let failed = words.lines().find(told);
    let failed = failed.or_else(|| words.lines().find(|line| line.contains("rror")));
    // scontrol may say what is wrong without that word: `Words for job 3`, and of an array's tasks
    // `3_1-2: Words`.
    let named = |line: &&str| operation.starts_with("scontrol") && line.contains(" for job ");
    let failed = failed.or_else(|| words.lines().find(named));
    let is_good = |line: &&str| line.ends_with(": No error");
    let of_task = |line: &&str| {
        let task = line.split(": ").next().unwrap_or_default();
        task.contains('_') && task.starts_with(|c: char| c.is_ascii_digit())
    };
    let tasks = || words.lines().filter(of_task);
    let failed = match tasks().next() {
        Some(_) if operation.starts_with("scontrol") => tasks().find(|line| !is_good(line)),
        Some(_) | None => failed,
    };
    let refused = failed.map(|line| {
        let line = line.split(" for job ").next().unwrap_or(line);
        if line.starts_with("sbatch") && !line.contains("submission failed") {
            return "bad command line".to_owned();
        }
        line.rsplit(": ").next().unwrap_or_default().to_owned()
    });
    let answer = match refused {
        Some(words) => Answer::Refused(words),
        None if operation.starts_with("sbatch") => {
            Answer::Done(words.lines().find_map(|line| line.trim().parse().ok()))
        }
        None => Answer::Done(None),
    };
    (answer, rest)
}

fn job_look(line: &str, epoch: u64) -> JobLook {
    let get = |key: &str| value(line, key).unwrap_or_default();
    let second = |key: &str| get(key).parse::<u64>().ok();
    let start = second("StartTime");
    JobLook {
        number: get("JobId"),
        array: value(line, "ArrayJobId")
            .map(|job| format!("{job}_{}", value(line, "ArrayTaskId").unwrap_or_default())),
        state: get("JobState"),
        reason: reason_text(&get("Reason")),
        priority: get("Priority"),
        partition: get("Partition"),
        restarts: get("Restarts"),
        time_limit: match parse_time_limit(&get("TimeLimit")) {
            Some(TimeLimit::Of(span)) => (span.as_secs() / 60).to_string(),
            Some(TimeLimit::Unlimited) | None => get("TimeLimit"),
        },
        to_deadline: second("Deadline").zip(start).map(|(end, start)| end.saturating_sub(start)),
        start: start.map(|start| start.saturating_sub(epoch)),
        exit: get("ExitCode"),
        nodes: get("NodeList").replace("(null)", ""),
        cpus: get("NumCPUs"),
        shares: shares(line),
    }
}

/// The first value of a key among `Key=value` words.
pub(crate) fn value(line: &str, key: &str) -> Option<String> {
    let words = line.split(' ').filter_map(|word| word.split_once('='));
    words.into_iter().find(|(known, _)| *known == key).map(|(_, value)| value.to_owned())
}

/// `Nodes=n[1-2] CPU_IDs=0-1 Mem=100 GRES=gpu:1(IDX:0)`, as often as it comes.
fn shares(line: &str) -> Vec<(String, String)> {
    let mut found = vec![];
    for part in line.split(" Nodes=").skip(1) {
        let names = part.split(' ').next().unwrap_or_default();
        let get = |key: &str| value(part, key).unwrap_or_default();
        let text = share_text(&get("CPU_IDs"), &get("Mem"), &devices(&get("GRES")));
        let names = expand_hostlist(names).unwrap_or_default();
        found.extend(names.into_iter().map(|name| (name, text.clone())));
    }
    found
}

/// `gpu:a100:2(IDX:0-1),gpu:k80:0(IDX:N/A)` as devices by name.
fn devices(text: &str) -> BTreeMap<String, IndexSet> {
    let mut found: BTreeMap<String, IndexSet> = BTreeMap::new();
    for part in text.split("),") {
        let (what, list) = part.split_once("(IDX:").unwrap_or((part, ""));
        let name = what.split(':').next().unwrap_or_default();
        let set: IndexSet = ranges(list.trim_end_matches(')')).into_iter().collect();
        if !set.is_empty() {
            found.entry(name.to_owned()).or_default().add(&set);
        }
    }
    found
}

/// `0-1,4`.
fn ranges(text: &str) -> Vec<usize> {
    let mut found = vec![];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
            found.extend(first..=last);
        }
    }
    found
}

fn put_node(line: &str, view: &mut View) {
    let get = |key: &str| value(line, key).unwrap_or_default();
    let name = format!("node {}", get("NodeName"));
    view.set(&name, "state", get("State"));
    view.set(&name, "cpus", get("CPUAlloc"));
    view.set(&name, "mem", get("AllocMem"));
    if let Some(used) = value(line, "GresUsed") {
        view.set(&name, "gres", used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = "JobId=7 JobName=job UserId=root(0) Priority=1 JobState=RUNNING Reason=None \
        Restarts=0 ExitCode=0:0 TimeLimit=04:00:00 Partition=main ReqNodeList=(null) NodeList=n[1-3] \
        NumNodes=3 NumCPUs=6 JOB_GRES=gpu:4   Nodes=n[1-2] CPU_IDs=0-1,4 Mem=300 GRES=gpu:2(IDX:0,2) \
        Nodes=n3 CPU_IDs=0 Mem=100 GRES= MinCPUsNode=1";

    #[test]
    fn a_job_is_read_from_what_scontrol_prints() {
        let mut view = View::default();
        job_look(JOB, 0).put(&mut view);
        let seen: Vec<_> =
            view.things["job 7"].iter().map(|(key, value)| format!("{key}={value}")).collect();
        insta::assert_snapshot!(seen.join(" "), @"cpus=6 limit=240 nodes=n[1-3] on.n1=cpus:0-1,4/mem:300/gpu:0,2 on.n2=cpus:0-1,4/mem:300/gpu:0,2 on.n3=cpus:0/mem:100 partition=main priority=1 reason=None restarts=0 state=RUNNING");
    }

    #[test]
    fn a_node_is_read_from_what_scontrol_prints() {
        let line = "NodeName=n1 CPUAlloc=3 CPUTot=8 Gres=gpu:2 GresUsed=gpu:1 AllocMem=100 State=MIXED+DRAIN+PLANNED";
        let mut view = View::default();
        put_node(line, &mut view);
        let get = |key: &str| view.get("node n1", key).to_owned();
        assert_eq!((get("state"), get("cpus")), ("MIXED+DRAIN+PLANNED".to_owned(), "3".to_owned()));
        assert_eq!((get("mem"), get("gres")), ("100".to_owned(), "gpu:1".to_owned()));
    }

    #[test]
    fn answers_are_read_from_what_commands_print() {
        #[rustfmt::skip]
        let rows = [
            ("sbatch -n1", "12\n", Answer::Done(Some(12))),
            ("sbatch -n1", "sbatch: error: Batch job submission failed: Invalid qos specification\n",
                Answer::Refused("Invalid qos specification".into())),
            ("sbatch -n1", "sbatch: warning: can't honour\nsbatch: error: Batch job submission failed: No\n",
                Answer::Refused("No".into())),
            ("sbatch -nx", "sbatch: error: Invalid numeric value \"x\"\n", Answer::Refused("bad command line".into())),
            ("scontrol hold 3", "slurm_suspend error: Invalid job id specified\n",
                Answer::Refused("Invalid job id specified".into())),
            ("scontrol requeue 3", "Requested operation is presently disabled for job 3\n",
                Answer::Refused("Requested operation is presently disabled".into())),
            ("scontrol update JobId=3 Partition=x", "Invalid partition name specified for job 3\n",
                Answer::Refused("Invalid partition name specified".into())),
            ("scontrol hold 1", "1_1: Job has already finished\n1_2-4: No error\n",
                Answer::Refused("Job has already finished".into())),
            ("scontrol hold 1", "1_1-4: No error\n", Answer::Done(None)),
            ("scontrol delete PartitionName=p", "delete_partition PartitionName=p: Partition is in use\n",
                Answer::Refused("Partition is in use".into())),
            ("scontrol delete NodeName=e2", "scontrol: error: failed to delete nodes e2\ndelete_node NodeName=e2: Requested nodes are busy\n",
                Answer::Refused("Requested nodes are busy".into())),
            ("scancel 3", "", Answer::Done(None)),
        ];
        for (operation, said, expected) in rows {
            let said = format!("{said}{ANSWER_ENDS}\nrest");
            assert_eq!(split_answer(operation, &said), (expected, "rest"), "{operation}");
        }
    }
}

//! What our commands do to a cluster, seen by the originals.

use drawbridge_sim::Release;

use crate::site::Site;

/// Ways to submit, without the command line that is wrapped.
const WAYS: [&str; 9] = [
    "-J plain -n2 --mem=100 -t 5",
    "-J sized -N1-2 -n4 -c2 --mem-per-cpu=50 -t 1:30:00 -p main --comment='two words'",
    "-J wishes -C fast -L matlab:1 -x n001 --nice=20 --tmp=5 -t UNLIMITED -p long",
    "-J devices -p gpu --gres=gpu:a100:1 -n2 -t 10",
    "-J either -p gpu --gpus=2 -t 10",
    "-J each -p gpu --gpus-per-node=a100:1 -N1 -t 10",
    "-J row --array=1-9:2%2 --mem=10 -t 5",
    "-J after -d afterany:1:2 --mem=10 -t 5",
    "-J one -d singleton --mem=10 -A physics -q high --no-requeue -t 5",
];

const SHOWN: &str = "squeue -h -O name:20,numcpus:8,numnodes:8,numtasks:8,cpus-per-task:8,minmemory:10,\
timelimit:15,partition:12,feature:12,licenses:12,excnodes:12,nice:8,mintmpdisk:8,tres-per-node:30,qos:10,\
comment:14,dependency:24,requeue:8,arraytaskid:12,workdir:10";

/// A job by ours has what the same job by the original has, as the original `squeue` shows them.
pub(crate) fn jobs_are_as_the_originals_would_make_them(site: &mut Site) {
    for way in WAYS {
        let line = format!("sbatch --parsable -H -o /dev/null {way} --wrap true");
        let (theirs, ours) = (site.real(&line), site.ours(&line));
        assert_eq!((theirs.code, ours.code), (0, 0), "{way}: {}{}", theirs.err, ours.err);
        let mut seen = [theirs.out, ours.out].map(|id| {
            let shown = site.real(&format!("{SHOWN} -j {}", id.trim())).out;
            (id.trim().to_owned(), shown)
        });
        let [(their_id, theirs), (our_id, ours)] = &mut seen;
        assert_eq!(ours, theirs, "{way}");
        assert_eq!(site.ours(&format!("scancel {their_id} {our_id}")).code, 0);
    }
    println!("{} jobs are as the original sbatch makes them", WAYS.len());
}

/// Changes of a job, which are told by `JOB`.
const CHANGES: [&str; 8] = [
    "scontrol hold JOB",
    "scontrol release JOB",
    "scontrol update jobid=JOB timelimit=20",
    "scontrol update jobid=JOB comment='other words' name=other",
    "scontrol update jobid=JOB nice=30",
    "scontrol update jobid=JOB partition=long",
    "scontrol update jobid=JOB numnodes=1-2",
    "scontrol update jobid=JOB qos=high",
];

/// A job changed by ours is as one that the original changed, and both say the same about it.
pub(crate) fn changes_are_as_the_originals_would_make_them(site: &mut Site, release: Release) {
    const JOB: &str =
        "sbatch --parsable -o /dev/null -J both -A physics -b now+1hour --mem=10 -t 5 --wrap true";
    let [theirs, ours] = [(); 2].map(|()| site.real(JOB).out.trim().to_owned());
    for change in CHANGES {
        let said = site.real(&change.replace("JOB", &theirs));
        assert_eq!(site.ours(&change.replace("JOB", &ours)), said, "{change}");
        assert_eq!(said.code, 0, "{change}: {}", said.err);
        // Slurm looks for a reason when it next schedules.
        let mut seen = [String::new(), "nothing".to_owned()];
        for _ in 0..20 {
            let line = format!("{SHOWN},state:12,reason:20 -j");
            seen = [&theirs, &ours].map(|id| site.real(&format!("{line} {id}")).out);
            if seen[0] == seen[1] {
                break;
            }
            site.real("sleep 0.5");
        }
        assert_eq!(seen[1], seen[0], "{change}");
    }
    // Back to the queue: only the newest version of slurmrestd can do that.
    if release == Release::V26_05 {
        let line = "scontrol requeue JOB";
        let said = site.real(&line.replace("JOB", "1"));
        assert_eq!((site.ours(&line.replace("JOB", "2")), said.code), (said, 0), "{line}");
        let restarts = "squeue -h -O restartcnt:4 -j";
        let [theirs, ours] = ["1", "2"].map(|id| site.real(&format!("{restarts} {id}")).out);
        assert_eq!(ours, theirs, "{line}");
    }
    assert_eq!(site.ours(&format!("scancel {theirs} {ours}")).code, 0);
    println!("{} changes are as the original scontrol makes them", CHANGES.len());
}

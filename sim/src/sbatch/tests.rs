//! Command lines and what they ask for.

use super::*;
use crate::{TimeLimit, UserName};

#[test]
fn the_usual_flags_are_understood() {
    let job = parse_sbatch(
        "sbatch -N2-4 -n8 -c 2 -t 1:30:00 -p a,b -J 'my job' --account=proj -w n[1-2] -x n9 \
         -d afterok:3 --mem-per-cpu=2G --gres=gpu:a100:2 --gpus-per-task=a100:1 --exclusive \
         --nice=5 --no-requeue --begin=now+10minutes --uid=alice --wrap 'sleep 5; exit 1'",
    )
    .unwrap();
    assert_eq!((job.min_nodes, job.max_nodes), (Some(2), Some(4)));
    assert_eq!((job.tasks, job.cpus_per_task), (Some(8), Some(2)));
    assert_eq!(job.time_limit, Some(TimeLimit::Of(Span::mins(90))));
    assert_eq!(job.partitions, ["a".into(), "b".into()]);
    assert_eq!((job.name.as_str(), job.user), ("my job", UserName::from("alice")));
    assert_eq!(job.required_nodes, ["n1".into(), "n2".into()]);
    assert_eq!(job.excluded_nodes, ["n9".into()]);
    assert_eq!(job.memory, MemoryAsk::PerCpu(2048));
    assert_eq!(job.gres[0].kind.as_deref(), Some("a100"));
    assert_eq!((job.gres[1].count, job.gres[1].per), (1, GresPer::Task));
    assert_eq!(job.begin, Some(Begin::After(Span::mins(10))));
    assert_eq!((job.exclusive, job.nice, job.requeue), (true, 5, Some(false)));
    assert_eq!(job.script, "#!/bin/sh\nsleep 5; exit 1\n");
}

#[test]
fn a_time_limit_of_zero_is_none_at_all() {
    for text in ["-t 0", "--time=0:00", "-t UNLIMITED"] {
        assert_eq!(parse_sbatch(text).unwrap().time_limit, Some(TimeLimit::Unlimited), "{text}");
    }
    let half = parse_sbatch("-t 0:30").unwrap().time_limit;
    assert_eq!(half, Some(TimeLimit::Of(Span::secs(30))));
}

#[test]
fn fewer_tasks_than_nodes_lower_the_nodes() {
    let job = parse_sbatch("-N4 -n2 --wrap true").unwrap();
    assert_eq!((job.min_nodes, job.max_nodes), (Some(2), Some(2)));
}

#[test]
fn wrong_command_lines_are_refused_with_column_and_hint() {
    let rows = [
        "--nodez=2",
        "-N 2 -Z",
        "--array=5-1",
        "-a 1-x",
        "--signal=NOPE",
        "-N0",
        "-n many",
        "-t soon",
        "-w n[1-",
        "--mem=lots",
        "--gres=gpu:a:b:c",
        "--begin=someday",
        "--wrap 'sleep 5",
        "-N",
        "job.sh",
        "--exclusive=mcs",
        "-B 2:x",
        "-m arbitrary",
        "--hint=fast",
    ];
    let found: Vec<_> = rows
        .iter()
        .map(|row| {
            let error = parse_sbatch(row).unwrap_err();
            format!("{row:<20} {:>2}: {error}; {}", error.column, error.hint)
        })
        .collect();
    insta::assert_snapshot!(found.join("\n"), @"
    --nodez=2             1: sbatch has no flag `--nodez=2`; did you mean `--nodes`?
    -N 2 -Z               6: sbatch has no flag `-Z`; see sbatch(1) for the flags there are
    --array=5-1           9: `5-1` is not understood; write indices such as 0-7, 1,3,5 or 0-20:4, with %2 for at most two at once
    -a 1-x                4: `1-x` is not understood; write indices such as 0-7, 1,3,5 or 0-20:4, with %2 for at most two at once
    --signal=NOPE        10: `NOPE` is not understood; write [B:]signal[@seconds], such as B:USR1@120
    -N0                   3: `0` is not understood; write a number of nodes such as 2, or a range such as 2-4
    -n many               4: `many` is not understood; write a whole number of at least 1
    -t soon               4: `soon` is not understood; write minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]] or UNLIMITED
    -w n[1-               4: `n[1-` has a bracket without its partner; write n[1-3],n7
    --mem=lots            7: `lots` is not understood; write megabytes, or an amount such as 8G
    --gres=gpu:a:b:c      8: `gpu:a:b:c` is not of the form name[:type][:count]; write name[:type][:count], such as gpu:2
    --begin=someday       9: `someday` is not understood; write now+10minutes, HH:MM[:SS], YYYY-MM-DD[THH:MM[:SS]], MMDDYY, midnight, noon, teatime, today or tomorrow
    --wrap 'sleep 5       8: the quote is not closed; add a closing '
    -N                    1: `-N` needs a value; write it behind the flag
    job.sh                1: `job.sh`: a script file can't be read here; give the job's commands with --wrap '…'
    --exclusive=mcs      13: --exclusive=mcs is not modelled; write --exclusive or --exclusive=user
    -B 2:x                4: `2:x` is not understood; write sockets[:cores[:threads]], such as 2:4 or *:*:1
    -m arbitrary          4: --distribution=arbitrary is not modelled; leave it out
    --hint=fast           8: `fast` is not understood; write compute_bound, memory_bound, multithread or nomultithread
    ");
}

#[test]
fn sbatch_concludes_tasks_nodes_and_cpus_from_each_other() {
    #[rustfmt::skip]
    let rows = [
        // flags                            tasks    nodes     CPUs
        ("",                                "-       - 1"),
        ("-N2",                             "-       2-2 2"),
        ("-N2-4",                           "-       2-4 1"),
        ("-n6 -c2",                         "6       - 12"),
        ("-N4 -n2",                         "2       2-2 2"),
        ("-N2-4 -n3",                       "3       2-3 3"),
        ("-N2 --ntasks-per-node=3 -c2",     "-       2-2 12"),
        ("-N2 --threads-per-core=1",        "2       2-2 2"),
        ("-N2 -B 2:1",                      "4       2-2 4"),
        ("-w n[1-3]",                       "-       3- 3"),
        ("-N2 -n8 -O",                      "8       2-2 2"),
    ];
    for (flags, expected) in rows {
        let job = parse_sbatch(&format!("{flags} --wrap true")).unwrap();
        let or_dash = |n: Option<u32>| n.map_or("-".into(), |n| n.to_string());
        let nodes = match (job.min_nodes, job.max_nodes) {
            (None, _) => "-".into(),
            (Some(min), max) => format!("{min}-{}", max.map_or(String::new(), |n| n.to_string())),
        };
        let found = format!("{} {nodes} {}", or_dash(job.tasks), or_dash(job.min_cpus));
        let expected: Vec<_> = expected.split_whitespace().collect();
        assert_eq!(found, expected.join(" "), "{flags}");
    }
}

#[test]
fn the_layout_of_cores_and_devices_is_read() {
    let text = "-m block:cyclic --ntasks-per-socket=2 --ntasks-per-core=1 --mincpus=3 -s \
                --gpus-per-socket=a100:1 --sockets-per-node=2 --cpus-per-gpu=4 --mem-per-gpu=2G \
                --gres-flags=enforce-binding --contiguous --spread-job --use-min-nodes --exclusive=user";
    let job = parse_sbatch(&format!("{text} --wrap true")).unwrap();
    assert_eq!(job.core_order, Some(crate::CoreOrder::Cyclic));
    assert_eq!((job.shape.ntasks_per_socket, job.shape.ntasks_per_core), (Some(2), Some(1)));
    assert_eq!((job.min_cpus_per_node, job.shape.sockets_per_node), (Some(3), Some(2)));
    assert_eq!((job.gres[0].count, job.gres[0].per), (1, GresPer::Socket));
    assert_eq!((job.per_gpu.cpus, job.per_gpu.memory), (Some(4), Some(2048)));
    assert!(job.enforce_binding && job.oversubscribe && job.exclusive_user && !job.exclusive);
    assert!(job.contiguous && job.spread && job.use_min_nodes);
    let plane = parse_sbatch("-m plane=4 --wrap true").unwrap();
    assert_eq!((plane.plane, plane.core_order), (Some(4), None));
}

#[test]
fn a_script_says_what_the_command_line_does_not() {
    let script = "\
#!/bin/sh
#SBATCH -n 4 --time=10   # four at once
#SBATCH --gres=gpu:1
#SBATCH --array=0-3%2

# a comment
sleep 5
#SBATCH --exclusive
";
    let job = parse_sbatch_script("-t 5 --gres=gpu:2", "run.sh", script).unwrap();
    assert_eq!((job.name.as_str(), job.tasks), ("run.sh", Some(4)));
    assert_eq!(job.time_limit, Some(TimeLimit::Of(Span::mins(5))));
    assert_eq!(job.gres.iter().map(|gres| gres.count).collect::<Vec<_>>(), [2]);
    assert_eq!((job.array.unwrap().text.as_str(), job.exclusive), ("0-3%2", false));
    assert_eq!(job.script, script);
    assert!(parse_sbatch_script("--wrap true", "run.sh", script).is_err());
    assert!(parse_sbatch_script("", "run.sh", "#SBATCH --nodez=2\n").is_err());
}

#[test]
fn the_flags_of_a_jobs_life_are_understood() {
    let job = parse_sbatch("-L foo:2 -k --signal=B:USR1@120 --time-min=5 --deadline=now+1hour");
    let job = job.unwrap();
    assert_eq!((job.licenses.as_deref(), job.no_kill), (Some("foo:2"), true));
    let warning = Warning { signal: Signal::Usr1, before: Span::secs(120), to_script: true };
    assert_eq!((job.warning, job.time_min), (Some(warning), Some(Span::mins(5))));
    assert_eq!(job.deadline, Some(Begin::After(Span::hours(1))));
    #[rustfmt::skip]
    let rows = [
        ("now+90",               Begin::After(Span::secs(90))),
        ("16:00",                Begin::TimeOfDay(Span::hours(16))),
        ("4:30pm",               Begin::TimeOfDay(Span::mins(990))),
        ("noon",                 Begin::TimeOfDay(Span::hours(12))),
        ("2026-01-01",           Begin::Unix(1_767_225_600)),
        ("2026-01-01T01:00",     Begin::Unix(1_767_229_200)),
        ("010126",               Begin::Unix(1_767_225_600)),
        ("01/01/26",             Begin::Unix(1_767_225_600)),
    ];
    for (text, begin) in rows {
        assert_eq!(parse_sbatch(&format!("-b {text}")).unwrap().begin, Some(begin), "{text}");
    }
}

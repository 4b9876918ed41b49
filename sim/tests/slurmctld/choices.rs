//! Which nodes, cores and GPUs a job gets: every observation of reference/real-slurm.md, section 3.

use crate::lab::{Lab, SIX};

/// Runs the jobs one after another; each is given with the nodes (and CPUs) that it got.
fn check(name: &str, conf: &str, jobs: &[(&str, &str)]) {
    let mut lab = Lab::new(conf);
    for (args, nodes) in jobs {
        let job = lab.run(args);
        assert_eq!(lab.nodes_of(job), *nodes, "{name}: {args}");
    }
}

fn check_all(conf: &str, rows: &[(&str, &[(&str, &str)])]) {
    for (name, jobs) in rows {
        check(name, conf, jobs);
    }
}

#[test]
fn jobs_go_where_the_real_one_put_them() {
    #[rustfmt::skip]
    let rows: &[(&str, &[(&str, &str)])] = &[
        ("small jobs pack a node before the next", &[
            ("-n1 -c4 --mem=1000", "n001 4"), ("-n1 -c4 --mem=1000", "n001 4"),
            ("-n1 -c4 --mem=1000", "n001 4"), ("-n1 -c4 --mem=1000", "n001 4"),
            ("-n1 -c4 --mem=1000", "n002 4"), ("-n1 -c4 --mem=1000", "n002 4"),
        ]),
        ("mixed sizes fill the tightest hole", &[
            ("-n1 -c10 --mem=100", "n001 10"), ("-n1 -c4 --mem=100", "n001 4"),
            ("-n1 -c4 --mem=100", "n002 4"), ("-n1 -c12 --mem=100", "n002 12"),
            ("-n1 -c2 --mem=100", "n001 2"), ("-n1 -c6 --mem=100", "n003 6"),
            ("-n1 -c1 --mem=100", "n003 1"), ("-n1 -c1 --mem=100", "n003 1"),
        ]),
        ("best fit among three holes", &[
            ("-w n001 -n1 -c14 --mem=100", "n001 14"), ("-w n002 -n1 -c10 --mem=100", "n002 10"),
            ("-w n003 -n1 -c4 --mem=100", "n003 4"),
            ("-n1 -c12 --mem=100", "n003 12"), ("-n1 -c6 --mem=100", "n002 6"),
            ("-n1 -c2 --mem=100", "n001 2"),
        ]),
        ("best fit goes by CPUs, not by order", &[
            ("-w n001 -n1 -c4 --mem=100", "n001 4"), ("-w n002 -n1 -c10 --mem=100", "n002 10"),
            ("-w n003 -n1 -c14 --mem=100", "n003 14"),
            ("-n1 -c2 --mem=100", "n003 2"), ("-n1 -c2 --mem=100", "n002 2"),
            ("-n1 -c6 --mem=100", "n001 6"), ("-n1 -c12 --mem=100", "n004 12"),
        ]),
        ("two nodes take the tighter run", &[
            ("-w n003 -N1 --exclusive", "n003 16"), ("-N2 -n2 -c16 --mem=100", "n[001-002] 16+16"),
        ]),
        ("three nodes take the run that holds them", &[
            ("-w n003 -N1 --exclusive", "n003 16"), ("-N3 -n3 -c16 --mem=100", "n[004-006] 16+16+16"),
        ]),
        ("one and two nodes among three runs", &[
            ("-w n002 -N1 --exclusive", "n002 16"), ("-w n005 -N1 --exclusive", "n005 16"),
            ("-N1 -n1 -c16 --mem=100", "n001 16"), ("-N2 -n2 -c16 --mem=100", "n[003-004] 16+16"),
        ]),
        ("no run is enough: the biggest first, then the lowest", &[
            ("-w n002 -N1 --exclusive", "n002 16"), ("-w n005 -N1 --exclusive", "n005 16"),
            ("-N3 -n3 -c16 --mem=100", "n[001,003-004] 16+16+16"),
        ]),
        ("twenty tasks fill a node and go on", &[("-n20 --mem-per-cpu=10", "n[001-002] 16+4")]),
        ("forty tasks fill two", &[("-n40 --mem-per-cpu=10", "n[001-003] 16+16+8")]),
        ("six tasks on three nodes are front-loaded", &[("-n6 -N3 --mem-per-cpu=10", "n[001-003] 4+1+1")]),
        ("seven tasks on three nodes too", &[("-n7 -N3 --mem-per-cpu=10", "n[001-003] 5+1+1")]),
        ("nodes without tasks get one CPU each", &[("-N2 --mem=100", "n[001-002] 1+1")]),
        ("a range takes as many nodes as it may", &[("-n18 -N2-4 --mem-per-cpu=10", "n[001-004] 14+2+1+1")]),
    ];
    check_all(SIX, rows);
}

#[test]
fn gpus_memory_and_node_lists_lead_where_they_led_the_real_one() {
    #[rustfmt::skip]
    let rows: &[(&str, &[(&str, &str)])] = &[
        ("one-GPU jobs pack", &[
            ("-n1 --gres=gpu:1 --mem=100", "n001 1"), ("-n1 --gres=gpu:1 --mem=100", "n001 1"),
            ("-n1 --gres=gpu:1 --mem=100", "n001 1"), ("-n1 --gres=gpu:1 --mem=100", "n001 1"),
            ("-n1 --gres=gpu:1 --mem=100", "n002 1"), ("-n1 --gres=gpu:1 --mem=100", "n002 1"),
        ]),
        ("six GPUs for a job span two nodes", &[("--gpus=6 -n2 --mem=100", "n[001-002] 1+1")]),
        ("partly used GPUs are used up", &[
            ("-w n001 -n1 --gres=gpu:2 --mem=100", "n001 1"),
            ("-n1 --gres=gpu:3 --mem=100", "n002 1"), ("-n1 --gres=gpu:2 --mem=100", "n001 1"),
        ]),
        ("memory limits how many fit", &[
            ("-n1 --mem=40000", "n001 1"), ("-n1 --mem=40000", "n002 1"), ("-n1 --mem=40000", "n003 1"),
        ]),
        ("memory only filters: the lower index wins", &[
            ("-w n001 -n1 -c1 --mem=50000", "n001 1"), ("-w n002 -n1 -c1 --mem=30000", "n002 1"),
            ("-n1 --mem=10000", "n001 1"), ("-n1 --mem=10000", "n002 1"),
        ]),
        ("no memory named takes all of it, so nobody shares", &[("-n1 -c1", "n001 1"), ("-n1 -c1", "n002 1")]),
        ("exclusive counts every CPU", &[("-n1 --exclusive --mem=100", "n001 16")]),
        ("odd numbers of CPUs stay odd", &[("-n1 -c3 --mem=10", "n001 3")]),
        ("two nodes with a half-used one take it in order", &[
            ("-w n003 -N1 --exclusive", "n003 16"), ("-w n001 -n1 -c8 --mem=10", "n001 8"),
            ("-N2 -n2 -c8 --mem=10", "n[001-002] 8+8"), ("-n24 --mem-per-cpu=10", "n[004-005] 16+8"),
        ]),
        ("partly used nodes are not avoided", &[
            ("-w n001 -n1 -c12 --mem=10", "n001 12"), ("-w n002 -n1 -c8 --mem=10", "n002 8"),
            ("-w n004 -n1 -c4 --mem=10", "n004 4"),
            ("-N2 -n2 -c4 --mem=10", "n[001-002] 4+4"), ("-n30 --mem-per-cpu=10", "n[002-004] 4+16+10"),
        ]),
        ("tasks per node are kept", &[("-N2 --ntasks-per-node=3 --mem=10", "n[001-002] 3+3")]),
        ("excluded nodes are left out", &[("-x n[001-002] -n1 --mem=10", "n003 1")]),
        ("required nodes are taken with neighbours", &[("-w n003 -N2 --mem=10", "n[003-004] 1+1")]),
        ("GPUs per task go with the tasks", &[("-n6 --gpus-per-task=1 --mem=10", "n[001-002] 4+2")]),
    ];
    check_all(SIX, rows);
}

#[test]
fn lighter_nodes_come_first_whatever_fits_best() {
    let weighted = "\
SchedulerParameters=batch_sched_delay=0
NodeName=DEFAULT Sockets=2 CoresPerSocket=8 RealMemory=64000
NodeName=n[001-002] Weight=30
NodeName=n[003-004] Weight=10
NodeName=n[005-006] Weight=20
PartitionName=main Nodes=ALL Default=YES
";
    #[rustfmt::skip]
    let rows: &[(&str, &[(&str, &str)])] = &[
        ("by weight, pair by pair", &[
            ("-n1 -c8 --mem=100", "n003 8"), ("-n1 -c8 --mem=100", "n003 8"),
            ("-n1 -c8 --mem=100", "n004 8"), ("-n1 -c8 --mem=100", "n004 8"),
            ("-n1 -c8 --mem=100", "n005 8"), ("-n1 -c8 --mem=100", "n005 8"),
        ]),
        ("three nodes cross weights", &[("-N3 -n3 -c16 --mem=100", "n[003-005] 16+16+16")]),
        ("weight beats best fit", &[("-w n005 -n1 -c12 --mem=10", "n005 12"), ("-n1 -c4 --mem=10", "n003 4")]),
    ];
    check_all(weighted, rows);
}

#[test]
fn least_loaded_nodes_come_first_where_slurm_conf_says_so() {
    let conf = SIX.replace("GresTypes", "SelectTypeParameters=CR_Core_Memory,CR_LLN\nGresTypes");
    let job = "-n1 -c2 --mem=100";
    let order = ["n001 2", "n002 2", "n003 2", "n004 2", "n005 2", "n006 2", "n001 2", "n002 2"];
    let jobs: Vec<_> = order.iter().map(|nodes| (job, *nodes)).collect();
    check("CR_LLN", &conf, &jobs);
    let partition = SIX.replace("Default=YES", "Default=YES LLN=YES");
    check("LLN=YES", &partition, &jobs);
    // Half used, full, idle: the idle one, also where a GPU is asked for each task.
    let pod = "-n1 -c4 --mem=8G --gpus-per-task=1";
    check(
        "reservation flow",
        &conf,
        &[
            ("-w n001 -n1 -c8 --mem=100", "n001 8"),
            ("-w n002 -n1 -c16 --mem=100", "n002 16"),
            ("-x n[004-006] -n1 -c4 --mem=8G --gpus-per-task=1", "n003 4"),
            (pod, "n004 4"),
        ],
    );
}

#[test]
fn cores_are_taken_as_the_real_one_took_them() {
    #[rustfmt::skip]
    let rows: &[(&[&str], &str)] = &[
        // the jobs                                               CPU ids of the last, by node
        (&["-n1 -c4 --mem=100"],                                  "0-3"),
        (&["-n1 -c4 --mem=100"; 2],                               "4-7"),
        (&["-n1 -c4 --mem=100"; 3],                               "8-11"),
        (&["-n1 -c8 --mem=100"],                                  "0-7"),
        (&["-n20 --mem-per-cpu=10"],                              "0-15 | 0-1,8-9"),
        (&["-n40 --mem-per-cpu=10"],                              "0-15 | 0-15 | 0-3,8-11"),
        (&["-n6 -N3 --mem-per-cpu=10"],                           "0-1,8-9 | 0 | 0"),
        (&["-n7 -N3 --mem-per-cpu=10"],                           "0-2,8-9 | 0 | 0"),
        (&["-n18 -N2-4 --mem-per-cpu=10"],                        "0-6,8-14 | 0,8 | 0 | 0"),
        (&["-w n001 -n1 -c4 --mem=10", "-w n001 -n10 --mem=10"],  "4-13"),
        (&["-n1 -c4 --gres=gpu:2 --mem=100"],                     "0-1,8-9"),
    ];
    for (jobs, ids) in rows {
        let mut lab = Lab::new(SIX);
        let last = jobs.iter().map(|args| lab.run(args)).last().unwrap();
        assert_eq!(lab.cpu_ids_of(last), *ids, "{jobs:?}");
    }
}

#[test]
fn gpus_have_indices_and_no_index_is_given_twice() {
    let mut lab = Lab::new(SIX);
    let spanning = lab.run("--gpus=6 -n2 --mem=100");
    assert_eq!(lab.gpus_of(spanning), "0-3 | 0-1");
    let next = lab.run("-n1 --gres=gpu:1 --mem=100");
    assert_eq!((lab.nodes_of(next).as_str(), lab.gpus_of(next).as_str()), ("n002 1", "2"));
    lab.scancel(spanning);
    lab.pass(1);
    let low = lab.run("-w n002 -n1 --gres=gpu:2 --mem=100");
    assert_eq!(lab.gpus_of(low), "0-1");
    let whole = lab.run("-N1 --exclusive --mem=100");
    assert_eq!((lab.nodes_of(whole).as_str(), lab.gpus_of(whole).as_str()), ("n001 16", "0-3"));
}

#[test]
fn gpus_of_a_kind_come_from_that_kind() {
    let conf = "\
SchedulerParameters=batch_sched_delay=0
GresTypes=gpu
NodeName=n1 CPUs=8 RealMemory=1000 Gres=gpu:a100:2,gpu:v100:2 Feature=ib,new
NodeName=n2 CPUs=8 RealMemory=1000 Feature=ib
PartitionName=main Nodes=ALL Default=YES
";
    let mut lab = Lab::new(conf);
    let job = lab.run("-n1 --gres=gpu:v100:1 --mem=10");
    assert_eq!(lab.gpus_of(job), "2");
    let any = lab.run("-n1 --gres=gpu:3 --mem=10");
    assert_eq!(lab.gpus_of(any), "0-1,3");
    let plain = lab.run("-C ib -n1 -c8 --mem=10");
    assert_eq!(lab.nodes_of(plain), "n2 8");
    let both = lab.run("-C 'ib&new' -n1 --mem=10");
    assert_eq!(lab.nodes_of(both), "n1 1");
}

#[test]
fn whole_cores_are_given_out_where_cores_have_threads() {
    let conf = |unit: &str| {
        format!(
            "SelectTypeParameters={unit}\nSchedulerParameters=batch_sched_delay=0\n\
             NodeName=n1 Sockets=1 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=1000\n\
             PartitionName=main Nodes=ALL Default=YES\n"
        )
    };
    let mut by_core = Lab::new(&conf("CR_Core_Memory"));
    let job = by_core.run("-n1 -c1 --mem-per-cpu=10");
    assert_eq!((by_core.nodes_of(job).as_str(), by_core.cpu_ids_of(job).as_str()), ("n1 2", "0-1"));
    let mut by_cpu = Lab::new(&conf("CR_CPU"));
    let job = by_cpu.run("-n1 -c1");
    assert_eq!(by_cpu.nodes_of(job), "n1 1");
    assert_eq!(by_cpu.ctld.job(job).unwrap().allocation.as_ref().unwrap().memory_mib(), 0);
}

#[test]
fn default_memory_comes_from_partition_then_cluster() {
    let memory = |words: &str, line: &str| {
        let conf = format!(
            "{line}\nSchedulerParameters=batch_sched_delay=0\nNodeName=n1 CPUs=8 RealMemory=1000\n\
             PartitionName=main Nodes=ALL Default=YES {words}\n"
        );
        let mut lab = Lab::new(&conf);
        let job = lab.run("-n2");
        lab.ctld.job(job).unwrap().allocation.as_ref().unwrap().memory_mib()
    };
    assert_eq!(memory("", "DefMemPerCPU=100"), 200);
    assert_eq!(memory("", "DefMemPerNode=300"), 300);
    assert_eq!(memory("DefMemPerCPU=50", "DefMemPerNode=300"), 100);
    assert_eq!(memory("", ""), 1000);
}

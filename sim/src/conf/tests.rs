//! What slurm.conf texts are read as, and how wrong ones are refused.

mod nodes;

use proptest::prelude::*;

use super::*;

const NODES: &str = "NodeName=n[1-4] CPUs=16 RealMemory=64000\n";
const MAIN: &str = "PartitionName=main Nodes=ALL Default=YES\n";

fn parse(text: &str) -> Result<Parsed, ConfError> {
    SlurmConfig::parse(text, None, Release::V24_11)
}

#[test]
fn nodes_take_their_shape_from_whatever_is_given() {
    #[rustfmt::skip]
    let rows = [
        // the line's words                                      cpus sockets cores threads
        ("CPUs=16",                                              (16, 16, 1, 1)),
        ("CPUs=16 Sockets=2 CoresPerSocket=8",                   (16, 2, 8, 1)),
        ("Sockets=2 CoresPerSocket=8 ThreadsPerCore=2",          (32, 2, 8, 2)),
        ("CPUs=16 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2",  (16, 2, 8, 1)),
        ("Boards=2 SocketsPerBoard=2 CoresPerSocket=4",          (16, 4, 4, 1)),
        ("Boards=2 CoresPerSocket=4",                            (8, 2, 4, 1)),
        ("CPUs=10 CoresPerSocket=4",                             (4, 1, 4, 1)),
        ("Procs=8",                                              (8, 8, 1, 1)),
        ("cpus=8 CORESPERSOCKET=4",                              (8, 2, 4, 1)),
        ("",                                                     (1, 1, 1, 1)),
    ];
    for (words, shape) in rows {
        let text = format!("NodeName=a {words}\n{MAIN}");
        let config = parse(&text).unwrap().config;
        let node = &config.nodes()[0];
        let found = (node.cpus, node.sockets, node.cores_per_socket, node.threads_per_core);
        assert_eq!(found, shape, "{words}");
    }
}

#[test]
fn a_sites_whole_file_is_read() {
    let text = "\
# the cluster
ClusterName=lab
SlurmctldHost=head(10.0.0.1)
SelectType = select/cons_tres
selecttypeparameters=CR_Core_Memory,CR_LLN
SchedulerParameters=bf_interval=1,batch_sched_delay=0,defer
KillWait=5 MinJobAge=60
GresTypes=gpu
NodeName=DEFAULT CPUs=16 \\
    RealMemory=64000   # for all
NodeName=n[01-04] Gres=gpu:a100:2,gpu:v100:1 Feature=fast,ib Weight=10 NodeAddr=10.0.0.[1-4]
NodeName=m1 Weight=5 State=DRAIN
NodeSet=quick Feature=fast
PartitionName=DEFAULT MaxTime=1-0
PartitionName=main Nodes=ALL Default=YES
PartitionName=gpu Nodes=quick PriorityTier=10 MaxTime=INFINITE LLN=YES
";
    let Parsed { config, notes } = parse(text).unwrap();
    assert_eq!(notes, []);
    assert_eq!(config.params().cluster_name, "lab");
    assert!(config.params().lln);
    assert_eq!(config.params().kill_wait, crate::Span::secs(5));
    let names: Vec<_> = config.node_names().map(SlurmNode::as_str).collect();
    assert_eq!(names, ["m1", "n01", "n02", "n03", "n04"]);
    let node = &config.nodes()[2];
    assert_eq!((node.cpus, node.memory_mib, node.weight), (16, 64000, 10));
    assert_eq!(node.address, "10.0.0.2");
    assert_eq!(node.gres_count("gpu", None), 3);
    assert_eq!(node.gres[1].first, 2);
    assert_eq!(config.nodes()[0].initial_state, InitialState::Drain);
    let gpu = config.partition(&"gpu".into()).unwrap();
    assert_eq!((gpu.nodes.as_slice(), gpu.priority_tier), ([1, 2, 3, 4].as_slice(), 10));
    assert_eq!(gpu.max_time, None);
    assert_eq!(config.partitions()[0].max_time, Some(crate::Span::hours(24)));
}

#[test]
fn what_is_known_but_not_honoured_is_noted_with_its_place() {
    let text = format!(
        "PriorityWeightAge=1000\nSchedulerParameters=defer,preempt_reorder_count=2\n{NODES}PartitionName=p Nodes=ALL  AllowGroups=x\n"
    );
    let notes: Vec<_> = parse(&text).unwrap().notes.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(notes.join("\n"), @"
    slurm.conf:1:1: PriorityWeightAge counts only with AccountingStorageType=accounting_storage/slurmdbd, so slurmctld ignores it
    slurm.conf:2:1: SchedulerParameters=preempt_reorder_count is not honoured yet
    slurm.conf:4:28: AllowGroups: a user is taken to be in the group of the same name only
    ");
}

#[test]
fn limits_of_memory_and_other_words_without_effect_are_noted() {
    let text = "\
MaxMemPerNode=1000
MaxMemPerCPU=1000 AuthInfo=socket=/run/munge,cred_expire=30,use_client_ids
NodeName=n[1-4] CPUs=16 TmpDisk=5 CoreSpecCount=1 Reason=fan
PartitionName=a Nodes=ALL Default=YES MaxMemPerCPU=5
PartitionName=b Nodes=ALL MaxMemPerNode=5 Default=YES
DownNodes=n1 State=FAIL Reason=fan
";
    let Parsed { config, notes } = parse(text).unwrap();
    let notes: Vec<_> = notes.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(notes.join("\n"), @"
    slurm.conf:2:19: AuthInfo=use_client_ids is not honoured yet
    slurm.conf:5:43: partition `b` is the default instead of `a` (line 4): the last one wins
    ");
    let defaults: Vec<_> = config.partitions().iter().map(|p| p.default).collect();
    assert_eq!(defaults, [false, true]);
    assert_eq!(config.nodes()[0].initial_state, InitialState::Fail);
    assert_eq!(config.nodes()[0].reason.as_deref(), Some("fan"));
}

#[test]
fn numbers_that_are_too_large_and_words_that_contradict_are_refused() {
    let rows = [
        "NodeName=x CPUs=65536",
        "NodeName=x Sockets=4294967295",
        "NodeName=x Sockets=65535 CoresPerSocket=65535 ThreadsPerCore=65535",
        "NodeName=x Boards=65535 SocketsPerBoard=65535",
        "NodeName=x RealMemory=1125899906842625",
        "NodeName=x Gres=gpu:99999999999999999999",
        "NodeName=x CoresSpecCount=1",
        "FirstJobId=67108864",
        "FirstJobId=67043329",
        "FirstJobId=10 MaxJobId=9",
        "GresTypes=shm\nNodeName=x Gres=shm:1,gpu:4",
        "DownNodes=n1 State=BROKEN",
        "DownNodes=n1 Raeson=x",
    ];
    let found = rows.map(|line| {
        let error = parse(&format!("{NODES}{MAIN}{line}\n")).unwrap_err();
        format!("{error}\n    {}", error.hint)
    });
    insta::assert_snapshot!(found.join("\n"), @"
    slurm.conf:3:17: CPUs=65536 is too large
        write at most 65535
    slurm.conf:3:20: Sockets=4294967295 is too large
        write at most 65535
    slurm.conf:3:1: boards, sockets, cores and threads make more than 65535 CPUs
        make their product smaller
    slurm.conf:3:1: boards, sockets, cores and threads make more than 65535 CPUs
        make their product smaller
    slurm.conf:3:23: RealMemory=1125899906842625 is too large
        write at most 1125899906842624
    slurm.conf:3:17: `99999999999999999999` in `gpu:99999999999999999999` is too large
        write Gres=name[:type][:count], such as gpu:a100:4
    slurm.conf:3:12: NodeName does not know `CoresSpecCount`
        did you mean `CoreSpecCount`?
    slurm.conf:3:12: FirstJobId=67108864 is too large
        write at most 67108863
    slurm.conf:3:12: FirstJobId=67043329 is larger than MaxJobId=67043328
        make FirstJobId the smaller one
    slurm.conf:3:24: FirstJobId=10 is larger than MaxJobId=9
        make FirstJobId the smaller one
    slurm.conf:4:17: GresTypes does not list `gpu`
        add GresTypes=shm,gpu
    slurm.conf:3:20: State=BROKEN is not understood
        write one of UNKNOWN, IDLE, DOWN, DRAIN, FAIL, FUTURE, CLOUD, EXTERNAL
    slurm.conf:3:14: DownNodes does not know `Raeson`
        did you mean `Reason`?
    ");
}

const GLOBAL_NUMBERS: &[&str] = &[
    "DefMemPerCPU",
    "DefMemPerNode",
    "FirstJobId",
    "KillWait",
    "MaxJobCount",
    "MaxJobId",
    "MinJobAge",
    "OverTimeLimit",
];
const NODE_NUMBERS: &[&str] = &[
    "Boards",
    "CPUs",
    "CoresPerSocket",
    "RealMemory",
    "Sockets",
    "SocketsPerBoard",
    "ThreadsPerCore",
    "Weight",
];

/// Submits a few jobs and lets the controller work.
fn use_it(config: SlurmConfig) {
    let mut ctld = crate::Slurmctld::new(config, crate::Epoch::DEFAULT);
    let large = "--mem-per-cpu=9223372036854775807 -n4 --gpus-per-task=9223372036854775807";
    for args in ["-n3", "-N1 -c2 --gres=gpu:1 -t 5", "--mem=1 -n4", large] {
        // A refusal is an answer too.
        let _ = ctld.submit(crate::Time::ZERO, crate::parse_sbatch(args).unwrap());
    }
    for _ in 0..20 {
        let Some(at) = ctld.next_wake() else { break };
        ctld.wake(at);
    }
}

/// A number that something might not hold.
fn large() -> impl Strategy<Value = String> {
    let fair = prop::sample::select(vec![1, 2, 3, 255, 4096, 65_535]).prop_map(|n| n.to_string());
    let edges = [0, 256, 65_535, 65_536, 1 << 26, u64::from(u32::MAX), 1 << 50, u64::MAX];
    let edge = prop::sample::select(edges.to_vec()).prop_map(|n| n.to_string());
    prop_oneof![12 => fair, 2 => edge, 1 => "[0-9]{1,25}", 1 => "[-+0-9KMGT:,=]{0,6}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_numbers_make_reading_or_using_a_file_panic(
        n in prop::collection::vec(large(), 3),
        global in prop::sample::select(GLOBAL_NUMBERS),
        scheduler in prop::sample::select(known::SCHEDULER),
        node in prop::collection::vec((prop::sample::select(NODE_NUMBERS), large()), 1..5),
        partition in prop::sample::select(known::PARTITION),
    ) {
        let node: Vec<_> = node.iter().map(|(key, n)| format!("{key}={n}")).collect();
        let text = format!(
            "GresTypes=gpu\n{global}={}\nSchedulerParameters={scheduler}={}\nNodeName=x {}\n\
             NodeName=y CPUs=4 RealMemory=9 Gres=gpu:4\n\
             PartitionName=p Nodes=ALL Default=YES {partition}={}\n",
            n[0], n[1], node.join(" "), n[2],
        );
        if let Ok(parsed) = parse(&text) {
            use_it(parsed.config);
        }
    }

    #[test]
    fn no_text_makes_reading_a_file_panic(text in "((NodeName|Gres|DownNodes|State|x)?[ =\"#,:\\\\\n\\[\\]0-9-]{0,4}){0,12}") {
        drop(parse(&text));
    }
}

fn wrong_files() -> Vec<String> {
    let with = |line: &str| format!("{NODES}{MAIN}{line}\n");
    vec![
        with("KillWate=5"),
        with("KillWait=-5"),
        with("KillWait"),
        with("NodeName=x CPUs=-1"),
        with("NodeName=x CPU=4"),
        with("NodeName=x[1-999999999] CPUs=4"),
        with("NodeName=x[3-1]"),
        with("NodeName=n2"),
        with("NodeName=ALL CPUs=10"),
        with("NodeName=DEFAULT NodeAddr=10.0.0.1"),
        with("NodeName=x State=GONE"),
        with("NodeName=x State=External"),
        with("NodeSet=n1 Feature=x"),
        with("Include"),
        with("NodeName=x Gres=gpu:many:few"),
        with("PartitionName=q Nodes=n5"),
        with("PartitionName=q Nodes=n[1-2] MaxTime=soon"),
        with("PartitionName=q Noddes=n1"),
        with("PartitionName=main Nodes=n1"),
        with("PartitionName=q State=OPEN"),
        with("SelectTypeParameters=CR_Cores"),
        with("SchedulerParameters=bf_intervall=3"),
        with("SchedulerParameters=bf_interval=soon"),
        with("SchedulerType=sched/magic"),
        with("Include /etc/slurm/nodes.conf"),
        with("NodeName=x Reason=\"gone"),
        with("GresTypes=gpu \\\n  KillWayt=3"),
        MAIN.into(),
        NODES.into(),
        String::new(),
    ]
}

#[test]
fn wrong_files_are_refused_with_place_and_hint() {
    let rows = wrong_files();
    let found: Vec<_> = rows
        .iter()
        .map(|text| {
            let error = parse(text).unwrap_err();
            format!("{error}\n    {}", error.hint)
        })
        .collect();
    insta::assert_snapshot!(found.join("\n"), @r#"
    slurm.conf:3:1: slurm.conf does not know `KillWate`
        did you mean `KillWait`?
    slurm.conf:3:10: KillWait=-5 is not understood
        write a whole number that isn't negative
    slurm.conf:3:1: `KillWait` has no value
        each word is Key=Value
    slurm.conf:3:17: CPUs=-1 is not understood
        write a whole number that isn't negative
    slurm.conf:3:12: NodeName does not know `CPU`
        did you mean `CPUs`?
    slurm.conf:3:10: `1-999999999` stands for more than 131072 names
        write names such as `n[001-032],login`
    slurm.conf:3:10: the range `3-1` runs downwards
        write names such as `n[001-032],login`
    slurm.conf:3:10: node `n2` is defined twice
        name each node once
    slurm.conf:3:10: NodeName=ALL is not understood
        ALL stands for every node; call this one something else
    slurm.conf:3:18: NodeAddr can't stand on NodeName=DEFAULT
        give it on each node's own line
    slurm.conf:3:18: State=GONE is not understood
        write one of UNKNOWN, IDLE, DOWN, DRAIN, FAIL, FUTURE, CLOUD, EXTERNAL
    slurm.conf:3:18: State=EXTERNAL needs Slurm 26.05 and this is 24.11
        choose release 26.05, or another state
    slurm.conf:3:9: NodeSet `n1` has the name of a node
        call one of the two something else
    slurm.conf:3:1: `Include` names no file
        write Include path
    slurm.conf:3:17: `few` in `gpu:many:few` is no count
        write Gres=name[:type][:count], such as gpu:a100:4
    slurm.conf:3:23: partition `q` names node `n5`, which no NodeName line defines
        the nodes are n[1-4]
    slurm.conf:3:38: MaxTime=soon is not understood
        write minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]] or UNLIMITED
    slurm.conf:3:17: PartitionName does not know `Noddes`
        did you mean `Nodes`?
    slurm.conf:3:15: partition `main` is defined twice
        name each partition once
    slurm.conf:3:23: State=OPEN is not understood
        write one of UP, DOWN, DRAIN, INACTIVE
    slurm.conf:3:22: SelectTypeParameters does not know `CR_Cores`
        did you mean `CR_Core`?
    slurm.conf:3:21: SchedulerParameters does not know `bf_intervall`
        did you mean `bf_interval`?
    slurm.conf:3:21: bf_interval=soon in SchedulerParameters is not understood
        write a whole number
    slurm.conf:3:15: SchedulerType=sched/magic is not understood
        write one of sched/backfill, sched/builtin
    slurm.conf:3:1: the file `/etc/slurm/nodes.conf`, which is included here, is not given
        give it too, or paste its text here
    slurm.conf:3:19: the quote is not closed
        add a closing "
    slurm.conf:4:3: slurm.conf does not know `KillWayt`
        did you mean `KillWait`?
    slurm.conf:1:1: no node is defined
        add a line such as `NodeName=n[1-4] CPUs=16 RealMemory=64000`
    slurm.conf:1:1: no partition is defined
        add a line such as `PartitionName=main Nodes=ALL Default=YES`
    slurm.conf:1:1: no node is defined
        add a line such as `NodeName=n[1-4] CPUs=16 RealMemory=64000`
    "#);
}

#[test]
fn gres_conf_must_not_report_fewer_than_configured() {
    let conf = "GresTypes=gpu\nNodeName=n[1-2] CPUs=4 Gres=gpu:4\nPartitionName=p Nodes=ALL\n";
    let read = |gres: &str| SlurmConfig::parse(conf, Some(gres), Release::V24_11);
    assert!(read("Name=gpu File=/dev/nvidia[0-3]\n").unwrap().notes.is_empty());
    assert!(read("NodeName=n1 Name=gpu Type=a100 Count=4\n").is_ok());
    let noted = read("Name=gpu File=/dev/nvidia[0-3] Flags=CountOnly\n").unwrap().notes;
    assert_eq!(noted[0].to_string(), "gres.conf:1:32: gres.conf Flags= is not honoured yet");
    let error = read("Name=gpu File=/dev/nvidia[0-2]\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "gres.conf:1:6: gres/gpu count reported lower than configured (3 < 4) on n1"
    );
    assert!(read("Nmae=gpu\n").is_err());
}

#[test]
fn gres_conf_numbers_the_devices_and_tells_their_types_and_cores() {
    let conf =
        "GresTypes=gpu\nNodeName=n1 CPUs=4 Gres=gpu:a:1,gpu:b:3\nPartitionName=p Nodes=ALL\n";
    let groups = |gres: &str| {
        let config = SlurmConfig::parse(conf, Some(gres), Release::V24_11).unwrap().config;
        let groups = config.nodes()[0].devices.iter().map(|group| {
            let cores = group.cores.as_ref().map_or("-".into(), ToString::to_string);
            let kind = group.kind.as_deref().unwrap_or("-");
            let apart = if group.told_apart { "" } else { " alike" };
            format!("{kind} {}+{} {cores}{apart}", group.first, group.count)
        });
        groups.collect::<Vec<_>>().join("; ")
    };
    #[rustfmt::skip]
    let rows = [
        ("",                                                  "a 0+1 -; b 1+3 -"),
        ("Name=gpu File=/dev/x[0-3]",                         "a 0+1 -; b 1+3 -"),
        ("Name=gpu Count=4",                                  "a 0+1 - alike; b 1+3 - alike"),
        ("Name=gpu File=/dev/x[0-3] Cores=0-1,3",             "a 0+1 0-1,3; b 1+3 0-1,3"),
        ("Name=gpu Type=b File=/dev/x[0-2] Cores=0\nName=gpu Type=a File=/dev/x3", "b 0+3 0; a 3+1 -"),
        ("NodeName=n2 Name=gpu File=/dev/x0",                 "a 0+1 -; b 1+3 -"),
    ];
    for (gres, expected) in rows {
        assert_eq!(groups(gres), expected, "{gres}");
    }
}

#[test]
fn what_only_accounting_preemption_or_gpus_would_use_is_noted() {
    let rows = ["GraceTime=10", "TRESBillingWeights=CPU=1.0"];
    for row in rows {
        let conf = format!("NodeName=n1 CPUs=4\nPartitionName=main Nodes=ALL Default=YES {row}\n");
        let parsed = SlurmConfig::parse(&conf, None, Release::V24_11).unwrap();
        let key = row.split('=').next().unwrap();
        let expected = format!("{key} is not honoured yet");
        assert!(parsed.notes.iter().any(|note| note.text == expected), "{row}: {:?}", parsed.notes);
    }
}

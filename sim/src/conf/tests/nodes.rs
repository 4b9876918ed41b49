//! What node lines come to where they contradict themselves, and the cores kept from jobs.

use std::collections::BTreeMap;

use super::*;

fn notes_of(line: &str) -> (NodeSpec, String) {
    let Parsed { config, notes } = parse(&format!("{line}\n{MAIN}")).unwrap();
    let notes: Vec<_> = notes.iter().map(ToString::to_string).collect();
    ((*config.nodes()[0]).clone(), notes.join("\n"))
}

#[test]
fn contradictions_are_settled_as_slurmctld_settles_them_and_noted() {
    let rows = [
        "NodeName=x CPUs=0 Boards=0 Sockets=0 CoresPerSocket=0 ThreadsPerCore=0",
        "NodeName=x CPUs=10 Sockets=2 CoresPerSocket=4",
        "NodeName=x CPUs=2 Sockets=2 CoresPerSocket=4",
        "NodeName=x Boards=4 Sockets=2",
        "NodeName=x Boards=2 Sockets=5 SocketsPerBoard=3",
        "NodeName=x RealMemory=100 MemSpecLimit=100",
        "NodeName=x CPUs=4 CoreSpecCount=4",
        "NodeName=x CPUs=4 CpuSpecList=0,4",
        "NodeName=x CPUs=4 CpuSpecList=0-1 CoreSpecCount=1",
        "NodeName=x State=CLOUD",
    ];
    let found = rows.map(|line| {
        let (node, notes) = notes_of(line);
        let shape = format!(
            "{}={}b{}s{}c{}t kept {} memory {}",
            node.cpus,
            node.boards,
            node.sockets,
            node.cores_per_socket,
            node.threads,
            node.spec_cores,
            node.usable_memory_mib(),
        );
        format!("{shape}\n    {}", notes.replace('\n', "\n    "))
    });
    insta::assert_snapshot!(found.join("\n"), @"
    1=1b1s1c1t kept  memory 1
        slurm.conf:1:1: CPUs=0 is taken as 1
        slurm.conf:1:1: CoresPerSocket=0 is taken as 1
        slurm.conf:1:1: ThreadsPerCore=0 is taken as 1
        slurm.conf:1:1: Boards=0 is taken as 1
        slurm.conf:1:1: Sockets=0 is taken as 1
    8=1b2s4c1t kept  memory 1
        slurm.conf:1:1: CPUs=10 is neither 2 sockets, 8 cores nor 8 threads: CPUs is taken as 8
    8=1b2s4c1t kept  memory 1
        slurm.conf:1:1: CPUs=2 counts sockets, which is not modelled: CPUs is taken as 8
    2=1b2s1c1t kept  memory 1
        slurm.conf:1:1: 2 sockets can't lie on 4 boards: Boards is taken as 1
    6=2b6s1c1t kept  memory 1
        slurm.conf:1:1: Sockets and SocketsPerBoard: SocketsPerBoard counts
    1=1b1s1c1t kept  memory 100
        slurm.conf:1:1: MemSpecLimit=100 leaves nothing of RealMemory=100: it is taken as 0
    4=1b4s1c1t kept 3 memory 1
        slurm.conf:1:33: CoreSpecCount=4 leaves none of 4 cores: it is taken as 1
    4=1b4s1c1t kept  memory 1
        slurm.conf:1:31: CpuSpecList=0,4 isn't a list of CPUs below 4: it is left out
    4=1b4s1c1t kept 0-1 memory 1
        slurm.conf:1:49: CoreSpecCount is left out beside CpuSpecList
    1=1b1s1c1t kept  memory 1
        slurm.conf:1:12: State=CLOUD: power saving is not modelled, the node is up from the start
    ");
}

#[test]
fn cores_are_kept_from_the_last_socket_on_unless_the_first_come_first() {
    #[rustfmt::skip]
    let rows = [
        // words                                                                    cores  CPUs    effective
        ("Sockets=2 CoresPerSocket=4 CoreSpecCount=1",                              "7",   "7",    7),
        ("Sockets=2 CoresPerSocket=4 CoreSpecCount=3",                              "3,6-7", "3,6-7", 5),
        ("Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 CoreSpecCount=2",             "3,7", "6-7,14-15", 12),
        ("Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 CpuSpecList=1,4",             "0,2", "0-1,4-5", 12),
        ("CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 CoreSpecCount=2",      "3,7", "3,7",  6),
    ];
    for (words, cores, cpus, effective) in rows {
        let (node, _) = notes_of(&format!("NodeName=x {words}"));
        let found = (node.spec_cores.to_string(), node.spec_cpus(), node.effective_cpus());
        assert_eq!(found, (cores.into(), cpus.into(), effective), "{words}");
    }
    let first = "SchedulerParameters=spec_cores_first\nNodeName=x Sockets=2 CoresPerSocket=4 CoreSpecCount=3";
    assert_eq!(notes_of(first).0.spec_cores.to_string(), "0-1,4");
}

#[test]
fn included_files_stand_where_they_are_named() {
    let includes: BTreeMap<String, String> = [
        ("/etc/slurm/nodes.conf", "NodeName=n[1-2] CPUs=4\nInclude parts.conf\n"),
        ("parts.conf", "PartitionName=main Nodes=ALL Alternate=x  Topology=t\n"),
        ("typo.conf", "\nNodeName=n1 CPU=4\n"),
    ]
    .map(|(name, text)| (name.into(), text.into()))
    .into();
    let read = |slurm_conf| {
        let texts = ConfTexts { slurm_conf, gres_conf: None, includes: &includes };
        SlurmConfig::parse_texts(&texts, Release::V24_11)
    };
    let parsed = read("ClusterName=c\nInclude /etc/slurm/nodes.conf # all\n").unwrap();
    assert_eq!(parsed.config.partitions()[0].nodes, [0, 1]);
    let notes: Vec<_> = parsed.notes.iter().map(ToString::to_string).collect();
    let deep = "/etc/slurm/nodes.conf:2:1: parts.conf:1:43: Topology is not honoured yet";
    assert_eq!(notes, [format!("slurm.conf:2:1: {deep}")]);
    let error = read("include  some/where/typo.conf\n").unwrap_err().to_string();
    assert_eq!(error, "slurm.conf:1:1: some/where/typo.conf:2:13: NodeName does not know `CPU`");
}

#[test]
fn node_sets_join_names_and_features_wherever_they_stand() {
    let text = "\
PartitionName=a Nodes=fast,n3
PartitionName=b Nodes=every
PartitionName=c Nodes=none
PartitionName=d
NodeSet=fast Feature=ib Nodes=n2
NodeSet=every Nodes=ALL
NodeSet=none Feature=gold
NodeName=n4 Features=big,ib
NodeName=n[1-3]
NodeName=n10
";
    let config = parse(text).unwrap().config;
    let nodes: Vec<_> = config.partitions().iter().map(|part| part.nodes.clone()).collect();
    assert_eq!(nodes, [vec![1, 2, 3], vec![0, 1, 2, 3, 4], vec![], vec![]]);
}

//! Partitions: who is let in, who waits, and what operators change.

use drawbridge_sim::{NodeUpdate, Release, SlurmConfig};

use crate::lab::{Lab, root};

const PARTS: &str = "\
SchedulerParameters=batch_sched_delay=0,bf_interval=1
NodeName=n[001-004] Sockets=2 CoresPerSocket=8 RealMemory=64000
PartitionName=main Nodes=ALL Default=YES
PartitionName=min Nodes=ALL MinNodes=2
PartitionName=max Nodes=ALL MaxNodes=1
PartitionName=short Nodes=ALL MaxTime=10
PartitionName=lean Nodes=ALL MaxMemPerCPU=1000
PartitionName=tight Nodes=ALL MaxMemPerNode=8000
PartitionName=bobs Nodes=ALL AllowGroups=bob
PartitionName=roots Nodes=ALL RootOnly=YES
PartitionName=users Nodes=ALL DisableRootJobs=YES
PartitionName=booked Nodes=ALL ReqResv=YES
PartitionName=shut Nodes=ALL State=DRAIN
PartitionName=moved Nodes=ALL State=INACTIVE Alternate=main
PartitionName=down Nodes=ALL State=DOWN
PartitionName=one Nodes=n001
";

/// What the real one answered to the same, with EnforcePartLimits=NO and =ANY.
#[test]
fn limits_of_partitions_are_enforced_as_enforce_part_limits_says() {
    #[rustfmt::skip]
    let rows = [
        // flags                              NO                               ANY
        ("-p min --mem=10 -N1",               "PENDING PartitionNodeLimit",    "2006 Node count specification invalid"),
        ("-p min --mem=10 -N2",               "RUNNING None",                  "RUNNING None"),
        ("-p max --mem=10 -N2",               "PENDING PartitionNodeLimit",    "2006 Node count specification invalid"),
        ("-p max --mem=10 -n8",               "RUNNING None",                  "RUNNING None"),
        ("-p short --mem=10 -t 20",           "PENDING PartitionTimeLimit",    "2051 Requested time limit is invalid (missing or exceeds some limit)"),
        ("-p short --mem=10",                 "RUNNING None",                  "RUNNING None"),
        ("-p tight --mem=9000",               "PENDING MaxMemPerLimit",        "2044 Memory required by task is not available"),
        ("-p tight",                          "PENDING MaxMemPerLimit",        "2015 Requested partition configuration not available now"),
        ("-p roots",                          "2002 Access/permission denied",  "2002 Access/permission denied"),
        ("-p booked",                         "2002 Access/permission denied",  "2002 Access/permission denied"),
        ("-p shut",                           "2070 Required partition not available (inactive or drain)", "2070 Required partition not available (inactive or drain)"),
        ("-p moved --mem=10",                 "RUNNING None",                  "RUNNING None"),
        ("-p down --mem=10",                  "PENDING PartitionDown",         "PENDING PartitionDown"),
        ("-p bobs --mem=10",                  "PENDING uid 17183 not in group permitted to use this partition (bobs). groups allowed: bob", "2003 User's group not permitted to use this partition"),
        ("-p one --mem=10 -N2",               "2014 Requested node configuration is not available", "2006 Node count specification invalid"),
        ("-p one --mem=10 -n20",              "2014 Requested node configuration is not available", "2005 More processors requested than permitted"),
        ("-p one --mem=10 -w n002",           "2014 Requested node configuration is not available", "2004 Requested nodes not in this partition"),
        ("-p one,main --mem=10 -N2",          "RUNNING None",                  "RUNNING None"),
    ];
    for (args, no, any) in rows {
        for (enforce, expected) in [("NO", no), ("ANY", any)] {
            let mut lab = Lab::new(&format!("EnforcePartLimits={enforce}\n{PARTS}"));
            let mut job = drawbridge_sim::parse_sbatch(args).unwrap();
            (job.user, job.script) = ("alice".into(), "exec sleep infinity".into());
            let found = match lab.ctld.submit(lab.now, job) {
                Ok(id) => {
                    lab.pass(3);
                    lab.state_of(id)
                }
                Err(error) => format!("{} {error}", error.number()),
            };
            assert_eq!(found, expected, "{args} with {enforce}");
        }
    }
    let mut lab = Lab::new(PARTS);
    let mut job = drawbridge_sim::parse_sbatch("-p users").unwrap();
    job.user = root();
    assert_eq!(lab.ctld.submit(lab.now, job).unwrap_err().number(), 2010);
}

#[test]
fn too_much_memory_for_a_cpu_becomes_more_cpus() {
    #[rustfmt::skip]
    let rows = [
        ("--mem-per-cpu=2500",          "n001 3"),
        ("--mem-per-cpu=2500 -n2",      "n001 6"),
        ("--mem=4500",                  "n001 5"),
        ("--mem=4500 -n2",              "n001 6"),
        ("--mem=4500 -n3 -N1",          "n001 6"),
        ("--mem=4500 -n2 --ntasks-per-node=2", "n001 6"),
    ];
    for (args, nodes) in rows {
        let mut lab = Lab::new(PARTS);
        let job = lab.run(&format!("-p lean {args}"));
        assert_eq!(lab.nodes_of(job), nodes, "{args}");
    }
}

#[test]
fn operators_change_make_and_delete_partitions() {
    let mut lab = Lab::new(PARTS);
    let job = lab.run("-p short --mem=10 -t 5");
    let change = |lab: &mut Lab, name: &str, words: &str| {
        let done = lab.ctld.update_partition(lab.now, &name.into(), words, &root());
        done.map_err(|error| error.to_string())
    };
    assert_eq!(change(&mut lab, "main", "State=DOWN"), Ok(()));
    let waits = lab.run("--mem=10");
    assert_eq!(lab.state_of(waits), "PENDING PartitionDown");
    assert_eq!(change(&mut lab, "main", "State=UP Nodes=n003"), Ok(()));
    lab.pass(2);
    assert_eq!(lab.nodes_of(waits), "n003 1");
    assert_eq!(change(&mut lab, "main", "Nodes=+n001,-n003"), Ok(()));
    assert_eq!(lab.ctld.config().partition(&"main".into()).unwrap().nodes, [0]);
    assert_eq!(change(&mut lab, "main", "Nodes=n009"), Err("Invalid node name specified".into()));
    assert_eq!(
        change(&mut lab, "nope", "State=UP"),
        Err("Invalid partition name specified".into())
    );
    assert!(change(&mut lab, "main", "Stat=UP").unwrap_err().contains("does not know `Stat`"));
    let delete = |lab: &mut Lab, name: &str| {
        lab.ctld.delete_partition(lab.now, &name.into(), &root()).map_err(|error| error.to_string())
    };
    assert_eq!(delete(&mut lab, "short"), Err("Partition is in use".into()));
    lab.scancel(job);
    lab.pass(2);
    assert_eq!(delete(&mut lab, "short"), Ok(()));
    lab.ctld.create_partition(lab.now, &"new".into(), "Nodes=n004 MaxTime=5", &root()).unwrap();
    let job = lab.run("-p new --mem=10");
    assert_eq!(lab.nodes_of(job), "n004 1");
}

#[test]
fn dynamic_nodes_come_go_and_join_sets_by_feature() {
    let conf = "\
SchedulerParameters=batch_sched_delay=0
MaxNodeCount=4
NodeSet=fast Feature=fast
NodeName=n[1-2] CPUs=4
PartitionName=main Nodes=n[1-2] Default=YES
PartitionName=quick Nodes=fast
";
    let mut lab = Lab::new(conf);
    let add = |lab: &mut Lab, words: &str| {
        let done = lab.ctld.register_dynamic_node(lab.now, words);
        done.map_err(|error| error.to_string())
    };
    assert_eq!(add(&mut lab, "NodeName=d1 CPUs=8 Feature=fast"), Ok(()));
    assert_eq!(add(&mut lab, "NodeName=d2 CPUs=8"), Ok(()));
    let full = "Unable to add node, node table is full";
    assert_eq!(add(&mut lab, "NodeName=d3 CPUs=8"), Err(full.into()));
    let job = lab.run("-p quick -n8");
    assert_eq!(lab.nodes_of(job), "d1 8");
    let delete = |lab: &mut Lab, name: &str| {
        lab.ctld.delete_node(lab.now, &name.into(), &root()).map_err(|error| error.number())
    };
    assert_eq!(delete(&mut lab, "n1"), Err(2028));
    assert_eq!(delete(&mut lab, "d1"), Err(2016));
    assert_eq!(delete(&mut lab, "d2"), Ok(()));
    let create = |lab: &mut Lab, words: &str| {
        lab.ctld.create_nodes(lab.now, words, &root()).map_err(|error| error.to_string())
    };
    assert!(create(&mut lab, "NodeName=e CPUs=1").is_err());
    assert!(create(&mut lab, "NodeName=e CPUs=1 State=EXTERNAL").unwrap_err().contains("26.05"));
    assert_eq!(create(&mut lab, "NodeName=e CPUs=1 State=CLOUD Feature=fast"), Ok(()));
    assert_eq!(lab.sinfo(), "n1:idle n2:idle d1:alloc e:idle~");
    lab.ctld.register_node(lab.now, &"e".into()).unwrap();
    assert_eq!(lab.sinfo(), "n1:idle n2:idle d1:alloc e:idle");
}

#[test]
fn a_reconfiguration_keeps_states_and_loses_what_is_gone() {
    let config = |text: &str| SlurmConfig::parse(text, None, Release::V24_11).unwrap().config;
    let conf = "\
SchedulerParameters=batch_sched_delay=0
NodeName=n[1-4] CPUs=4 RealMemory=1000
PartitionName=main Nodes=ALL Default=YES
PartitionName=old Nodes=ALL
";
    let mut lab = Lab::new(conf);
    lab.drain("n1");
    lab.down("n2");
    let stays = lab.run("-n1 --mem=10 -w n3");
    let loses = lab.run("-n1 --mem=10 -w n4 --no-requeue");
    let waits = lab.sbatch("-N2 --mem=1000");
    let gone = lab.sbatch("-p old --hold");
    lab.ctld.update_partition(lab.now, &"main".into(), "MaxTime=5", &root()).unwrap();
    lab.ctld.reconfigure(
        lab.now,
        config("SchedulerParameters=batch_sched_delay=0\nNodeName=a1 CPUs=4 RealMemory=1000\nNodeName=n[1-3] CPUs=4 RealMemory=1000\nPartitionName=main Nodes=ALL Default=YES\n"),
    );
    assert_eq!(lab.sinfo(), "a1:unk n1:drain n2:down n3:unk");
    assert_eq!(lab.nodes_of(stays), "n3 1");
    assert!(lab.state_of(loses).starts_with("NODE_FAIL"), "{}", lab.state_of(loses));
    assert_eq!(lab.state_of(gone), "NODE_FAIL NodeDown");
    assert_eq!(lab.ctld.config().partition(&"main".into()).unwrap().max_time, None);
    lab.pass(5);
    assert_eq!(lab.sinfo(), "a1:idle n1:drain n2:down n3:mix");
    lab.scancel(stays);
    lab.pass(5);
    assert_eq!(lab.nodes_of(waits), "a1,n3 1+1");
    lab.node("n1", NodeUpdate::Resume);
    lab.ctld.restart(lab.now);
    lab.pass(5);
    assert_eq!(lab.sinfo(), "a1:mix n1:idle n2:down n3:mix");
}

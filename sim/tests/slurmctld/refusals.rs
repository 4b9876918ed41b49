//! What is refused at submission, with Slurm's numbers and words.

use drawbridge_sim::JobId;

use crate::lab::Lab;

#[test]
fn impossible_jobs_are_refused_with_slurms_own_words() {
    let conf = "\
GresTypes=gpu
NodeName=n[1-2] CPUs=4 RealMemory=1000 Gres=gpu:1 Feature=ib
PartitionName=main Nodes=n1 Default=YES
PartitionName=all Nodes=ALL
";
    #[rustfmt::skip]
    let rows = [
        ("-p nope",                    "2000 Invalid partition name specified"),
        ("-p all -N3",                 "2014 Requested node configuration is not available"),
        ("-N2",                        "2014 Requested node configuration is not available"),
        ("-n1 -c5",                    "2014 Requested node configuration is not available"),
        ("-n5",                        "2014 Requested node configuration is not available"),
        ("--mem=1001",                 "2014 Requested node configuration is not available"),
        ("--gres=gpu:2",               "2014 Requested node configuration is not available"),
        ("--gres=fpga:1",              "2072 Invalid generic resource (gres) specification"),
        ("-w n9",                      "2018 Invalid node name specified"),
        ("-w n2",                      "2014 Requested node configuration is not available"),
        ("-C gold",                    "2029 Invalid feature specification"),
        ("-d afterok:99",              "2038 Job dependency problem"),
        ("-d sometime:1",              "2038 Job dependency problem"),
        ("-x n1",                      "2014 Requested node configuration is not available"),
    ];
    let mut lab = Lab::new(conf);
    for (args, refusal) in rows {
        assert_eq!(lab.try_sbatch(args), Err(refusal.into()), "{args}");
    }
    assert!(lab.try_sbatch("-p all -n8 --mem-per-cpu=10").is_ok());
}

#[test]
fn what_only_accounting_could_know_is_refused_too() {
    let conf = "NodeName=n1 CPUs=4\nPartitionName=main Nodes=n1\n";
    let mut lab = Lab::new(conf);
    let no_default = "2001 No partition specified or system default partition";
    assert_eq!(lab.try_sbatch("-n1"), Err(no_default.into()));
    let mut job = drawbridge_sim::parse_sbatch("-p main").unwrap();
    job.qos = Some("gold".into());
    assert_eq!(lab.ctld.submit(lab.now, job.clone()).unwrap_err().number(), 2066);
    job.qos = Some("normal".into());
    job.reservation = Some("monday".into());
    assert_eq!(lab.ctld.submit(lab.now, job).unwrap_err().number(), 2053);
}

#[test]
fn job_numbers_begin_again_before_max_job_id_and_skip_those_in_use() {
    let mut lab = Lab::new(
        "FirstJobId=5\nMaxJobId=8\nNodeName=n1 CPUs=4\nPartitionName=main Nodes=n1 Default=YES\n",
    );
    let ids: Vec<_> = (0..3).map(|_| lab.sbatch("-n1 --wrap 'sleep 900'").0).collect();
    assert_eq!(ids, [5, 6, 7]);
    assert_eq!(lab.try_sbatch("-n1"), Err("11 Resource temporarily unavailable".into()));
    lab.pass(10);
    lab.scancel(JobId(6));
    lab.pass(400);
    assert_eq!(lab.run("-n1"), JobId(6));
    // What the former job 6 would have done at its end is not for this one.
    // Job 7 was submitted earlier, so it comes first.
    lab.pass(1500);
    assert_eq!(lab.state_of(JobId(6)), "RUNNING None");
}

#[test]
fn max_job_count_is_kept() {
    let mut lab =
        Lab::new("MaxJobCount=3\nNodeName=n1 CPUs=4\nPartitionName=main Nodes=n1 Default=YES\n");
    lab.sbatch("-n1");
    lab.sbatch("-n1");
    assert_eq!(lab.try_sbatch("-n1"), Err("11 Resource temporarily unavailable".into()));
}

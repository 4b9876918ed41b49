//! `sprio -l` as the real one printed it, to the last digit.

use crate::lab::Lab;

/// The jobs of the experiment: all wait behind one that holds every node.
fn lab(lines: &str) -> Lab {
    let mut lab = Lab::new(&format!(
        "{lines}\nSchedulerParameters=bf_interval=1000\n\
         NodeName=n[001-004] Sockets=2 CoresPerSocket=8 RealMemory=64000\n\
         PartitionName=main Nodes=ALL Default=YES PriorityJobFactor=10\n\
         PartitionName=small Nodes=n[001-003] MaxTime=60 PriorityJobFactor=100\n\
         PartitionName=zero Nodes=ALL PriorityJobFactor=0\n"
    ));
    lab.run("--uid=root -N4 --exclusive -t 600");
    lab.pass(3);
    for args in [
        "-n1 -t 10 --mem=1000",
        "-N2 -t 10",
        "-n1 -c3 -t 7 --mem=333",
        "-n20 --mem-per-cpu=100 -t 1000",
        "-p small -n5 -t 50 --mem=640",
        "-p zero -N1 -n7",
        "-p main,small -N3 -t 30 --nice=30",
        "-n1 --nice=5000",
        "-N4 --exclusive --priority=77 -t 5",
        "-n1 --hold",
        "-n1 --begin=now+1hour",
        "-N1-3 -n6 -t 3",
        "-n1 --exclusive",
    ] {
        lab.sbatch(&format!("--uid=root {args}"));
    }
    lab.pass(5);
    lab
}

fn sprio(lab: &Lab) -> String {
    let rows = lab.ctld.sprio(lab.now);
    let lines = rows.iter().map(|row| format!("\n{}", row.to_string().trim_end()));
    lines.collect::<String>() + "\n"
}

#[test]
fn weights_of_size_partition_and_tres_add_up() {
    let lab = lab(
        "PriorityWeightJobSize=1000\nPriorityWeightPartition=2000\nPriorityWeightAge=1000\nPriorityWeightTRES=CPU=1000,Mem=3000,Node=500",
    );
    let real = "
              2 main          root   (null)        485          0          0          0          0        133        200     (null)          0           0 cpu=16,mem=12,node=1
              3 main          root   (null)       2246          0          0          0          0        266        200     (null)          0           0 cpu=31,mem=1500,node
              4 main          root   (null)        524          0          0          0          0        148        200     (null)          0           0 cpu=47,mem=4,node=12
              5 main          root   (null)        942          0          0          0          0        281        200     (null)          0           0 cpu=312,mem=23,node=
              6 small         root   (null)       2444          0          0          0          0        164       2000     (null)          0           0 cpu=104,mem=10,node=
              7 zero          root   (null)       1164          0          0          0          0        180          0     (null)          0           0 cpu=109,mem=750,node
              8 main          root   (null)       3240          0          0          0          0        398        200     (null)          0          30 cpu=47,mem=2250,node
              8 small         root   (null)       5930          0          0          0          0        398       2000     (null)          0          30 cpu=62,mem=3000,node
              9 main          root   (null)          1          0          0          0          0        133        200     (null)          0        5000 cpu=16,mem=750,node=
             10 main          root   (null)         77          0          0          0          0          0          0     (null)          0           0
             13 main          root   (null)       1340          0          0          0          0        172        200     (null)          0           0 cpu=94,mem=750,node=
             14 main          root   (null)       1223          0          0          0          0        133        200     (null)          0           0 cpu=16,mem=750,node=
";
    assert_eq!(sprio(&lab), real);
}

#[test]
fn small_jobs_are_favoured_and_nothing_is_normalised() {
    let lab = lab(
        "PriorityWeightJobSize=123457\nPriorityFavorSmall=YES\nPriorityWeightPartition=77777\nPriorityFlags=NO_NORMAL_ALL\nPriorityWeightTRES=CPU=7,Mem=0.25",
    );
    let real = "
              2 main          root   (null)     885087          0          0          0          0     107060     777770     (null)          0           0        cpu=7,mem=250
              3 main          root   (null)     900447          0          0          0          0      90664     777770     (null)          0           0     cpu=14,mem=32000
              4 main          root   (null)     883005          0          0          0          0     105131     777770     (null)          0           0        cpu=21,mem=83
              5 main          root   (null)     867144          0          0          0          0      88735     777770     (null)          0           0      cpu=140,mem=500
              6 small         root   (null)    7881097          0          0          0          0     103202    7777700     (null)          0           0       cpu=35,mem=160
              7 zero          root   (null)     117322          0          0          0          0     101273          0     (null)          0           0     cpu=49,mem=16000
              8 main          root   (null)     900028          0          0          0          0      74267     777770     (null)          0          30     cpu=21,mem=48000
              8 small         root   (null)    7899958          0          0          0          0      74267    7777700     (null)          0          30     cpu=21,mem=48000
              9 main          root   (null)     895837          0          0          0          0     107060     777770     (null)          0        5000      cpu=7,mem=16000
             10 main          root   (null)         77          0          0          0          0          0          0     (null)          0           0
             13 main          root   (null)     896049          0          0          0          0     102238     777770     (null)          0           0     cpu=42,mem=16000
             14 main          root   (null)     900837          0          0          0          0     107060     777770     (null)          0           0      cpu=7,mem=16000
";
    assert_eq!(sprio(&lab), real);
}

#[test]
fn size_is_relative_to_time() {
    let lab = lab("PriorityWeightJobSize=1000000\nPriorityFlags=SMALL_RELATIVE_TO_TIME");
    let real = "
              2 main          root   (null)      25000          0          0          0          0      25000          0     (null)          0           0
              3 main          root   (null)      50000          0          0          0          0      50000          0     (null)          0           0
              4 main          root   (null)      35714          0          0          0          0      35714          0     (null)          0           0
              5 main          root   (null)        312          0          0          0          0        312          0     (null)          0           0
              6 small         root   (null)       5000          0          0          0          0       5000          0     (null)          0           0
              7 zero          root   (null)          1          0          0          0          0          0          0     (null)          0           0
              8 main          root   (null)      24970          0          0          0          0      25000          0     (null)          0          30
              8 small         root   (null)      24970          0          0          0          0      25000          0     (null)          0          30
              9 main          root   (null)          1          0          0          0          0          0          0     (null)          0        5000
             10 main          root   (null)         77          0          0          0          0          0          0     (null)          0           0
             13 main          root   (null)      83333          0          0          0          0      83333          0     (null)          0           0
             14 main          root   (null)          1          0          0          0          0          0          0     (null)          0           0
";
    assert_eq!(sprio(&lab), real);
}

#[test]
fn small_jobs_are_favoured_relative_to_time() {
    let lab = lab(
        "PriorityWeightJobSize=1000000\nPriorityFlags=SMALL_RELATIVE_TO_TIME\nPriorityFavorSmall=YES",
    );
    let real = "
              2 main          root   (null)     975000          0          0          0          0     975000          0     (null)          0           0
              3 main          root   (null)     950000          0          0          0          0     950000          0     (null)          0           0
              4 main          root   (null)     964285          0          0          0          0     964286          0     (null)          0           0
              5 main          root   (null)     999687          0          0          0          0     999688          0     (null)          0           0
              6 small         root   (null)     995000          0          0          0          0     995000          0     (null)          0           0
              7 zero          root   (null)     999999          0          0          0          0    1000000          0     (null)          0           0
              8 main          root   (null)     974970          0          0          0          0     975000          0     (null)          0          30
              8 small         root   (null)     974970          0          0          0          0     975000          0     (null)          0          30
              9 main          root   (null)     994999          0          0          0          0    1000000          0     (null)          0        5000
             10 main          root   (null)         77          0          0          0          0          0          0     (null)          0           0
             13 main          root   (null)     916666          0          0          0          0     916667          0     (null)          0           0
             14 main          root   (null)     999999          0          0          0          0    1000000          0     (null)          0           0
";
    assert_eq!(sprio(&lab), real);
}

#[test]
fn age_counts_from_when_a_job_could_run_and_is_looked_at_every_calc_period() {
    let conf = "AccountingStorageType=accounting_storage/slurmdbd\nPriorityWeightAge=1000000\n\
                PriorityMaxAge=60\nPriorityCalcPeriod=1\nNodeName=n[1-4] CPUs=16\n\
                PartitionName=main Nodes=ALL Default=YES\n";
    let mut lab = Lab::new(conf);
    let first = lab.sbatch("-N4 --exclusive -t 600");
    lab.at_secs(6);
    let mut jobs = vec![lab.sbatch("-n1")];
    lab.at_secs(9);
    for args in ["--nice=100", "--hold", "--begin=now+30"] {
        jobs.push(lab.sbatch(&format!("-n1 {args}")));
    }
    jobs.push(lab.sbatch(&format!("-n1 -d afterany:{first}")));
    let priorities = |lab: &Lab| -> Vec<u32> {
        jobs.iter().map(|job| lab.ctld.job(*job).unwrap().priority).collect()
    };
    lab.at_secs(59);
    assert_eq!(priorities(&lab), [1, 1, 0, 1, 1]);
    lab.at_secs(61);
    assert_eq!(priorities(&lab), [15_000, 14_066, 0, 5_833, 1]);
    lab.at_secs(121);
    assert_eq!(priorities(&lab), [31_666, 30_733, 0, 22_500, 1]);
}

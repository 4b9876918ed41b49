//! Speed: only what an event touches may cost time.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use drawbridge_sim::{Epoch, Release, SlurmConfig, Slurmctld, Span, Time, parse_sbatch};

#[test]
fn a_thousand_jobs_on_a_hundred_nodes_come_to_an_end() {
    let conf = "\
MaxJobCount=1001
NodeName=n[001-100] Sockets=2 CoresPerSocket=16 RealMemory=128000
PartitionName=main Nodes=ALL Default=YES
";
    let config = SlurmConfig::parse(conf, None, Release::V24_11).unwrap().config;
    let mut ctld = Slurmctld::new(config, Epoch::DEFAULT);
    for n in 0..1_000_u64 {
        let args =
            format!("-n{} --mem-per-cpu=1000 -t 30 --wrap 'sleep {}'", 1 + n % 40, 60 + n % 600);
        ctld.submit(Time::ZERO + Span::ms(n * 10), parse_sbatch(&args).unwrap()).unwrap();
    }
    let mut wakes = 0_u64;
    while let Some(at) = ctld.next_wake() {
        ctld.wake(at);
        wakes += 1;
        assert!(wakes < 1_000_000, "it never comes to rest");
    }
    let stats = ctld.stats();
    assert_eq!((stats.started, stats.ended), (1_000, 1_000));
    println!("{wakes} wakes, {stats:?}");
}

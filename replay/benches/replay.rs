//! Jobs a second in both modes, and what a decision costs as the machine grows.
//!
//! `REPLAY_TRACE=FILE cargo bench --package drawbridge-replay --bench replay` takes a trace of
//! yours instead of the made-up day.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "a bench may panic and documents nothing"
)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use drawbridge_replay::{
    Options, OverLimit, Source, Trace, Workload, cluster, easy, read, slurm,
    synthetic::{self, Shape},
};
use drawbridge_sim::{Seed, SlurmConfig};

fn parts(trace: &Trace) -> (Workload, SlurmConfig) {
    let workload = Workload::new(trace, &Options::as_recorded());
    let conf = cluster::derive(trace).conf;
    (workload, cluster::configure(&conf, None, true).unwrap().config)
}

fn modes(criterion: &mut Criterion) {
    let trace = match std::env::var_os("REPLAY_TRACE") {
        None => synthetic::generate(Shape::DAY, Seed(0)),
        Some(path) => match read(std::fs::read(path).unwrap()).unwrap() {
            Source::Trace(trace) => *trace,
            Source::Journal(_) => panic!("a journal is no workload"),
        },
    };
    let (workload, config) = parts(&trace);
    let mut group = criterion.benchmark_group("modes");
    group.sample_size(10).throughput(Throughput::Elements(workload.arrivals.len() as u64));
    group.bench_function("slurm cycles", |bencher| {
        bencher.iter(|| black_box(slurm::replay(&trace, &workload, config.clone(), &mut |_| {})));
    });
    let pool = easy::Pool::of(&config);
    group.bench_function("easy", |bencher| {
        bencher.iter(|| {
            black_box(easy::replay(&trace, &workload, pool, OverLimit::Keep, &mut |_| {}))
        });
    });
    group.finish();
}

fn nodes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("nodes");
    group.sample_size(10).throughput(Throughput::Elements(2000));
    for nodes in [100, 1000, 10_000] {
        let shape = Shape { nodes, ..Shape::DAY };
        let trace = synthetic::generate(shape, Seed(0));
        let (workload, config) = parts(&trace);
        group.bench_with_input(BenchmarkId::from_parameter(nodes), &nodes, |bencher, _| {
            bencher
                .iter(|| black_box(slurm::replay(&trace, &workload, config.clone(), &mut |_| {})));
        });
    }
    group.finish();
}

criterion_group!(benches, modes, nodes);
criterion_main!(benches);

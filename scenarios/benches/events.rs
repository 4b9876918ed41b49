//! How many events a second the twin plays: the library's main story, and a thousand pods.
//!
//! Ten thousand pods take too long to be played ten times: BENCHMARKS.md times them by command.
#![allow(clippy::unwrap_used, missing_docs, reason = "a bench may panic and documents nothing")]

use std::{fs, hint::black_box, path::Path};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use drawbridge_scenarios::{Scenario, format, run};

fn load(file: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    // The large scenario, a tenth of it.
    let text = fs::read_to_string(path).unwrap().replace("10000", "1000");
    format::parse(file, &text, &format::NoFiles).unwrap()
}

fn events(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("events");
    group.sample_size(10);
    for (name, file) in [
        ("reservation_flow", "reservation_flow.yaml"),
        ("thousand_pods", "benches/ten_thousand_pods.yaml"),
    ] {
        let scenario = load(file);
        let n_events = run(&scenario, scenario.seed).report.events;
        group.throughput(Throughput::Elements(n_events));
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(run(&scenario, scenario.seed)));
        });
    }
    group.finish();
}

criterion_group!(benches, events);
criterion_main!(benches);

//! One replay, and nothing else: what `.ci/instructions` counts and a profiler looks at.
//!
//! ```text
//!   once [slurm|easy] [FILE | day | month | NODES:JOBS]
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a bench may panic, and prints"
)]

use drawbridge_replay::{
    Options, OverLimit, Source, Summary, Trace, Workload, cluster, easy, read, slurm,
    synthetic::{self, Shape},
};
use drawbridge_sim::Seed;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let mode = args.first().map_or("slurm", String::as_str);
    let trace = trace(args.get(1).map_or("day", String::as_str));
    let workload = Workload::new(&trace, &Options::as_recorded());
    let config = cluster::configure(&cluster::derive(&trace).conf, None, true).unwrap().config;
    let outcome = match mode {
        "easy" => {
            let pool = easy::Pool::of(&config);
            easy::replay(&trace, &workload, pool, OverLimit::Keep, &mut |_| {})
        }
        _ => slurm::replay(&trace, &workload, config, &mut |_| {}),
    };
    let Summary { jobs, utilisation_while_arriving, queue_depth, start_hash, .. } =
        Summary::new(&trace, &outcome, 0);
    let (used, median) = (utilisation_while_arriving * 100.0, queue_depth.median);
    println!("{jobs} jobs, {used:.1} % used, median queue {median}, hash {start_hash}");
}

fn trace(name: &str) -> Trace {
    let made = |shape| synthetic::generate(shape, Seed(0));
    if let Some((nodes, jobs)) = name.split_once(':') {
        let (nodes, jobs) = (nodes.parse().unwrap(), jobs.parse().unwrap());
        // As busy as the month, and as long as its jobs are on average.
        let seconds = Shape::MONTH.seconds * u64::from(jobs) / u64::from(Shape::MONTH.jobs)
            * u64::from(Shape::MONTH.nodes)
            / u64::from(nodes);
        return made(Shape { jobs, nodes, seconds, load: Shape::MONTH.load });
    }
    match name {
        "day" => made(Shape::DAY),
        "month" => made(Shape::MONTH),
        path => match read(std::fs::read(path).unwrap()).unwrap() {
            Source::Trace(trace) => *trace,
            Source::Journal(_) => panic!("a journal is no workload"),
        },
    }
}

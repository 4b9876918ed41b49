//! One replay, and nothing else: what `.ci/instructions` counts and a profiler looks at.
//!
//! ```text
//!   once [slurm|easy] [FILE | day | month | NODES:JOBS | NODES:JOBSxWIDTH] [LOAD]
//! ```
//!
//! With a width there are so many times the nodes, and every job takes so many times as many: the same
//! decisions on a larger machine.
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

/// What is counted stays the same when the month is made busier.
const LOAD: f64 = 0.93;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let mode = args.first().map_or("slurm", String::as_str);
    let load = args.get(2).map_or(LOAD, |load| load.parse().unwrap());
    let trace = trace(args.get(1).map_or("day", String::as_str), load);
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

fn trace(name: &str, load: f64) -> Trace {
    let made = |shape| synthetic::generate(shape, Seed(0));
    if let Some((nodes, jobs)) = name.split_once(':') {
        let (jobs, width) = jobs.split_once('x').unwrap_or((jobs, "1"));
        let (nodes, jobs) = (nodes.parse().unwrap(), jobs.parse().unwrap());
        // As long as the month's jobs are on average.
        let seconds = Shape::MONTH.seconds * u64::from(jobs) / u64::from(Shape::MONTH.jobs)
            * u64::from(Shape::MONTH.nodes)
            / u64::from(nodes);
        let trace = made(Shape { jobs, nodes, seconds, load });
        return widened(trace, width.parse().unwrap());
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

fn widened(mut trace: Trace, width: u32) -> Trace {
    for count in [&mut trace.machine.nodes, &mut trace.machine.cpus].into_iter().flatten() {
        *count *= width;
    }
    for job in &mut trace.jobs {
        job.cpus *= width;
    }
    trace
}

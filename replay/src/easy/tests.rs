//! Small machines, by hand; and against the plainest EASY that can be written.

use proptest::prelude::*;

use super::*;
use crate::{Options, swf};

const POOL: Pool = Pool { cpus: 10, cpus_per_node: 1, nodes: 10, whole_nodes: false };

/// Jobs as (submit, run, processors, limit), in seconds; limits in whole minutes.
type Row = (u64, u64, u64, u64);

fn trace(rows: &[Row]) -> Trace {
    let line = |(at, (submit, run, cpus, limit)): (usize, &Row)| {
        format!("{at} {submit} -1 {run} {cpus} -1 -1 {cpus} {limit} -1 1 1 1 1 1 1 -1 -1\n")
    };
    swf::parse(rows.iter().enumerate().map(line).collect::<String>().as_bytes()).unwrap()
}

fn starts(rows: &[Row], over_limit: OverLimit) -> Vec<(u32, u64)> {
    let trace = trace(rows);
    let workload = Workload::new(&trace, &Options::as_recorded());
    let outcome = replay(&trace, &workload, POOL, over_limit, &mut |_| {});
    outcome.jobs.iter().map(|job| (job.job, job.start.as_secs())).collect()
}

#[test]
fn a_short_job_slips_past_a_waiting_head_and_a_long_one_does_not() {
    let rows = [
        (0, 600, 6, 600),
        (1, 600, 8, 600), // waits for the first
        (2, 500, 4, 540), // ends before that
        (3, 600, 3, 600), // would not, and nothing is left
        (4, 600, 2, 600), // fits beside the head
    ];
    assert_eq!(starts(&rows, OverLimit::Keep), [(0, 0), (1, 600), (2, 2), (3, 1200), (4, 502)]);
}

#[test]
fn a_job_larger_than_the_machine_is_left_out_and_counted() {
    let trace = trace(&[(0, 60, 11, 60), (0, 60, 10, 60)]);
    let workload = Workload::new(&trace, &Options::as_recorded());
    let outcome = replay(&trace, &workload, POOL, OverLimit::Keep, &mut |_| {});
    assert_eq!(outcome.jobs.len(), 1);
    assert_eq!(outcome.notes.lines(), ["1 job: left out: larger than the machine"]);
}

#[test]
fn a_job_past_its_limit_is_killed_or_kept() {
    let rows = [(0, 600, 10, 60), (0, 60, 10, 60)];
    assert_eq!(starts(&rows, OverLimit::Keep), [(0, 0), (1, 600)]);
    assert_eq!(starts(&rows, OverLimit::Kill), [(0, 0), (1, 60)]);
}

/// EASY without any of the short cuts: looks at everybody at every event.
fn plainly(rows: &[Row]) -> Vec<(u32, u64)> {
    let trace = trace(rows);
    let workload = Workload::new(&trace, &Options::as_recorded());
    let mut run = Run::new(&trace, &workload, POOL, OverLimit::Keep);
    let mut arrivals = workload.arrivals.iter().enumerate().peekable();
    loop {
        let next = [run.ends.next_at(), arrivals.peek().map(|(_, arrival)| arrival.at)];
        let Some(now) = next.into_iter().flatten().min() else { break };
        run.end_due(now);
        while let Some((place, arrival)) = arrivals.next_if(|(_, arrival)| arrival.at <= now) {
            run.arrive(place, arrival);
        }
        run.decide(now, true, 0);
    }
    run.finish().jobs.iter().map(|job| (job.job, job.start.as_secs())).collect()
}

fn row() -> impl Strategy<Value = Row> {
    (0..5000_u64, 0..900_u64, 1..=10_u64, 1..12_u64)
        .prop_map(|(submit, run, cpus, minutes)| (submit, run, cpus, minutes * 60))
}

proptest! {
    #[test]
    fn the_short_cuts_change_nothing_and_nobody_gets_more_than_there_is(
        rows in prop::collection::vec(row(), 1..60)
    ) {
        let quick = starts(&rows, OverLimit::Keep);
        prop_assert_eq!(&quick, &plainly(&rows));
        for (_, at) in &quick {
            let used: u64 = quick
                .iter()
                .map(|(job, start)| (&rows[*job as usize], start))
                .filter(|(row, start)| *start <= at && *at < **start + row.1)
                .map(|(row, _)| row.2)
                .sum();
            prop_assert!(used <= POOL.cpus);
        }
    }
}

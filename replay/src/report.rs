//! What a replay leaves behind: a line per job, and a page to look at.

mod html;
mod svg;

use std::io::{self, Write};

use drawbridge_sim::Time;

use crate::{
    outcome::{End, Outcome},
    trace::Trace,
};

pub use html::html;

/// Writes one line per job. Times are seconds since 1970 where the trace says when it began.
pub fn csv(to: &mut impl Write, trace: &Trace, outcome: &Outcome) -> io::Result<()> {
    writeln!(
        to,
        "job,user,partition,qos,cpus,submit,start,end,wait,run,slowdown,recordedStart,state,nodes"
    )?;
    let zero = crate::Workload::zero(trace);
    let at = |time: Time| seconds(zero * 1000 + time.as_ms());
    for job in &outcome.jobs {
        let record = &trace.jobs[job.job as usize];
        let names = [
            &record.id,
            trace.names.users.name(record.user),
            trace.names.partitions.name(record.partition),
            trace.names.qos.name(record.qos),
        ];
        for name in names {
            write!(to, "{},", quoted(name))?;
        }
        let (submit, start, end) = (at(job.submit), at(job.start), at(job.end));
        let (wait, run) = (seconds(job.wait().as_ms()), seconds(job.run().as_ms()));
        let slowdown = job.bounded_slowdown();
        let recorded = job.recorded.map(at).unwrap_or_default();
        let state = match job.ended {
            End::Completed => "COMPLETED",
            End::Timeout => "TIMEOUT",
        };
        let nodes = job.nodes.iter().map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        });
        let nodes = nodes.collect::<Vec<_>>().join(" ");
        let cpus = job.cpus;
        writeln!(
            to,
            "{cpus},{submit},{start},{end},{wait},{run},{slowdown:.3},{recorded},{state},{nodes}"
        )?;
    }
    Ok(())
}

/// Milliseconds as seconds, with a fraction where there is one.
fn seconds(ms: u64) -> String {
    match ms % 1000 {
        0 => (ms / 1000).to_string(),
        rest => format!("{}.{rest:03}", ms / 1000),
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

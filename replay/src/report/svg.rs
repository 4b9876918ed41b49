//! The pictures: how busy the machine was, and who was on it.

use std::fmt::Write;

use drawbridge_sim::{Span, Time};

use super::html::{clock, escaped};
use crate::{
    outcome::{JobOutcome, Outcome},
    trace::{Trace, grouped},
};

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 220.0;
const GANTT_HEIGHT: f64 = 420.0;
/// Points of the utilisation curve.
const STEPS: usize = 500;
/// Jobs drawn at the most: a page must open.
const BARS: usize = 4000;

/// CPUs in use and jobs waiting, over time.
pub(super) fn utilisation(outcome: &Outcome) -> String {
    let frame = Frame::of(outcome);
    let used =
        frame.averages(outcome.jobs.iter().map(|job| (job.start, job.end, f64::from(job.cpus))));
    let waiting = frame.averages(outcome.jobs.iter().map(|job| (job.submit, job.start, 1.0)));
    let deepest = waiting.iter().copied().fold(1.0, f64::max);
    let cpus = outcome.cpus.max(1) as f64;
    let busiest = used.iter().copied().fold(0.0, f64::max) / cpus * 100.0;
    let words = format!(
        "CPUs in use over {}: {busiest:.0} % in the busiest part; up to {deepest:.0} jobs waiting on average in a part",
        clock(frame.secs())
    );
    let mut svg = open(HEIGHT, &words);
    let _ = writeln!(
        svg,
        "<path d=\"M0,{HEIGHT} {} L{WIDTH},{HEIGHT} Z\" fill=\"var(--fill)\" fill-opacity=\"0.6\"/>",
        line(&used, cpus)
    );
    let _ = writeln!(
        svg,
        "<path d=\"M{}\" fill=\"none\" stroke=\"var(--wait)\" stroke-width=\"1.5\"/>",
        &line(&waiting, deepest)[1..]
    );
    axis(&mut svg, &frame, HEIGHT);
    let _ = write!(svg, "</svg>");
    let deepest = grouped(deepest.round() as u64);
    figure(
        &svg,
        &format!(
            "Filled: CPUs in use, the top is {} of them. Line: jobs waiting, the top is {deepest}.",
            grouped(outcome.cpus)
        ),
    )
}

/// Who was where and when; on one axis all nodes, on the other time.
pub(super) fn gantt(trace: &Trace, outcome: &Outcome) -> String {
    if outcome.jobs.iter().all(|job| job.nodes.is_empty()) {
        return "<p class=\"faint\">This scheduler doesn't tell nodes apart: there is nothing to draw.</p>".to_owned();
    }
    let frame = Frame::of(outcome);
    let mut jobs: Vec<&JobOutcome> = outcome.jobs.iter().collect();
    // What takes most of the picture is drawn where not all can be.
    let area = |job: &JobOutcome| job.run().as_ms().saturating_mul(job.cpus.into());
    jobs.sort_by_key(|job| std::cmp::Reverse(area(job)));
    jobs.truncate(BARS);
    let words = format!("Gantt chart of {} jobs on {} nodes", jobs.len(), outcome.nodes);
    let mut svg = open(GANTT_HEIGHT, &words);
    let row = GANTT_HEIGHT / f64::from(outcome.nodes.max(1));
    for job in &jobs {
        let record = &trace.jobs[job.job as usize];
        // Neighbouring numbers get colours that are far apart.
        let hue = u64::from(record.user) * 137 % 360;
        let (x, end) = (frame.x(job.start), frame.x(job.end));
        let _ = write!(
            svg,
            "<g fill=\"hsl({hue} 55% 55%)\"><title>job {}, {}: waited {}, ran {}</title>",
            escaped(&record.id),
            escaped(trace.names.users.name(record.user)),
            clock(job.wait().as_secs() as f64),
            clock(job.run().as_secs() as f64)
        );
        for (first, last) in &job.nodes {
            let (y, height) = (f64::from(*first) * row, f64::from(last - first + 1) * row);
            let width = (end - x).max(0.2);
            let _ = write!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
            );
        }
        let _ = writeln!(svg, "</g>");
    }
    axis(&mut svg, &frame, GANTT_HEIGHT);
    let _ = write!(svg, "</svg>");
    let left_out = outcome.jobs.len() - jobs.len();
    let rest = if left_out == 0 {
        String::new()
    } else {
        format!(" The {} smallest jobs are not drawn.", grouped(left_out as u64))
    };
    figure(
        &svg,
        &format!("Nodes from top to bottom, time from left to right, a colour per user.{rest}"),
    )
}

/// The stretch of time that a picture shows.
struct Frame {
    begin: Time,
    span: Span,
}

impl Frame {
    fn of(outcome: &Outcome) -> Self {
        let begin = outcome.begin();
        Self { begin, span: Span::ms((outcome.end() - begin).as_ms().max(1)) }
    }

    fn secs(&self) -> f64 {
        self.span.as_ms() as f64 / 1000.0
    }

    fn x(&self, at: Time) -> f64 {
        (at - self.begin).as_ms() as f64 / self.span.as_ms() as f64 * WIDTH
    }

    /// The mean of what lasts, in each of [`STEPS`] parts.
    fn averages(&self, lasting: impl Iterator<Item = (Time, Time, f64)>) -> Vec<f64> {
        // Whole parts are counted by where they begin and end: the sum is taken once, at the end.
        let mut parts = vec![0.0; STEPS + 1];
        let mut change = vec![0.0; STEPS + 2];
        for (from, to, amount) in lasting {
            let (from, to) =
                (self.x(from) / WIDTH * STEPS as f64, self.x(to) / WIDTH * STEPS as f64);
            let (first, last) = (from as usize, to as usize);
            if first == last {
                parts[first] += (to - from) * amount;
                continue;
            }
            parts[first] += (first as f64 + 1.0 - from) * amount;
            parts[last] += (to - last as f64) * amount;
            change[first + 1] += amount;
            change[last] -= amount;
        }
        let mut whole = 0.0;
        for (part, change) in parts.iter_mut().zip(&change) {
            whole += change;
            *part += whole;
        }
        parts.truncate(STEPS);
        parts
    }
}

fn open(height: f64, words: &str) -> String {
    let (width, below) = (WIDTH, height + 18.0);
    format!(
        "<svg viewBox=\"0 0 {width} {below}\" role=\"img\" aria-label=\"{words}\"><title>{words}</title>\n"
    )
}

fn figure(svg: &str, words: &str) -> String {
    format!("<figure>{svg}<figcaption>{words}</figcaption></figure>")
}

fn line(values: &[f64], top: f64) -> String {
    let mut path = String::new();
    for (at, value) in values.iter().enumerate() {
        let (x, y) = (at as f64 / STEPS as f64 * WIDTH, HEIGHT - value / top * HEIGHT);
        let _ = write!(path, "L{x:.1},{y:.1}");
        let x = (at + 1) as f64 / STEPS as f64 * WIDTH;
        let _ = write!(path, "L{x:.1},{y:.1}");
    }
    path
}

fn axis(svg: &mut String, frame: &Frame, height: f64) {
    let _ = writeln!(svg, "<path d=\"M0,{height} H{WIDTH}\" stroke=\"var(--line)\"/>");
    for part in 0..=4 {
        let (x, at) = (WIDTH / 4.0 * f64::from(part), clock(frame.secs() / 4.0 * f64::from(part)));
        let anchor = match part {
            0 => "start",
            4 => "end",
            _ => "middle",
        };
        let y = height + 14.0;
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{at}</text>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_holds_the_mean_of_what_lasts_in_it() {
        let at = |ms| Time::from_ms(ms);
        let frame = Frame { begin: at(0), span: Span::ms(STEPS as u64 * 10) };
        let parts = frame.averages([(at(5), at(25), 2.0), (at(42), at(44), 1.0)].into_iter());
        let first: Vec<f64> = parts[..6].iter().map(|it| (it * 100.0).round() / 100.0).collect();
        assert_eq!(first, [1.0, 2.0, 1.0, 0.0, 0.2, 0.0]);
    }
}

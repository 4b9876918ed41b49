//! A scenario's text with more steps in it: what somebody did in a run, written down.
//!
//! ```text
//!   steps:                      steps:
//!     - at: 0s                    - at: 0s
//!       sbatch: -N2                 sbatch: -N2
//!                       ──▶       - at: 5m1ms          new
//!   expect:                         cordon: n1
//!     - at: 1m                  expect:
//!       …                         - at: 1m             what was expected later is gone:
//!     - nodes: …                    …                  it was expected of another story
//! ```
//!
//! People's own text stays as it is, comments included.

use std::ops::Range;

use drawbridge_sim::Time;

use super::{Files, Lasting, ScenarioError, file::File, parse, source::Source};
use crate::{
    expect::{Expectation, When},
    scenario::Scenario,
};

/// The scenario with these steps, each `key: value` as it stands below `at`, at a time; its text,
/// and what it says. `name` is its path, as errors shall show it.
pub fn retold(
    name: &str,
    text: &str,
    files: &dyn Files,
    at: Time,
    steps: &[String],
) -> Result<(String, Scenario), ScenarioError> {
    let before = parse(name, text, files)?;
    let text = without_expectations(text, &before.expect, at);
    let text = with_steps(&text, at, steps).ok_or_else(|| {
        Source::new(name, &text)
            .at_key("steps", "these steps are written in one line")
            .hinted("write each step on a line of its own, below `steps:`")
    })?;
    let scenario = parse(name, &text, files)?;
    Ok((text, scenario))
}

/// The text of a scenario's slurm.conf, inline or from its file; `None` where it can't be read.
pub fn slurm_conf(text: &str, files: &dyn Files) -> Option<String> {
    let file: File = drawbridge_bridge::yaml::parse(text).ok()?;
    let named = || files.read(file.slurm.conf_file.as_ref()?).ok();
    file.slurm.conf.clone().or_else(named)
}

/// The scenario's text with another slurm.conf in it. `name` is its path, as errors shall show it.
pub fn with_slurm_conf(name: &str, text: &str, conf: &str) -> Result<String, ScenarioError> {
    let mut lines: Vec<&str> = text.lines().collect();
    let block = block(&lines, "slurm");
    let is_open = |at: usize| {
        let own = lines[at].trim_start_matches("slurm:").trim();
        own.is_empty() || own.starts_with('#')
    };
    let Some(block) = block.filter(|block| is_open(block.start)) else {
        return Err(Source::new(name, text)
            .at_key("slurm", "this is written in one line")
            .hinted("write `slurm:` and below it `conf: |` with the text of slurm.conf"));
    };
    let indent = lines[block.start + 1..block.end].iter().find(|line| !is_aside(line));
    let indent = indent.map_or("  ", |line| indent_of(line));
    // The keys that say which slurm.conf it is, each with what stands below it.
    let mut is_conf = false;
    let mut kept: Vec<String> = vec![];
    for line in &lines[block.start + 1..block.end] {
        if !line.trim().is_empty() && indent_of(line).len() <= indent.len() {
            is_conf = ["conf:", "confFile:"].iter().any(|key| line.trim().starts_with(key));
        }
        kept.extend((!is_conf).then(|| (*line).to_owned()));
    }
    kept.insert(0, format!("{indent}conf: |"));
    let below = conf.lines().enumerate().map(|(i, line)| (i + 1, format!("{indent}  {line}")));
    below.for_each(|(at, line)| kept.insert(at, line));
    let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
    lines.splice(block.start + 1..block.end, kept);
    Ok(lines.join("\n") + "\n")
}

fn with_steps(text: &str, at: Time, steps: &[String]) -> Option<String> {
    let at = Lasting(at.since(Time::ZERO));
    let mut lines: Vec<&str> = text.lines().collect();
    let block = block(&lines, "steps");
    let indent = block.clone().map_or("  ", |block| match items(&lines, block).first() {
        Some(item) => indent_of(lines[item.clone().find(|i| is_item(lines[*i])).unwrap_or(0)]),
        None => "  ",
    });
    let more = steps.iter().map(|step| {
        let body: Vec<String> = step.lines().map(|line| format!("{indent}  {line}")).collect();
        format!("{indent}- at: {at}\n{}", body.join("\n"))
    });
    let more: Vec<String> = more.collect();
    match block {
        Some(block) => {
            let own = lines[block.start].trim_start_matches("steps:").trim();
            let is_open = own.is_empty() || own.starts_with('#');
            is_open.then(|| lines.splice(block.end..block.end, more.iter().map(String::as_str)))?;
        }
        None => {
            let before = block_place(&lines);
            let all = std::iter::once("steps:").chain(more.iter().map(String::as_str));
            let all: Vec<&str> = all.chain([""]).collect();
            lines.splice(before..before, all);
        }
    }
    Some(lines.join("\n") + "\n")
}

/// Where a block of steps would stand: before what is expected, or at the end.
fn block_place(lines: &[&str]) -> usize {
    lines.iter().position(|line| line.starts_with("expect:")).unwrap_or(lines.len())
}

fn without_expectations(text: &str, expect: &[Expectation], at: Time) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let Some(block) = block(&lines, "expect") else { return text.to_owned() };
    let items = items(&lines, block.clone());
    let stays = |it: &Expectation| matches!(it.at, When::At(when) if when <= at);
    // Each is one item, unless they are written in a way that we don't take apart.
    let apart = items.len() == expect.len();
    let gone: Vec<Range<usize>> = match apart && expect.iter().any(stays) {
        true => {
            items.into_iter().zip(expect).filter(|(_, it)| !stays(it)).map(|(i, _)| i).collect()
        }
        false => vec![block],
    };
    for range in gone.into_iter().rev() {
        lines.drain(range);
    }
    lines.join("\n") + "\n"
}

/// The lines of a key at the top: its own, and those below it.
fn block(lines: &[&str], key: &str) -> Option<Range<usize>> {
    let is_it = |line: &&str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
    let start = lines.iter().position(is_it)?;
    let below = |line: &&str| line.starts_with([' ', '\t', '-', '#']) || line.trim().is_empty();
    let rest = lines[start + 1..].iter().take_while(|line| below(line)).count();
    let mut end = start + 1 + rest;
    // What stands right above the next key is that key's.
    while start + 1 < end && is_aside(lines[end - 1]) {
        end -= 1;
    }
    Some(start..end)
}

/// The items of a block of several, each with the remarks above it.
fn items(lines: &[&str], block: Range<usize>) -> Vec<Range<usize>> {
    let inside = block.start + 1..block.end;
    let Some(first) = inside.clone().find(|i| is_item(lines[*i])) else { return vec![] };
    let indent = indent_of(lines[first]);
    let is_first = |i: &usize| is_item(lines[*i]) && indent_of(lines[*i]) == indent;
    let firsts: Vec<usize> = inside.filter(is_first).collect();
    let ends = firsts.iter().skip(1).map(|next| {
        let remarks = (first..*next).rev().take_while(|i| is_aside(lines[*i])).count();
        next - remarks
    });
    let ends: Vec<usize> = ends.chain([block.end]).collect();
    let starts = std::iter::once(block.start + 1).chain(ends.iter().copied());
    starts.zip(ends.iter().copied()).map(|(start, end)| start..end).collect()
}

fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    line == "-" || line.starts_with("- ")
}

/// A blank line or a remark.
fn is_aside(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn indent_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::NoFiles;

    const HEAD: &str = "why: a\nslurm:\n  conf: |\n    NodeName=n1 CPUs=4 RealMemory=100\n    PartitionName=p Nodes=n1 Default=YES\n";

    fn after(rest: &str, steps: &[&str]) -> String {
        let steps: Vec<String> = steps.iter().map(|step| (*step).to_owned()).collect();
        let text = format!("{HEAD}{rest}");
        let told = retold("a.yaml", &text, &NoFiles, Time::from_ms(300_001), &steps);
        match told {
            Ok((text, _)) => text.strip_prefix(HEAD).unwrap_or(&text).to_owned(),
            Err(error) => error.render(),
        }
    }

    #[test]
    fn steps_come_after_those_that_are_there() {
        let rest = "\nsteps:\n  # the first\n  - at: 0s\n    cordon: n1\n\n# later\nexpect:\n  # no more\n  - nodes: {count: 1}\n";
        insta::assert_snapshot!(after(rest, &["uncordon: n1", "sbatch: {flags: -n1,\n  user: al}"]), @r"

        steps:
          # the first
          - at: 0s
            cordon: n1
          - at: 5m1ms
            uncordon: n1
          - at: 5m1ms
            sbatch: {flags: -n1,
              user: al}

        # later
        ");
    }

    #[test]
    fn what_was_expected_earlier_stays() {
        let rest = "expect:\n- nodes: {count: 1}\n# then\n- at: 1m\n  nodes: {count: 1}\n# at last\n- at: 6m\n  jobs: {count: 0}\n";
        insta::assert_snapshot!(after(rest, &["cordon: n1"]), @r"
        steps:
          - at: 5m1ms
            cordon: n1

        expect:
        # then
        - at: 1m
          nodes: {count: 1}
        ");
    }

    #[test]
    fn another_slurm_conf_takes_the_place_of_the_one_that_is_there() {
        let text = "why: a\nslurm:\n  release: \"24.11\"\n  conf: |\n    A=1\n\n    B=2\n  gres: |\n    C\nsteps: []\n";
        assert_eq!(slurm_conf(text, &NoFiles).as_deref(), Some("A=1\n\nB=2\n"));
        insta::assert_snapshot!(with_slurm_conf("a.yaml", text, "X=1\nY=2\n").unwrap(), @r#"
        why: a
        slurm:
          conf: |
            X=1
            Y=2
          release: "24.11"
          gres: |
            C
        steps: []
        "#);
        let flow = with_slurm_conf("a.yaml", "why: a\nslurm: {conf: A=1}\n", "X");
        assert!(flow.is_err());
    }

    #[test]
    fn a_mistake_is_told_where_it_would_be() {
        let told = after("steps:\n- at: 0s\n  cordon: n1\n", &["cordon: n7"]);
        assert!(told.contains("n7"), "{told}");
        let told = after("steps: [{at: 0s, cordon: n1}]\n", &["cordon: n1"]);
        assert!(told.contains("written in one line"), "{told}");
    }
}

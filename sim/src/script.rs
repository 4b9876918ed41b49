//! What a batch script will do, as far as its text says.
//!
//! Understood are `trap 'exit N' SIGNAL…` and `trap '' SIGNAL…` lines, `sleep TIME` (also behind
//! `exec`, and with `&`), endless loops, and a last `exit N`. Everything else takes no time:
//! a script without any of these ends as soon as it has started. Who knows better gives the job
//! a [`JobBehaviour`], or says so:
//!
//! ```text
//!   comment              drawbridge: runtime=90 exit=3
//!   in the script        #DRAWBRIDGE runtime=1h
//!   in its environment   DRAWBRIDGE_RUNTIME=90  DRAWBRIDGE_EXIT=3      the last word
//! ```

use std::collections::BTreeMap;

use crate::{JobBehaviour, Signal, Span, Submission, Trap};

/// What a submission will do; `default` is how long a script takes that says nothing about it.
pub(crate) fn behaviour(submission: &Submission, default: Option<Span>) -> JobBehaviour {
    let given = submission.behaviour.clone();
    if submission.external {
        // No slurmd runs anything: only slurmctld's own prolog is left.
        let configuring = given.map_or(Span::ZERO, |given| given.configuring);
        return JobBehaviour { configuring, ..JobBehaviour::forever() };
    }
    if let Some(behaviour) = given {
        return behaviour;
    }
    let mut behaviour = read_script(&submission.script);
    if behaviour.run_time == Some(Span::ZERO) {
        behaviour.run_time = default.or(behaviour.run_time);
    }
    let comment = submission.comment.strip_prefix("drawbridge:").into_iter();
    let lines = submission.script.lines();
    let lines = lines.filter_map(|line| line.trim().strip_prefix("#DRAWBRIDGE "));
    for hint in comment.chain(lines).flat_map(str::split_whitespace) {
        take_hint(&mut behaviour, hint);
    }
    for variable in &submission.environment {
        if let Some(hint) = variable.strip_prefix("DRAWBRIDGE_") {
            take_hint(&mut behaviour, &hint.to_ascii_lowercase());
        }
    }
    behaviour
}

/// `runtime=90`, `exit=3`; what can't be read says nothing.
fn take_hint(behaviour: &mut JobBehaviour, hint: &str) {
    match hint.split_once('=') {
        Some(("runtime", "forever" | "infinity")) => behaviour.run_time = None,
        Some(("runtime", time)) => {
            behaviour.run_time = sleep_time(time).map_or(behaviour.run_time, Some);
        }
        Some(("exit", code)) => {
            behaviour.exit_code = code.parse().unwrap_or(behaviour.exit_code);
        }
        Some(_) | None => {}
    }
}

/// Reads a script.
pub(crate) fn read_script(script: &str) -> JobBehaviour {
    let mut behaviour = JobBehaviour::lasting(Span::ZERO);
    for command in commands(script) {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words.as_slice() {
            ["trap", ..] => read_trap(command, &mut behaviour.traps),
            ["exec", "sleep", time, ..] | ["sleep", time, ..] => {
                let more = sleep_time(time);
                behaviour.run_time = match (behaviour.run_time, more) {
                    (Some(so_far), Some(more)) => Some(so_far + more),
                    _ => None,
                };
                if words[0] == "exec" {
                    break;
                }
            }
            ["exit"] => break,
            ["exit", code] => {
                behaviour.exit_code = code.parse().unwrap_or(2);
                break;
            }
            ["kill", "-9", "$$"] => {
                behaviour.exit_code = 137;
                break;
            }
            // An endless loop, however its body is written.
            ["while", ":" | "true" | "sleep", ..] | ["tail", "-f", ..] => {
                behaviour.run_time = None;
                break;
            }
            _ => {}
        }
    }
    behaviour
}

/// Lines and what `;`, `&` and `&&` separate, without comments, quotes respected.
fn commands(script: &str) -> Vec<&str> {
    let mut all = vec![];
    for line in outside_functions(script) {
        let (mut quote, mut from) = (None, 0);
        for (at, c) in line.char_indices() {
            match (quote, c) {
                (None, '\'' | '"') => quote = Some(c),
                (Some(open), _) if open == c => quote = None,
                (None, ';' | '&') => {
                    all.push(line[from..at].trim());
                    from = at + 1;
                }
                _ => {}
            }
        }
        all.push(line[from..].trim());
    }
    all.retain(|command| !command.is_empty());
    all
}

/// Lines that run as they stand: no comments, and no bodies of functions.
fn outside_functions(script: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    script.lines().map(str::trim).filter(move |line| {
        let opens = line.contains("()") && line.ends_with('{');
        let runs = !inside && !opens && !line.starts_with('#');
        inside = opens || (inside && *line != "}");
        runs
    })
}

fn read_trap(command: &str, traps: &mut BTreeMap<Signal, Trap>) {
    let rest = command.trim_start_matches("trap").trim();
    let Some(quote @ ('\'' | '"')) = rest.chars().next() else {
        return;
    };
    let Some((action, names)) = rest[1..].split_once(quote) else {
        return;
    };
    let trap = match commands(action).as_slice() {
        [] => Trap::Ignore,
        actions => match actions.iter().find_map(|action| exit_code(action)) {
            Some(code) => Trap::Exit(code),
            // Whatever it does, it lives on.
            None => Trap::Ignore,
        },
    };
    for signal in names.split_whitespace().filter_map(Signal::parse) {
        traps.insert(signal, trap);
    }
}

fn exit_code(action: &str) -> Option<u8> {
    match action.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["exit"] => Some(0),
        ["exit", code] => code.parse().ok(),
        _ => None,
    }
}

/// `10`, `0.5`, `2m`, `1h`, `1d`; `None` is for ever.
fn sleep_time(text: &str) -> Option<Span> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
        Some(number) => (number, &text[number.len()..]),
        None => (text, "s"),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let millis: u64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let secs: u64 = whole.parse().ok()?;
    let factor = match unit {
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => 1,
    };
    Some(Span::ms(secs.saturating_mul(1000).saturating_add(millis)).times(factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_knows_better_says_so() {
        let read = |script: &str, comment: &str, environment: &[&str], default: Option<Span>| {
            let mut submission = Submission::new("alice");
            submission.script = script.into();
            submission.comment = comment.into();
            submission.environment = environment.iter().map(ToString::to_string).collect();
            let read = behaviour(&submission, default);
            (read.run_time.map(Span::as_secs), read.exit_code)
        };
        let hour = Some(Span::hours(1));
        #[rustfmt::skip]
        let rows = [
            (read("hostname", "", &[], None),                                   (Some(0), 0)),
            (read("hostname", "", &[], hour),                                   (Some(3600), 0)),
            (read("sleep 5", "", &[], hour),                                    (Some(5), 0)),
            (read("./train", "drawbridge: runtime=2m exit=3", &[], hour),       (Some(120), 3)),
            (read("#DRAWBRIDGE runtime=7\n./train", "drawbridge: runtime=2m", &[], hour), (Some(7), 0)),
            (read("#DRAWBRIDGE runtime=7", "", &["DRAWBRIDGE_RUNTIME=9", "DRAWBRIDGE_EXIT=1"], None), (Some(9), 1)),
            (read("#DRAWBRIDGE runtime=forever", "", &[], hour),                (None, 0)),
            (read("sleep 5", "drawbridge: runtime=soon", &["A=b"], None),       (Some(5), 0)),
        ];
        for (found, expected) in rows {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn scripts_are_read_for_what_they_will_do() {
        #[rustfmt::skip]
        let rows = [
            ("#!/bin/sh\nsleep 60\n",                         "60000 0 "),
            ("sleep 1; sleep 0.5\nexit 3\n",                  "1500 3 "),
            ("exec sleep 100000",                             "100000000 0 "),
            ("sleep infinity",                                "ever 0 "),
            ("tail -f /dev/null",                             "ever 0 "),
            ("end() {\n  exit 9\n}\nsleep 3",                 "3000 0 "),
            ("sleep 2m",                                      "120000 0 "),
            ("hostname",                                      "0 0 "),
            ("exit 0\nsleep 9",                               "0 0 "),
            ("trap 'exit 0' USR1\ntrap 'exit 1' USR2\ntrap '' TERM\nsleep infinity & wait", "ever 0 USR1:0 USR2:1 TERM:-"),
            ("trap \"\" TERM CONT; while :; do sleep 1; done", "ever 0 TERM:- CONT:-"),
            ("trap 'kill $!; exit 7' SIGTERM\n# sleep 5\nsleep 1", "1000 0 TERM:7"),
        ];
        for (script, expected) in rows {
            let read = read_script(script);
            let time = read.run_time.map_or("ever".into(), |span| span.as_ms().to_string());
            let traps: Vec<_> = read
                .traps
                .iter()
                .map(|(signal, trap)| match trap {
                    Trap::Ignore => format!("{}:-", signal.name()),
                    Trap::Exit(code) => format!("{}:{code}", signal.name()),
                })
                .collect();
            let found = format!("{time} {} {}", read.exit_code, traps.join(" "));
            assert_eq!(found, expected, "{script}");
        }
    }
}

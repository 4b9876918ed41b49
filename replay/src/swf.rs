//! The Standard Workload Format: 18 numbers a line, `;` before what is said about them.
//!
//! ```text
//!   ; MaxNodes: 100
//!   job submit wait run procs cpu mem | asked: procs time mem | status user group exe queue part | after think
//!    1     2     3   4    5    6   7             8    9    10     11    12   13   14   15    16      17    18
//! ```
//!
//! -1 is unknown. The text is bytes: old headers are in Latin-1.

use crate::trace::{Format, Machine, Trace, TraceError, TraceJob};

const FIELDS: [&str; 18] = [
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
];

/// Reads a whole file, or says where it is damaged.
pub fn parse(text: &[u8]) -> Result<Trace, TraceError> {
    let mut trace = Trace { format: Format::Swf, ..Trace::default() };
    let mut labels = Labels::default();
    let mut last_line = 0;
    for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let plain = line.trim_ascii();
        last_line = at + 1;
        if let Some(comment) = plain.strip_prefix(b";") {
            read_header(&String::from_utf8_lossy(comment), &mut trace.machine, &mut labels);
        } else if !plain.is_empty() {
            let fields = numbers(line, at + 1)?;
            read_job(&fields, &mut trace, &labels);
        }
    }
    if trace.jobs.is_empty() {
        return Err(TraceError::new(
            (last_line.max(1), 1),
            "there is no job in it that ran",
            "give a file with one line of 18 numbers for each job",
        ));
    }
    Ok(trace)
}

/// Whether it looks like one: comments, then a line of numbers.
pub fn looks_like(text: &[u8]) -> bool {
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b";"));
    let commented = text.trim_ascii_start().starts_with(b";");
    commented || first.is_some_and(|line| words(line).all(|(_, word)| number(word).is_some()))
}

/// Names that the header gives to numbers.
#[derive(Default)]
struct Labels {
    queues: std::collections::BTreeMap<i64, String>,
}

fn read_header(comment: &str, machine: &mut Machine, labels: &mut Labels) {
    let Some((key, value)) = comment.split_once(':') else {
        return;
    };
    let value = value.trim();
    let first = value.split_whitespace().next().unwrap_or_default();
    match key.trim() {
        "Computer" => machine.name = Some(value.to_owned()),
        "MaxNodes" => machine.nodes = first.parse().ok().filter(|n| 0 < *n),
        "MaxProcs" => machine.cpus = first.parse().ok().filter(|n| 0 < *n),
        "UnixStartTime" => machine.epoch = first.parse().unwrap_or(0),
        "Queue" => {
            let rest = value[first.len()..].trim();
            let name = rest.split([' ', '\t', '-', '=', '(']).find(|word| !word.is_empty());
            if let (Ok(number), Some(name)) = (first.parse(), name) {
                labels.queues.insert(number, name.trim_matches(['[', ']']).to_owned());
            }
        }
        _ => {}
    }
}

/// The words of a line, each with its column from 1.
fn words(line: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let blank = |byte: &u8| byte.is_ascii_whitespace();
    let mut at = 0;
    std::iter::from_fn(move || {
        at += line[at..].iter().position(|byte| !blank(byte))?;
        let end = line[at..].iter().position(blank).map_or(line.len(), |length| at + length);
        let word = (at + 1, &line[at..end]);
        at = end;
        Some(word)
    })
}

fn numbers(line: &[u8], number_of_line: usize) -> Result<[i64; 18], TraceError> {
    let mut fields = [-1; 18];
    let mut count = 0;
    for (column, word) in words(line) {
        let place = (number_of_line, column);
        let Some(field) = fields.get_mut(count) else {
            return Err(TraceError::new(
                place,
                "there are more than 18 fields on this line",
                "each line of a Standard Workload Format file has 18; is a line break missing?",
            ));
        };
        *field = number(word).ok_or_else(|| {
            let (text, name) = (String::from_utf8_lossy(word), FIELDS[count]);
            let what = format!("field {} ({name}) is `{text}`, not a number", count + 1);
            TraceError::new(place, what, "write a number, or -1 where it isn't known")
        })?;
        count += 1;
    }
    if count < FIELDS.len() {
        let what = format!("the line has {count} fields of 18: {} is missing", FIELDS[count]);
        let place = (number_of_line, line.len() + 1);
        return Err(TraceError::new(
            place,
            what,
            "is the file cut short? write -1 for what isn't known",
        ));
    }
    Ok(fields)
}

/// A whole number; of a decimal one what stands before the point.
fn number(word: &[u8]) -> Option<i64> {
    let (sign, digits) = match word.strip_prefix(b"-") {
        Some(digits) => (-1, digits),
        None => (1, word.strip_prefix(b"+").unwrap_or(word)),
    };
    let whole = digits.split(|byte| *byte == b'.').next().unwrap_or_default();
    let fraction = digits.get(whole.len() + 1..).unwrap_or_default();
    let plain = fraction.iter().all(u8::is_ascii_digit);
    let mut value: i64 = 0;
    for digit in whole {
        let digit = char::from(*digit).to_digit(10)?;
        value = value.checked_mul(10)?.checked_add(digit.into())?;
    }
    (plain && !whole.is_empty()).then_some(sign * value)
}

fn read_job(fields: &[i64; 18], trace: &mut Trace, labels: &Labels) {
    let [id, submit, wait, run, used, _, used_memory, asked, limit, memory, status, ..] = *fields;
    let (user, queue) = (fields[11], fields[14]);
    let known = |value: i64| u64::try_from(value).ok();
    let cpus = known(asked).filter(|n| *n != 0).or_else(|| known(used)).filter(|n| *n != 0);
    let left_out = if (2..=4).contains(&status) {
        Some("left out: a part of a job that was stopped and went on (status 2 to 4)")
    } else if submit < 0 {
        Some("left out: no submit time")
    } else if status == 5 && run <= 0 {
        Some("left out: cancelled before it ran")
    } else if run < 0 {
        Some("left out: no run time")
    } else if cpus.is_none() {
        Some("left out: no number of processors")
    } else {
        None
    };
    if let Some(why) = left_out {
        return trace.notes.count(why);
    }
    if asked <= 0 {
        trace.notes.count("asked for an unknown number of processors: takes what it was given");
    }
    let memory = known(memory).or_else(|| known(used_memory)).filter(|kib| *kib != 0);
    let queue_name = labels.queues.get(&queue).cloned().unwrap_or_else(|| dash(queue));
    trace.jobs.push(TraceJob {
        id: id.to_string(),
        submit: submit.unsigned_abs(),
        start: known(wait).map(|wait| submit.unsigned_abs() + wait),
        run: run.unsigned_abs(),
        limit: known(limit).filter(|limit| *limit != 0),
        cpus: cpus.and_then(|cpus| u32::try_from(cpus).ok()).unwrap_or(u32::MAX),
        nodes: None,
        memory_per_cpu_mib: memory.map(|kib| kib.div_ceil(1024)),
        gpus: 0,
        user: trace.names.users.place(&dash(user)),
        partition: trace.names.partitions.place(&queue_name),
        qos: trace.names.qos.place("-"),
    });
}

fn dash(number: i64) -> String {
    if number < 0 { "-".to_owned() } else { number.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "; Computer: Toy\n; MaxNodes: 4 (or 5)\n; MaxProcs: 8\n; UnixStartTime: 100\n; Queue: 2 batch - long jobs\n;\n";

    fn one(line: &str) -> Trace {
        parse(format!("{HEADER}{line}\n").as_bytes()).unwrap()
    }

    #[test]
    fn a_line_is_a_job_and_the_header_is_the_machine() {
        let trace = one(" 7  10 5 60  4 -1 -1  8 120 2048 1 3 1 -1 2 -1 -1 -1");
        let machine = &trace.machine;
        assert_eq!((machine.nodes, machine.cpus, machine.epoch), (Some(4), Some(8), 100));
        let job = &trace.jobs[0];
        assert_eq!((job.id.as_str(), job.submit, job.start, job.run), ("7", 10, Some(15), 60));
        assert_eq!((job.cpus, job.limit, job.memory_per_cpu_mib), (8, Some(120), Some(2)));
        assert_eq!(trace.names.partitions.name(job.partition), "batch");
        assert_eq!(trace.names.users.name(job.user), "3");
    }

    #[test]
    fn what_is_unknown_is_filled_in_or_left_out_and_told() {
        #[rustfmt::skip]
        let rows = [
            // line                                             note
            ("1 0 -1 60 4 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1", "asked for an unknown number"),
            ("1 0 -1 -1 4 -1 -1  4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1", "no run time"),
            ("1 0 -1 60 -1 -1 -1 0 -1 -1 1 -1 -1 -1 -1 -1 -1 -1", "no number of processors"),
            ("1 -1 -1 60 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1", "no submit time"),
            ("1 0 50  0 4 -1 -1  4 -1 -1 5 -1 -1 -1 -1 -1 -1 -1", "cancelled before it ran"),
            ("1 0 50 60 4 -1 -1  4 -1 -1 3 -1 -1 -1 -1 -1 -1 -1", "a part of a job"),
        ];
        for (line, note) in rows {
            let trace = one(&format!("{line}\n9 0 -1 60 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1"));
            let lines = trace.notes.lines();
            assert_eq!(lines.len(), 1, "{line}");
            assert!(lines[0].contains(note), "{line}: {lines:?}");
            assert_eq!(trace.jobs.last().unwrap().start, None);
        }
    }

    #[test]
    fn damage_is_an_error_with_its_place() {
        let good = "1 0 -1 60 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1";
        #[rustfmt::skip]
        let rows = [
            ("1 0 -1 6x 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1", (8, 8), "field 4 (run time) is `6x`"),
            ("1 0 -1 60 4 -1 -1 4",                              (8, 20), "8 fields of 18: requested time"),
            (&format!("{good} 2"),                               (8, good.len() + 2), "more than 18"),
            ("1 0 -1 60 4 99999999999999999999 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1", (8, 13), "field 6"),
        ];
        for (line, place, what) in rows {
            let error = parse(format!("{HEADER}{good}\n{line}\n{good}\n").as_bytes()).unwrap_err();
            assert_eq!((error.line, error.column), place, "{error}");
            assert!(error.what.contains(what), "{error}");
        }
        assert!(parse(HEADER.as_bytes()).unwrap_err().what.contains("no job"));
    }

    #[test]
    fn latin_1_in_the_header_and_decimals_in_a_field_are_read() {
        let mut text = b"; Acknowledge: \xc5ke\n".to_vec();
        text.extend(b"1 0.5 -1 60.9 4 12.25 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1");
        let trace = parse(&text).unwrap();
        assert_eq!((trace.jobs[0].submit, trace.jobs[0].run), (0, 60));
    }
}

//! Laws as text.
//!
//! ```text
//!   law an unknown partition is refused            slow | 24.11 | 26.05 | v42+ may follow, in brackets
//!     alice submit {"partition": "nope"} => 500|422 ; errors [2000]
//!     until alice GET job/$job => 200 ; /jobs/0/job_state = ["RUNNING"]
//! ```
//!
//! `500|422` is 24.11's and 26.05's. Paths lie below `/slurm/VERSION/`, behind `db:` below
//! `/slurmdb/VERSION/`, and with a slash in front they are whole. `submit` is a `POST job/submit` of a
//! job that has what every job needs; `$job` is then its number, `$VERSION` the version, `$NOW` the
//! time, and other names with `$` what a step before has called so.

/// A law.
#[derive(Clone, Debug)]
pub(crate) struct Law {
    pub(crate) name: String,
    pub(crate) only: Vec<String>,
    pub(crate) steps: Vec<Step>,
}

/// Something that is asked, and what must come of it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// As it is written, for whoever must mend it.
    pub(crate) text: String,
    /// Again and again, until it is so.
    pub(crate) until: bool,
    pub(crate) user: String,
    pub(crate) verb: String,
    pub(crate) path: String,
    pub(crate) body: Option<String>,
    pub(crate) expected: Vec<Expected>,
}

/// What an answer must be like.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    /// The status, in 24.11 and in 26.05.
    Status(u16, u16),
    /// The numbers of the errors.
    Errors(Vec<i64>),
    /// How many warnings.
    Warnings(usize),
    /// What is there, as JSON.
    Is(String, String),
    /// What is there isn't that.
    IsNot(String, String),
    /// A part of the text that is there.
    Has(String, String),
    /// Nothing is there.
    Absent(String),
    /// A list of so many.
    Count(String, usize),
    /// A header.
    Header(String, String),
    /// What is there gets a name.
    Name(String, String),
}

/// Reads a file of laws.
pub(crate) fn read(text: &str) -> Vec<Law> {
    let mut laws: Vec<Law> = vec![];
    for line in joined(text) {
        let line = line.trim().to_owned();
        if let Some(name) = line.strip_prefix("law ") {
            laws.push(read_name(name));
        } else {
            let law = laws.last_mut().unwrap_or_else(|| panic!("no law is named before: {line}"));
            law.steps.push(read_step(&line));
        }
    }
    laws
}

/// Lines without comments; one that ends in a backslash goes on in the next.
fn joined(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    let mut open = false;
    for line in
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let part = line.trim_end_matches('\\').trim_end();
        match lines.last_mut().filter(|_| open) {
            Some(last) => *last = format!("{last} {part}"),
            None => lines.push(part.to_owned()),
        }
        open = line.ends_with('\\');
    }
    lines
}

fn read_name(text: &str) -> Law {
    let (name, only) = match text.rsplit_once(" [") {
        Some((name, only)) => (name, only.trim_end_matches(']')),
        None => (text, ""),
    };
    let only = only.split_whitespace().map(str::to_owned).collect();
    Law { name: name.to_owned(), only, steps: vec![] }
}

fn read_step(line: &str) -> Step {
    let (asked, expected) = line.split_once(" => ").unwrap_or_else(|| panic!("no => in: {line}"));
    let (until, asked) = match asked.strip_prefix("until ") {
        Some(asked) => (true, asked),
        None => (false, asked),
    };
    let mut words = asked.splitn(3, ' ');
    let (user, verb) = (words.next().unwrap(), words.next().unwrap_or_default());
    let rest = words.next().unwrap_or_default().trim();
    let (path, body) = match verb {
        "submit" => ("job/submit", rest),
        _others => rest.split_once(' ').unwrap_or((rest, "")),
    };
    Step {
        text: line.to_owned(),
        until,
        user: user.to_owned(),
        verb: verb.to_owned(),
        path: path.to_owned(),
        body: Some(body.trim().to_owned()).filter(|body| !body.is_empty()),
        expected: expected.split(" ; ").map(|text| read_expected(text.trim())).collect(),
    }
}

fn read_expected(text: &str) -> Expected {
    let number = |text: &str| text.trim().parse().unwrap_or_else(|_| panic!("no number: {text}"));
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        let (old, new) = text.split_once('|').unwrap_or((text, text));
        return Expected::Status(number(old), number(new));
    }
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    let owned = |text: &str| text.trim().to_owned();
    match first {
        "errors" => Expected::Errors(serde_json::from_str(rest).unwrap()),
        "warnings" => Expected::Warnings(usize::from(number(rest))),
        "absent" => Expected::Absent(owned(rest)),
        "count" => {
            let (pointer, count) = rest.split_once(' ').unwrap();
            Expected::Count(owned(pointer), usize::from(number(count)))
        }
        "header" => {
            let (name, value) = rest.split_once(' ').unwrap();
            Expected::Header(owned(name), owned(value))
        }
        name if name.starts_with('$') => {
            Expected::Name(owned(&name[1..]), owned(rest.trim_start_matches('=')))
        }
        pointer => {
            let (operator, value) =
                rest.split_once(' ').unwrap_or_else(|| panic!("what is: {text}"));
            match operator {
                "=" => Expected::Is(owned(pointer), owned(value)),
                "!=" => Expected::IsNot(owned(pointer), owned(value)),
                "~" => Expected::Has(owned(pointer), owned(value)),
                other => panic!("no such comparison as {other}: {text}"),
            }
        }
    }
}

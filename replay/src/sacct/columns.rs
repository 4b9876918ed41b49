//! Which column is what, and the cells of a line.

use super::{COMMAND, values::Value};
use crate::trace::TraceError;

/// What a column can say. The names beside it are compared without case, `_` and spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Column {
    JobId,
    User,
    Partition,
    Qos,
    Submit,
    Start,
    End,
    Elapsed,
    ElapsedRaw,
    Timelimit,
    TimelimitRaw,
    LimitSeconds,
    ReqNodes,
    Nodes,
    ReqCpus,
    Cpus,
    ReqMem,
    ReqTres,
    AllocTres,
    Gpus,
    NodeList,
    State,
}

#[rustfmt::skip]
const NAMES: &[(Column, &[&str])] = &[
    (Column::JobId,        &["jobid", "jobidraw"]),
    (Column::User,         &["user"]),
    (Column::Partition,    &["partition"]),
    (Column::Qos,          &["qos"]),
    (Column::Submit,       &["submit", "submittime"]),
    (Column::Start,        &["start", "starttime"]),
    (Column::End,          &["end", "endtime"]),
    (Column::Elapsed,      &["elapsed"]),
    (Column::ElapsedRaw,   &["elapsedraw", "runtime"]),
    (Column::Timelimit,    &["timelimit"]),
    (Column::TimelimitRaw, &["timelimitraw"]),
    (Column::LimitSeconds, &["wallclockreq"]),
    (Column::ReqNodes,     &["reqnodes", "nodesreq"]),
    (Column::Nodes,        &["nnodes", "allocnodes"]),
    (Column::ReqCpus,      &["reqcpus", "processorsreq"]),
    (Column::Cpus,         &["ncpus", "alloccpus"]),
    (Column::ReqMem,       &["reqmem"]),
    (Column::ReqTres,      &["reqtres"]),
    (Column::AllocTres,    &["alloctres"]),
    (Column::Gpus,         &["gpusreq", "reqgpus"]),
    (Column::NodeList,     &["nodelist"]),
    (Column::State,        &["state"]),
];

/// Columns that say nothing a replay could use: no note for them.
#[rustfmt::skip]
const PASSED_OVER: &[&str] = &[
    "account", "jobname", "name", "exitcode", "derivedexitcode", "eligible", "workdir",
    "submitline", "uid", "gid", "group", "cluster", "comment", "admincomment", "priority",
    "memreq", "cputime", "cputimeraw", "jobidraw", "reason", "flags", "wckey",
];

/// The header, understood.
pub(super) struct Columns {
    names: Vec<String>,
    places: Vec<(Column, usize)>,
    comma: bool,
}

/// One line, cut into cells.
pub(super) struct Record<'a> {
    columns: &'a Columns,
    cells: Vec<Cell<'a>>,
}

/// A cell and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Cell<'a> {
    pub(super) text: &'a str,
    pub(super) place: (usize, usize),
}

impl Columns {
    pub(super) fn read(header: &str, line: usize, comma: bool) -> Result<Self, TraceError> {
        let names: Vec<String> =
            cells(header, line, comma).iter().map(|cell| cell.text.to_owned()).collect();
        let plain: Vec<String> =
            names.iter().map(|name| name.to_lowercase().replace(['_', ' '], "")).collect();
        let mut places = vec![];
        for (column, known) in NAMES {
            let place = known.iter().find_map(|name| plain.iter().position(|it| it == name));
            places.extend(place.map(|place| (*column, place)));
        }
        let columns = Self { names, places, comma };
        columns.check(line)?;
        Ok(columns)
    }

    fn check(&self, line: usize) -> Result<(), TraceError> {
        let needed: [(&str, &[Column]); 4] = [
            ("JobID", &[Column::JobId]),
            ("Submit", &[Column::Submit]),
            (
                "Elapsed (or ElapsedRaw, or Start and End)",
                &[Column::Elapsed, Column::ElapsedRaw, Column::End],
            ),
            (
                "ReqCPUS (or ReqTRES, NCPUS, AllocTRES, NNodes)",
                &[
                    Column::ReqCpus,
                    Column::ReqTres,
                    Column::Cpus,
                    Column::AllocTres,
                    Column::Nodes,
                    Column::ReqNodes,
                ],
            ),
        ];
        for (name, any) in needed {
            if !any.iter().any(|column| self.place(*column).is_some()) {
                let what = format!("there is no column {name}");
                return Err(TraceError::new((line, 1), what, format!("try: {COMMAND}")));
            }
        }
        Ok(())
    }

    fn place(&self, column: Column) -> Option<usize> {
        self.places.iter().find(|(it, _)| *it == column).map(|(_, place)| *place)
    }

    /// Columns that might matter and aren't read.
    pub(super) fn unread(&self) -> impl Iterator<Item = &str> {
        let read = |at: usize| self.places.iter().any(|(_, place)| *place == at);
        let names = self.names.iter().enumerate().filter(move |(at, _)| !read(*at));
        names.map(|(_, name)| name.as_str()).filter(|name| {
            !PASSED_OVER.contains(&name.to_lowercase().replace(['_', ' '], "").as_str())
        })
    }

    pub(super) fn record<'a>(
        &'a self,
        line: &'a str,
        number: usize,
    ) -> Result<Record<'a>, TraceError> {
        let cells = cells(line, number, self.comma);
        if cells.len() != self.names.len() {
            let (has, needs) = (cells.len(), self.names.len());
            let what = format!("the line has {has} columns, the header has {needs}");
            let hint = if has < needs {
                "is the file cut short?"
            } else {
                "is the separator part of a job's name? leave the name out of --format"
            };
            return Err(TraceError::new((number, line.len() + 1), what, hint));
        }
        Ok(Record { columns: self, cells })
    }
}

impl<'a> Record<'a> {
    pub(super) fn cell(&self, column: Column) -> Option<Cell<'a>> {
        self.columns.place(column).map(|place| self.cells[place])
    }

    /// The text, empty if there is no such column.
    pub(super) fn text(&self, column: Column) -> &'a str {
        self.cell(column).map_or("", |cell| cell.text)
    }

    /// The text, `-` where there is none.
    pub(super) fn name(&self, column: Column) -> &'a str {
        match self.text(column) {
            "" => "-",
            text => text,
        }
    }

    /// The cell's value; a missing column is an unknown value.
    pub(super) fn value<T>(
        &self,
        column: Column,
        read: impl Fn(&str) -> Result<Value<T>, &'static str>,
    ) -> Result<Value<T>, TraceError> {
        let Some(cell) = self.cell(column) else {
            return Ok(Value::Unknown);
        };
        read(cell.text).map_err(|hint| {
            let name = self.columns.place(column).map_or("", |at| &self.columns.names[at]);
            TraceError::new(cell.place, format!("{name} is `{}`", cell.text), hint)
        })
    }
}

/// Cuts a line into cells; with commas a cell may stand in double quotes.
fn cells(line: &str, number: usize, comma: bool) -> Vec<Cell<'_>> {
    let separator = if comma { ',' } else { '|' };
    let mut cells = vec![];
    let mut at = 0;
    loop {
        let rest = &line[at..];
        let quoted = comma && rest.starts_with('"');
        let length = if quoted {
            let close = rest[1..].find("\",").map_or(rest.len(), |length| length + 2);
            close.min(rest.len())
        } else {
            rest.find(separator).unwrap_or(rest.len())
        };
        let text = rest[..length].trim_matches(|c: char| (quoted && c == '"') || c == ' ');
        cells.push(Cell { text, place: (number, at + 1) });
        at += length + 1;
        if line.len() < at {
            return cells;
        }
    }
}

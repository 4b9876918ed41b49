//! The two languages in which users say what a line holds.
//!
//! ```text
//!   -o "%.18i %9P %R"                     a letter for each field; text in between is printed
//!   -O "jobid:10 ,partition:.9,reason"    a name for each field, 20 wide unless it says so
//! ```
//!
//! Both become a list of [`Column`]s. A table of [`Field`]s says what there is; every command has its
//! own.

use drawbridge_sim::Release;

use crate::cell::{Cell, Layout};

/// Something that can be shown of a `T`.
pub struct Field<T: 'static> {
    /// Its name in `-O`.
    pub name: &'static str,
    /// Its letter in `-o`; NUL if it has none.
    pub letter: char,
    /// What stands above it.
    pub header: &'static str,
    /// What stands in it.
    pub show: fn(&T) -> Cell,
    /// Whether help leaves it out.
    pub hidden: bool,
    /// Why it can't be shown, if it can't.
    pub missing: Option<&'static str>,
    /// The first release that has it.
    pub since: Release,
}

/// A field that has a letter and a name.
pub const fn field<T>(
    name: &'static str,
    letter: char,
    header: &'static str,
    show: fn(&T) -> Cell,
) -> Field<T> {
    Field { name, letter, header, show, hidden: false, missing: None, since: Release::V24_11 }
}

impl<T> Field<T> {
    fn has_letter(&self, letter: char, release: Release) -> bool {
        self.letter == letter && letter != '\0' && self.since <= release
    }

    fn is_named(&self, name: &str, release: Release) -> bool {
        self.name.eq_ignore_ascii_case(name) && self.since <= release
    }

    /// The same, which help leaves out.
    pub const fn hidden(self) -> Self {
        Self { hidden: true, ..self }
    }

    /// The same, which older releases don't have.
    pub const fn since(self, since: Release) -> Self {
        Self { since, ..self }
    }

    /// The same, which slurmrestd doesn't tell.
    pub const fn missing(self, why: &'static str) -> Self {
        Self { missing: Some(why), ..self }
    }
}

/// A part of a line.
pub struct Column<T: 'static> {
    /// What it shows; `None` if it is only text.
    pub field: Option<&'static Field<T>>,
    /// How.
    pub layout: Layout,
    /// What is printed after it.
    pub suffix: String,
}

/// A format that was read, and what of it wasn't understood.
pub struct Format<T: 'static> {
    /// The parts of a line.
    pub columns: Vec<Column<T>>,
    /// Fields that there are none of.
    pub unknown: Vec<String>,
}

impl<T> Format<T> {
    /// Reads `-o`.
    pub fn short(fields: &'static [Field<T>], text: &str, release: Release) -> Self {
        let all: String;
        let (mut text, all_fields) = (text, text.eq_ignore_ascii_case("%all"));
        if all_fields {
            let letters = ('a'..='z').chain('A'..='Z').map(|letter| format!("%{letter}"));
            all = letters.collect::<Vec<_>>().join("|");
            text = &all;
        }
        let mut format = Self { columns: vec![], unknown: vec![] };
        let (prefix, rest) = text.split_at(text.find('%').unwrap_or(text.len()));
        if !prefix.is_empty() {
            format.text(prefix);
        }
        // `%%` is nothing at all.
        for token in rest.split('%').filter(|token| !token.is_empty()) {
            let (letter, layout, suffix) = read_token(token);
            match fields.iter().find(|field| field.has_letter(letter, release)) {
                Some(field) if all_fields && field.missing.is_some() => {}
                Some(field) => format.columns.push(Column {
                    field: Some(field),
                    layout,
                    suffix: suffix.to_owned(),
                }),
                None if all_fields => {}
                None => {
                    format.text(&format!("%{token}"));
                    format.unknown.push(letter.to_string());
                }
            }
        }
        format
    }

    /// Reads `-O`.
    pub fn long(fields: &'static [Field<T>], text: &str, release: Release) -> Self {
        let mut format = Self { columns: vec![], unknown: vec![] };
        for token in text.split(',').filter(|token| !token.is_empty()) {
            let (name, layout, suffix) = read_long_token(token);
            match fields.iter().find(|field| field.is_named(name, release)) {
                Some(field) => format.columns.push(Column {
                    field: Some(field),
                    layout,
                    suffix: suffix.to_owned(),
                }),
                None => {
                    format.text(suffix);
                    format.unknown.push(name.to_owned());
                }
            }
        }
        format
    }

    fn text(&mut self, text: &str) {
        let layout = Layout::default();
        self.columns.push(Column { field: None, layout, suffix: text.to_owned() });
    }

    /// The same with other widths for fields of these names.
    pub fn fitted(&self, width: impl Fn(&str) -> Option<usize>) -> Self {
        let columns = self.columns.iter().map(|column| {
            let name = column.field.map_or("", |field| field.name);
            let own = width(name).and_then(|width| i64::try_from(width).ok());
            let layout = Layout { width: own.unwrap_or(column.layout.width), ..column.layout };
            Column { field: column.field, layout, suffix: column.suffix.clone() }
        });
        Self { columns: columns.collect(), unknown: vec![] }
    }

    /// Prints the line above all others.
    pub fn put_header(&self, out: &mut Vec<u8>, whole: &[&str]) {
        for column in &self.columns {
            if let Some(field) = column.field {
                let header = field.header.to_owned();
                let uncut = whole.contains(&field.header);
                let cell = if uncut { Cell::Whole(header) } else { Cell::Text(header) };
                column.layout.put(out, &cell);
            }
            out.extend_from_slice(column.suffix.as_bytes());
        }
        out.push(b'\n');
    }

    /// Prints the line of one thing.
    pub fn put(&self, out: &mut Vec<u8>, of: &T) {
        for column in &self.columns {
            if let Some(field) = column.field {
                column.layout.put(out, &(field.show)(of));
            }
            out.extend_from_slice(column.suffix.as_bytes());
        }
        out.push(b'\n');
    }

    /// The first field that slurmrestd doesn't tell, and why.
    pub fn missing(&self) -> Option<(&'static str, &'static str)> {
        let fields = self.columns.iter().filter_map(|column| column.field);
        fields.filter_map(|field| field.missing.map(|why| (field.name, why))).next()
    }

    /// Whether this field is among them.
    pub fn shows(&self, name: &str) -> bool {
        let mut fields = self.columns.iter().filter_map(|column| column.field);
        fields.any(|field| field.name == name)
    }
}

/// Takes `.18i rest` apart.
fn read_token(token: &str) -> (char, Layout, &str) {
    let (right, rest) = match token.strip_prefix('.') {
        Some(rest) => (true, rest),
        None => (false, token),
    };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (digits, rest) = rest.split_at(digits);
    let width = digits.parse().unwrap_or(0);
    let letter = rest.chars().next().unwrap_or('\0');
    (letter, Layout { width, right }, rest.get(letter.len_utf8()..).unwrap_or(""))
}

/// Takes `name:.18 rest` apart.
fn read_long_token(token: &str) -> (&str, Layout, &str) {
    let Some((name, rest)) = token.split_once(':') else {
        return (token, Layout { width: 20, right: false }, "");
    };
    let (right, rest) = match rest.strip_prefix('.') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let (width, suffix) = number(rest);
    (name, Layout { width, right }, suffix)
}

/// The number that a text begins with, as C reads it, and the rest.
fn number(text: &str) -> (i64, &str) {
    let trimmed = text.trim_start();
    let signed = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
    let rest = signed.trim_start_matches(|c: char| c.is_ascii_digit());
    match trimmed[..trimmed.len() - rest.len()].parse() {
        Ok(number) => (number, rest),
        Err(_) => (0, text),
    }
}

/// What `--helpformat` prints: every letter.
pub fn list_letters<T>(fields: &[Field<T>]) -> String {
    let letters = fields.iter().filter(|field| !field.hidden && field.letter != '\0');
    in_lines(letters.map(|field| format!("%{:<5}", field.letter)), 8)
}

/// What `--helpFormat` prints: every name.
pub fn list_names<T>(fields: &[Field<T>]) -> String {
    let names = fields.iter().filter(|field| !field.hidden && !field.name.is_empty());
    in_lines(names.map(|field| format!("{:<20}", field.name)), 4)
}

fn in_lines(words: impl Iterator<Item = String>, count: usize) -> String {
    let words: Vec<String> = words.collect();
    let lines: Vec<String> = words.chunks(count).map(<[String]>::concat).collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    static FIELDS: &[Field<(u32, &str)>] = &[
        field("JobId", 'i', "JOBID", |row| Cell::text(row.0.to_string())),
        field("Name", 'j', "NAME", |row| Cell::or_null(row.1)),
        field("Odd", '\0', "ODD", |_| Cell::text("odd")),
        field("New", 'n', "NEW", |_: &(u32, &str)| Cell::text("new")).since(Release::V26_05),
    ];

    fn line(format: &Format<(u32, &'static str)>, header: bool) -> String {
        let mut out = vec![];
        if header {
            format.put_header(&mut out, &[]);
        }
        format.put(&mut out, &(17, "sleep"));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn letters_and_names_say_what_a_line_holds() {
        let short = |text| line(&Format::short(FIELDS, text, Release::V24_11), true);
        assert_eq!(short("%.7i %3j|"), "  JOBID NAM|\n     17 sle|\n");
        assert_eq!(short("job %i"), "job JOBID\njob 17\n");
        assert_eq!(short("%i%%%j"), "JOBIDNAME\n17sleep\n");
        assert_eq!(short("no field"), "no field\nno field\n");
        assert_eq!(short("%i %Q"), "JOBID %Q\n17 %Q\n");
        assert_eq!(Format::short(FIELDS, "%Q%5", Release::V24_11).unknown, ["Q", "\0"]);
        assert_eq!(short("%ALL"), "JOBID|NAME|\n17|sleep|\n");
        let long = |text| line(&Format::long(FIELDS, text, Release::V24_11), false);
        assert_eq!(long("jobid:.5 ,NAME:4,odd:0!"), "   17 sleeodd!\n");
        assert_eq!(long("name"), "sleep               \n");
        assert_eq!(long("name:-1,odd:"), "sleep odd\n");
        assert_eq!(Format::long(FIELDS, "nope", Release::V24_11).unknown, ["nope"]);
        assert_eq!(Format::long(FIELDS, "new", Release::V24_11).unknown, ["new"]);
        assert_eq!(line(&Format::short(FIELDS, "%n", Release::V26_05), false), "new\n");
    }
}

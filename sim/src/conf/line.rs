//! Lines of `Key=Value` words, each with its place.

use super::{ConfError, ConfFile, Note};

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: ConfFile,
    pub(super) line: usize,
    pub(super) column: usize,
}

/// One `Key=Value`.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) key: String,
    pub(super) value: String,
    pub(super) place: Place,
    pub(super) value_place: Place,
}

/// A line with at least one word; continued lines are one.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) words: Vec<Word>,
}

impl Place {
    pub(super) fn error(self, what: impl Into<String>, hint: impl Into<String>) -> ConfError {
        ConfError {
            file: self.file,
            line: self.line,
            column: self.column,
            what: what.into(),
            hint: hint.into(),
        }
    }

    pub(super) fn note(self, text: impl Into<String>) -> Note {
        Note { file: self.file, line: self.line, column: self.column, text: text.into() }
    }
}

impl Word {
    pub(super) fn is(&self, key: &str) -> bool {
        self.key.eq_ignore_ascii_case(key)
    }

    /// Slurm knows it, and the model doesn't honour it.
    pub(super) fn not_honoured(&self) -> Note {
        self.place.note(format!("{} is not honoured yet", self.key))
    }

    /// An error about the value.
    pub(super) fn bad(&self, hint: impl Into<String>) -> ConfError {
        let what = format!("{}={} is not understood", self.key, self.value);
        self.value_place.error(what, hint)
    }
}

/// Every line that says something.
pub(super) fn lines(file: ConfFile, text: &str) -> Result<Vec<Line>, ConfError> {
    let mut lines = vec![];
    let mut chars: Vec<(char, Place)> = vec![];
    for (at, raw) in text.lines().enumerate() {
        let (body, continued) = strip(raw);
        let place = |column| Place { file, line: at + 1, column: column + 1 };
        chars.extend(body.chars().enumerate().map(|(column, c)| (c, place(column))));
        if continued {
            chars.push((' ', place(body.chars().count())));
            continue;
        }
        lines.extend(words(&std::mem::take(&mut chars))?);
    }
    lines.extend(words(&chars)?);
    Ok(lines)
}

/// The line without its comment, and whether it goes on below.
fn strip(raw: &str) -> (&str, bool) {
    let mut previous = ' ';
    for (at, c) in raw.char_indices() {
        if c == '#' && previous != '\\' {
            return (&raw[..at], false);
        }
        previous = c;
    }
    match raw.trim_end().strip_suffix('\\') {
        Some(body) => (body, true),
        None => (raw, false),
    }
}

fn words(chars: &[(char, Place)]) -> Result<Option<Line>, ConfError> {
    let mut words = vec![];
    let mut rest = skip_blanks(chars);
    while let Some((_, place)) = rest.first() {
        let (key, after) = take_key(rest);
        if words.is_empty() && key.eq_ignore_ascii_case("include") {
            let (value, value_place) = take_path(*place, after)?;
            words.push(Word { key, value, place: *place, value_place });
            break;
        }
        let (value, value_place, after) = take_value(&key, *place, skip_blanks(after))?;
        words.push(Word { key, value, place: *place, value_place });
        rest = skip_blanks(after);
    }
    Ok((!words.is_empty()).then_some(Line { words }))
}

type Chars<'a> = &'a [(char, Place)];

fn skip_blanks(chars: Chars<'_>) -> Chars<'_> {
    let blanks = chars.iter().take_while(|(c, _)| c.is_whitespace()).count();
    &chars[blanks..]
}

fn take_key(chars: Chars<'_>) -> (String, Chars<'_>) {
    let is_key = |c: char| !c.is_whitespace() && c != '=';
    let n = chars.iter().take_while(|(c, _)| is_key(*c)).count();
    (chars[..n].iter().map(|(c, _)| c).collect(), &chars[n..])
}

/// The rest of an `Include` line.
fn take_path(key_place: Place, chars: Chars<'_>) -> Result<(String, Place), ConfError> {
    let rest = skip_blanks(chars);
    let text: String = rest.iter().map(|(c, _)| c).collect();
    match rest.first() {
        Some((first, place)) if *first != '=' => Ok((text.trim().into(), *place)),
        _ => Err(key_place.error("`Include` names no file", "write Include path")),
    }
}

fn take_value<'a>(
    key: &str,
    key_place: Place,
    chars: Chars<'a>,
) -> Result<(String, Place, Chars<'a>), ConfError> {
    let hint = "each word is Key=Value";
    let [('=', equals), rest @ ..] = chars else {
        return Err(key_place.error(format!("`{key}` has no value"), hint));
    };
    if key.is_empty() {
        return Err(equals.error("`=` without a name before it", hint));
    }
    let rest = skip_blanks(rest);
    let Some((first, place)) = rest.first() else {
        return Ok((String::new(), *equals, rest));
    };
    if *first == '"' {
        let n = rest[1..].iter().take_while(|(c, _)| *c != '"').count();
        if rest.len() == n + 1 {
            return Err(place.error("the quote is not closed", "add a closing \""));
        }
        let value = rest[1..=n].iter().map(|(c, _)| c).collect();
        return Ok((value, *place, &rest[n + 2..]));
    }
    let n = rest.iter().take_while(|(c, _)| !c.is_whitespace()).count();
    let value = rest[..n].iter().map(|(c, _)| c).collect::<String>();
    Ok((value.replace("\\#", "#"), *place, &rest[n..]))
}

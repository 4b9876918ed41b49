//! Replies of slurmrestd printed as they are, as JSON or as YAML, in the form of Slurm's own
//! `--json` and `--yaml`.
//!
//! A reply is taken apart as text: keys keep their order and numbers their digits.

mod yaml;

use crate::shell::{Outcome, Shell};

/// In which form data is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataForm {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

impl DataForm {
    /// `--json`, with the version that it names.
    pub fn json(shell: &mut Shell<'_>, version: &str) -> Outcome<Self> {
        check(shell, "--json", version)?;
        Ok(Self::Json)
    }

    /// `--yaml`, with the version that it names.
    pub fn yaml(shell: &mut Shell<'_>, version: &str) -> Outcome<Self> {
        check(shell, "--yaml", version)?;
        Ok(Self::Yaml)
    }

    /// Prints a document.
    pub fn print(self, tree: &Tree<'_>) -> String {
        match self {
            Self::Json => tree.json(),
            Self::Yaml => yaml::document(tree),
        }
    }
}

/// The form is that of the API's version, which the session has settled.
fn check(shell: &mut Shell<'_>, flag: &str, version: &str) -> Outcome {
    let spoken = shell.var("SLURM_REST_API_VERSION");
    if version.is_empty() || spoken == Some(version) {
        return Ok(());
    }
    let why = "the version is the session's: set SLURM_REST_API_VERSION";
    shell.unsupported(&format!("{flag}={version}"), why)
}

/// A document in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree<'a> {
    /// `true`, `null`, a number.
    Word(&'a str),
    /// A text between its quotes, as it was escaped.
    Text(&'a str),
    /// A list.
    List(Vec<Tree<'a>>),
    /// Keys, as they were escaped, and values.
    Map(Vec<(&'a str, Tree<'a>)>),
}

impl<'a> Tree<'a> {
    /// Takes a document apart; `None` if it is none.
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut reader = Reader { text, at: 0 };
        let tree = reader.value(0)?;
        reader.space();
        (reader.at == text.len()).then_some(tree)
    }

    /// The value of a key.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        let Self::Map(pairs) = self else { return None };
        pairs.iter_mut().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// The list of a key keeps only those for which this holds.
    pub fn retain(&mut self, key: &str, kept: &[bool]) {
        let Some(Self::List(items)) = self.get_mut(key) else { return };
        let mut kept = kept.iter();
        items.retain(|_| kept.next().copied().unwrap_or(true));
    }

    fn json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0);
        out.push('\n');
        out
    }

    fn write(&self, out: &mut String, depth: usize) {
        match self {
            Self::Word(word) => out.push_str(word),
            Self::Text(text) => quote(out, text),
            Self::List(items) => {
                let write = |out: &mut String, item: &Self| item.write(out, depth + 1);
                in_brackets(out, depth, ('[', ']'), items, write);
            }
            Self::Map(pairs) => in_brackets(out, depth, ('{', '}'), pairs, |out, (key, value)| {
                quote(out, key);
                out.push_str(": ");
                value.write(out, depth + 1);
            }),
        }
    }
}

fn quote(out: &mut String, text: &str) {
    out.push('"');
    out.push_str(text);
    out.push('"');
}

fn in_brackets<T>(
    out: &mut String,
    depth: usize,
    (open, close): (char, char),
    items: &[T],
    mut write: impl FnMut(&mut String, &T),
) {
    let indent = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    out.push(open);
    for (at, item) in items.iter().enumerate() {
        if 0 < at {
            out.push(',');
        }
        indent(out, depth + 1);
        write(out, item);
    }
    if !items.is_empty() {
        indent(out, depth);
    }
    out.push(close);
}

/// Deeper than anything that slurmrestd writes.
const DEPTH_MAX: usize = 100;

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn next(&mut self) -> Option<u8> {
        self.space();
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, wanted: u8) -> bool {
        let found = self.next() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Option<Tree<'a>> {
        if DEPTH_MAX < depth {
            return None;
        }
        match self.next()? {
            b'{' => self.map(depth),
            b'[' => self.list(depth),
            b'"' => self.quoted().map(Tree::Text),
            _ => {
                let rest = &self.text[self.at..];
                let ends = |c: char| c.is_whitespace() || [',', ']', '}', ':'].contains(&c);
                let end = rest.find(ends).unwrap_or(rest.len());
                self.at += end;
                (0 < end).then(|| Tree::Word(&rest[..end]))
            }
        }
    }

    fn quoted(&mut self) -> Option<&'a str> {
        if !self.take(b'"') {
            return None;
        }
        let from = self.at;
        let bytes = self.text.as_bytes();
        while *bytes.get(self.at)? != b'"' {
            self.at += if bytes[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        self.text.get(from..self.at - 1)
    }

    fn list(&mut self, depth: usize) -> Option<Tree<'a>> {
        self.at += 1;
        let mut items = vec![];
        if self.take(b']') {
            return Some(Tree::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.take(b']') {
                return Some(Tree::List(items));
            }
            if !self.take(b',') {
                return None;
            }
        }
    }

    fn map(&mut self, depth: usize) -> Option<Tree<'a>> {
        self.at += 1;
        let mut pairs = vec![];
        if self.take(b'}') {
            return Some(Tree::Map(pairs));
        }
        loop {
            self.space();
            let key = self.quoted()?;
            if !self.take(b':') {
                return None;
            }
            pairs.push((key, self.value(depth + 1)?));
            if self.take(b'}') {
                return Some(Tree::Map(pairs));
            }
            if !self.take(b',') {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_keep_their_order_and_their_digits() {
        let text = r#"{"b":[1.50,{"x":"a\/\"b"}],"a":{},"c":[],"d":null, "e": Infinity}"#;
        let mut tree = Tree::parse(text).unwrap();
        insta::assert_snapshot!(DataForm::Json.print(&tree), @r#"
        {
          "b": [
            1.50,
            {
              "x": "a\/\"b"
            }
          ],
          "a": {},
          "c": [],
          "d": null,
          "e": Infinity
        }
        "#);
        tree.retain("b", &[false, true]);
        assert!(!DataForm::Json.print(&tree).contains("1.50"));
        for wrong in ["", "{", "[1,]", "{\"a\"}", "[1 2]", "\"open", "[1]x"] {
            assert_eq!(Tree::parse(wrong), None, "{wrong}");
        }
        assert_eq!(Tree::parse(&"[".repeat(10_000)), None);
    }
}

//! A record as `scontrol show` prints it: lines of `Name=value`, or all of it in one.

use drawbridge_sim::Release;

/// A record that is being written.
#[derive(Debug)]
pub(crate) struct Record {
    lines: Vec<String>,
    one_line: bool,
}

impl Record {
    pub(crate) fn new(one_line: bool) -> Self {
        Self { lines: vec![], one_line }
    }

    /// A line.
    pub(crate) fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    /// A line of one value, if there is one.
    pub(crate) fn some(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.lines.push(format!("{name}={value}"));
        }
    }

    /// The text.
    pub(crate) fn text(self) -> String {
        let (between, end) = if self.one_line { (" ", "\n") } else { ("\n   ", "\n\n") };
        self.lines.join(between) + end
    }

    /// The text of a job: 24.11 leaves blanks at its end.
    pub(crate) fn job_text(mut self, release: Release) -> String {
        if release < Release::V26_05 {
            self.lines.push(String::new());
        }
        self.text()
    }
}

/// A text, or what C prints for none.
pub(crate) fn or_null(text: &str) -> &str {
    or(text, "(null)")
}

/// A text, or this one if it is empty.
pub(crate) fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

/// `YES` or `NO`.
pub(crate) fn yes(set: bool) -> &'static str {
    if set { "YES" } else { "NO" }
}

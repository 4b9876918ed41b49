//! What is wrong with a scenario: where, what, and what would be right.

use std::{ops::Range, sync::Arc};

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// A mistake in a scenario or in a file that it includes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {what}")]
pub struct ScenarioError {
    /// The file, as the caller named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong: lower case, no full stop.
    pub what: String,
    /// What would be right, where that is known.
    pub hint: Option<String>,
    /// The file's text, for the excerpt.
    pub(crate) text: Arc<str>,
}

impl ScenarioError {
    /// What would be right, where that is known.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The error as compilers print it: with the line, a mark below it and the hint. No colours.
    pub fn render(&self) -> String {
        self.render_with(&Renderer::plain())
    }

    /// The same in colour, for terminals.
    pub fn render_coloured(&self) -> String {
        self.render_with(&Renderer::styled())
    }

    fn render_with(&self, renderer: &Renderer) -> String {
        let snippet = Snippet::source(self.text.as_ref())
            .path(self.file.as_str())
            .annotation(AnnotationKind::Primary.span(self.span()));
        let report = Level::ERROR.primary_title(self.what.as_str()).element(snippet);
        match &self.hint {
            Some(hint) => {
                let hint = Level::HELP.message(hint.as_str());
                renderer.render(&[report.element(hint)])
            }
            None => renderer.render(&[report]),
        }
    }

    /// The bytes of the word at the place.
    fn span(&self) -> Range<usize> {
        let above: usize =
            self.text.split_inclusive('\n').take(self.line.saturating_sub(1)).map(str::len).sum();
        let line = self.text[above..].lines().next().unwrap_or_default();
        let begin =
            line.char_indices().nth(self.column.saturating_sub(1)).map_or(line.len(), |(at, _)| at);
        above + begin..above + begin + word_length(&line[begin..])
    }
}

/// How much of the rest of a line belongs to the word it begins with.
fn word_length(rest: &str) -> usize {
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}');
    let length = match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => rest[1..].find(quote).map(|at| at + 2),
        Some(_) => rest.find(ends),
        None => None,
    };
    let word = &rest[..length.unwrap_or(rest.len())];
    // A key's colon is not part of it.
    word.strip_suffix(':').unwrap_or(word).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(line: usize, column: usize) -> ScenarioError {
        ScenarioError {
            file: "a.yaml".into(),
            line,
            column,
            what: "unknown key `stesp`".into(),
            hint: Some("did you mean `steps`?".into()),
            text: "why: it shows\nstesp: [ä, öl]\n".into(),
        }
    }

    #[test]
    fn an_error_looks_as_compilers_print_it() {
        insta::assert_snapshot!(error(2, 1).render(), @"
        error: unknown key `stesp`
         --> a.yaml:2:1
          |
        2 | stesp: [ä, öl]
          | ^^^^^
          |
          = help: did you mean `steps`?
        ");
        insta::assert_snapshot!(error(2, 12).render(), @"
        error: unknown key `stesp`
         --> a.yaml:2:12
          |
        2 | stesp: [ä, öl]
          |            ^^
          |
          = help: did you mean `steps`?
        ");
        assert_eq!(error(2, 1).to_string(), "a.yaml:2:1: unknown key `stesp`");
    }

    #[test]
    fn a_place_outside_the_text_does_no_harm() {
        for (line, column) in [(0, 0), (1, 100), (3, 1), (9, 9)] {
            assert!(error(line, column).render().contains("unknown key"));
        }
    }
}

//! A YAML text with a name, from which errors get their places.

use std::sync::Arc;

use drawbridge_bridge::yaml::{Locator, YamlError, path::key as key_of};

use crate::format::{Files, error::ScenarioError};

/// What to do where nothing better is known.
const GENERAL: &str = "`drawbridge schema scenario` says what may stand where";

/// One document of one file.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    file: String,
    text: Arc<str>,
    locator: Locator,
}

impl Source {
    pub(crate) fn new(file: &str, text: &str) -> Self {
        Self { file: file.into(), text: text.into(), locator: Locator::new(text) }
    }

    /// The same file; places are looked up by this document's locator.
    pub(crate) fn with_locator(&self, locator: Locator) -> Self {
        Self { locator, ..self.clone() }
    }

    /// A file that the text at `path` names, relative to this one.
    pub(crate) fn include(
        &self,
        path: &str,
        file: &str,
        files: &dyn Files,
    ) -> Result<Self, ScenarioError> {
        let text = files.read(file).map_err(|why| {
            self.at(path, format!("`{file}` can't be read: {why}"))
                .hinted("paths are relative to the scenario's folder")
        })?;
        let name = match self.file.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/{file}"),
            None => file.into(),
        };
        Ok(Self::new(&name, &text))
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn locator(&self) -> &Locator {
        &self.locator
    }

    /// The line on which the value at `path` begins.
    pub(crate) fn line(&self, path: &str) -> usize {
        self.locator.locate(path).unwrap_or_else(|| self.locator.nearest(path)).0
    }

    /// A mistake in the value at `path`, or in what is nearest to it.
    pub(crate) fn at(&self, path: &str, what: impl Into<String>) -> ScenarioError {
        let place = self.locator.locate(path);
        self.place(place.unwrap_or_else(|| self.locator.nearest(path)), what)
    }

    /// A mistake in the key of the value at `path`.
    pub(crate) fn at_key(&self, path: &str, what: impl Into<String>) -> ScenarioError {
        let place = self.locator.locate_key(path);
        self.place(place.unwrap_or_else(|| self.locator.nearest(path)), what)
    }

    /// The time at `path` never comes.
    pub(crate) fn after_the_end(&self, path: &str) -> ScenarioError {
        self.at(path, "this is after the end of the run")
            .hinted("the run stops at `until`, 1d if it isn't given: make it later")
    }

    /// Two keys of the mapping at `path` exclude each other: the place is that of the later one.
    pub(crate) fn exclusive(&self, path: &str, mut keys: [&str; 2], what: &str) -> ScenarioError {
        keys.sort_by_key(|key| self.locator.locate_key(&key_of(path, key)));
        let [first, second] = keys;
        let what = format!("{what}: `{first}` and `{second}` are both here");
        self.at_key(&key_of(path, second), what)
    }

    /// A mistake at a line and column of the text that stands at `path`.
    pub(crate) fn inside(
        &self,
        path: &str,
        (line, column): (usize, usize),
        what: impl Into<String>,
    ) -> ScenarioError {
        self.place(self.locator.inside(path, line, column), what)
    }

    /// A mistake whose text has its hint on a second line.
    pub(crate) fn two_lines(&self, path: &str, text: &str) -> ScenarioError {
        match text.split_once('\n') {
            Some((what, hint)) => self.at(path, what).hinted(hint),
            None => self.at(path, text),
        }
    }

    /// A mistake at a place in the file.
    pub(crate) fn place(
        &self,
        (line, column): (usize, usize),
        what: impl Into<String>,
    ) -> ScenarioError {
        ScenarioError {
            file: self.file.clone(),
            line,
            column,
            // A word of the file may have line breaks in it; the sentence about it has none.
            what: what.into().replace(['\n', '\r'], " "),
            hint: None,
            text: Arc::clone(&self.text),
        }
    }

    /// What the parser complained about. Types of ours put a hint on a second line.
    pub(crate) fn yaml(&self, error: YamlError) -> ScenarioError {
        let place = (error.line, error.column);
        match error.what.split_once('\n') {
            Some((what, hint)) => self.place(place, what).hinted(hint),
            None => {
                let hint = error.hint.unwrap_or_else(|| GENERAL.into());
                self.place(place, error.what).hinted(hint)
            }
        }
    }
}

impl ScenarioError {
    /// The same mistake with what would be right.
    #[must_use]
    pub(crate) fn hinted(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

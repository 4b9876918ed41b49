//! `Include` lines: another file's lines stand in their place.

use std::collections::BTreeMap;

use super::{
    ConfError, ConfFile, Note,
    line::{self, Line, Place},
};

/// How deep files may include each other.
const DEPTH_MAX: usize = 8;

/// The files of a configuration, as text.
#[derive(Clone, Copy, Debug)]
pub struct ConfTexts<'a> {
    /// `slurm.conf`.
    pub slurm_conf: &'a str,
    /// `gres.conf`, if there is one.
    pub gres_conf: Option<&'a str>,
    /// Files that `Include` lines name, by the path as it is written there, or by its last part.
    pub includes: &'a BTreeMap<String, String>,
}

/// Which files were included, and where.
#[derive(Debug, Default)]
pub(super) struct Included {
    files: Vec<(String, Place)>,
}

impl Included {
    /// Every line of slurm.conf, with those of the files that it includes.
    pub(super) fn lines(&mut self, texts: &ConfTexts<'_>) -> Result<Vec<Line>, ConfError> {
        self.expand(ConfFile::SlurmConf, texts.slurm_conf, texts, 0)
            .map_err(|error| self.locate(error))
    }

    fn expand(
        &mut self,
        file: ConfFile,
        text: &str,
        texts: &ConfTexts<'_>,
        depth: usize,
    ) -> Result<Vec<Line>, ConfError> {
        let mut all = vec![];
        for line in line::lines(file, text)? {
            let first = &line.words[0];
            if !first.is("Include") {
                all.push(line);
                continue;
            }
            let name = first.value.as_str();
            let last = name.rsplit('/').next().unwrap_or(name);
            let given = texts.includes.get(name).or_else(|| texts.includes.get(last));
            let Some(text) = given else {
                let what = format!("the file `{name}`, which is included here, is not given");
                return Err(first.place.error(what, "give it too, or paste its text here"));
            };
            if DEPTH_MAX <= depth {
                let what = format!("`{name}` is included more than {DEPTH_MAX} files deep");
                return Err(first.place.error(what, "let no file include itself"));
            }
            self.files.push((name.into(), first.place));
            let file = ConfFile::Included(self.files.len() - 1);
            all.extend(self.expand(file, text, texts, depth + 1)?);
        }
        Ok(all)
    }

    /// The error at the line of slurm.conf that brought it.
    pub(super) fn locate(&self, mut error: ConfError) -> ConfError {
        while let Some((name, place)) = self.brought(error.file) {
            error.what = format!("{name}:{}:{}: {}", error.line, error.column, error.what);
            (error.file, error.line, error.column) = (place.file, place.line, place.column);
        }
        error
    }

    /// The note at the line of slurm.conf that brought it.
    pub(super) fn locate_note(&self, mut note: Note) -> Note {
        while let Some((name, place)) = self.brought(note.file) {
            note.text = format!("{name}:{}:{}: {}", note.line, note.column, note.text);
            (note.file, note.line, note.column) = (place.file, place.line, place.column);
        }
        note
    }

    fn brought(&self, file: ConfFile) -> Option<&(String, Place)> {
        match file {
            ConfFile::Included(at) => self.files.get(at),
            ConfFile::SlurmConf | ConfFile::GresConf => None,
        }
    }
}

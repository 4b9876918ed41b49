//! The `slurm:` part: real configuration text, inline or from files.

use drawbridge_sim::{ConfError, ConfFile, Release, SlurmConfig};

use crate::format::{Files, ScenarioError, file::SlurmSide, source::Source};

/// Where a configuration text came from.
struct Text {
    source: Source,
    /// The path of the text in `source`; `None` if the whole file is the text.
    path: Option<String>,
    text: String,
}

/// Reads the Slurm side; the notes say what the model doesn't honour, each with its place.
pub(crate) fn read(
    side: &SlurmSide,
    source: &Source,
    files: &dyn Files,
) -> Result<(SlurmConfig, Vec<String>), ScenarioError> {
    let release = release(side, source)?;
    let inline = side.conf.as_ref();
    let conf =
        text(source, files, ["slurm.conf", "slurm.confFile"], inline, side.conf_file.as_ref())?;
    let inline = side.gres.as_ref();
    let gres =
        text(source, files, ["slurm.gres", "slurm.gresFile"], inline, side.gres_file.as_ref())?;
    let Some(conf) = conf else {
        return Err(source
            .at_key("slurm", "`slurm` has no configuration")
            .hinted("add `conf: |` with the text of slurm.conf, or `confFile:` with its path"));
    };
    parse(&conf, gres.as_ref(), release)
}

/// Reads another slurm.conf, which is at this path of the scenario, beside the same gres.conf.
pub(crate) fn reread(
    side: &SlurmSide,
    conf: &str,
    at: &str,
    source: &Source,
    files: &dyn Files,
) -> Result<SlurmConfig, ScenarioError> {
    let release = release(side, source)?;
    let inline = side.gres.as_ref();
    let gres =
        text(source, files, ["slurm.gres", "slurm.gresFile"], inline, side.gres_file.as_ref())?;
    let conf = Text { source: source.clone(), path: Some(at.to_owned()), text: conf.to_owned() };
    Ok(parse(&conf, gres.as_ref(), release)?.0)
}

fn parse(
    conf: &Text,
    gres: Option<&Text>,
    release: Release,
) -> Result<(SlurmConfig, Vec<String>), ScenarioError> {
    let which = |file: ConfFile| match (file, gres) {
        (ConfFile::GresConf, Some(gres)) => gres,
        (ConfFile::SlurmConf | ConfFile::GresConf | ConfFile::Included(_), _) => conf,
    };
    let gres_text = gres.map(|it| it.text.as_str());
    let parsed = SlurmConfig::parse(&conf.text, gres_text, release)
        .map_err(|error| which(error.file).wrong(error))?;
    let notes = parsed.notes.iter().map(|note| {
        let place = (note.line, note.column);
        which(note.file).at(place, note.text.clone()).to_string()
    });
    Ok((parsed.config, notes.collect()))
}

fn release(side: &SlurmSide, source: &Source) -> Result<Release, ScenarioError> {
    Release::parse(&side.release).ok_or_else(|| {
        source
            .at("slurm.release", format!("there is no model of Slurm {}", side.release))
            .hinted("there are `24.11` and `26.05`")
    })
}

fn text(
    source: &Source,
    files: &dyn Files,
    [inline_path, file_path]: [&'static str; 2],
    inline: Option<&String>,
    file: Option<&String>,
) -> Result<Option<Text>, ScenarioError> {
    match (inline, file) {
        (None, None) => Ok(None),
        (Some(text), None) => {
            let path = Some(inline_path.to_owned());
            Ok(Some(Text { source: source.clone(), path, text: text.clone() }))
        }
        (None, Some(file)) => {
            let source = source.include(file_path, file, files)?;
            let text = source.text().to_owned();
            let path = None;
            Ok(Some(Text { source, path, text }))
        }
        (Some(_), Some(_)) => Err(source
            .at_key(file_path, format!("`{inline_path}` and `{file_path}` are both given"))
            .hinted("keep one of the two")),
    }
}

impl Text {
    fn wrong(&self, error: ConfError) -> ScenarioError {
        self.at((error.line, error.column), error.what).hinted(error.hint)
    }

    fn at(&self, place: (usize, usize), what: String) -> ScenarioError {
        match &self.path {
            Some(path) => self.source.inside(path, place, what),
            None => self.source.place(place, what),
        }
    }
}

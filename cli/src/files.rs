//! Finds scenario files and reads them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use drawbridge_scenarios::{Scenario, format};

use crate::failure::Failure;

/// Folders with these names hold what scenarios include, and code.
const LEFT_OUT: [&str; 4] = ["files", "src", "tests", "benches"];

/// A scenario and where it was read.
pub(crate) struct Loaded {
    pub(crate) path: PathBuf,
    pub(crate) scenario: Scenario,
}

/// Reads every scenario that the paths name. All mistakes are reported, not just the first.
pub(crate) fn load(paths: &[PathBuf]) -> Result<Vec<Loaded>, Failure> {
    let (mut loaded, mut errors) = (vec![], vec![]);
    for path in find(paths)? {
        let text = fs::read_to_string(&path)
            .map_err(|error| Failure::path(&path, error, "give a readable text file"))?;
        let beside = Beside::of(&path);
        match format::parse(&path.display().to_string(), &text, &beside) {
            Ok(scenario) => loaded.push(Loaded { path, scenario }),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(Failure::Scenarios(errors));
    }
    check_names(&loaded)?;
    Ok(loaded)
}

/// Reads the one scenario that the path names.
pub(crate) fn load_one(path: &Path) -> Result<Scenario, Failure> {
    let mut loaded = load(&[path.to_owned()])?;
    let one = loaded.pop().filter(|_| loaded.is_empty());
    one.map(|one| one.scenario).ok_or_else(|| {
        Failure::path(path, "this is more than one scenario", "give the file of one")
    })
}

/// Snapshots, events and verdicts are found by a scenario's name: it must be one scenario's.
fn check_names(loaded: &[Loaded]) -> Result<(), Failure> {
    let mut seen = BTreeMap::new();
    for one in loaded {
        if let Some(other) = seen.insert(&one.scenario.name, &one.path) {
            let what = format!("has the same name as {}", other.display());
            return Err(Failure::path(&one.path, what, "rename one of them, or play them apart"));
        }
    }
    Ok(())
}

/// The scenario files that the paths name, in the order given, folders by name.
pub(crate) fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut found = vec![];
    for path in paths {
        if path.is_dir() {
            let before = found.len();
            search(path, &mut found)?;
            if found.len() == before {
                return Err(Failure::path(
                    path,
                    "no scenario in this folder",
                    "scenarios end in .yaml",
                ));
            }
        } else if path.exists() {
            found.push(path.clone());
        } else {
            return Err(Failure::path(
                path,
                "no such file or folder",
                "give a scenario file or a folder of them",
            ));
        }
    }
    Ok(found)
}

fn search(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let read = || -> std::io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect()
    };
    let mut entries =
        read().map_err(|error| Failure::path(folder, error, "give a readable folder"))?;
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            // A link could lead round in a circle.
            if !path.is_symlink() && !LEFT_OUT.iter().any(|it| name == *it) {
                search(&path, found)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
    Ok(())
}

/// Files that a scenario includes, relative to itself.
pub(crate) struct Beside(PathBuf);

impl Beside {
    /// Those of a scenario at this path.
    pub(crate) fn of(path: &Path) -> Self {
        Self(path.parent().unwrap_or(Path::new(".")).to_owned())
    }
}

impl format::Files for Beside {
    fn read(&self, path: &str) -> Result<String, String> {
        let path = self.0.join(path);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    }
}

//! `--check-snapshots` and `--update-snapshots`: stories kept in a folder, one file per scenario.
//!
//! The files are insta's: a header between `---` lines, then the story.

use std::{fs, path::Path};

use drawbridge_scenarios::Run;

use crate::{failure::Failure, files::Loaded};

/// The scenarios whose story isn't the one in the folder, each with the first line that differs.
pub(crate) fn check(folder: &Path, runs: &[Run]) -> Vec<String> {
    let mut differing = vec![];
    for run in runs {
        let path = folder.join(format!("{}.snap", run.report.scenario));
        let difference = match fs::read_to_string(&path) {
            Ok(kept) => first_difference(body(&kept), &run.story_text()),
            Err(error) => Some(format!("{error}; write it with --update-snapshots")),
        };
        differing.extend(difference.map(|it| format!("{}: {it}", path.display())));
    }
    differing
}

/// Writes the stories; nothing differs afterwards.
pub(crate) fn update(
    folder: &Path,
    loaded: &[Loaded],
    runs: &[Run],
) -> Result<Vec<String>, Failure> {
    fs::create_dir_all(folder)
        .map_err(|error| Failure::path(folder, error, "give a folder that can be written"))?;
    for (one, run) in loaded.iter().zip(runs) {
        let path = folder.join(format!("{}.snap", run.report.scenario));
        let header = format!(
            "---\nsource: drawbridge run\ndescription: {}\ninput_file: {}\n---\n",
            serde_json::Value::from(run.report.why.as_str()),
            one.path.display()
        );
        fs::write(&path, header + &run.story_text())
            .map_err(|error| Failure::path(&path, error, "give a folder that can be written"))?;
    }
    Ok(vec![])
}

/// What follows the header.
fn body(snapshot: &str) -> &str {
    let after = snapshot.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    after.map_or(snapshot, |(_, body)| body)
}

fn first_difference(kept: &str, now: &str) -> Option<String> {
    let (kept, now) = (kept.trim_end(), now.trim_end());
    if kept == now {
        return None;
    }
    let (mut was, mut is) = (kept.lines(), now.lines());
    let mut line = 1;
    loop {
        match (was.next(), is.next()) {
            (None, None) => return Some("line endings".to_owned()),
            (was, is) if was == is => line += 1,
            (was, is) => {
                let text = |it: Option<&str>| it.unwrap_or("(nothing)").to_owned();
                return Some(format!("line {line}\n    was {}\n    is  {}", text(was), text(is)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_not_compared() {
        assert_eq!(body("---\ndescription: x\n---\na\nb\n"), "a\nb\n");
        assert_eq!(body("a\nb\n"), "a\nb\n");
    }

    #[test]
    fn the_first_line_that_differs_is_named() {
        assert_eq!(first_difference("a\nb\n", "a\nb"), None);
        let difference = first_difference("a\nb", "a\nc").unwrap();
        assert_eq!(difference, "line 2\n    was b\n    is  c");
        assert_eq!(first_difference("a\r\nb", "a\nb").unwrap(), "line endings");
        assert!(first_difference("a", "a\nc").unwrap().contains("(nothing)"));
    }
}

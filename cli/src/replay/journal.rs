//! A journal of the bridge: the same inputs to the same core must give the same effects.

use std::path::Path;

use drawbridge_bridge::journal;
use serde_json::json;

use super::args::{ReplayArgs, ReplayOutput};
use crate::failure::{Failure, print};

pub(super) fn replay(args: &ReplayArgs, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let lines = journal::read(bytes).map_err(|damaged| {
        Failure::place(path, (damaged.line, 1), &damaged.why, damaged.hint().to_owned())
    })?;
    let replayed = journal::replay(&lines.entries).map_err(|headless| {
        Failure::place(path, (headless.line, 1), &headless.to_string(), headless.hint().to_owned())
    })?;
    let difference = replayed.difference.as_ref().map(ToString::to_string);
    let text = match args.output {
        ReplayOutput::Json => {
            let document = json!({
                "file": path.display().to_string(),
                "inputs": replayed.inputs,
                "effects": replayed.effects,
                "lives": replayed.lives,
                "tornLine": lines.torn,
                "firstDifference": difference,
            });
            format!("{document}\n")
        }
        ReplayOutput::Table => {
            let torn = lines.torn.map(|line| format!("note  line {line} is torn and left out\n"));
            let same = match &difference {
                None => "every effect is the same\n".to_owned(),
                Some(difference) => format!("{difference}\n"),
            };
            let journal::Replayed { inputs, effects, lives, .. } = replayed;
            let lives = if lives == 1 { "one life".to_owned() } else { format!("{lives} lives") };
            let file = path.display();
            format!(
                "{file}: {lives}, {inputs} inputs, {effects} equal effects\n{}{same}",
                torn.unwrap_or_default()
            )
        }
    };
    print(text.as_bytes())?;
    match difference {
        None => Ok(()),
        Some(_) => Err(Failure::Unmet("the replay differs from the journal".to_owned())),
    }
}

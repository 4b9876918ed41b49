//! A journal of the bridge: the same inputs to the same core must give the same effects.

use std::{fs, path::Path};

use drawbridge_bridge::{config, journal};
use drawbridge_core::Config;
use drawbridge_sim::Epoch;
use serde_json::json;

use super::args::{ReplayArgs, ReplayOutput};
use crate::failure::{Failure, print};

pub(super) fn replay(args: &ReplayArgs, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let lines = journal::read(bytes).map_err(|damaged| {
        Failure::place(path, (damaged.line, 1), &damaged.why, damaged.hint().to_owned())
    })?;
    let config = configuration(args)?;
    let replayed = journal::replay(&lines.entries, &config, Epoch::DEFAULT);
    let difference = replayed.difference.as_ref().map(ToString::to_string);
    let text = match args.output {
        ReplayOutput::Json => {
            let document = json!({
                "file": path.display().to_string(),
                "inputs": replayed.inputs,
                "effects": replayed.effects,
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
            let (inputs, effects) = (replayed.inputs, replayed.effects);
            let file = path.display();
            format!(
                "{file}: {inputs} inputs, {effects} equal effects\n{}{same}",
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

fn configuration(args: &ReplayArgs) -> Result<Config, Failure> {
    let Some(path) = &args.bridge_config else {
        return Ok(Config::as_shipped());
    };
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::path(path, error, "give the bridge's config.yaml"))?;
    config::parse(&text).map_err(|error| {
        let hint = error.hint.unwrap_or_else(|| "see `drawbridge schema config`".to_owned());
        Failure::place(path, (error.line, error.column), &error.what, hint)
    })
}

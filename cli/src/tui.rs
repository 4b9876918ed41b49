//! `drawbridge tui`: plays a scenario and opens it.

use std::io::IsTerminal;

use drawbridge_scenarios::Recording;
use drawbridge_tui::Options;

use crate::{args::TuiArgs, failure::Failure, files};

pub(crate) fn tui(args: &TuiArgs) -> Result<(), Failure> {
    let loaded = files::load(std::slice::from_ref(&args.path))?;
    let [one] = loaded.as_slice() else {
        return Err(Failure::path(&args.path, "more than one scenario", "give one scenario file"));
    };
    if !std::io::stdout().is_terminal() {
        return Err(Failure::Terminal {
            what: "standard output is not a terminal".to_owned(),
            hint: "use `drawbridge run -o story` to read a run without one",
        });
    }
    let recording = Recording::record(&one.scenario, args.seed.unwrap_or(one.scenario.seed));
    let options = Options::new(&one.scenario.name);
    drawbridge_tui::run(recording, options)
        .map_err(|error| Failure::Terminal { what: error.to_string(), hint: error.hint() })
}

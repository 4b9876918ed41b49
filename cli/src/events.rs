//! `--events FILE`: every record of every scenario, a JSON object a line.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

use drawbridge_scenarios::{Record, Run};
use serde::Serialize;

use crate::failure::Failure;

/// A record and the scenario that it belongs to.
#[derive(Serialize)]
struct Event<'a> {
    scenario: &'a str,
    #[serde(flatten)]
    record: &'a Record,
}

pub(crate) fn write(path: &Path, runs: &[Run]) -> Result<(), Failure> {
    let write = || -> std::io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        for run in runs {
            for record in &run.records {
                let event = Event { scenario: &run.report.scenario, record };
                serde_json::to_writer(&mut file, &event)?;
                file.write_all(b"\n")?;
            }
        }
        file.flush()
    };
    write().map_err(|error| Failure::path(path, error, "give a file that can be written"))
}

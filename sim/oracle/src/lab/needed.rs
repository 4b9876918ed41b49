//! A Slurm that a test can't do without: whether its absence may pass in silence.
//!
//! ```text
//!   packages of 24.11 can't be had ──▶ an error        those of 26.05 ──▶ a word, and none: sid moves on
//!   Slurm doesn't start, twice     ──▶ an error
//!   DRAWBRIDGE_WITHOUT_SLURM=1     ──▶ a word, and none, instead of any error
//! ```

use drawbridge_sim::Release;

use super::{Lab, LabError, LabOptions, install};
use crate::case::Cluster;

/// Set to 1 it says that this machine can't have a Slurm, and that the tests are to go on without.
const WITHOUT_SLURM: &str = "DRAWBRIDGE_WITHOUT_SLURM";

impl Lab {
    /// Starts it; `None`, with the reason, only where that is no failure.
    pub fn needed(
        options: &LabOptions,
        cluster: &Cluster,
    ) -> Result<Result<Self, String>, LabError> {
        let without = std::env::var_os(WITHOUT_SLURM).is_some_and(|value| value == "1");
        let missing = |error: LabError| {
            format!("NO SLURM {} HERE: {error} ({})", options.release.as_str(), error.hint)
        };
        if let Err(error) = install(options) {
            // Debian's unstable suite may have a newer one by now, or be out of reach.
            let forgiven = without || options.release == Release::V26_05;
            return if forgiven { Ok(Err(missing(error))) } else { Err(told(&error)) };
        }
        // On a busy machine a slurmd may register too late: once more.
        match Self::start(options, cluster).or_else(|_| Self::start(options, cluster)) {
            Ok(lab) => Ok(Ok(lab)),
            Err(error) if without => Ok(Err(missing(error))),
            Err(error) => Err(told(&error)),
        }
    }
}

fn told(error: &LabError) -> LabError {
    LabError::new(
        format!("{error}\n({})", error.hint),
        "where no Slurm can be had, DRAWBRIDGE_WITHOUT_SLURM=1 leaves out what needs one",
    )
}

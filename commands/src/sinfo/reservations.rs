//! `sinfo -T`: reservations.

use drawbridge_bridge::slurm::{calls::Reservations, session::Session};

use super::options::Options;
use crate::{
    moments::Clock,
    shell::{Outcome, Shell},
    spans,
};

pub(super) fn show(shell: &mut Shell<'_>, session: &Session, options: &Options) -> Outcome {
    let reservations = match session.ask(&Reservations) {
        Ok(reservations) => reservations.items,
        Err(error) => return shell.perror("slurm_load_reservations", &error),
    };
    if reservations.is_empty() {
        shell.print("No reservations in the system\n");
        return Ok(());
    }
    let mut width = 9;
    if !options.noheader {
        width = reservations.iter().map(|one| one.name.len()).chain([width]).max().unwrap_or(width);
        let (start, end) = ("START_TIME", "END_TIME");
        shell.print(&format!(
            "{:<width$}  {:>8}  {start:>19}  {end:>19}  {:>11}  NODELIST\n",
            "RESV_NAME", "STATE", "DURATION",
        ));
    }
    let clock = Clock::of(shell);
    for one in &reservations {
        let at = |number: drawbridge_bridge::slurm::types::Number| {
            number.get().and_then(|at| i64::try_from(at).ok()).unwrap_or(0)
        };
        let (start, end) = (at(one.start_time), at(one.end_time));
        let active = start <= clock.now && clock.now <= end;
        let state = if active { "ACTIVE" } else { "INACTIVE" };
        let nodes = if one.node_list.is_empty() { "(null)" } else { &one.node_list };
        shell.print(&format!(
            "{:<width$}  {state:>8}  {:>19}  {:>19}  {:>11}  {nodes}\n",
            one.name,
            clock.show(start),
            clock.show(end),
            spans::full(end - start),
        ));
    }
    Ok(())
}

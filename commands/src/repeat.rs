//! `-i SECONDS`: the same again and again, under its date.

use std::time::Duration;

use crate::{
    moments::Clock,
    shell::{Outcome, Shell},
};

/// When to show, and what to say above it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeat {
    /// Seconds between two times; once if there are none.
    pub(crate) every: Option<u64>,
    /// Whether the date stands above, even once.
    pub(crate) long: bool,
    /// Whether there are no headers, and so no date.
    pub(crate) noheader: bool,
}

impl Repeat {
    /// Shows, and goes on showing.
    pub(crate) fn run(
        self,
        shell: &mut Shell<'_>,
        mut show: impl FnMut(&mut Shell<'_>) -> Outcome,
    ) -> Outcome {
        let mut outcome = Ok(());
        loop {
            if !self.noheader && (self.every.is_some() || self.long) {
                let clock = Clock::of(shell);
                let date = clock.date(clock.now);
                shell.print(&format!("{date}\n"));
            }
            outcome = show(shell).and(outcome);
            let Some(seconds) = self.every else { return outcome };
            shell.print("\n");
            shell.flush()?;
            shell.world.sleep(Duration::from_secs(seconds));
        }
    }
}

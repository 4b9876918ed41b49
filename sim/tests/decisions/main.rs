//! Generated clusters under generated load: hours of life each, with everything that may happen.
//!
//! ```text
//!   seed ──▶ cluster, jobs, changes ──▶ Slurmctld ──▶ a hash of every fact, seed by seed
//! ```
//!
//! In a debug build every shortcut of the schedulers is compared with the long way round, so this is
//! also where a shortcut that isn't one is found. Two builds that print the same hashes decide the
//! same; for more seeds, in a release build:
//!
//! ```text
//!   DECISIONS=1-2000 cargo test --release -p drawbridge-sim --test decisions -- --nocapture
//! ```
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail where it stands")]
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "seeds come from a variable")]

mod cluster;
mod dice;
mod jobs;
mod life;

use drawbridge_sim::Seed;

#[test]
fn shortcuts_decide_what_the_long_way_round_decides() {
    let seeds = match std::env::var("DECISIONS") {
        Err(_) => 1..=3,
        Ok(text) => {
            let (first, last) = text.split_once('-').unwrap_or((&text, &text));
            first.parse().unwrap()..=last.parse().unwrap()
        }
    };
    let mut started = 0;
    for seed in seeds {
        let lived = life::live(Seed(seed));
        println!("{seed} {lived}");
        started += lived.started;
    }
    assert!(0 < started, "nothing ever started");
}

//! The bridge's log: on standard error, for people or as JSON.

use std::io::IsTerminal;

use drawbridge_bridge::scribe::{ECHO, READS, WRITES};
use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use super::args::{BridgeArgs, LogFormat};

/// Writes logs from now on.
pub(super) fn start(args: &BridgeArgs) {
    let targets = targets(args.verbosity());
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let layer = match args.log_format {
        LogFormat::Text => layer.with_target(false).with_ansi(colours).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).with_target(false).boxed(),
    };
    // A second call would find the first one's in place, which does as well.
    let _ = tracing_subscriber::registry().with(layer.with_filter(targets)).try_init();
}

/// What is logged at this verbosity; others' crates speak up only if something is wrong.
fn targets(verbosity: u8) -> Targets {
    let from = |least: u8, level: LevelFilter| match least <= verbosity {
        true => level,
        false => LevelFilter::OFF,
    };
    let own = if 4 <= verbosity { LevelFilter::TRACE } else { LevelFilter::INFO };
    Targets::new()
        .with_default(LevelFilter::ERROR)
        .with_target("drawbridge", own)
        .with_target(ECHO, from(1, LevelFilter::DEBUG))
        .with_target(WRITES, from(2, LevelFilter::DEBUG))
        .with_target(READS, from(3, LevelFilter::TRACE))
}

//! How a job ended, as slurmrestd prints it.

use drawbridge_sim::ExitCode;
use serde_json::{Value, json};

/// How a script ended.
pub(super) fn exit_code(exit: ExitCode) -> Value {
    match exit.signal {
        0 => returned(exit.code.into()),
        signal => signalled(signal.into()),
    }
}

/// Ended well, or not at all yet.
pub(super) fn success() -> Value {
    returned(0)
}

/// Ended with this exit status.
fn returned(status: u64) -> Value {
    let word = if status == 0 { "SUCCESS" } else { "ERROR" };
    json!({
        "status": [word],
        "return_code": status,
        "signal": { "id": null, "name": "" },
    })
}

/// Ended by this signal.
fn signalled(signal: u64) -> Value {
    json!({
        "status": ["SIGNALED"],
        "return_code": null,
        "signal": { "id": signal, "name": signal_name(signal) },
    })
}

/// The signals that Slurm knows by name, without `SIG`.
#[rustfmt::skip]
const SIGNALS: &[(u64, &str)] = &[
    (1, "HUP"), (2, "INT"), (3, "QUIT"), (6, "ABRT"), (9, "KILL"), (10, "USR1"), (11, "SEGV"),
    (12, "USR2"), (13, "PIPE"), (14, "ALRM"), (15, "TERM"), (17, "CHLD"), (18, "CONT"),
    (19, "STOP"), (20, "TSTP"), (21, "TTIN"), (22, "TTOU"), (23, "URG"), (24, "XCPU"),
];

fn signal_name(signal: u64) -> String {
    let known = SIGNALS.iter().find(|(number, _)| *number == signal);
    known.map_or_else(|| signal.to_string(), |(_, name)| (*name).into())
}

//! Users: the model knows them by name only.

use drawbridge_sim::fnv1a;

/// A user number made from the name: there is no passwd file here, and it must always be the same.
pub(super) fn id(user: &str) -> u64 {
    match user {
        "root" => 0,
        "slurm" => 64_030,
        number if number.parse::<u32>().is_ok() => number.parse().unwrap_or(0),
        name => 1_000 + fnv1a(name.as_bytes()) % 50_000,
    }
}

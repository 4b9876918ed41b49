//! The name of this process among its replicas: the machine's, or the pod's, and some luck.

use std::{env, fs};

use rustls::crypto::ring::default_provider;

/// A name that no other process has, and that tells people which one this is.
pub(super) fn name() -> String {
    let host = env::var("HOSTNAME").ok().or_else(|| {
        let text = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
        Some(text.trim().to_owned())
    });
    let host = host.filter(|host| !host.is_empty()).unwrap_or_else(|| "drawbridge".to_owned());
    format!("{host}_{}", luck())
}

fn luck() -> String {
    let mut bytes = [0_u8; 6];
    // Without randomness the process's own number has to do: it differs on one machine.
    if default_provider().secure_random.fill(&mut bytes).is_err() {
        return std::process::id().to_string();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_processes_share_a_name() {
        assert_ne!(name(), name());
    }
}

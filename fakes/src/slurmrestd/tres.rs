//! Amounts as Slurm prints them: `cpu=4,mem=16000M,node=1,billing=4,gres/gpu=2`.

use std::fmt::Write as _;

/// What a job or node has or asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tres {
    /// CPUs.
    pub(super) cpus: u64,
    /// Memory, MiB.
    pub(super) memory_mib: u64,
    /// Nodes, where they are counted.
    pub(super) nodes: Option<u64>,
    /// Whether billing is shown; it equals the CPUs, as with no weights configured.
    pub(super) billing: bool,
    /// Generic resources by name, sorted.
    pub(super) gres: Vec<(String, u64)>,
}

impl Tres {
    /// Slurm's text; what is zero isn't printed.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let mut part = |key: &str, value: String| {
            let comma = if text.is_empty() { "" } else { "," };
            let _ = write!(text, "{comma}{key}={value}");
        };
        if self.cpus > 0 {
            part("cpu", self.cpus.to_string());
        }
        if self.memory_mib > 0 {
            part("mem", memory(self.memory_mib));
        }
        if let Some(nodes) = self.nodes {
            part("node", nodes.to_string());
        }
        if self.billing && self.cpus > 0 {
            part("billing", self.cpus.to_string());
        }
        for (name, count) in self.gres.iter().filter(|(_, count)| *count > 0) {
            part(&format!("gres/{name}"), count.to_string());
        }
        text
    }
}

/// MiB with a larger unit where at most a half is lost: 64000 is `62.50G`, 16000 stays `16000M`.
pub(super) fn memory(mib: u64) -> String {
    const UNITS: [char; 5] = ['M', 'G', 'T', 'P', 'E'];
    let mut step = 0;
    let in_unit = |step: usize| mib >> (10 * step);
    while step + 1 < UNITS.len() && 1024 <= in_unit(step) && in_unit(step).is_multiple_of(512) {
        step += 1;
    }
    let unit = 1_u64 << (10 * step);
    let (whole, rest) = (mib / unit, mib % unit);
    let letter = UNITS[step];
    if rest == 0 {
        return format!("{whole}{letter}");
    }
    let hundredths = (u128::from(mib) * 100 + u128::from(unit) / 2) / u128::from(unit);
    format!("{}.{:02}{letter}", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_printed_as_in_the_recordings() {
        #[rustfmt::skip]
        let rows = [
            (64_000,    "62.50G"),
            (16_000,    "16000M"),
            (20_000,    "20000M"),
            (4_000,     "4000M"),
            (256_000,   "250G"),
            (512_000,   "500G"),
            (128_000,   "125G"),
            (1,         "1M"),
            (1_024,     "1G"),
            (1_536,     "1.50G"),
            (1_572_864, "1.50T"),
        ];
        for (mib, text) in rows {
            assert_eq!(memory(mib), text);
        }
    }

    #[test]
    fn amounts_are_printed_as_in_the_recordings() {
        let gang = Tres {
            cpus: 32,
            memory_mib: 256_000,
            nodes: Some(4),
            billing: true,
            gres: vec![("gpu".into(), 32)],
        };
        assert_eq!(gang.text(), "cpu=32,mem=250G,node=4,billing=32,gres/gpu=32");
        let used = Tres { cpus: 1, memory_mib: 64_000, ..Tres::default() };
        assert_eq!(used.text(), "cpu=1,mem=62.50G");
        assert_eq!(Tres::default().text(), "");
    }
}

//! Which devices Slurm gave a job on one node: a line of `gres_detail`.
//!
//! ```text
//!   gpu:a100:2(IDX:0,2),gpu:1g.10gb:0(IDX:),shard:4(CNT:4)
//! ```
//!
//! An entry without a number is a type of which the job got none: a node with several types lists
//! them all. An entry without indices says how many and not which.

use crate::config::Gres;

/// Devices of one kind on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    gres: Gres,
    pub(crate) count: u32,
    /// Which, if Slurm says.
    pub(crate) indices: Option<Vec<u32>>,
}

/// Reads a line; what can't be read isn't there.
pub(crate) fn read(line: &str) -> Vec<Grant> {
    let mut grants = Vec::new();
    let mut depth = 0_usize;
    let mut start = 0;
    for (at, letter) in line.char_indices().chain([(line.len(), ',')]) {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                grants.extend(entry(line[start..at].trim()));
                start = at + 1;
            }
            _ => {}
        }
    }
    grants
}

fn entry(text: &str) -> Option<Grant> {
    let (what, detail) = text.split_once('(').unwrap_or((text, ""));
    let (gres, count) = what.rsplit_once(':')?;
    let (name, kind) = match gres.split_once(':') {
        Some((name, kind)) => (name, Some(kind.to_owned())),
        None => (gres, None),
    };
    let indices = detail.trim_end_matches(')').strip_prefix("IDX:").and_then(numbers);
    let count = count.parse().ok().filter(|count| 0 < *count)?;
    Some(Grant { gres: Gres { name: name.to_owned(), kind }, count, indices })
}

/// `0,2-3`, at least one.
pub(super) fn numbers(text: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        // A range that goes on for ever is no list of devices.
        if last < first || 65_536 < last {
            return None;
        }
        all.extend(first..=last);
    }
    Some(all)
}

/// What was granted of this: how many, and which if Slurm says.
pub(crate) fn of(grants: &[Grant], gres: &Gres) -> (u32, Option<Vec<u32>>) {
    let is_meant = |it: &&Grant| {
        it.gres.name == gres.name && (gres.kind.is_none() || it.gres.kind == gres.kind)
    };
    let meant: Vec<_> = grants.iter().filter(is_meant).collect();
    let count = meant.iter().map(|it| it.count).sum();
    let indices: Option<Vec<Vec<u32>>> = meant.iter().map(|it| it.indices.clone()).collect();
    (count, indices.map(|all| all.concat()).filter(|all| !all.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_slurm_writes_them() {
        let gres =
            |name: &str, kind: Option<&str>| Gres { name: name.into(), kind: kind.map(Into::into) };
        let mixed = "gpu:1g.10gb:1(IDX:0),gpu:a100:0(IDX:)";
        let typed = "gpu:1g.10gb:2(IDX:0-1),gpu:a100:2(IDX:2,4)";
        let rows = [
            ("gpu:2(IDX:0-1)", gres("gpu", None), (2, Some(vec![0, 1]))),
            ("gpu:2(IDX:0-1)", gres("gpu", Some("a100")), (0, None)),
            (mixed, gres("gpu", None), (1, Some(vec![0]))),
            (mixed, gres("gpu", Some("a100")), (0, None)),
            (typed, gres("gpu", Some("a100")), (2, Some(vec![2, 4]))),
            (typed, gres("gpu", None), (4, Some(vec![0, 1, 2, 4]))),
            ("gpu:gpu.nvidia.com:4(CNT:4)", gres("gpu", Some("gpu.nvidia.com")), (4, None)),
            ("gpu:gpu.nvidia.com:4", gres("gpu", Some("gpu.nvidia.com")), (4, None)),
            ("gpu:a100:2(IDX:1-0)", gres("gpu", None), (2, None)),
            ("", gres("gpu", None), (0, None)),
            ("(null)", gres("gpu", None), (0, None)),
        ];
        for (line, gres, expected) in rows {
            assert_eq!(of(&read(line), &gres), expected, "{line} {gres}");
        }
    }
}

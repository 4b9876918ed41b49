//! Small pictures in text: who holds which part of a node, bars, lines of little columns.

use drawbridge_scenarios::NodeRow;
use drawbridge_sim::JobId;
use ratatui::text::Span;

use super::Screen;
use crate::{
    model::scene::is_usable,
    theme::{Tone, letter},
};

/// A cell for each part of a node, or for several where there is no room for all.
pub(super) fn holders(
    screen: &Screen<'_>,
    node: &NodeRow,
    holders: &[Option<JobId>],
    total: usize,
    room: usize,
) -> (Vec<Span<'static>>, usize) {
    let per_cell = total.div_ceil(room.max(1)).max(1);
    let cells = (0..total).step_by(per_cell).map(|first| {
        let held = first.min(holders.len())..(first + per_cell).min(holders.len());
        holder(screen, most(&holders[held]), is_off(node))
    });
    (cells.collect(), per_cell)
}

/// The cell of something that this job holds, or nobody.
pub(super) fn holder(screen: &Screen<'_>, holder: Option<JobId>, off: bool) -> Span<'static> {
    match (holder, off) {
        (Some(job), _) => match screen.scene.film.jobs().slot(&job) {
            Some(slot) => Span::styled(letter(slot).to_string(), screen.theme.job(slot)),
            None => Span::raw("?"),
        },
        (None, false) => Span::styled("·", screen.theme.tone(Tone::Faint)),
        (None, true) => Span::styled("x", screen.theme.tone(Tone::Faint)),
    }
}

/// Whether what is free there stays free.
pub(super) fn is_off(node: &NodeRow) -> bool {
    node.slurm_name.is_some() && !is_usable(node)
}

/// Who holds the most of these; of equals the one with the lowest number.
pub(super) fn most(holders: &[Option<JobId>]) -> Option<JobId> {
    let first = holders.iter().flatten().next()?;
    if holders.iter().flatten().all(|holder| holder == first) {
        return Some(*first);
    }
    let count = |id: &JobId| holders.iter().flatten().filter(|other| *other == id).count();
    let mut ids: Vec<JobId> = holders.iter().flatten().copied().collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().rev().max_by_key(count)
}

/// A bar that is filled as far as is held. A little is not nothing.
pub(super) fn bar(screen: &Screen<'_>, held: u64, total: u64, room: usize) -> Vec<Span<'static>> {
    let filled = match total {
        0 => 0,
        total => (u128::from(held.min(total)) * room as u128).div_ceil(u128::from(total)),
    };
    let filled = usize::try_from(filled).unwrap_or(room).min(room);
    vec![
        Span::styled("▓".repeat(filled), screen.theme.tone(Tone::Plain)),
        Span::styled("░".repeat(room - filled), screen.theme.tone(Tone::Faint)),
    ]
}

/// A line of little columns, the highest of which is `most`.
pub(super) fn spark(values: &[u64], most: u64) -> String {
    const STEPS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let step = |value: &u64| match most {
        0 => STEPS[0],
        most => {
            let step = (u128::from(*value) * 8).div_ceil(u128::from(most));
            STEPS[usize::try_from(step).unwrap_or(8).min(8)]
        }
    };
    values.iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_shows_who_holds_the_most_of_it() {
        let (a, b) = (Some(JobId(1)), Some(JobId(2)));
        assert_eq!(most(&[None, b, b, a]), b);
        assert_eq!(most(&[b, a, None, None]), a, "of equals the lowest number");
        assert_eq!(most(&[None, None]), None);
        assert_eq!(most(&[]), None);
    }

    #[test]
    fn little_columns_are_as_high_as_what_they_stand_for() {
        assert_eq!(spark(&[0, 1, 4, 8], 8), " ▁▄█");
        assert_eq!(spark(&[0, 1, 1000], 1000), " ▁█", "a little is not nothing");
        assert_eq!(spark(&[0, 0], 0), "  ");
    }
}

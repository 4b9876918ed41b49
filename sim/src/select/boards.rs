//! Which boards of a node a job's cores come from, where they come from as few sockets as possible.

use std::cmp::Reverse;

/// With more boards than this, sockets are all that is looked at.
const MOST_BOARDS: usize = 8;

/// The sockets of the boards that suit best, given the free cores of each socket: as few boards as
/// suffice, of these the ones that need the fewest sockets, then those with the fewest free cores,
/// then the last ones. All sockets if nothing suffices.
pub(super) fn best_sockets(free: &[u32], boards: usize, wanted: u32) -> Vec<usize> {
    let all: Vec<usize> = (0..free.len()).collect();
    let per_board = free.len() / boards.max(1);
    if !(2..=MOST_BOARDS).contains(&boards) || per_board == 0 {
        return all;
    }
    let on_board: Vec<u32> = free.chunks(per_board).map(|sockets| sockets.iter().sum()).collect();
    let mut fullest = on_board.clone();
    fullest.sort_unstable_by_key(|cores| Reverse(*cores));
    let sums = fullest.iter().scan(0, |sum, cores| {
        *sum += cores;
        Some(*sum)
    });
    let Some(fewest) = sums.clone().position(|sum| wanted <= sum).map(|at| at + 1) else {
        return all;
    };
    let mut best: Option<(usize, u32, Vec<usize>)> = None;
    for set in combinations(boards, fewest) {
        let cores: u32 = set.iter().map(|board| on_board[*board]).sum();
        if cores < wanted {
            continue;
        }
        let sockets: Vec<usize> =
            set.iter().flat_map(|board| board * per_board..(board + 1) * per_board).collect();
        let needed = fewest_sockets(free, &sockets, wanted);
        let better = best.as_ref().is_none_or(|(least, fewest_cores, _)| {
            needed < *least || (needed == *least && cores <= *fewest_cores)
        });
        if better {
            best = Some((needed, cores, sockets));
        }
    }
    best.map_or(all, |(_, _, sockets)| sockets)
}

fn fewest_sockets(free: &[u32], sockets: &[usize], wanted: u32) -> usize {
    let mut cores: Vec<u32> = sockets.iter().map(|socket| free[*socket]).collect();
    cores.sort_unstable_by_key(|cores| Reverse(*cores));
    let mut sum = 0;
    let enough = cores.iter().position(|cores| {
        sum += cores;
        wanted <= sum
    });
    enough.map_or(sockets.len(), |at| at + 1)
}

/// Every `k` of `n`, in order.
fn combinations(n: usize, k: usize) -> Vec<Vec<usize>> {
    let masks = (0_u32..1 << n).filter(|mask| mask.count_ones() as usize == k);
    let members = |mask: u32| (0..n).filter(move |at| mask & (1 << at) != 0).collect::<Vec<_>>();
    let mut sets: Vec<_> = masks.map(members).collect();
    sets.sort();
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_equal_boards_is_taken_and_the_tighter_one_before_it() {
        #[rustfmt::skip]
        let rows: [(&[u32], usize, u32, &[usize]); 5] = [
            // free cores         boards  wanted  sockets
            (&[2, 2, 2, 2],       2,      1,      &[2, 3]),
            (&[1, 2, 2, 2],       2,      1,      &[0, 1]),
            (&[1, 1, 2, 0],       2,      2,      &[2, 3]),
            (&[2, 2, 2, 2],       2,      5,      &[0, 1, 2, 3]),
            (&[3, 3],             1,      2,      &[0, 1]),
        ];
        for (free, boards, wanted, sockets) in rows {
            assert_eq!(best_sockets(free, boards, wanted), sockets, "{free:?} {wanted}");
        }
    }
}

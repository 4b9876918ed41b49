//! So many submits at a time, first come, first served.
//!
//! Ten thousand pods that come at once must not become ten thousand requests at once; the others
//! wait here, not in Slurm's socket.

use std::collections::{BTreeSet, VecDeque};

use crate::names::Uid;

/// Submits that may be out at the same time.
const SUBMITS: usize = 32;

/// Who may submit, and who is next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate {
    inside: BTreeSet<Uid>,
    waiting: VecDeque<Uid>,
    in_line: BTreeSet<Uid>,
}

impl Gate {
    /// Lets the workload submit, or puts it in line: it will be named when its turn comes.
    pub(crate) fn enter(&mut self, workload: &Uid, one_by_one: bool) -> bool {
        let most = if one_by_one { 1 } else { SUBMITS };
        if self.inside.len() < most || self.inside.contains(workload) {
            self.inside.insert(workload.clone());
            return true;
        }
        if self.in_line.insert(workload.clone()) {
            self.waiting.push_back(workload.clone());
        }
        false
    }

    /// A submit was answered.
    pub(crate) fn leave(&mut self, workload: &Uid) {
        self.inside.remove(workload);
    }

    /// Whose turn it is. Who is called and no longer wants to submit leaves the line.
    pub(crate) fn call(&mut self) -> Option<Uid> {
        if self.inside.len() >= SUBMITS {
            return None;
        }
        let next = self.waiting.pop_front()?;
        self.in_line.remove(&next);
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_finds_the_gate_full_is_called_in_order() {
        let mut gate = Gate::default();
        let id = |n: usize| Uid::from(n.to_string());
        assert!((0..SUBMITS).all(|n| gate.enter(&id(n), false)));
        assert!(
            !gate.enter(&id(98), false)
                && !gate.enter(&id(99), false)
                && !gate.enter(&id(98), false)
        );
        assert_eq!(gate.call(), None);
        gate.leave(&id(0));
        assert_eq!(gate.call(), Some(id(98)));
        assert_eq!(gate.call(), Some(id(99)), "the first didn't want to any more");
        assert!(gate.enter(&id(99), false));
        assert_eq!(gate.call(), None);
    }
}

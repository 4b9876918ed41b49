//! Boards, sockets, cores and threads of a node, each from the others as slurmctld does it.

use crate::IndexSet;

use super::{ConfError, Note, line::Word};

/// What a line says of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Given {
    pub(super) cpus: Option<u32>,
    pub(super) boards: Option<u32>,
    pub(super) sockets: Option<u32>,
    pub(super) sockets_per_board: Option<u32>,
    pub(super) cores: Option<u32>,
    pub(super) threads: Option<u32>,
}

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) cpus: u32,
    pub(super) boards: u32,
    pub(super) sockets: u32,
    pub(super) cores: u32,
    pub(super) threads: u32,
}

impl Given {
    /// Slurm starts with contradictions too; what it then takes is noted.
    pub(super) fn shape(
        self,
        name: &Word,
        most: u32,
        notes: &mut Vec<Note>,
    ) -> Result<Shape, ConfError> {
        let too_large = || {
            let what = format!("boards, sockets, cores and threads make more than {most} CPUs");
            name.place.error(what, "make their product smaller")
        };
        let mut note = |text: String| notes.push(name.place.note(text));
        let mut or_one = |what: &str, given: Option<u32>| {
            if given == Some(0) {
                note(format!("{what}=0 is taken as 1"));
            }
            given.map(|count| count.max(1))
        };
        let cpus = or_one("CPUs", self.cpus);
        let cores = or_one("CoresPerSocket", self.cores).unwrap_or(1);
        let threads = or_one("ThreadsPerCore", self.threads).unwrap_or(1);
        let boards = or_one("Boards", self.boards).unwrap_or(1);
        let on_a_board = or_one("SocketsPerBoard", self.sockets_per_board);
        let sockets = or_one("Sockets", self.sockets);
        if sockets.is_some() && on_a_board.is_some() {
            note("Sockets and SocketsPerBoard: SocketsPerBoard counts".into());
        }
        let core_cpus = cores.checked_mul(threads).ok_or_else(too_large)?;
        let sockets = match (on_a_board, sockets, cpus) {
            (Some(on_a_board), _, _) => boards.checked_mul(on_a_board).ok_or_else(too_large)?,
            (None, Some(sockets), _) => sockets,
            (None, None, Some(cpus)) if cpus % core_cpus == 0 => cpus / core_cpus,
            (None, None, _) => boards,
        };
        let all =
            sockets.checked_mul(core_cpus).filter(|all| *all <= most).ok_or_else(too_large)?;
        let boards = if sockets < boards {
            note(format!("{sockets} sockets can't lie on {boards} boards: Boards is taken as 1"));
            1
        } else {
            boards
        };
        let cpus = match cpus.unwrap_or(all) {
            cpus if cpus == all || cpus == sockets * cores => cpus,
            cpus if cpus == sockets => {
                let text = format!(
                    "CPUs={cpus} counts sockets, which is not modelled: CPUs is taken as {}",
                    sockets * cores
                );
                note(text);
                sockets * cores
            }
            cpus => {
                let text = format!(
                    "CPUs={cpus} is neither {sockets} sockets, {} cores nor {all} threads: \
                     CPUs is taken as {all}",
                    sockets * cores
                );
                note(text);
                all
            }
        };
        Ok(Shape { cpus, boards, sockets, cores, threads })
    }
}

impl Shape {
    /// Threads of a core that are CPUs.
    pub(super) const fn cpus_per_core(self) -> u32 {
        if self.cpus <= self.sockets * self.cores { 1 } else { self.threads }
    }

    /// The last core of the last socket, of the socket before it, …, then the last but one; or
    /// the same from the first.
    pub(super) fn spec_cores(self, count: u32, first: bool) -> IndexSet {
        let end = |at: u32, of: u32| if first { at } else { of - 1 - at };
        let all = (0..self.cores).flat_map(|core| {
            let socket = move |socket| end(socket, self.sockets) * self.cores;
            (0..self.sockets).map(move |at| (socket(at) + end(core, self.cores)) as usize)
        });
        all.take(count as usize).collect()
    }
}

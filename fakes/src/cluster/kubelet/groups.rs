//! Ranks of MPI programs: they wait for each other, notice when one is lost, and end together.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use drawbridge_sim::{Span, Time};

use super::{
    super::{behaviour::Mpi, object::Key, pod::Pod},
    label,
    life::{Rank, Run},
};

/// How often a waiting rank says how many others are there.
const BARRIER_REPORT: Span = Span::secs(1);

/// Ranks of one program: namespace, label and value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Group(Arc<str>, String, String);

/// All programs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups(BTreeMap<Group, Program>);

/// One program.
#[derive(Clone, Debug, Default)]
struct Program {
    /// The ranks whose containers run, and the switches that they are on.
    members: BTreeMap<Key, String>,
    /// Those of them that wait for the others.
    waiting: BTreeSet<Key>,
    /// Those of them that are done.
    done: BTreeSet<Key>,
    /// All of them were.
    finished: bool,
    /// When the others notice that one is lost.
    aborts: Option<Time>,
}

impl Group {
    pub(crate) fn of(pod: &Pod, mpi: &Mpi) -> Self {
        let name = mpi.group_label.clone();
        let value = label(pod, &name);
        Self(pod.key.namespace.clone(), name, value)
    }
}

fn ranks(run: &Run) -> usize {
    run.behaviour.mpi.as_ref().map_or(0, |mpi| mpi.ranks as usize)
}

impl Groups {
    fn program(&self, run: &Run) -> Option<&Program> {
        self.0.get(run.group.as_ref()?)
    }

    /// How many ranks of the run's program run now.
    pub(crate) fn here(&self, run: &Run) -> usize {
        self.program(run).map_or(0, |program| program.members.len())
    }

    /// On how many switches the ranks are that run now.
    pub(crate) fn switches(&self, run: &Run) -> usize {
        let members = self.program(run).into_iter().flat_map(|program| program.members.values());
        members.collect::<BTreeSet<_>>().len()
    }

    /// Whether all of them do.
    pub(crate) fn complete(&self, run: &Run) -> bool {
        ranks(run) <= self.here(run)
    }

    /// Whether all of them are done.
    pub(crate) fn all_done(&self, run: &Run) -> bool {
        self.program(run).is_some_and(|program| program.finished)
    }

    /// When the run notices that another rank is lost.
    pub(crate) fn aborts(&self, run: &Run) -> Option<Time> {
        // One that hasn't met the others waits on.
        self.program(run)?.aborts.filter(|_| matches!(run.rank, Rank::Met | Rank::Done))
    }

    /// Keeps up with what a run did. Gives back who should be looked at because of it.
    pub(crate) fn follow(
        &mut self,
        now: Time,
        key: &Key,
        run: &Run,
        was: bool,
        rank: Rank,
    ) -> Vec<(Key, Time)> {
        let Some(group) = &run.group else { return vec![] };
        let is = run.running();
        if was && !is {
            let well = run.main().all(|it| it.last.is_some_and(|exit| exit.code == 0));
            return self.leave(now, run, key, !well);
        }
        if !is || (was == is && rank == run.rank) {
            return vec![];
        }
        let program = self.0.entry(group.clone()).or_default();
        program.members.insert(key.clone(), run.switch.clone());
        set(&mut program.waiting, key, run.rank == Rank::Waiting);
        set(&mut program.done, key, run.rank == Rank::Done);
        let (all, done) = (ranks(run), program.done.len());
        program.finished |= all <= done;
        if was != is {
            let when = if all <= program.members.len() { now } else { now + BARRIER_REPORT };
            return others(&program.waiting, key, when);
        }
        match run.rank == Rank::Done && all <= done {
            true => others(&program.done, key, now),
            false => vec![],
        }
    }

    /// A rank runs no more, by `failure` or because its work is done.
    pub(crate) fn leave(
        &mut self,
        now: Time,
        run: &Run,
        key: &Key,
        failure: bool,
    ) -> Vec<(Key, Time)> {
        let Some(group) = &run.group else { return vec![] };
        let Some(program) = self.0.get_mut(group) else { return vec![] };
        program.members.remove(key);
        program.waiting.remove(key);
        program.done.remove(key);
        let mut look_at = others(&program.waiting, key, now + BARRIER_REPORT);
        let abort = run.behaviour.mpi.as_ref().and_then(|mpi| mpi.abort);
        if let (true, Some(abort), None) = (failure, abort, program.aborts) {
            program.aborts = Some(now + abort);
            let members = program.members.keys().filter(|other| *other != key);
            look_at.extend(members.map(|other| (other.clone(), now + abort)));
        }
        if program.members.is_empty() {
            self.0.remove(group);
        }
        look_at
    }
}

fn set(keys: &mut BTreeSet<Key>, key: &Key, is: bool) {
    match is {
        true => keys.insert(key.clone()),
        false => keys.remove(key),
    };
}

fn others(keys: &BTreeSet<Key>, key: &Key, when: Time) -> Vec<(Key, Time)> {
    keys.iter().filter(|other| *other != key).map(|other| (other.clone(), when)).collect()
}

//! Families of cases: what each varies.

mod admin;
mod corners;
mod external;
mod more;
mod script;
mod table;

use drawbridge_sim::{Release, Seed};

use crate::{case::Cluster, dice::Dice, lockstep::Source, site::Site, view::View};

/// A kind of case, made from a seed.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its name: `packing`.
    pub name: &'static str,
    /// What it varies, in a few words.
    pub about: &'static str,
    pub(crate) site: fn(&mut Dice) -> Site,
    pub(crate) submit: fn(&mut Dice, &Site) -> String,
    pub(crate) mix: Mix,
    /// What operators change, where the mix says that they do.
    pub(crate) admin: fn(&mut Dice, &Site, &View) -> String,
    /// Which Slurm it needs, if not any.
    pub(crate) release: Option<Release>,
}

impl Family {
    /// What a family is where it says nothing else.
    pub(crate) const BASE: Self = Self {
        name: "",
        about: "",
        site: table::plain,
        submit: table::shapes,
        mix: Mix::JOBS,
        admin: admin::anything,
        release: None,
    };
}

/// How often each kind of operation comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mix {
    pub(crate) submit: usize,
    pub(crate) finish: usize,
    pub(crate) cancel: usize,
    pub(crate) hold: usize,
    pub(crate) node: usize,
    pub(crate) update: usize,
    /// Requeue of jobs.
    pub(crate) requeue: usize,
    /// Suspend and resume.
    pub(crate) suspend: usize,
    /// Changes of partitions, nodes' properties, and reconfigure.
    pub(crate) admin: usize,
    /// Time that passes.
    pub(crate) wait: usize,
}

impl Mix {
    pub(crate) const JOBS: Self = Self {
        submit: 60,
        finish: 26,
        cancel: 10,
        hold: 2,
        node: 2,
        update: 0,
        requeue: 0,
        suspend: 0,
        admin: 0,
        wait: 0,
    };
}

/// Every family.
pub fn families() -> &'static [Family] {
    table::FAMILIES
}

/// The family of that name.
pub fn family(name: &str) -> Option<&'static Family> {
    families().iter().find(|family| family.name == name)
}

/// Operations that one seed of a family makes.
#[derive(Debug)]
pub(crate) struct Generated {
    family: &'static Family,
    site: Site,
    dice: Dice,
    left: usize,
}

/// Operations in one case.
const LENGTH: usize = 40;

impl Generated {
    pub(crate) fn new(family: &'static Family, seed: u64, given: Option<&Cluster>) -> Self {
        // Families that share clusters or jobs draw others all the same.
        let dice = |purpose| Dice::new(Seed(seed), &format!("{purpose} of {}", family.name));
        let site = match given {
            Some(cluster) => Site::given(cluster),
            None => (family.site)(&mut dice("cluster")),
        };
        Self { family, site, dice: dice("operations"), left: LENGTH }
    }

    /// The cluster, of this release if the family doesn't mind.
    pub(crate) fn cluster(&self, release: Release) -> Cluster {
        Cluster { release: self.family.release.unwrap_or(release), ..self.site.cluster() }
    }
}

impl Source for Generated {
    fn next(&mut self, seen: &View) -> Option<String> {
        self.left = self.left.checked_sub(1)?;
        Some(script::operation(self.family, &self.site, &mut self.dice, seen))
    }
}

//! How pods behave: what a scenario says about programs that don't exist.
//!
//! The first [`Behaviour`] that matches a pod is the pod's; a pod that none matches behaves as
//! [`Behaviour::default`]. Every draw comes from a stream of its own, named after the pod and the
//! attempt, so the order in which pods start moves nobody's numbers.

use std::collections::BTreeMap;

use drawbridge_sim::{Seed, Span};
use rand_chacha::rand_core::Rng;

/// How the pods that match behave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// Which pods.
    pub matches: PodMatch,
    /// The kubelet refuses them, and says this.
    pub refused: Option<String>,
    /// From being seen by the kubelet to its first container: sandbox, volumes, images that
    /// `image_pull` says nothing about.
    pub startup: Spread,
    /// What comes of an image that the node hasn't got.
    pub image_pull: Option<ImagePull>,
    /// What its containers do, unless `containers` says otherwise.
    pub program: Program,
    /// What single containers do, by name. An init container that isn't here ends at once, well.
    pub containers: BTreeMap<String, Program>,
    /// The pod is a rank of an MPI program: it waits for the others before it counts its time.
    pub mpi: Option<Mpi>,
}

/// What a program does that doesn't exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// How long it runs when nobody stops it.
    pub runtime: Runtime,
    /// The exit code at the end of that time.
    pub exit_code: i32,
    /// At the end of that time it's killed for want of memory.
    pub out_of_memory: bool,
    /// The first starts end like this instead.
    pub crashes: Option<Crashes>,
    /// From TERM to the end. The kubelet kills what takes longer than the grace period.
    pub stop: Span,
    /// The exit code after TERM.
    pub stop_exit_code: i32,
    /// How long its `preStop` hook takes, if it has one.
    pub pre_stop: Span,
    /// From its start until it answers probes.
    pub ready: Span,
    /// From its start until it answers them no more.
    pub hang: Option<Span>,
    /// What it writes to its log at every start.
    pub log: String,
}

/// How the first starts of a program end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crashes {
    /// How many starts.
    pub count: u32,
    /// How long each runs.
    pub after: Span,
    /// How it exits.
    pub exit_code: i32,
}

/// What comes of pulling an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImagePull {
    /// It takes so long; images come one after the other.
    Takes(Spread),
    /// The registry says this.
    Fails(String),
}

/// Which pods a behaviour is for. Everything given must agree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodMatch {
    /// The namespace, exactly.
    pub namespace: Option<String>,
    /// The name, where `*` stands for any text.
    pub name: Option<String>,
    /// Labels that the pod must have.
    pub labels: BTreeMap<String, String>,
}

/// A length of time, or a range to draw it from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Always this long.
    Fixed(Span),
    /// Any whole millisecond from the first to the second, both included, all as likely.
    Uniform(Span, Span),
}

/// How long a container runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// Until it's stopped.
    Forever,
    /// This long, then it exits.
    For(Spread),
}

/// An MPI program: no rank gets past its first barrier before all ranks run at the same time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mpi {
    /// Pods of one namespace with the same value of this label are one program.
    pub group_label: String,
    /// How many ranks the program has.
    pub ranks: u32,
    /// So long after a rank failed or was lost, the others exit with 1. Without it they go on.
    pub abort: Option<Span>,
    /// The ranks end together, when the slowest is done.
    pub finalize: bool,
    /// Ranks that are slower than the others.
    pub stragglers: Vec<Straggler>,
    /// What it costs that the ranks don't share a switch.
    pub across: Option<Across>,
}

/// Ranks that are slower than the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Straggler {
    /// Which: the pod's name, with `*`.
    pub name: String,
    /// Their work takes so many thousandths of the time that it would.
    pub permille: u32,
}

/// What it costs that the ranks of a program don't share a switch, or a rack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Across {
    /// Nodes with the same value of this label share it.
    pub node_label: String,
    /// Otherwise all work takes so many thousandths of the time that it would.
    pub permille: u32,
}

impl Mpi {
    /// How many thousandths of its time a rank of this name takes, on so many switches.
    pub(crate) fn permille(&self, name: &str, switches: usize) -> u64 {
        let slow = self.stragglers.iter().find(|it| fits(&it.name, name));
        let slow = slow.map_or(1000, |it| u64::from(it.permille));
        let across = self.across.as_ref().filter(|_| switches > 1);
        slow * across.map_or(1000, |it| u64::from(it.permille)) / 1000
    }
}

impl Default for Behaviour {
    /// Starts within a second and runs for ever.
    fn default() -> Self {
        Self {
            matches: PodMatch::default(),
            refused: None,
            startup: Spread::Fixed(Span::secs(1)),
            image_pull: None,
            program: Program::default(),
            containers: BTreeMap::new(),
            mpi: None,
        }
    }
}

impl Default for Program {
    /// Runs for ever and ends a second after TERM.
    fn default() -> Self {
        Self {
            runtime: Runtime::Forever,
            exit_code: 0,
            out_of_memory: false,
            crashes: None,
            stop: Span::secs(1),
            stop_exit_code: 143,
            pre_stop: Span::ZERO,
            ready: Span::ZERO,
            hang: None,
            log: String::new(),
        }
    }
}

impl PodMatch {
    /// Whether a pod with this name and these labels is meant.
    pub fn matches(
        &self,
        namespace: &str,
        name: &str,
        label: impl Fn(&str) -> Option<String>,
    ) -> bool {
        self.namespace.as_deref().is_none_or(|it| it == namespace)
            && self.name.as_deref().is_none_or(|glob| fits(glob, name))
            && self.labels.iter().all(|(key, value)| label(key).as_ref() == Some(value))
    }
}

impl Spread {
    /// The length for one `purpose`, such as `runtime/default/web-0/1`.
    pub fn draw(self, seed: Seed, purpose: &str) -> Span {
        match self {
            Self::Fixed(span) => span,
            Self::Uniform(least, most) => {
                let choices = most.as_ms().saturating_sub(least.as_ms()).saturating_add(1);
                least + Span::ms(seed.stream(purpose).next_u64() % choices)
            }
        }
    }
}

impl Runtime {
    /// The length for one `purpose`; none if it never ends by itself.
    pub fn draw(self, seed: Seed, purpose: &str) -> Option<Span> {
        match self {
            Self::Forever => None,
            Self::For(spread) => Some(spread.draw(seed, purpose)),
        }
    }
}

/// Whether `text` fits a pattern in which `*` stands for any text.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(text) = text.strip_prefix(start) else {
        return false;
    };
    (0..=text.len()).filter(|at| text.is_char_boundary(*at)).any(|at| fits(rest, &text[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        #[rustfmt::skip]
        let rows = [
            // pattern   name         fits
            ("web",      "web",       true),
            ("web",      "web-1",     false),
            ("web-*",    "web-1",     true),
            ("web-*",    "web-",      true),
            ("*",        "",          true),
            ("*-rank-*", "a-rank-3",  true),
            ("*-rank-*", "a-rnk-3",   false),
            ("*-0",      "job-0-0",   true),
        ];
        for (pattern, name, expected) in rows {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn all_that_a_match_says_must_agree() {
        let label = |key: &str| (key == "app").then(|| "web".to_string());
        let all = PodMatch {
            namespace: Some("default".into()),
            name: Some("web-*".into()),
            labels: BTreeMap::from([("app".into(), "web".into())]),
        };
        assert!(all.matches("default", "web-1", label));
        assert!(!all.matches("other", "web-1", label));
        assert!(!all.matches("default", "db-1", label));
        assert!(!all.matches("default", "web-1", |_| None));
        assert!(PodMatch::default().matches("any", "name", |_| None));
    }

    #[test]
    fn a_draw_depends_on_its_purpose_only_and_stays_in_range() {
        let spread = Spread::Uniform(Span::secs(5), Span::secs(6));
        let first = spread.draw(Seed(1), "runtime/default/a/0");
        spread.draw(Seed(1), "runtime/default/b/0");
        assert_eq!(spread.draw(Seed(1), "runtime/default/a/0"), first);
        for n in 0..100 {
            let span = spread.draw(Seed(n), "x");
            assert!(Span::secs(5) <= span && span <= Span::secs(6));
        }
        let still = Spread::Uniform(Span::secs(5), Span::secs(5));
        assert_eq!(still.draw(Seed(1), "x"), Span::secs(5));
    }
}

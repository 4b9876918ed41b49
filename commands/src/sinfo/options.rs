//! `sinfo`'s command line and environment.

use drawbridge_bridge::slurm::types::Node;

use crate::{
    flags::{
        Flag, Manual,
        Takes::{Maybe, Nothing, Value},
        flag,
    },
    shell::{Outcome, Quit, Shell},
    start::{self, Started},
    states::node::{ALL_WORDS, NOT_RESPONDING, NodeState},
};

const NO_FEDERATION: &str = "slurmrestd serves one cluster and no federation";
const NO_LINES: &str =
    "it has no document of `sinfo`'s lines; `scontrol show nodes --json` prints nodes";

#[rustfmt::skip]
static FLAGS: &[Flag] = &[
    flag(&["autocomplete"], "", Value("WORD"), "").refused("see `drawbridge completions`"),
    flag(&["all"], "a", Nothing, "hidden partitions as well"),
    flag(&["dead"], "d", Nothing, "nodes that don't respond"),
    flag(&["exact"], "e", Nothing, "nodes of different size in lines of their own"),
    flag(&["federation"], "", Nothing, "").refused(NO_FEDERATION),
    flag(&["future"], "F", Nothing, "nodes that aren't there yet as well"),
    flag(&["help"], "", Nothing, "print this"),
    flag(&["helpformat"], "", Nothing, "list the letters that -o takes"),
    flag(&["helpFormat"], "", Nothing, "list the names that -O takes"),
    flag(&["helpstate"], "", Nothing, "list the states that -t takes"),
    flag(&["hide"], "", Nothing, "no hidden partitions"),
    flag(&["iterate"], "i", Value("SECONDS"), "again and again, so many seconds apart"),
    flag(&["local"], "", Nothing, "this cluster alone").no_bearing(),
    flag(&["long"], "l", Nothing, "longer lines"),
    flag(&["cluster", "clusters"], "M", Value("LIST"), "").refused(NO_FEDERATION),
    flag(&["nodes"], "n", Value("HOSTS"), "these nodes"),
    flag(&["noconvert"], "", Nothing, "leave amounts in the units they are in"),
    flag(&["noheader"], "h", Nothing, "no line above the others"),
    flag(&["Node"], "N", Nothing, "a line for each node"),
    flag(&["format"], "o", Value("FORMAT"), "what a line holds, by letters; --helpformat lists them"),
    flag(&["Format"], "O", Value("FIELDS"), "what a line holds, by names; --helpFormat lists them"),
    flag(&["partition"], "p", Value("LIST"), "these partitions, hidden or not"),
    flag(&["responding"], "r", Nothing, "nodes that respond"),
    flag(&["list-reasons"], "R", Nothing, "why nodes are down, drained or failing"),
    flag(&["summarize"], "s", Nothing, "a line for each partition, without states"),
    flag(&["sort"], "S", Value("FIELDS"), "sort by these letters; - in front turns it round"),
    flag(&["states"], "t", Value("LIST"), "nodes in these states; & between them: in all of them"),
    flag(&["reservation"], "T", Nothing, "reservations instead"),
    flag(&["usage"], "", Nothing, "print a shorter help"),
    flag(&["verbose"], "v", Nothing, "say more").no_bearing(),
    flag(&["version"], "V", Nothing, "print the version"),
    flag(&["json"], "", Maybe("VERSION"), "").refused(NO_LINES),
    flag(&["yaml"], "", Maybe("VERSION"), "").refused(NO_LINES),
];

/// `sinfo` as help shows it.
pub(crate) static MANUAL: Manual = Manual {
    name: "sinfo",
    about: "Shows partitions and nodes.",
    usage: "[OPTIONS]",
    flags: FLAGS,
    notes: "\
Environment: SINFO_ALL, SINFO_FORMAT, SINFO_FUTURE, SINFO_PARTITION, SINFO_SORT and SLURM_TIME_FORMAT do
what they do in Slurm. Before v0.0.45 slurmrestd doesn't tell which partition is the default one, so it
has no star, nor whether one is root's alone: ROOT is `n/a`.
",
};

/// What a line holds.
#[derive(Clone, Debug)]
pub(crate) enum Formatted {
    /// In letters.
    Short(String),
    /// In names.
    Long(String),
}

/// What a user wants to see.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) all: bool,
    pub(crate) dead: bool,
    pub(crate) responding: bool,
    pub(crate) exact: bool,
    pub(crate) future: bool,
    pub(crate) iterate: Option<u64>,
    pub(crate) long: bool,
    pub(crate) nodes: Option<Vec<String>>,
    pub(crate) noconvert: bool,
    pub(crate) noheader: bool,
    pub(crate) by_node: bool,
    pub(crate) format: Formatted,
    pub(crate) partitions: Option<Vec<String>>,
    pub(crate) reasons: bool,
    pub(crate) reservations: bool,
    pub(crate) sort: Option<String>,
    pub(crate) states: Option<States>,
    /// Whether partitions are as wide as they have to be,
    pub(crate) fit_partitions: bool,
    /// and lists of nodes.
    pub(crate) fit_nodes: bool,
    summarize: bool,
    own_format: Option<Formatted>,
}

/// The states of the nodes to show.
#[derive(Clone, Debug)]
pub(crate) struct States {
    /// Each, and whether it is meant the other way round.
    pub(crate) each: Vec<(NodeState, bool)>,
    /// Whether all of them must hold.
    pub(crate) all: bool,
}

const USUAL: &str = "partition:9 ,available:.5 ,time:.10 ,nodes:.6 ,statecompact:.6 ,nodelist:0";
const LONG: &str = "partition:9 ,available:.5 ,time:.10 ,size:.10 ,root:.4 ,oversubscribe:.8 ,groups:.10 ,nodes:.6 ,statelong:.11 ,reservation:.11 ,nodelist:0";
const SUMMARY: &str = "partition:9 ,available:.5 ,time:.10 ,nodeaiot:.16 ,nodelist:0";
const NODES: &str = "nodelist:0 ,nodes:.6 ,partition:.9 ,statecompact:6";
const NODES_LONG: &str = "nodelist:0 ,nodes:.6 ,partition:.9 ,statelong:.11 ,cpus:4 ,socketcorethread:.8 ,memory:.6 ,disk:.8 ,weight:.6 ,features:.8 ,reason:20";
const REASONS: &str = "reason:20 ,user:9 ,timestamp:19 ,nodelist:0";
const REASONS_LONG: &str = "reason:20 ,userlong:12 ,timestamp:19 ,statecompact:6 ,nodelist:0";

impl Options {
    /// Reads the command line and the environment; `None` if there is nothing more to do.
    pub(crate) fn read(shell: &mut Shell<'_>, args: &[String]) -> Outcome<Option<Self>> {
        let parsed = match start::parse(shell, &MANUAL, args)? {
            Started::Done => return Ok(None),
            Started::With(parsed) => parsed,
        };
        let mut options = Self::of_environment(shell)?;
        let given = |name: &str| parsed.flags.iter().any(|(flag, _)| *flag == name);
        let (all, partition) = (given("all"), given("partition"));
        for (name, value) in parsed.flags {
            if !options.take(shell, name, value.unwrap_or_default())? {
                return Ok(None);
            }
        }
        if options.long && options.own_format.is_some() {
            return shell.fatal(
                "Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry.",
            );
        }
        if all && partition {
            return shell.fail(
                "Conflicting options, -a and -p, specified. Please choose one or the other.",
            );
        }
        options.choose_format(shell);
        if options.reasons && options.states.is_none() {
            options.states = Some(states(shell, "down,fail,drain")?);
        }
        Ok(Some(options))
    }

    fn of_environment(shell: &mut Shell<'_>) -> Outcome<Self> {
        let set = |name: &str| shell.env.contains_key(name);
        let partitions = shell.env.get("SINFO_PARTITION").map(|text| list(text));
        if set("SINFO_ALL") && partitions.is_some() {
            return shell.fail(
                "Conflicting options, SINFO_ALL and SINFO_PARTITION, specified. Please choose one or the other.",
            );
        }
        Ok(Self {
            all: set("SINFO_ALL") || partitions.is_some(),
            dead: false,
            responding: false,
            exact: false,
            future: set("SINFO_FUTURE"),
            iterate: None,
            long: false,
            nodes: None,
            noconvert: false,
            noheader: false,
            by_node: false,
            format: Formatted::Long(USUAL.to_owned()),
            partitions,
            reasons: false,
            reservations: false,
            sort: shell.env.get("SINFO_SORT").cloned(),
            states: None,
            fit_partitions: false,
            fit_nodes: false,
            summarize: false,
            own_format: None,
        })
    }

    fn take(&mut self, shell: &mut Shell<'_>, name: &str, value: String) -> Outcome<bool> {
        match name {
            "all" => (self.all, self.partitions) = (true, None),
            "hide" => self.all = false,
            "dead" => self.dead = true,
            "responding" => self.responding = true,
            "exact" => self.exact = true,
            "future" => self.future = true,
            "iterate" => self.iterate = Some(seconds(shell, &value)?),
            "long" => self.long = true,
            "nodes" => self.nodes = Some(nodes(shell, &value)?),
            "noconvert" => self.noconvert = true,
            "noheader" => self.noheader = true,
            "Node" => self.by_node = true,
            "format" => self.own_format = Some(Formatted::Short(value)),
            "Format" => self.own_format = Some(Formatted::Long(value)),
            "partition" => (self.all, self.partitions) = (true, Some(list(&value))),
            "list-reasons" => self.reasons = true,
            "summarize" => self.summarize = true,
            "sort" => self.sort = Some(value),
            "states" => self.states = Some(states(shell, &value)?),
            "reservation" => self.reservations = true,
            "helpformat" => {
                shell.print(&crate::format::list_letters(super::fields::FIELDS));
                return Ok(false);
            }
            "helpFormat" => {
                shell.print(&crate::format::list_names(super::fields::FIELDS));
                return Ok(false);
            }
            "helpstate" => {
                shell.print(&(ALL_WORDS.join("\n") + "\n"));
                return Ok(false);
            }
            _ => {}
        }
        Ok(true)
    }

    fn choose_format(&mut self, shell: &Shell<'_>) {
        let long = |text: &str| Formatted::Long(text.to_owned());
        let pick = |usual, longer| long(if self.long { longer } else { usual });
        if let Some(own) = self.own_format.take() {
            self.format = own;
        } else if self.summarize {
            self.format = long(SUMMARY);
            self.fit_partitions = true;
        } else if self.by_node {
            self.format = pick(NODES, NODES_LONG);
            (self.fit_nodes, self.fit_partitions) = (true, true);
        } else if self.reasons {
            self.format = pick(REASONS, REASONS_LONG);
        } else if let Some(format) = shell.env.get("SINFO_FORMAT") {
            self.format = Formatted::Short(format.clone());
        } else {
            self.format = pick(USUAL, LONG);
            self.fit_partitions = true;
        }
    }

    /// Whether a node is shown.
    pub(crate) fn keeps(&self, node: &Node) -> bool {
        let silent = NodeState::of(node).has(NOT_RESPONDING);
        self.nodes.as_ref().is_none_or(|names| names.contains(&node.name))
            && (!self.dead || silent)
            && (!self.responding || !silent)
            && self.states.as_ref().is_none_or(|states| states.hold(node))
    }
}

impl States {
    fn hold(&self, node: &Node) -> bool {
        let holds = |(wanted, turned): &(NodeState, bool)| {
            let fits = match *wanted {
                NodeState::ALLOCATED => 0 < node.alloc_cpus,
                wanted => NodeState::of(node).fits(wanted),
            };
            fits != *turned
        };
        if self.all { self.each.iter().all(holds) } else { self.each.iter().any(holds) }
    }
}

fn list(text: &str) -> Vec<String> {
    text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn seconds(shell: &mut Shell<'_>, text: &str) -> Outcome<u64> {
    match text.trim().parse::<u64>() {
        Ok(seconds) if 0 < seconds => Ok(seconds),
        _ => shell.fail(&format!("Error: invalid entry for --iterate={text}")),
    }
}

fn nodes(shell: &mut Shell<'_>, text: &str) -> Outcome<Vec<String>> {
    match drawbridge_sim::expand_hostlist(text) {
        Ok(names) => Ok(names),
        Err(_) => shell.fail(&format!("'{text}' invalid entry for --nodes")),
    }
}

fn states(shell: &mut Shell<'_>, text: &str) -> Outcome<States> {
    if text.eq_ignore_ascii_case("all") {
        return Ok(States { each: vec![], all: true });
    }
    let mut each = vec![];
    for word in text.split([',', '&', '+']).filter(|word| !word.is_empty()) {
        let bare = word.strip_prefix(['~', '!']);
        match NodeState::named(bare.unwrap_or(word)) {
            Some(state) => each.push((state, bare.is_some())),
            None => {
                shell.error(&format!("Bad state string: \"{}\"", bare.unwrap_or(word)));
                shell.error(&format!("valid states: {}", ALL_WORDS.join(",")));
                return Err(Quit(1));
            }
        }
    }
    Ok(States { each, all: text.contains(['&', '+']) })
}

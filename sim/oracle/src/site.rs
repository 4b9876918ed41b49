//! A generated cluster, and what a generator must know of it.

use std::fmt::Write;

use drawbridge_sim::SlurmConfig;

use crate::{case::Cluster, dice::Dice};

/// One line of `NodeName=`.
#[derive(Clone, Debug)]
pub(crate) struct NodeLine {
    pub(crate) count: usize,
    /// Each with so many sockets.
    pub(crate) boards: usize,
    pub(crate) sockets: usize,
    pub(crate) cores: usize,
    pub(crate) threads: usize,
    pub(crate) memory: usize,
    /// `gpu:2`, `gpu:a100:1,gpu:k80:2`, or nothing.
    pub(crate) gres: String,
    /// Anything else: `Weight=5 Feature=a,b`.
    pub(crate) more: String,
}

impl NodeLine {
    pub(crate) fn new(count: usize, sockets: usize, cores: usize) -> Self {
        let (gres, more) = (String::new(), String::new());
        Self { count, boards: 1, sockets, cores, threads: 1, memory: 16000, gres, more }
    }

    pub(crate) fn cpus(&self) -> usize {
        self.boards * self.sockets * self.cores * self.threads
    }
}

/// A cluster while it is being made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Site {
    /// Lines of slurm.conf other than nodes and partitions.
    pub(crate) params: Vec<String>,
    /// Words of `SchedulerParameters`.
    pub(crate) scheduler: Vec<String>,
    pub(crate) lines: Vec<NodeLine>,
    /// `main Default=YES`: `Nodes=ALL` unless it names some.
    pub(crate) partitions: Vec<String>,
    pub(crate) gres_conf: String,
    /// Jobs are queued again when their node fails.
    pub(crate) requeues: bool,
    /// Lines after the nodes.
    pub(crate) last: Vec<String>,
    /// A site's own cluster, and its nodes' names.
    given: Option<(Cluster, Vec<String>)>,
}

/// The main scheduler looks every second, so that settling takes two of them; backfill less often,
/// so that it is seldom the first to see something new.
const EAGER: [&str; 4] =
    ["batch_sched_delay=0", "sched_interval=1", "sched_min_interval=0", "bf_interval=4"];

impl Site {
    /// A site with memory and cores counted, and a default amount of memory.
    pub(crate) fn new(select: &str) -> Self {
        let params =
            ["SelectType=select/cons_tres".into(), format!("SelectTypeParameters={select}")];
        Self {
            params: params.into(),
            scheduler: EAGER.iter().map(|word| (*word).to_owned()).collect(),
            ..Self::default()
        }
    }

    /// A site's own cluster; what can't be read of it is found out later.
    pub(crate) fn given(cluster: &Cluster) -> Self {
        let cluster = &Cluster { slurm_conf: eager(&cluster.slurm_conf), ..cluster.clone() };
        let mut site = Self { given: Some((cluster.clone(), vec![])), ..Self::default() };
        let parsed = SlurmConfig::parse(&cluster.slurm_conf, None, cluster.release);
        let Ok(parsed) = parsed else { return site };
        let names = parsed.config.node_names().map(ToString::to_string).collect();
        for node in parsed.config.nodes() {
            let cpus = usize::try_from(node.cpus).unwrap_or(1);
            let memory = usize::try_from(node.memory_mib).unwrap_or(1);
            site.lines.push(NodeLine { memory, ..NodeLine::new(1, 1, cpus) });
        }
        let partitions = parsed.config.partitions();
        site.partitions = partitions.iter().map(|it| it.name.to_string()).collect();
        site.given = Some((cluster.clone(), names));
        site
    }

    pub(crate) fn param(mut self, line: &str) -> Self {
        self.params.push(line.into());
        self
    }

    pub(crate) fn nodes(mut self, line: NodeLine) -> Self {
        self.lines.push(line);
        self
    }

    pub(crate) fn partition(mut self, words: &str) -> Self {
        self.partitions.push(words.into());
        self
    }

    pub(crate) fn n_nodes(&self) -> usize {
        self.lines.iter().map(|line| line.count).sum()
    }

    /// CPUs of the largest node.
    pub(crate) fn cpus(&self) -> usize {
        self.lines.iter().map(NodeLine::cpus).max().unwrap_or(1)
    }

    pub(crate) fn memory(&self) -> usize {
        self.lines.iter().map(|line| line.memory).max().unwrap_or(1000)
    }

    /// How many tasks of so many CPUs the largest nodes hold.
    pub(crate) fn room(&self, nodes: usize, cpus_per_task: usize) -> usize {
        let all = self.lines.iter().flat_map(|line| std::iter::repeat_n(line.cpus(), line.count));
        let mut all: Vec<usize> = all.map(|cpus| cpus / cpus_per_task.max(1)).collect();
        all.sort_unstable();
        all.iter().rev().take(nodes).sum()
    }

    /// The line of slurm.conf of the so many-th group of nodes.
    pub(crate) fn line(&self, at: usize) -> String {
        let first = 1 + self.lines[..at].iter().map(|line| line.count).sum::<usize>();
        self.line_of(first, &self.lines[at])
    }

    /// The line of nodes that are numbered from `first` on.
    pub(crate) fn line_of(&self, first: usize, line: &NodeLine) -> String {
        format!("NodeName={} {}", names(first, line.count), node_words(line))
    }

    /// The names of so many nodes.
    pub(crate) fn names(&self, first: usize, count: usize) -> String {
        names(first, count)
    }

    /// The name of a node.
    pub(crate) fn any_node(&self, dice: &mut Dice) -> String {
        let place = dice.below(self.n_nodes());
        match &self.given {
            Some((_, names)) => names.get(place).cloned().unwrap_or_default(),
            None => format!("n{}", place + 1),
        }
    }

    /// The name of a partition.
    pub(crate) fn any_partition(&self, dice: &mut Dice) -> String {
        let words = &self.partitions[dice.below(self.partitions.len())];
        words.split(' ').next().unwrap_or_default().to_owned()
    }

    pub(crate) fn cluster(&self) -> Cluster {
        if let Some((cluster, _)) = &self.given {
            return cluster.clone();
        }
        let mut conf = String::new();
        for line in &self.params {
            let _ = writeln!(conf, "{line}");
        }
        let _ = writeln!(conf, "SchedulerParameters={}", self.scheduler.join(","));
        let gres = self.lines.iter().any(|line| !line.gres.is_empty());
        let _ = write!(conf, "{}", if gres { "GresTypes=gpu\n" } else { "" });
        let _ = writeln!(conf, "ReturnToService=0\nKillWait=30\nMinJobAge=30000");
        // Of jobs that are queued again at once, chance says which one comes first.
        let requeue = usize::from(self.requeues);
        let _ = writeln!(conf, "JobRequeue={requeue}");
        let mut gres_conf = self.gres_conf.clone();
        let mut first = 1;
        for line in &self.lines {
            let names = names(first, line.count);
            let _ = writeln!(conf, "{}", self.line_of(first, line));
            first += line.count;
            if self.gres_conf.is_empty() {
                gres_conf += &gres_lines(&names, &line.gres);
            }
        }
        for line in &self.last {
            let _ = writeln!(conf, "{line}");
        }
        for words in &self.partitions {
            let nodes = if words.contains("Nodes=") { "" } else { " Nodes=ALL" };
            let _ = writeln!(conf, "PartitionName={words}{nodes}");
        }
        Cluster { slurm_conf: conf, gres_conf, ..Cluster::default() }
    }
}

/// The same file with schedulers that look every few seconds; otherwise settling takes minutes.
fn eager(conf: &str) -> String {
    let (ours, others): (Vec<_>, Vec<_>) = conf.lines().partition(|line| {
        line.trim_start().to_ascii_lowercase().starts_with("schedulerparameters")
    });
    let said =
        ours.iter().filter_map(|line| line.split_once('=')).flat_map(|(_, words)| words.split(','));
    let is_rhythm = |word: &&str| {
        EAGER.iter().any(|eager| word.trim().split('=').next() == eager.split('=').next())
    };
    let words: Vec<_> = said.filter(|word| !is_rhythm(word)).chain(EAGER).map(str::trim).collect();
    format!("{}\nSchedulerParameters={}\n", others.join("\n"), words.join(","))
}

fn names(first: usize, count: usize) -> String {
    if count == 1 { format!("n{first}") } else { format!("n[{first}-{}]", first + count - 1) }
}

fn node_words(line: &NodeLine) -> String {
    let sockets = match line.boards {
        1 => format!("Sockets={}", line.sockets),
        boards => format!("Boards={boards} SocketsPerBoard={}", line.sockets),
    };
    let mut words = format!(
        "CPUs={} {sockets} CoresPerSocket={} ThreadsPerCore={} RealMemory={}",
        line.cpus(),
        line.cores,
        line.threads,
        line.memory
    );
    if !line.gres.is_empty() {
        let _ = write!(words, " Gres={}", line.gres);
    }
    if !line.more.is_empty() {
        let _ = write!(words, " {}", line.more);
    }
    words
}

/// A device file for each that the node line counts.
fn gres_lines(names: &str, gres: &str) -> String {
    let mut text = String::new();
    let mut first = 0;
    for word in gres.split(',').filter(|word| !word.is_empty()) {
        let parts: Vec<_> = word.split(':').collect();
        let count: usize = parts.last().and_then(|count| count.parse().ok()).unwrap_or(1);
        let kind = if parts.len() == 3 { format!(" Type={}", parts[1]) } else { String::new() };
        let last = first + count - 1;
        let files = if count == 1 { first.to_string() } else { format!("[{first}-{last}]") };
        let _ = writeln!(text, "NodeName={names} Name={}{kind} File=/dev/g{files}", parts[0]);
        first += count;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_s_schedulers_look_every_few_seconds() {
        let conf = "A=1\nSchedulerParameters=bf_continue,bf_interval=30\nB=2\n";
        assert_eq!(
            eager(conf),
            "A=1\nB=2\nSchedulerParameters=bf_continue,batch_sched_delay=0,sched_interval=1,\
             sched_min_interval=0,bf_interval=4\n"
        );
    }
}

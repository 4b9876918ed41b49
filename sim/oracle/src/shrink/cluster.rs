//! Clusters that have one thing less: a partition, a node, a parameter, a word about one of them.

use drawbridge_sim::{expand_hostlist, fold_hostlist};

use crate::case::Cluster;

/// What keeps the real Slurm and the model in step, or gives every case the same ground.
const GROUND: &[&str] =
    &["returntoservice", "killwait", "minjobage", "selecttype", "schedulerparameters"];

/// The same for parts of SchedulerParameters.
const RHYTHM: &[&str] =
    &["batch_sched_delay", "sched_interval", "sched_min_interval", "bf_interval"];

/// Every cluster that is one step smaller, the larger steps first. Not all of them are sound.
pub(super) fn smaller(cluster: &Cluster) -> Vec<Cluster> {
    let conf = |slurm_conf: String| Cluster { slurm_conf, ..cluster.clone() };
    let gres = |gres_conf: String| Cluster { gres_conf, ..cluster.clone() };
    let less = smaller_texts(&cluster.slurm_conf).into_iter().map(conf);
    less.chain(without_lines(&cluster.gres_conf).into_iter().map(gres)).collect()
}

fn smaller_texts(text: &str) -> Vec<String> {
    let mut found: Vec<String> = without_lines(text);
    for (at, line) in text.lines().enumerate() {
        found.extend(smaller_lines(line).into_iter().map(|line| with_line(text, at, Some(&line))));
    }
    found
}

fn without_lines(text: &str) -> Vec<String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !is_ground(line));
    lines.map(|(at, _)| with_line(text, at, None)).collect()
}

fn is_ground(line: &str) -> bool {
    let key = line.split('=').next().unwrap_or_default().to_ascii_lowercase();
    GROUND.contains(&key.as_str()) || line.contains("Default=YES")
}

/// The text with another line in that place, or without it.
fn with_line(text: &str, at: usize, other: Option<&str>) -> String {
    let lines = text.lines().enumerate();
    let lines = lines.filter_map(|(n, line)| if n == at { other } else { Some(line) });
    lines.map(|line| format!("{line}\n")).collect()
}

/// A line that says less.
fn smaller_lines(line: &str) -> Vec<String> {
    if let Some(parts) = line.strip_prefix("SchedulerParameters=") {
        let spared = |part: &str| RHYTHM.iter().any(|known| part.starts_with(known));
        let left = without_each(&parts.split(',').collect::<Vec<_>>(), spared);
        return left.iter().map(|left| format!("SchedulerParameters={}", left.join(","))).collect();
    }
    let named = line.starts_with("NodeName=") || line.starts_with("PartitionName=");
    if !named {
        return vec![];
    }
    let words: Vec<_> = line.split_whitespace().collect();
    let spared = |word: &str| {
        ["NodeName=", "PartitionName=", "Nodes=", "Default="].iter().any(|it| word.starts_with(it))
    };
    let mut found: Vec<_> = one_node_less(&words).into_iter().collect();
    found.extend(without_each(&words, spared).iter().map(|words| words.join(" ")));
    found
}

/// The list without one part, for each that isn't spared.
fn without_each<'a>(parts: &[&'a str], spared: impl Fn(&str) -> bool) -> Vec<Vec<&'a str>> {
    let places = (0..parts.len()).filter(|at| !spared(parts[*at]));
    let without = |gone: usize| {
        parts.iter().enumerate().filter(|(at, _)| *at != gone).map(|(_, part)| *part).collect()
    };
    places.map(without).collect()
}

/// `NodeName=n[1-3]` as `NodeName=n[1-2]`, and a partition's nodes likewise.
fn one_node_less(words: &[&str]) -> Option<String> {
    let at = words.iter().position(|it| it.starts_with("NodeName=") || it.starts_with("Nodes="))?;
    let (key, list) = words[at].split_once('=')?;
    let mut names = expand_hostlist(list).ok().filter(|names| 1 < names.len())?;
    names.pop();
    let folded = format!("{key}={}", fold_hostlist(&names));
    let mut words = words.to_vec();
    words[at] = &folded;
    Some(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_loses_one_thing_at_a_time() {
        let slurm_conf = "KillWait=30\nPriorityType=priority/basic\n\
            SchedulerParameters=bf_interval=4,defer\nNodeName=n[1-3] CPUs=2 Weight=5\n\
            PartitionName=main Default=YES Nodes=ALL\nPartitionName=low Nodes=n[2-3] LLN=YES\n";
        let cluster = Cluster { slurm_conf: slurm_conf.into(), ..Cluster::default() };
        let lines: Vec<&str> = slurm_conf.lines().collect();
        let changes: Vec<String> = smaller(&cluster)
            .iter()
            .map(|less| {
                let left: Vec<&str> = less.slurm_conf.lines().collect();
                let new = left.iter().find(|line| !lines.contains(line));
                let gone = lines.iter().find(|line| !left.contains(line));
                format!("{} -> {}", gone.unwrap_or(&""), new.unwrap_or(&"nothing"))
            })
            .collect();
        let node = "NodeName=n[1-3] CPUs=2 Weight=5";
        let low = "PartitionName=low Nodes=n[2-3] LLN=YES";
        let expected = [
            "PriorityType=priority/basic -> nothing".to_owned(),
            format!("{node} -> nothing"),
            format!("{low} -> nothing"),
            "SchedulerParameters=bf_interval=4,defer -> SchedulerParameters=bf_interval=4".into(),
            format!("{node} -> NodeName=n[1-2] CPUs=2 Weight=5"),
            format!("{node} -> NodeName=n[1-3] Weight=5"),
            format!("{node} -> NodeName=n[1-3] CPUs=2"),
            format!("{low} -> PartitionName=low Nodes=n2 LLN=YES"),
            format!("{low} -> PartitionName=low Nodes=n[2-3]"),
        ];
        assert_eq!(changes, expected);
    }
}

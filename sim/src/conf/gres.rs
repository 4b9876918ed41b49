//! `gres.conf`: which devices there are, of what type and near which cores. The counts must agree
//! with slurm.conf's.

use crate::IndexSet;

use super::{
    ConfError, GresSpec, NodeSpec, Note,
    line::{Line, Word},
    value,
};

/// Devices of a node that are alike: of one type, near the same cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceGroup {
    /// `gpu`.
    pub name: String,
    /// `a100`, if it is known.
    pub kind: Option<String>,
    /// The index of the first, among all devices of that name.
    pub first: usize,
    /// How many.
    pub count: usize,
    /// The cores that are near, by their index on the node; `None` is all of them.
    pub cores: Option<IndexSet>,
    /// slurmctld tells these devices from others of their name, by type or cores.
    pub told_apart: bool,
    /// Each of them is a file.
    pub file: bool,
}

/// One line of `gres.conf`.
#[derive(Clone, Debug)]
pub(super) struct Record {
    on: Option<Vec<String>>,
    name: Word,
    kind: Option<String>,
    count: usize,
    file: bool,
    cores: Option<IndexSet>,
    links: Vec<i64>,
}

/// Reads one line; what isn't honoured is noted.
pub(super) fn read_line(line: &Line, notes: &mut Vec<Note>) -> Result<Option<Record>, ConfError> {
    let (mut on, mut name, mut kind, mut count) = (None, None, None, None);
    let (mut files, mut cores, mut links) = (None, None, vec![]);
    for word in &line.words {
        match word.key.to_ascii_lowercase().as_str() {
            "nodename" => on = Some(value::hostlist(word)?),
            "name" => name = Some(word.clone()),
            "type" => kind = Some(word.value.clone()),
            "count" => count = Some(value::number::<usize>(word)?),
            "file" | "multiplefiles" => files = Some(n_files(&word.value)),
            "cores" | "cpus" => cores = Some(indices(word)?),
            "links" => links = read_links(word)?,
            "flags" | "autodetect" => {
                notes.push(word.place.note(format!("gres.conf {}= is not honoured yet", word.key)));
            }
            _ => {
                let known = "NodeName, Name, Type, File, Count, Cores, Links, Flags, AutoDetect";
                let what = format!("gres.conf does not know `{}`", word.key);
                return Err(word.place.error(what, format!("it knows {known}")));
            }
        }
    }
    let count = count.or(files).unwrap_or(1);
    let file = files.is_some();
    Ok(name.map(|name| Record { on, name, kind, count, file, cores, links }))
}

/// Gives the nodes the devices that the lines describe.
pub(super) fn attach(nodes: &mut [NodeSpec], records: &[Record]) -> Result<(), ConfError> {
    for node in nodes {
        let mine = |record: &&Record| match &record.on {
            Some(on) => on.iter().any(|name| name == node.name.as_str()),
            // Without NodeName the line is for the nodes that have such devices.
            None => node.gres.iter().any(|gres| gres.name == record.name.value),
        };
        let mine: Vec<&Record> = records.iter().filter(mine).collect();
        for name in names(&node.gres) {
            let lines: Vec<&Record> =
                mine.iter().copied().filter(|record| record.name.value == name).collect();
            if !lines.is_empty() {
                describe(node, &name, &lines)?;
            }
        }
    }
    Ok(())
}

/// The devices of a node of which `gres.conf` says nothing.
pub(super) fn plain(gres: &[GresSpec]) -> Vec<DeviceGroup> {
    let group = |gres: &GresSpec| DeviceGroup {
        name: gres.name.clone(),
        kind: gres.kind.clone(),
        first: gres.first,
        count: gres.count,
        cores: None,
        told_apart: gres.name == "gpu" && gres.kind.is_some(),
        file: gres.name == "gpu",
    };
    gres.iter().map(group).collect()
}

fn names(gres: &[GresSpec]) -> Vec<String> {
    let mut names: Vec<String> = gres.iter().map(|gres| gres.name.clone()).collect();
    names.dedup();
    names
}

fn describe(node: &mut NodeSpec, name: &str, lines: &[&Record]) -> Result<(), ConfError> {
    let configured = node.gres_count(name, None);
    let reported: usize = lines.iter().map(|record| record.count).sum();
    if let (true, Some(last)) = (reported < configured, lines.last()) {
        let what = format!(
            "gres/{name} count reported lower than configured ({reported} < {configured}) on {}",
            node.name
        );
        let hint = "make Gres= in slurm.conf and gres.conf agree";
        return Err(last.name.value_place.error(what, hint));
    }
    let typed = lines.iter().any(|record| record.kind.is_some());
    let near = lines.iter().any(|record| record.cores.is_some());
    let kinds: Vec<GresSpec> = node.gres_of(name, None).cloned().collect();
    let types = typed || kinds.iter().any(|gres| gres.kind.is_some());
    let told_apart = lines.iter().any(|record| record.file) && (types || near);
    let mut groups: Vec<DeviceGroup> = vec![];
    let mut first = 0;
    for record in lines {
        let count = record.count.min(configured - first);
        for (from, to, kind) in by_kind(record, first, first + count, &kinds) {
            groups.push(DeviceGroup {
                name: name.into(),
                kind,
                first: from,
                count: to - from,
                cores: record.cores.clone(),
                told_apart,
                file: record.file,
            });
        }
        first += count;
    }
    number_kinds(node, name, &groups);
    node.devices.retain(|group| group.name != name);
    node.devices.extend(groups);
    let links: Vec<Vec<i64>> = lines
        .iter()
        .flat_map(|record| std::iter::repeat_n(record.links.clone(), record.count))
        .take(configured)
        .collect();
    if links.iter().any(|links| !links.is_empty()) {
        node.links.insert(name.into(), links);
    }
    Ok(())
}

/// A line without a type takes those of slurm.conf, in order.
fn by_kind(
    record: &Record,
    from: usize,
    to: usize,
    kinds: &[GresSpec],
) -> Vec<(usize, usize, Option<String>)> {
    if record.kind.is_some() {
        return vec![(from, to, record.kind.clone())];
    }
    let part = |gres: &GresSpec| {
        let (low, high) = (from.max(gres.first), to.min(gres.first + gres.count));
        (low < high).then(|| (low, high, gres.kind.clone()))
    };
    kinds.iter().filter_map(part).collect()
}

/// Where gres.conf has the types in another order, that order numbers the devices.
fn number_kinds(node: &mut NodeSpec, name: &str, groups: &[DeviceGroup]) {
    for gres in node.gres.iter_mut().filter(|gres| gres.name == name) {
        let first = groups.iter().find(|group| group.kind == gres.kind).map(|group| group.first);
        gres.first = first.unwrap_or(gres.first);
    }
}

/// How many files `/dev/nvidia[0-3]` stands for.
fn n_files(text: &str) -> usize {
    // A path isn't a host name: only the part in brackets counts.
    let plain: String = text.replace('/', "-");
    crate::expand_hostlist(&plain).map_or(1, |names| names.len().max(1))
}

/// `0-3,8`.
fn indices(word: &Word) -> Result<IndexSet, ConfError> {
    let mut set = IndexSet::new();
    for part in word.value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        match (from.parse::<usize>(), to.parse::<usize>()) {
            (Ok(from), Ok(to)) if from <= to && to < 65_536 => set.insert_range(from, to + 1),
            _ => return Err(word.bad("write cores such as 0-3,8")),
        }
    }
    Ok(set)
}

fn read_links(word: &Word) -> Result<Vec<i64>, ConfError> {
    let links = word.value.split(',').map(|link| link.trim().parse());
    links.collect::<Result<_, _>>().map_err(|_| word.bad("write numbers such as -1,16,16,16"))
}

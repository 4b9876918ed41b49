//! `NodeSet` lines, and which nodes a `Nodes=` stands for.

use std::collections::BTreeMap;

use crate::{IndexSet, SlurmNode, expand_hostlist};

use super::{ConfError, NodeSpec, line::Line, value};

/// A set of nodes by name, by feature, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSet {
    /// Its name.
    pub name: String,
    /// `Nodes=`: a hostlist, or ALL.
    pub nodes: Option<String>,
    /// `Feature=`: the nodes that have it.
    pub feature: Option<String>,
}

impl NodeSet {
    pub(super) fn read_line(line: &Line) -> Result<Self, ConfError> {
        let mut set = Self { name: line.words[0].value.clone(), ..Self::default() };
        if set.name.is_empty() {
            return Err(line.words[0].bad("write one name"));
        }
        for word in &line.words[1..] {
            if word.is("Nodes") {
                value::hostlist(word)?;
                set.nodes = Some(word.value.clone());
            } else if word.is("Feature") {
                set.feature = Some(word.value.clone());
            } else {
                let what = format!("`{}` is not a part of a NodeSet line", word.key);
                return Err(word.place.error(what, "write Nodes= or Feature="));
            }
        }
        Ok(set)
    }
}

/// Why `Nodes=` can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodesError {
    /// It isn't a hostlist.
    Unreadable(String),
    /// No such node.
    Unknown(String),
}

/// The nodes that `text` stands for: names, sets, ALL.
pub(crate) fn resolve(
    text: &str,
    nodes: &[(usize, &NodeSpec)],
    places: &BTreeMap<SlurmNode, usize>,
    sets: &[NodeSet],
) -> Result<IndexSet, NodesError> {
    let all = || nodes.iter().map(|(place, _)| *place);
    if text.eq_ignore_ascii_case("all") {
        return Ok(all().collect());
    }
    let expand = |text: &str| {
        expand_hostlist(text).map_err(|error| NodesError::Unreadable(error.to_string()))
    };
    let mut found: Vec<usize> = vec![];
    let mut names = vec![];
    for name in expand(text)? {
        let Some(set) = sets.iter().find(|set| set.name == name) else {
            names.push(name);
            continue;
        };
        if let Some(feature) = &set.feature {
            let having = nodes.iter().filter(|(_, node)| node.features.contains(feature));
            found.extend(having.map(|(place, _)| *place));
        }
        match &set.nodes {
            Some(text) if text.eq_ignore_ascii_case("all") => found.extend(all()),
            Some(text) => names.extend(expand(text)?),
            None => {}
        }
    }
    for name in names {
        let place = places.get(name.as_str()).copied();
        found.push(place.ok_or(NodesError::Unknown(name))?);
    }
    Ok(found.into_iter().collect())
}

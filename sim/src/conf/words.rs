//! The words of node and partition lines, as scontrol takes them at run time.

use crate::{PartitionName, Release};

use super::{
    ConfError, ConfFile, NodeSpec, PartitionSpec, SlurmConfig,
    line::{self, Line},
    node_line::{self, NodeFields},
    partition_line::PartitionFields,
};

impl SlurmConfig {
    /// A partition of which nothing is said.
    pub(crate) fn new_partition(name: &PartitionName) -> PartitionSpec {
        PartitionFields::as_shipped(name.as_str()).spec
    }

    /// The partition with these words, and what they say of `Nodes`.
    pub(crate) fn change_partition(
        spec: &PartitionSpec,
        words: &str,
    ) -> Result<(PartitionSpec, Option<String>), ConfError> {
        let mut fields = PartitionFields::of(spec);
        let Some(line) = one_line(words)? else {
            return Ok((spec.clone(), None));
        };
        let mut notes = vec![];
        for word in &line.words {
            fields.read(word, &mut notes)?;
        }
        fields.settle(&line.words[0], &mut notes);
        Ok((fields.spec, fields.nodes.map(|(text, _)| text)))
    }

    /// The nodes of one line: `NodeName=d[1-2] CPUs=4 State=CLOUD`.
    pub(crate) fn read_nodes(words: &str, release: Release) -> Result<Vec<NodeSpec>, ConfError> {
        let defaults = NodeFields::default();
        let context = node_line::Context { release, spec_cores_first: false, defaults: &defaults };
        let Some(line) = one_line(words)?.filter(|line| line.words[0].is("NodeName")) else {
            let place = line::Place { file: ConfFile::SlurmConf, line: 1, column: 1 };
            let hint = "write NodeName=name CPUs=4 State=CLOUD";
            return Err(place.error("no node is named", hint));
        };
        let mut notes = vec![];
        let fields = node_line::read_line(&line, &context, &mut notes)?;
        fields.specs(&line.words[0], &mut notes)
    }
}

fn one_line(words: &str) -> Result<Option<Line>, ConfError> {
    Ok(line::lines(ConfFile::SlurmConf, words)?.into_iter().next())
}

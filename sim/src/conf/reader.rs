//! Reading the files: what earlier lines defined, and what only the whole can tell.

use std::{collections::BTreeMap, sync::Arc};

use crate::{IndexSet, Release, SlurmNode, fold_hostlist};

use super::{
    ConfError, ConfFile, ConfTexts, NodeSet, NodeSpec, NodesError, Note, Params, Parsed,
    PartitionSpec, SlurmConfig, down, gres,
    include::Included,
    line::{self, Line, Place, Word},
    natural,
    node_line::{self, NodeFields},
    node_set, params,
    partition_line::PartitionFields,
};

/// The state of reading.
pub(super) struct Reader {
    release: Release,
    nodes: Vec<NodeSpec>,
    places: BTreeMap<SlurmNode, usize>,
    node_defaults: NodeFields,
    spec_cores_first: bool,
    gres_used: Vec<(String, Place)>,
    node_sets: Vec<(NodeSet, Place)>,
    down: Vec<Line>,
    partition_defaults: PartitionFields,
    partitions: Vec<PartitionFields>,
    params: Params,
    job_ids_at: Option<Place>,
    notes: Vec<Note>,
    end: Place,
}

impl Reader {
    /// Reads all of it.
    pub(super) fn read(texts: &ConfTexts<'_>, release: Release) -> Result<Parsed, ConfError> {
        let mut included = Included::default();
        let lines = included.lines(texts)?;
        let read = || {
            let mut reader = Self::new(release, &lines);
            for line in &lines {
                reader.slurm_conf_line(line)?;
            }
            reader.finish(texts.gres_conf)
        };
        let mut parsed = read().map_err(|error| included.locate(error))?;
        let notes = parsed.notes.into_iter();
        parsed.notes = notes.map(|note| included.locate_note(note)).collect();
        Ok(parsed)
    }

    fn new(release: Release, lines: &[Line]) -> Self {
        // It decides what node lines mean, wherever it stands.
        let words = lines.iter().flat_map(|line| &line.words);
        let first = words
            .filter(|word| word.is("SchedulerParameters"))
            .any(|word| word.value.to_ascii_lowercase().contains("spec_cores_first"));
        Self {
            release,
            nodes: vec![],
            places: BTreeMap::new(),
            node_defaults: NodeFields::default(),
            spec_cores_first: first,
            gres_used: vec![],
            node_sets: vec![],
            down: vec![],
            partition_defaults: PartitionFields::as_shipped("DEFAULT"),
            partitions: vec![],
            params: Params::as_shipped(),
            job_ids_at: None,
            notes: vec![],
            end: Place { file: ConfFile::SlurmConf, line: 1, column: 1 },
        }
    }

    fn slurm_conf_line(&mut self, line: &Line) -> Result<(), ConfError> {
        let first = &line.words[0];
        self.end = first.place;
        match first.key.to_ascii_lowercase().as_str() {
            "nodename" => self.node_line(line)?,
            "partitionname" => self.partition_line(line)?,
            "nodeset" => self.node_sets.push((NodeSet::read_line(line)?, first.value_place)),
            "downnodes" => self.down.push(line.clone()),
            "frontendname" | "switchname" => {
                let what = format!("{} is not modelled", first.key);
                self.notes.push(first.place.note(what));
            }
            _ => line.words.iter().try_for_each(|word| self.param(word))?,
        }
        Ok(())
    }

    fn param(&mut self, word: &Word) -> Result<(), ConfError> {
        if word.is("FirstJobId") || word.is("MaxJobId") {
            self.job_ids_at = Some(word.value_place);
        }
        params::read(&mut self.params, word, &mut self.notes)
    }

    fn node_line(&mut self, line: &Line) -> Result<(), ConfError> {
        let (release, first) = (self.release, self.spec_cores_first);
        let context =
            node_line::Context { release, spec_cores_first: first, defaults: &self.node_defaults };
        let fields = node_line::read_line(line, &context, &mut self.notes)?;
        let name = &line.words[0];
        if name.value.eq_ignore_ascii_case("default") {
            self.node_defaults = fields;
            return Ok(());
        }
        self.gres_used.extend(fields.gres_names());
        for spec in fields.specs(name, &mut self.notes)? {
            if self.places.insert(spec.name.clone(), self.nodes.len()).is_some() {
                let what = format!("node `{}` is defined twice", spec.name);
                return Err(name.value_place.error(what, "name each node once"));
            }
            self.nodes.push(spec);
        }
        Ok(())
    }

    fn partition_line(&mut self, line: &Line) -> Result<(), ConfError> {
        let fields = PartitionFields::read_line(line, &self.partition_defaults, &mut self.notes)?;
        if line.words[0].value.eq_ignore_ascii_case("default") {
            self.partition_defaults = fields;
            return Ok(());
        }
        if self.partitions.iter().any(|other| other.spec.name == fields.spec.name) {
            let what = format!("partition `{}` is defined twice", fields.spec.name);
            return Err(line.words[0].value_place.error(what, "name each partition once"));
        }
        self.one_default(&fields);
        self.partitions.push(fields);
        Ok(())
    }

    /// As in Slurm, the last one wins.
    fn one_default(&mut self, fields: &PartitionFields) {
        let Some(place) = fields.default_at else {
            return;
        };
        for other in &mut self.partitions {
            other.spec.default = false;
            if let Some(before) = other.default_at.take() {
                let text = format!(
                    "partition `{}` is the default instead of `{}` (line {}): the last one wins",
                    fields.spec.name, other.spec.name, before.line
                );
                self.notes.push(place.note(text));
            }
        }
    }

    fn finish(mut self, gres_conf: Option<&str>) -> Result<Parsed, ConfError> {
        if self.nodes.is_empty() {
            let hint = "add a line such as `NodeName=n[1-4] CPUs=16 RealMemory=64000`";
            return Err(self.end.error("no node is defined", hint));
        }
        if self.partitions.is_empty() {
            let hint = "add a line such as `PartitionName=main Nodes=ALL Default=YES`";
            return Err(self.end.error("no partition is defined", hint));
        }
        for line in &self.down {
            down::read_line(line, self.release, &mut self.nodes, &mut self.notes)?;
        }
        if let Some(text) = gres_conf {
            let mut records = vec![];
            for line in line::lines(ConfFile::GresConf, text)? {
                records.extend(gres::read_line(&line, &mut self.notes)?);
            }
            gres::attach(&mut self.nodes, &records)?;
        }
        self.check()?;
        self.nodes.sort_by(|a, b| natural::compare(a.name.as_str(), b.name.as_str()));
        self.places = self.nodes.iter().map(|node| node.name.clone()).zip(0..).collect();
        let partitions = self.partition_specs()?;
        let node_sets = self.node_sets.into_iter().map(|(set, _)| set).collect();
        let config = SlurmConfig {
            release: self.release,
            nodes: self.nodes.into_iter().map(Arc::new).collect(),
            partitions: partitions.into_iter().map(Arc::new).collect(),
            node_sets,
            params: Arc::new(self.params),
            mutant: None,
        };
        Ok(Parsed { config, notes: self.notes })
    }

    /// What only the whole file can tell.
    fn check(&self) -> Result<(), ConfError> {
        let types = &self.params.gres_types;
        if let Some((name, place)) = self.gres_used.iter().find(|(name, _)| !types.contains(name)) {
            let what = format!("GresTypes does not list `{name}`");
            let all: Vec<_> = types.iter().chain([name]).map(String::as_str).collect();
            return Err(place.error(what, format!("add GresTypes={}", all.join(","))));
        }
        if let Some((set, place)) =
            self.node_sets.iter().find(|(set, _)| self.places.contains_key(set.name.as_str()))
        {
            let what = format!("NodeSet `{}` has the name of a node", set.name);
            return Err(place.error(what, "call one of the two something else"));
        }
        let Params { first_job_id, max_job_id, .. } = self.params;
        match self.job_ids_at {
            Some(place) if max_job_id < first_job_id => Err(place.error(
                format!("FirstJobId={first_job_id} is larger than MaxJobId={max_job_id}"),
                "make FirstJobId the smaller one",
            )),
            Some(_) | None => Ok(()),
        }
    }

    fn partition_specs(&self) -> Result<Vec<PartitionSpec>, ConfError> {
        let nodes: Vec<_> = self.nodes.iter().enumerate().collect();
        let sets: Vec<_> = self.node_sets.iter().map(|(set, _)| set.clone()).collect();
        let spec = |fields: &PartitionFields| {
            let mut spec = fields.spec.clone();
            let Some((text, place)) = &fields.nodes else {
                return Ok(spec);
            };
            let found = node_set::resolve(text, &nodes, &self.places, &sets);
            let places: IndexSet = found.map_err(|error| self.bad_nodes(&spec, error, *place))?;
            (spec.nodes, spec.nodes_text) = (places.iter().collect(), text.clone());
            Ok(spec)
        };
        self.partitions.iter().map(spec).collect()
    }

    fn bad_nodes(&self, spec: &PartitionSpec, error: NodesError, place: Place) -> ConfError {
        match error {
            NodesError::Unreadable(what) => {
                place.error(what, "write names such as `n[1-4]` or ALL")
            }
            NodesError::Unknown(name) => {
                let what = format!(
                    "partition `{}` names node `{name}`, which no NodeName line defines",
                    spec.name
                );
                let known: Vec<_> = self.nodes.iter().map(|node| node.name.as_str()).collect();
                place.error(what, format!("the nodes are {}", fold_hostlist(&known)))
            }
        }
    }
}

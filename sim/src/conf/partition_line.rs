//! `PartitionName` lines, and the same words in `scontrol update partition`.

use crate::Span;

use super::{
    Access, ConfError, MemoryDefault, Note, OverSubscribe, OverTime, PartitionSpec, PartitionState,
    known,
    line::{Line, Place, Word},
    node_line::words,
    value,
};

/// What a line (and `PartitionName=DEFAULT` before it) says.
#[derive(Clone, Debug)]
pub(super) struct PartitionFields {
    /// All but its nodes.
    pub(super) spec: PartitionSpec,
    pub(super) nodes: Option<(String, Place)>,
    /// Where `Default=YES` stands.
    pub(super) default_at: Option<Place>,
    memory: MemoryWords,
    /// `Priority` outweighs the two that it stands for.
    priority: Option<u32>,
}

/// Per node outweighs per CPU, whichever comes first.
#[derive(Clone, Copy, Debug, Default)]
struct MemoryWords {
    def_node: Option<u64>,
    def_cpu: Option<u64>,
    max_node: Option<u64>,
    max_cpu: Option<u64>,
}

impl PartitionFields {
    /// What Slurm takes where nothing is said.
    pub(super) fn as_shipped(name: &str) -> Self {
        let spec = PartitionSpec {
            name: name.into(),
            nodes: vec![],
            nodes_text: String::new(),
            default: false,
            max_time: None,
            default_time: None,
            min_nodes: 0,
            max_nodes: None,
            max_cpus_per_node: None,
            max_cpus_per_socket: None,
            priority_tier: 1,
            priority_job_factor: 1,
            state: PartitionState::Up,
            exclusive: false,
            oversubscribe: OverSubscribe::No,
            exclusive_user: false,
            lln: false,
            def_mem: None,
            def_mem_per_gpu: None,
            def_cpus_per_gpu: None,
            max_mem: None,
            access: Access::default(),
            alternate: None,
            hidden: false,
            grace_time: Span::ZERO,
            over_time_limit: None,
            billing_weights: None,
        };
        let memory = MemoryWords::default();
        Self { spec, nodes: None, default_at: None, memory, priority: None }
    }

    /// The same partition, to change it.
    pub(super) fn of(spec: &PartitionSpec) -> Self {
        let (mut memory, mut fields) = (MemoryWords::default(), Self::as_shipped(""));
        match spec.def_mem {
            Some(MemoryDefault::PerNode(mib)) => memory.def_node = Some(mib),
            Some(MemoryDefault::PerCpu(mib)) => memory.def_cpu = Some(mib),
            None => {}
        }
        match spec.max_mem {
            Some(MemoryDefault::PerNode(mib)) => memory.max_node = Some(mib),
            Some(MemoryDefault::PerCpu(mib)) => memory.max_cpu = Some(mib),
            None => {}
        }
        (fields.spec, fields.memory) = (spec.clone(), memory);
        fields
    }

    /// Reads a line whose first word gives the name.
    pub(super) fn read_line(
        line: &Line,
        defaults: &Self,
        notes: &mut Vec<Note>,
    ) -> Result<Self, ConfError> {
        let name = &line.words[0];
        if name.value.is_empty() || name.value.contains(',') {
            return Err(name.bad("write one name"));
        }
        let mut fields = defaults.clone();
        fields.spec.name = name.value.as_str().into();
        if !name.value.eq_ignore_ascii_case("default") {
            fields.forget_what_default_lines_keep();
        }
        for word in &line.words[1..] {
            fields.read(word, notes)?;
        }
        fields.settle(name, notes);
        Ok(fields)
    }

    /// Slurm reads these from a partition's own line only.
    fn forget_what_default_lines_keep(&mut self) {
        self.spec.access.no_root = None;
        self.spec.exclusive_user = false;
    }

    /// Reads one word of the line.
    pub(super) fn read(&mut self, word: &Word, notes: &mut Vec<Note>) -> Result<(), ConfError> {
        let spec = &mut self.spec;
        match word.key.to_ascii_lowercase().as_str() {
            "nodes" => {
                let text = word.value.split_whitespace().collect::<Vec<_>>().join(",");
                self.nodes = Some((text, word.value_place));
            }
            "default" => {
                spec.default = value::yes_no(word)?;
                self.default_at = spec.default.then_some(word.place);
            }
            "maxtime" => spec.max_time = value::limit(word)?,
            "defaulttime" | "defaulttimelimit" => spec.default_time = value::limit(word)?,
            "minnodes" => spec.min_nodes = value::number(word)?,
            "maxnodes" => spec.max_nodes = value::count_or_unlimited(word)?,
            "maxcpuspernode" => spec.max_cpus_per_node = value::count_or_unlimited(word)?,
            "maxcpuspersocket" => spec.max_cpus_per_socket = value::count_or_unlimited(word)?,
            "prioritytier" => spec.priority_tier = value::at_most(word, 65_533)?,
            "priorityjobfactor" => spec.priority_job_factor = value::at_most(word, 65_533)?,
            "priority" => self.priority = Some(value::at_most(word, 65_533)?),
            "state" => spec.state = read_state(word)?,
            "lln" => spec.lln = value::yes_no(word)?,
            "hidden" => spec.hidden = value::yes_no(word)?,
            "exclusiveuser" => spec.exclusive_user = value::yes_no(word)?,
            "alternate" => {
                let none = word.value.is_empty() || word.value.eq_ignore_ascii_case("none");
                spec.alternate = (!none).then(|| word.value.as_str().into());
            }
            "oversubscribe" | "shared" => self.oversubscribe(word, notes)?,
            "gracetime" => {
                spec.grace_time = value::seconds(word)?;
                notes.push(word.not_honoured());
            }
            "overtimelimit" => {
                let minutes = value::count_or_unlimited(word)?;
                let span = minutes.map(|minutes| OverTime::Of(Span::mins(minutes.into())));
                spec.over_time_limit = Some(span.unwrap_or(OverTime::Unlimited));
            }
            "tresbillingweights" => {
                spec.billing_weights = Some(word.value.clone());
                notes.push(word.not_honoured());
            }
            _ => return self.read_memory(word, notes),
        }
        Ok(())
    }

    fn read_memory(&mut self, word: &Word, notes: &mut Vec<Note>) -> Result<(), ConfError> {
        let mib = || value::megabytes_or_unlimited(word);
        match word.key.to_ascii_lowercase().as_str() {
            "defmempernode" => self.memory.def_node = mib()?,
            "defmempercpu" => self.memory.def_cpu = mib()?,
            "maxmempernode" => self.memory.max_node = mib()?,
            "maxmempercpu" => self.memory.max_cpu = mib()?,
            "defmempergpu" => {
                self.spec.def_mem_per_gpu = mib()?;
            }
            "defcpupergpu" => {
                self.spec.def_cpus_per_gpu = Some(value::number(word)?);
            }
            _ => return self.read_access(word, notes),
        }
        Ok(())
    }

    fn read_access(&mut self, word: &Word, notes: &mut Vec<Note>) -> Result<(), ConfError> {
        let access = &mut self.spec.access;
        let names = |lower: bool| {
            let all = word.value.is_empty() || word.value.eq_ignore_ascii_case("all");
            let text = if lower { word.value.to_ascii_lowercase() } else { word.value.clone() };
            (!all).then(|| words(&text))
        };
        match word.key.to_ascii_lowercase().as_str() {
            "allowgroups" => {
                access.groups = names(false);
                let text = "AllowGroups: a user is taken to be in the group of the same name only";
                notes.push(word.place.note(text));
            }
            "allowaccounts" => access.accounts = names(true),
            "denyaccounts" => access.denied_accounts = names(true),
            "allowqos" => access.qos = names(true),
            "denyqos" => access.denied_qos = names(true),
            "allocnodes" => {
                access.alloc_nodes = names(false);
                if access.alloc_nodes.is_some() {
                    let text = "AllocNodes is not honoured: jobs come from nowhere in particular";
                    notes.push(word.place.note(text));
                }
            }
            "rootonly" => access.root_only = value::yes_no(word)?,
            "disablerootjobs" => access.no_root = Some(value::yes_no(word)?),
            "reqresv" => access.needs_reservation = value::yes_no(word)?,
            // How tasks are bound: nothing here depends on it.
            "cpubind" => {}
            _ => return known::refuse_or_note(word, known::PARTITION, "PartitionName", notes),
        }
        Ok(())
    }

    fn oversubscribe(&mut self, word: &Word, notes: &mut Vec<Note>) -> Result<(), ConfError> {
        let bad = || word.bad("write NO, EXCLUSIVE, YES[:count] or FORCE[:count]");
        let (mode, count) = match word.value.split_once(':') {
            Some((mode, count)) => (mode, count.parse::<u32>().map_err(|_| bad())?),
            None => (word.value.as_str(), 4),
        };
        self.spec.oversubscribe = match mode.to_ascii_lowercase().as_str() {
            "no" => OverSubscribe::No,
            "exclusive" => OverSubscribe::Exclusive,
            "yes" if 1 < count => OverSubscribe::Yes(count),
            "force" if 0 < count => OverSubscribe::Force(count),
            "yes" | "force" => {
                notes.push(word.place.note(format!("{}={} is taken as NO", word.key, word.value)));
                OverSubscribe::No
            }
            _ => return Err(bad()),
        };
        self.spec.exclusive = self.spec.oversubscribe == OverSubscribe::Exclusive;
        Ok(())
    }

    /// What the words come to together.
    pub(super) fn settle(&mut self, name: &Word, notes: &mut Vec<Note>) {
        let MemoryWords { def_node, def_cpu, max_node, max_cpu } = self.memory;
        for (node, cpu, what) in [(def_node, def_cpu, "DefMem"), (max_node, max_cpu, "MaxMem")] {
            if node.is_some() && cpu.is_some() {
                let text = format!("{what}PerCPU is left out beside {what}PerNode");
                notes.push(name.place.note(text));
            }
        }
        let either = |node: Option<u64>, cpu: Option<u64>| match (node, cpu) {
            (Some(mib), _) => MemoryDefault::per_node(mib),
            (None, Some(mib)) => MemoryDefault::per_cpu(mib),
            (None, None) => None,
        };
        let spec = &mut self.spec;
        spec.def_mem = either(def_node, def_cpu);
        spec.max_mem = either(max_node, max_cpu);
        if let Some(priority) = self.priority {
            (spec.priority_tier, spec.priority_job_factor) = (priority, priority);
        }
        let exceeds = spec.default_time.zip(spec.max_time).is_some_and(|(time, max)| max < time);
        if exceeds {
            let text = "DefaultTime is longer than MaxTime: it is left out";
            notes.push(name.place.note(text));
            spec.default_time = None;
        }
        let access = &mut spec.access;
        if access.accounts.is_some() && access.denied_accounts.take().is_some() {
            notes.push(name.place.note("DenyAccounts is left out beside AllowAccounts"));
        }
        if access.qos.is_some() && access.denied_qos.take().is_some() {
            notes.push(name.place.note("DenyQos is left out beside AllowQos"));
        }
    }
}

fn read_state(word: &Word) -> Result<PartitionState, ConfError> {
    let states =
        [PartitionState::Up, PartitionState::Down, PartitionState::Drain, PartitionState::Inactive];
    value::one_of(word, &states.map(PartitionState::as_str)).map(|at| states[at])
}

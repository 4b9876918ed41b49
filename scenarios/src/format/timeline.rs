//! The `steps:` part.

use drawbridge_bridge::yaml::path;
use drawbridge_sim::{JobBehaviour, Submission, Time, UserName, expand_hostlist, parse_sbatch};
use serde_json::Value;

use crate::{
    fault::{self, Fault},
    format::{
        Files, ScenarioError,
        duration::Lasting,
        fields,
        file::SlurmSide,
        kinds::{self, Kind},
        known::Known,
        manifests, scontrol, slurm_side,
        source::Source,
        steps::{
            ActionEntry, CrashEntry, CrashPointEntry, EffectEntry, FaultEntry, NodeState,
            ObjectEntry, RestStateEntry, SbatchEntry, SlurmNodeEntry, SlurmrestdEntry, StepEntry,
            SubresourceEntry, TokenEntry,
        },
        suggest,
        text_or::TextOr,
    },
    scenario::{
        Action, Crash, CrashPoint, EffectKind, NodeChange, ObjectRef, RestChange, RestState, Step,
        TokenState,
    },
};

/// Reads steps.
pub(crate) struct Timeline<'a> {
    pub(crate) source: &'a Source,
    pub(crate) files: &'a dyn Files,
    pub(crate) known: &'a Known,
    /// Where the bridge is told that slurmrestd answers; `None` without a bridge.
    pub(crate) addresses: Option<&'a [String]>,
    pub(crate) until: Time,
    pub(crate) slurm: &'a SlurmSide,
}

/// The keys that are actions, for hints.
const ACTIONS: &str = "apply, delete, scale, patch, cordon, uncordon, sbatch, scancel, slurmNode, scontrol, reconfigure, \
     crash, restart, slurmrestd, slurmToken, fault";

impl Timeline<'_> {
    /// All steps, by time; those at one time stay in the order of the file.
    pub(crate) fn read(&self, entries: &[StepEntry]) -> Result<Vec<Step>, ScenarioError> {
        let mut steps = vec![];
        for (index, entry) in entries.iter().enumerate() {
            let here = path::index("steps", index);
            let at = entry.at.from_start();
            if at > self.until {
                return Err(self.source.after_the_end(&path::key(&here, "at")));
            }
            let line = self.source.line(&here);
            let unchecked = entry.unchecked;
            let actions = self.step(entry, &here)?;
            steps.extend(actions.into_iter().map(|action| Step { at, line, unchecked, action }));
        }
        steps.sort_by_key(|step| step.at);
        Ok(steps)
    }

    fn step(&self, entry: &StepEntry, at: &str) -> Result<Vec<Action>, ScenarioError> {
        let actions = entry.actions();
        match actions.as_slice() {
            [(key, action)] => self.action(entry, action, &path::key(at, key)),
            [] => Err(self
                .source
                .at(at, "this step does nothing")
                .hinted(format!("add one of: {ACTIONS}"))),
            [(first, _), (second, _), ..] => Err(self
                .source
                .exclusive(at, [first, second], "a step does one thing")
                .hinted("make them two steps; steps at one time happen in the order of the file")),
        }
    }

    fn action(
        &self,
        entry: &StepEntry,
        action: &ActionEntry<'_>,
        at: &str,
    ) -> Result<Vec<Action>, ScenarioError> {
        let one = match action {
            ActionEntry::Apply(manifests) => {
                let manifests = manifests::collect(self.source, at, manifests, self.files)?;
                let objects = manifests
                    .into_iter()
                    .map(|manifest| manifest.checked(self.known, entry.unchecked));
                Action::Apply(objects.collect::<Result<_, _>>()?)
            }
            ActionEntry::Delete(it) => return self.delete(it, at),
            ActionEntry::Scale(it) => {
                let (object, kind) = self.object(&it.kind, it.namespace.as_ref(), &it.name, at)?;
                self.scalable(kind, at)?;
                self.playable(it.replicas, at)?;
                Action::Scale(object, it.replicas)
            }
            ActionEntry::Patch(it) => {
                let (object, _) = self.object(&it.kind, it.namespace.as_ref(), &it.name, at)?;
                let merge = self.merge(&it.merge, at)?;
                if !entry.unchecked {
                    fields::check(&it.kind, &merge, &path::key(at, "merge"), self.source)?;
                }
                let part = match it.subresource {
                    None => "",
                    Some(SubresourceEntry::Status) => "/status",
                    Some(SubresourceEntry::Resize) => "/resize",
                };
                Action::Patch(object, part, merge)
            }
            ActionEntry::Cordon(node) => self.cordon(node, true, at)?,
            ActionEntry::Uncordon(node) => self.cordon(node, false, at)?,
            ActionEntry::Sbatch(entry) => Action::Sbatch(Box::new(self.sbatch(entry, at)?)),
            ActionEntry::Scancel(job) => Action::Scancel((*job).into()),
            ActionEntry::Reconfigure(entry) => Action::Reconfigure(match &entry.conf {
                None => None,
                Some(conf) => {
                    let at = path::key(at, "conf");
                    Some(Box::new(slurm_side::reread(
                        self.slurm,
                        conf,
                        &at,
                        self.source,
                        self.files,
                    )?))
                }
            }),
            ActionEntry::SlurmNode(entry) => return self.slurm_nodes(entry, at),
            ActionEntry::Scontrol(line) => Action::Scontrol(
                scontrol::parse(line)
                    .map_err(|(what, hint)| self.source.at(at, what).hinted(hint))?,
            ),
            ActionEntry::Crash(entry) => self.crash(entry, at)?,
            ActionEntry::Restart(entry) => {
                self.bridge(&path::key(at, "bridge"), "there is no bridge to restart")?;
                Action::Restart(entry.bridge.0)
            }
            ActionEntry::Slurmrestd(entry) => self.slurmrestd(entry, at)?,
            ActionEntry::SlurmToken(entry) => {
                self.bridge(at, "there is no bridge to have a token")?;
                Action::SlurmToken(match entry {
                    TokenEntry::Expired => TokenState::Expired,
                    TokenEntry::Renewed => TokenState::Renewed,
                })
            }
            ActionEntry::Fault(entry) => Action::Fault(self.fault(entry, at)?),
        };
        Ok(vec![one])
    }

    fn delete(&self, entry: &ObjectEntry, at: &str) -> Result<Vec<Action>, ScenarioError> {
        let names = self.hostlist(&entry.name, &path::key(at, "name"))?;
        let objects = names.iter().map(|name| {
            let (object, _) = self.object(&entry.kind, entry.namespace.as_ref(), name, at)?;
            Ok(Action::Delete(object))
        });
        objects.collect()
    }

    fn hostlist(&self, text: &str, at: &str) -> Result<Vec<String>, ScenarioError> {
        expand_hostlist(text).map_err(|error| {
            self.source.at(at, error.to_string()).hinted("write a name, or several as `rank-[0-3]`")
        })
    }

    fn object(
        &self,
        kind: &str,
        namespace: Option<&String>,
        name: &str,
        at: &str,
    ) -> Result<(ObjectRef, &'static Kind), ScenarioError> {
        let known = kinds::by_name(kind).ok_or_else(|| {
            self.source
                .at(&path::key(at, "kind"), format!("the twin has no kind `{kind}`"))
                .hinted(suggest::one_of(kind, kinds::names()))
        })?;
        let namespace = match (known.namespaced, namespace) {
            (true, Some(namespace)) => namespace.clone(),
            (true, None) => "default".into(),
            (false, _) => String::new(),
        };
        if known.namespaced {
            self.known.namespace(&namespace).map_err(|(what, hint)| {
                self.source.at(&path::key(at, "namespace"), what).hinted(hint)
            })?;
        }
        let object = ObjectRef {
            api_version: known.api_version.into(),
            kind: kind.into(),
            namespace,
            name: name.into(),
        };
        Ok((object, known))
    }

    fn scalable(&self, kind: &Kind, at: &str) -> Result<(), ScenarioError> {
        if kind.scalable {
            return Ok(());
        }
        Err(self
            .source
            .at(&path::key(at, "kind"), format!("a {} has no replicas", kind.kind))
            .hinted("Deployments and ReplicaSets can be scaled"))
    }

    fn playable(&self, replicas: u32, at: &str) -> Result<(), ScenarioError> {
        if i64::from(replicas) <= fields::MOST_PODS {
            return Ok(());
        }
        let (what, hint) = fields::too_many("replicas", replicas);
        Err(self.source.at(&path::key(at, "replicas"), what).hinted(hint))
    }

    fn merge(&self, patch: &Value, at: &str) -> Result<Value, ScenarioError> {
        if patch.is_object() {
            return Ok(patch.clone());
        }
        Err(self
            .source
            .at(&path::key(at, "merge"), "a merge patch is a mapping")
            .hinted("write the keys to change, such as `{metadata: {labels: {a: b}}}`"))
    }

    fn cordon(&self, node: &str, cordoned: bool, at: &str) -> Result<Action, ScenarioError> {
        self.known.kube_node(node).map_err(|(what, hint)| self.source.at(at, what).hinted(hint))?;
        Ok(Action::Cordon(node.into(), cordoned))
    }

    fn sbatch(&self, entry: &TextOr<SbatchEntry>, at: &str) -> Result<Submission, ScenarioError> {
        let (flags, flags_at) = match entry {
            TextOr::Text(flags) => (flags, at.to_owned()),
            TextOr::Full(entry) => (&entry.flags, path::key(at, "flags")),
        };
        let mut job = parse_sbatch(flags).map_err(|error| {
            self.source.inside(&flags_at, (1, error.column), error.what).hinted(error.hint)
        })?;
        self.sbatch_names(&job, flags, &flags_at)?;
        if let TextOr::Full(entry) = entry {
            self.sbatch_more(&mut job, entry, at)?;
        }
        Ok(job)
    }

    /// Partitions and nodes that the flags name must exist.
    fn sbatch_names(&self, job: &Submission, flags: &str, at: &str) -> Result<(), ScenarioError> {
        let partitions = job.partitions.iter().map(|it| (it.as_str(), true));
        let nodes = job.required_nodes.iter().chain(&job.excluded_nodes);
        let names = partitions.chain(nodes.map(|it| (it.as_str(), false)));
        for (name, is_partition) in names {
            let found = match is_partition {
                true => self.known.partition(name),
                false => self.known.slurm_node(name),
            };
            found.map_err(|(what, hint)| {
                // A name out of a hostlist isn't in the text: then the flags as a whole are shown.
                let column = flags.find(name).map_or(1, |at| at + 1);
                self.source.inside(at, (1, column), what).hinted(hint)
            })?;
        }
        Ok(())
    }

    fn sbatch_more(
        &self,
        job: &mut Submission,
        entry: &SbatchEntry,
        at: &str,
    ) -> Result<(), ScenarioError> {
        if let Some(user) = &entry.user {
            job.user = UserName::from(user.as_str());
        }
        let runtime = match entry.runtime.as_deref() {
            None => None,
            Some("forever") => Some(JobBehaviour::forever()),
            Some(text) => match Lasting::parse(text) {
                Ok(lasting) => Some(JobBehaviour::lasting(lasting.0)),
                Err(wrong) => return Err(self.source.two_lines(&path::key(at, "runtime"), &wrong)),
            },
        };
        job.behaviour = match (runtime, entry.exit_code) {
            (Some(behaviour), code) => {
                Some(JobBehaviour { exit_code: code.unwrap_or(0), ..behaviour })
            }
            (None, None) => None,
            (None, Some(_)) => {
                return Err(self
                    .source
                    .at_key(&path::key(at, "exitCode"), "an exit code without a run time")
                    .hinted("add `runtime:`; without it the script says how the job ends"));
            }
        };
        Ok(())
    }

    fn slurm_nodes(&self, entry: &SlurmNodeEntry, at: &str) -> Result<Vec<Action>, ScenarioError> {
        let name_at = path::key(at, "name");
        let names = self.hostlist(&entry.name, &name_at)?;
        let reason = || {
            entry.reason.clone().ok_or_else(|| {
                self.source.at(at, "Slurm asks for a reason").hinted("add `reason:`")
            })
        };
        let change = match entry.state {
            NodeState::Drain => NodeChange::Drain(reason()?),
            NodeState::Down => NodeChange::Down(reason()?),
            NodeState::Resume => NodeChange::Resume,
        };
        for name in &names {
            self.known
                .slurm_node(name)
                .map_err(|(what, hint)| self.source.at(&name_at, what).hinted(hint))?;
        }
        let changes = names.into_iter().map(|name| Action::SlurmNode(name, change.clone()));
        Ok(changes.collect())
    }

    fn crash(&self, entry: &CrashEntry, at: &str) -> Result<Action, ScenarioError> {
        self.bridge(&path::key(at, "bridge"), "there is no bridge to crash")?;
        let kind = |effect| match effect {
            EffectEntry::Submit => EffectKind::Submit,
            EffectEntry::PatchPod => EffectKind::PatchPod,
            EffectEntry::Bind => EffectKind::Bind,
            EffectEntry::Cancel => EffectKind::Cancel,
        };
        Ok(Action::Crash(Crash {
            point: match entry.bridge {
                CrashPointEntry::Now => CrashPoint::Now,
                CrashPointEntry::Before(effect) => CrashPoint::Before(kind(effect)),
                CrashPointEntry::After(effect) => CrashPoint::After(kind(effect)),
            },
            down_for: entry.down_for.0,
        }))
    }

    fn slurmrestd(&self, entry: &SlurmrestdEntry, at: &str) -> Result<Action, ScenarioError> {
        let known = self.bridge(at, "there is no bridge to ask slurmrestd")?;
        let SlurmrestdEntry { server, state, serves } = entry.clone();
        if let Some(server) = server.as_ref().filter(|server| !known.contains(server)) {
            let what = format!("the bridge knows no slurmrestd at `{server}`");
            let hint = suggest::one_of(server, known.iter().map(String::as_str));
            return Err(self.source.at(&path::key(at, "server"), what).hinted(hint));
        }
        if state.is_none() && serves.is_none() {
            let error = self.source.at(at, "nothing changes");
            return Err(error.hinted("add `state:` or `serves:`"));
        }
        let state = state.map(|state| match state {
            RestStateEntry::Up => RestState::Up,
            RestStateEntry::Down => RestState::Down,
            RestStateEntry::Silent => RestState::Silent,
        });
        Ok(Action::Slurmrestd(RestChange { server, state, serves }))
    }

    fn fault(&self, entry: &FaultEntry, at: &str) -> Result<Fault, ScenarioError> {
        self.bridge(at, "there is no bridge to send requests")?;
        let request = fault::request(&entry.request).map_err(|what| {
            let hint = suggest::one_of(&entry.request, fault::REQUESTS.iter().copied());
            self.source.at(&path::key(at, "request"), what).hinted(hint)
        })?;
        let verdict = entry.verdict.parse().map_err(|what: String| {
            let first = entry.verdict.split(' ').next().unwrap_or_default();
            let hint = suggest::one_of(first, fault::verdicts());
            self.source.at(&path::key(at, "verdict"), what).hinted(hint)
        })?;
        if entry.nth == 0 {
            let error = self.source.at(&path::key(at, "nth"), "requests are counted from 1");
            return Err(error.hinted("write 1 for the first"));
        }
        Ok(Fault { request, nth: entry.nth, verdict })
    }

    /// The addresses of a bridge that there must be.
    fn bridge(&self, at: &str, what: &str) -> Result<&[String], ScenarioError> {
        self.addresses.ok_or_else(|| {
            self.source.at_key(at, what.to_owned()).hinted("take `bridge: none` away")
        })
    }
}

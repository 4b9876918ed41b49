//! What a user may do to a run, or to real clusters: in the twin it becomes a step of a scenario.

use std::path::PathBuf;

use drawbridge_scenarios::format::Lasting;
use drawbridge_sim::{JobId, Span};

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Submit a native job.
    Submit {
        /// The flags of sbatch.
        flags: String,
        /// Who.
        user: Option<String>,
        /// How long it runs.
        runtime: Option<String>,
    },
    /// Cancel a job.
    Cancel(JobId),
    /// Give a job another priority.
    Priority(JobId, u32),
    /// Keep a job from starting.
    Hold(JobId),
    /// Let it.
    Release(JobId),
    /// A node is gone, with what runs on it.
    Kill(String),
    /// A node takes no new work.
    Drain(String, String),
    /// A node takes work again.
    Resume(String),
    /// Keep pods from a Kubernetes node, or no longer.
    Cordon(String, bool),
    /// Give a workload another number of replicas.
    Scale(Object, u32),
    /// Delete an object.
    Delete(Object),
    /// Create or change the objects of a file.
    Apply(PathBuf),
    /// The bridge dies, and is back so much later.
    Crash(Span),
}

/// An object in Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    /// Its kind.
    pub(crate) kind: String,
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
}

impl Deed {
    /// What is done, in words.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Submit { flags, user, .. } => {
                let by = user.as_ref().map(|user| format!(" as {user}")).unwrap_or_default();
                format!("sbatch {flags}{by}")
            }
            Self::Cancel(job) => format!("cancel job {job}"),
            Self::Priority(job, priority) => format!("job {job} gets priority {priority}"),
            Self::Hold(job) => format!("hold job {job}"),
            Self::Release(job) => format!("release job {job}"),
            Self::Kill(node) => format!("node {node} goes down"),
            Self::Drain(node, reason) => format!("drain node {node}: {reason}"),
            Self::Resume(node) => format!("resume node {node}"),
            Self::Cordon(node, true) => format!("cordon node {node}"),
            Self::Cordon(node, false) => format!("uncordon node {node}"),
            Self::Scale(object, replicas) => {
                format!("scale {} {} to {replicas}", object.kind, object.key())
            }
            Self::Delete(object) => format!("delete {} {}", object.kind, object.key()),
            Self::Apply(path) => format!("apply {}", path.display()),
            Self::Crash(down_for) => format!("the bridge crashes for {}", Lasting(*down_for)),
        }
    }

    /// The same as a step of a scenario, without its time. What is in a file is given along.
    pub(crate) fn step(&self, manifest: Option<&str>) -> String {
        match self {
            Self::Submit { flags, user, runtime } => {
                let mut step = format!("sbatch: {{flags: {}", quoted(flags));
                let more = [("user", user), ("runtime", runtime)];
                for (key, value) in more.iter().filter_map(|(key, it)| Some((key, it.as_ref()?))) {
                    step += &format!(", {key}: {}", quoted(value));
                }
                step + "}"
            }
            Self::Cancel(job) => format!("scancel: \"{job}\""),
            Self::Priority(job, priority) => {
                format!("scontrol: update JobId={job} Priority={priority}")
            }
            Self::Hold(job) => format!("scontrol: hold {job}"),
            Self::Release(job) => format!("scontrol: release {job}"),
            Self::Kill(node) => node_step(node, "down", Some("killed")),
            Self::Drain(node, reason) => node_step(node, "drain", Some(reason)),
            Self::Resume(node) => node_step(node, "resume", None),
            Self::Cordon(node, true) => format!("cordon: {}", quoted(node)),
            Self::Cordon(node, false) => format!("uncordon: {}", quoted(node)),
            Self::Scale(object, replicas) => {
                format!("scale: {{{}, replicas: {replicas}}}", object.fields())
            }
            Self::Delete(object) => format!("delete: {{{}}}", object.fields()),
            Self::Apply(_) => apply_step(manifest.unwrap_or_default()),
            Self::Crash(down_for) => {
                format!("crash: {{bridge: now, downFor: {}}}", Lasting(*down_for))
            }
        }
    }
}

impl Object {
    /// Reads `Kind/name` or `Kind/namespace/name`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        let (kind, namespace, name) = match parts[..] {
            [kind, name] => (kind, "default", name),
            [kind, namespace, name] => (kind, namespace, name),
            _ => return None,
        };
        let own = |part: &str| (!part.is_empty()).then(|| part.to_owned());
        Some(Self { kind: own(kind)?, namespace: own(namespace)?, name: own(name)? })
    }

    /// `namespace/name`.
    pub(crate) fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    fn fields(&self) -> String {
        let Self { kind, namespace, name } = self;
        format!("kind: {kind}, namespace: {}, name: {}", quoted(namespace), quoted(name))
    }
}

fn node_step(node: &str, state: &str, reason: Option<&str>) -> String {
    let reason = reason.map(|reason| format!(", reason: {}", quoted(reason))).unwrap_or_default();
    format!("slurmNode: {{name: {}, state: {state}{reason}}}", quoted(node))
}

/// The documents of a manifest as a list of objects, each as it is written.
fn apply_step(manifest: &str) -> String {
    let mut step = "apply:".to_owned();
    for document in manifest.split("\n---").map(|it| it.trim_start_matches("---").trim()) {
        let mut dash = "- ";
        for line in document.lines() {
            step += &format!("\n  {dash}{line}");
            dash = "  ";
        }
    }
    step
}

/// A text as YAML takes it whatever is in it.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(plain);
    match is_word && !matches!(text, "true" | "false" | "null" | "yes" | "no" | "on" | "off") {
        true => text.to_owned(),
        false => serde_json::Value::from(text).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deeds_are_steps_of_scenarios() {
        let object = || Object::parse("Deployment/web/front").unwrap();
        let submit = |user: Option<&str>, runtime: Option<&str>| Deed::Submit {
            flags: "-N2 -J a: b".to_owned(),
            user: user.map(str::to_owned),
            runtime: runtime.map(str::to_owned),
        };
        #[rustfmt::skip]
        let rows = [
            (submit(None, None),                  r#"sbatch: {flags: "-N2 -J a: b"}"#),
            (submit(Some("al"), Some("10m")),     r#"sbatch: {flags: "-N2 -J a: b", user: al, runtime: "10m"}"#),
            (Deed::Cancel(JobId(3)),              r#"scancel: "3""#),
            (Deed::Priority(JobId(3), 9),         "scontrol: update JobId=3 Priority=9"),
            (Deed::Kill("n1".to_owned()),         "slurmNode: {name: n1, state: down, reason: killed}"),
            (Deed::Drain("n1".to_owned(), "no disk".to_owned()), r#"slurmNode: {name: n1, state: drain, reason: "no disk"}"#),
            (Deed::Cordon("n1".to_owned(), true), "cordon: n1"),
            (Deed::Scale(object(), 4),            "scale: {kind: Deployment, namespace: web, name: front, replicas: 4}"),
            (Deed::Delete(object()),              "delete: {kind: Deployment, namespace: web, name: front}"),
            (Deed::Crash(Span::secs(90)),         "crash: {bridge: now, downFor: 1m30s}"),
        ];
        for (deed, step) in rows {
            assert_eq!(deed.step(None), step);
        }
        let manifest = "---\nkind: A\nspec:\n  b: 1\n---\nkind: C\n";
        insta::assert_snapshot!(Deed::Apply(PathBuf::new()).step(Some(manifest)), @r"
        apply:
          - kind: A
            spec:
              b: 1
          - kind: C
        ");
    }
}

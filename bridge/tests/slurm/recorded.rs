//! Where the recordings are, and how one looks. Shared by the tests that use them.

use std::{fs, path::PathBuf};

use drawbridge_core::slurm::{Memory, Submission};
use serde_json::Value;

/// One recorded request and its reply.
pub(crate) struct Exchange {
    /// The recording's name.
    pub(crate) name: String,
    /// `GET`.
    pub(crate) method: String,
    /// With its query.
    pub(crate) path: String,
    /// HTTP status.
    pub(crate) status: u16,
    /// JSON, or a text.
    pub(crate) body: Value,
}

/// The folder of one release's recordings of v0.0.42; `None`, and a word about it, if not there.
pub(crate) fn folder(release: &str) -> Option<PathBuf> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    // A worktree may lie deeper than the repository itself.
    let folder = ["../shared", "../../shared"]
        .map(|shared| PathBuf::from(root).join(shared).join("fixtures/slurmrestd").join(release))
        .into_iter()
        .map(|folder| folder.join("v0.0.42"))
        .find(|folder| folder.is_dir());
    if folder.is_none() {
        println!("skipped: no recordings of {release} beside the repository");
    }
    folder
}

/// All exchanges of one release, by name.
pub(crate) fn exchanges(release: &str) -> Option<Vec<Exchange>> {
    let folder = folder(release)?;
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter_map(|file| file.strip_suffix(".resp.json").map(str::to_owned))
        .filter(|name| !name.starts_with("openapi"))
        .collect();
    names.sort();
    Some(names.into_iter().map(|name| exchange(&folder, name)).collect())
}

fn exchange(folder: &std::path::Path, name: String) -> Exchange {
    let read = |kind: &str| -> Value {
        let text = fs::read_to_string(folder.join(format!("{name}.{kind}.json"))).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let (request, reply) = (read("req"), read("resp"));
    let text = |key: &str| request[key].as_str().unwrap().to_owned();
    let status = u16::try_from(reply["status"].as_u64().unwrap()).unwrap();
    let (method, path, body) = (text("method"), text("path"), reply["body"].clone());
    Exchange { name, method, path, status, body }
}

/// The vendor's OpenAPI document.
pub(crate) fn openapi() -> Option<Value> {
    let text = fs::read_to_string(folder("24.11")?.join("openapi_v3.resp.json")).unwrap();
    let mut reply: Value = serde_json::from_str(&text).unwrap();
    Some(reply["body"].take())
}

/// A job of which everything is set.
pub(crate) fn submission() -> Submission {
    let some = |text: &str| Some(text.to_owned());
    Submission {
        name: "pod".into(),
        script: "#!/bin/sh\nsleep infinity & wait\n".into(),
        partition: Some("main".into()),
        account: some("acct"),
        qos: some("normal"),
        reservation: some("resv1"),
        wckey: some("key"),
        licenses: some("matlab:1"),
        constraints: some("a&b"),
        user_id: some("alice"),
        group_id: some("users"),
        tasks: 4,
        cpus_per_task: 2,
        memory: Memory::PerNode(8192),
        tres_per_task: some("gres/gpu:1"),
        tres_per_node: some("gres/shard:1"),
        min_nodes: Some(1),
        max_nodes: Some(4),
        excluded_nodes: vec!["n001".into(), "n002".into()],
        time_limit_minutes: Some(60),
        priority: Some(1000),
        exclusive: true,
        admin_comment: "{\"pods\":[]}".into(),
        mcs_label: some("kubernetes"),
    }
}

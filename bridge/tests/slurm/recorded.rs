//! The recordings and documents of the real slurmrestd, as the tests read them.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use drawbridge_core::slurm::{ApiVersion, Memory, Submission, Switches, WarningSignal, Wishes};
use flate2::read::GzDecoder;
use serde_json::Value;

/// Which releases were recorded, and in which versions.
pub(crate) const PAIRS: [(&str, ApiVersion); 7] = [
    ("24.11", ApiVersion::V40),
    ("24.11", ApiVersion::V41),
    ("24.11", ApiVersion::V42),
    ("26.05", ApiVersion::V42),
    ("26.05", ApiVersion::V43),
    ("26.05", ApiVersion::V44),
    ("26.05", ApiVersion::V45),
];

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

/// All exchanges of one release in one version, by name.
pub(crate) fn exchanges(release: &str, version: ApiVersion) -> Vec<Exchange> {
    let text = unpack(&format!("recorded-{release}-{version}.jsonl.gz"));
    text.lines().map(|line| exchange(&json(line))).collect()
}

/// The same in full, where they lie beside the repository; `None`, and a word about it, elsewhere.
pub(crate) fn full_exchanges(release: &str, version: ApiVersion) -> Option<Vec<Exchange>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // A worktree may lie deeper than the repository itself.
    let folder = ["../shared", "../../shared"]
        .map(|shared| root.join(shared).join("fixtures/slurmrestd").join(release))
        .into_iter()
        .map(|folder| folder.join(version.as_str()))
        .find(|folder| folder.is_dir());
    let Some(folder) = folder else {
        println!("skipped: no full recordings of {release} beside the repository");
        return None;
    };
    let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let mut replies: Vec<PathBuf> = files
        .filter(|path| path.to_string_lossy().ends_with(".resp.json"))
        .filter(|path| !path.to_string_lossy().contains("openapi"))
        .collect();
    replies.sort();
    Some(replies.iter().map(|path| full_exchange(path)).collect())
}

fn full_exchange(reply: &Path) -> Exchange {
    let read = |path: &Path| json(&fs::read_to_string(path).unwrap());
    let name = reply.file_name().unwrap().to_str().unwrap().strip_suffix(".resp.json").unwrap();
    let mut whole = read(&reply.with_file_name(format!("{name}.req.json")));
    let answer = read(reply);
    whole["name"] = name.into();
    whole["status"] = answer["status"].clone();
    whole["body"] = answer["body"].clone();
    exchange(&whole)
}

/// v0.0.40 and v0.0.41 write a share's level in a way that JSON doesn't have.
fn json(text: &str) -> Value {
    let infinity = r#"{"infinite":true}"#;
    let text = text.replace(":Infinity", &format!(":{infinity}"));
    serde_json::from_str(&text.replace(": Infinity", &format!(": {infinity}"))).unwrap()
}

fn exchange(line: &Value) -> Exchange {
    let text = |key: &str| line[key].as_str().unwrap().to_owned();
    Exchange {
        name: text("name"),
        method: text("method"),
        path: text("path"),
        status: u16::try_from(line["status"].as_u64().unwrap()).unwrap(),
        body: line["body"].clone(),
    }
}

/// The vendor's OpenAPI document of one version.
pub(crate) fn openapi(version: ApiVersion) -> Value {
    serde_json::from_str(&unpack(&format!("openapi-{version}.json.gz"))).unwrap()
}

fn unpack(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slurm/vendor").join(name);
    let mut text = String::new();
    GzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}

/// A job of which everything is set.
pub(crate) fn submission() -> Submission {
    let some = |text: &str| Some(text.to_owned());
    Submission {
        name: "pod".into(),
        script: "#!/bin/sh\nsleep infinity & wait\n".to_owned().into(),
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
        tasks_per_node: None,
        required_nodes: vec![],
        min_nodes: Some(1),
        max_nodes: Some(4),
        excluded_nodes: vec!["n001".into(), "n002".into()],
        time_limit_minutes: Some(60),
        wishes: Wishes {
            begin_time: Some(1_767_229_200),
            deadline: Some(1_767_312_000),
            dependency: some("afterok:7"),
            nice: Some(10),
            comment: some("ticket 17"),
            prefer: some("a100"),
            signal: Some(WarningSignal { signal: "TERM".into(), seconds_before: 300 }),
            switches: Some(Switches { count: 1, wait_seconds: Some(60) }),
        },
        priority: Some(1000),
        exclusive: true,
        admin_comment: "{\"pods\":[]}".into(),
        mcs_label: some("kubernetes"),
    }
}

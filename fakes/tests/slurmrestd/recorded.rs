//! The recordings of the real slurmrestd: condensed in the repository, whole beside it.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use drawbridge_fakes::slurmrestd::RestRequest;
use drawbridge_sim::Release;
use serde_json::Value;

use crate::cluster::{BEGAN, key};

/// One recorded request and what is kept of its answer.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    /// Which slurmrestd answered.
    pub(crate) release: Release,
    /// Which version of the API.
    pub(crate) version: String,
    /// The recording's name.
    pub(crate) name: String,
    /// The request.
    pub(crate) request: RestRequest,
    /// HTTP status.
    pub(crate) status: u16,
    /// `Content-Type`.
    pub(crate) media: String,
    /// The body, if it is a text.
    pub(crate) text: Option<String>,
    /// The numbers in `errors[]`.
    pub(crate) errors: Vec<i64>,
    /// How many `warnings[]` there are.
    pub(crate) warnings: usize,
    /// The shape of a JSON body, as a tree.
    pub(crate) shape: Option<String>,
}

static ALL: LazyLock<Vec<Exchange>> = LazyLock::new(|| {
    let mut shapes: Vec<String> = vec![];
    let mut all = vec![];
    for line in include_str!("recorded.jsonl").lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        match line.get("release") {
            None => shapes.push(line["shape"].as_str().unwrap().to_owned()),
            Some(_) => all.push(exchange(&line, &shapes)),
        }
    }
    all
});

/// The seven pairs of a release and a version.
pub(crate) fn pairs() -> Vec<(Release, String)> {
    let mut pairs: Vec<_> = ALL.iter().map(|it| (it.release, it.version.clone())).collect();
    pairs.dedup();
    pairs
}

/// The recordings of a pair, in the order in which they were made.
pub(crate) fn exchanges(release: Release, version: &str) -> Vec<Exchange> {
    let of_pair = ALL.iter().filter(|it| it.release == release && it.version == version);
    of_pair.cloned().collect()
}

fn exchange(line: &Value, shapes: &[String]) -> Exchange {
    let text = |key: &str| line[key].as_str().unwrap().to_owned();
    let shape = line.get("shape").and_then(Value::as_u64);
    let numbers = line["errors"].as_array().into_iter().flatten();
    Exchange {
        release: Release::parse(&text("release")).unwrap(),
        version: text("version"),
        name: text("name"),
        request: request(line),
        status: u16::try_from(line["status"].as_u64().unwrap()).unwrap(),
        media: text("type"),
        text: line.get("text").map(|text| text.as_str().unwrap().to_owned()),
        errors: numbers.map(|number| number.as_i64().unwrap()).collect(),
        warnings: usize::try_from(line["warnings"].as_u64().unwrap_or(0)).unwrap(),
        shape: shape.map(|at| shapes[usize::try_from(at).unwrap()].clone()),
    }
}

fn request(line: &Value) -> RestRequest {
    let headers = line["headers"].as_object().unwrap();
    let name = headers.get("X-SLURM-USER-NAME").and_then(Value::as_str).unwrap_or("alice");
    // Tokens were left out of the recordings; all but one were the named user's own.
    let owner = if line["name"] == "err_wrong_user" { "alice" } else { name };
    let token = key().mint(owner, BEGAN, 36_000);
    let headers = headers.iter().map(|(key, value)| {
        let value = value.as_str().unwrap().replace("<jwt>", &token);
        (key.to_ascii_lowercase(), value)
    });
    let body = match (line.get("body_raw"), line.get("body")) {
        (Some(raw), _) => raw.as_str().unwrap().to_owned(),
        (None, Some(json)) => json.to_string(),
        (None, None) => String::new(),
    };
    RestRequest {
        method: line["method"].as_str().unwrap().to_owned(),
        target: line["path"].as_str().unwrap().to_owned(),
        headers: headers.collect(),
        body: body.into_bytes(),
        ..RestRequest::default()
    }
}

/// The whole recorded body, if the recordings lie beside the repository.
pub(crate) fn whole(exchange: &Exchange) -> Option<Value> {
    let folder = folder(exchange.release)?.join(&exchange.version);
    let mut reply = read(&folder.join(format!("{}.resp.json", exchange.name)))?;
    Some(reply["body"].take())
}

/// The vendor's OpenAPI document.
pub(crate) fn openapi(release: Release) -> Option<Value> {
    let path = folder(release)?.join("v0.0.42/openapi_v3.resp.json");
    let mut reply = read(&path)?;
    Some(reply["body"].take())
}

fn folder(release: Release) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // A worktree may lie deeper than the repository itself.
    let places = ["../shared", "../../shared"].map(|shared| root.join(shared));
    let folders = places.map(|place| place.join("fixtures/slurmrestd").join(release.as_str()));
    let found = folders.into_iter().find(|folder| folder.is_dir());
    if found.is_none() {
        println!("skipped: no recordings of {release} beside the repository");
    }
    found
}

fn read(path: &Path) -> Option<Value> {
    // Infinity is no JSON; slurmrestd writes it all the same.
    let text = fs::read_to_string(path).ok()?.replace(": Infinity", ": 0.0");
    Some(serde_json::from_str(&text).unwrap())
}

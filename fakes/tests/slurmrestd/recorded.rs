//! The recordings of the real slurmrestd, which lie beside the repository.

use std::{
    fs,
    path::{Path, PathBuf},
};

use drawbridge_fakes::Request;
use serde_json::Value;

use crate::cluster::request;

/// One recorded request and its reply.
pub(crate) struct Exchange {
    /// The recording's name.
    pub(crate) name: String,
    /// The request, if a JSON body (or none) came with it.
    pub(crate) request: Request,
    /// `GET /slurm/v0.0.42/jobs/`, as the OpenAPI document has it.
    pub(crate) line: String,
    /// HTTP status.
    pub(crate) status: u16,
    /// JSON, or a text.
    pub(crate) body: Value,
}

/// The recordings of v0.0.42, in the order in which they were made.
pub(crate) fn exchanges(release: &str) -> Option<Vec<Exchange>> {
    let folder = folder(release)?;
    let index = folder.join("INDEX.v0.0.42.txt");
    let names = fs::read_to_string(index).unwrap();
    let names = names.lines().filter_map(|line| line.split_whitespace().nth(1));
    let folder = folder.join("v0.0.42");
    Some(names.filter_map(|name| exchange(&folder, name)).collect())
}

/// The vendor's OpenAPI document.
pub(crate) fn openapi() -> Option<Value> {
    let path = folder("24.11")?.join("v0.0.42/openapi_v3.resp.json");
    let mut reply = read(&path)?;
    Some(reply["body"].take())
}

fn folder(release: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // A worktree may lie deeper than the repository itself.
    let places = ["../shared", "../../shared"].map(|shared| root.join(shared));
    let folders = places.map(|place| place.join("fixtures/slurmrestd").join(release));
    let found = folders.into_iter().find(|folder| folder.is_dir());
    if found.is_none() {
        println!("skipped: no recordings of {release} beside the repository");
    }
    found
}

fn exchange(folder: &Path, name: &str) -> Option<Exchange> {
    let asked = read(&folder.join(format!("{name}.req.json")))?;
    let reply = read(&folder.join(format!("{name}.resp.json")))?;
    let user = asked["headers"]["X-SLURM-USER-NAME"].as_str().unwrap_or("alice");
    let line = format!("{} {}", asked["method"].as_str()?, asked["path"].as_str()?);
    let body = Some(asked["body"].clone()).filter(|body| !body.is_null());
    Some(Exchange {
        name: name.into(),
        request: request(user, &line, body),
        line,
        status: u16::try_from(reply["status"].as_u64()?).ok()?,
        body: reply["body"].clone(),
    })
}

fn read(path: &Path) -> Option<Value> {
    let text = fs::read_to_string(path).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

//! A dialogue with the API server, as text: one request a line, one answer a line.
//!
//! ```text
//! asked      POST /api/v1/namespaces {"metadata":{"name":"a"}} ?? status.phase
//! answered   POST namespaces: 201 Namespace a rv 7 status.phase="Active"
//! ```

use std::fmt::Write;

use drawbridge_fakes::{KubeApi, Method, NoWebhooks, Request, Response, Webhooks};
use drawbridge_sim::{Epoch, Seed, Time};
use serde_json::Value;

/// A server as every test begins with.
pub(crate) fn server() -> KubeApi {
    KubeApi::new(Epoch::DEFAULT, Seed(1))
}

/// Talks to a server without webhooks.
pub(crate) fn talk(api: &mut KubeApi, script: &str) -> String {
    talk_with(api, &mut NoWebhooks, script)
}

/// Talks to a server. `AT 5` sets the clock to five seconds.
pub(crate) fn talk_with(api: &mut KubeApi, hooks: &mut dyn Webhooks, script: &str) -> String {
    let mut now = Time::ZERO;
    let mut said = String::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(secs) = line.strip_prefix("AT ") {
            now = Time::from_ms(secs.parse::<u64>().unwrap() * 1000);
            continue;
        }
        if line == "COLLECT" {
            writeln!(said, "COLLECT: {} requests", api.collect_garbage(now, hooks)).unwrap();
            continue;
        }
        let (line, fields) = line.split_once(" ?? ").unwrap_or((line, ""));
        let response = api.handle(now, &request(line), hooks);
        writeln!(said, "{}: {}", heading(line), essentials(&response, fields)).unwrap();
    }
    said
}

/// Reads `MERGE /path?query {body}`.
pub(crate) fn request(line: &str) -> Request {
    let (method, rest) = line.split_once(' ').unwrap();
    let (path, body) = rest.split_once(' ').unwrap_or((rest, ""));
    let method = match method {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "MERGE" => Method::MergePatch,
        "JSON" => Method::JsonPatch,
        "STRATEGIC" => Method::StrategicPatch,
        "DELETE" => Method::Delete,
        other => panic!("no method `{other}`"),
    };
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut request = Request::new("alice", method, path);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap();
        request = request.with_query(key, value.replace('+', " "));
    }
    match body {
        "" => request,
        body => request.with_body(serde_json::from_str(body).unwrap()),
    }
}

/// The method and the end of the path.
fn heading(line: &str) -> String {
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let path = path.strip_prefix("/api/v1/").unwrap_or(path);
    let end = path.split_once("namespaces/default/").map_or(path, |(_, end)| end);
    format!("{method} {end}")
}

fn essentials(response: &Response, fields: &str) -> String {
    let body = &*response.body;
    let mut text = format!("{} ", response.status);
    match body["kind"].as_str() {
        Some("Status") if body["status"] == "Failure" => {
            let word = |key: &str| body[key].as_str().unwrap_or("");
            write!(text, "{}: {}", word("reason"), word("message")).unwrap();
        }
        Some("Status") => write!(text, "Success").unwrap(),
        Some(kind) if kind.ends_with("List") => {
            let name = |item: &Value| item["metadata"]["name"].as_str().unwrap().to_owned();
            let names: Vec<String> = body["items"].as_array().unwrap().iter().map(name).collect();
            let version = body["metadata"]["resourceVersion"].as_str().unwrap();
            write!(text, "{kind} [{}] rv {version}", names.join(" ")).unwrap();
        }
        Some(kind) => {
            let word = |key: &str| body["metadata"][key].as_str().unwrap_or("");
            write!(text, "{kind} {} rv {}", word("name"), word("resourceVersion")).unwrap();
        }
        None => write!(text, "{body}").unwrap(),
    }
    for field in fields.split(' ').filter(|field| !field.is_empty()) {
        let found = body.pointer(&format!("/{}", field.replace('.', "/")));
        write!(text, " {field}={}", found.unwrap_or(&Value::Null)).unwrap();
    }
    text
}

//! `/livez`, `/readyz`, `/healthz`: one word, or a line for each check.

use super::Reply;

/// What is looked at. All of it is well as long as there is somebody to say so.
const LIVE: [&str; 4] = ["ping", "log", "etcd", "poststarthook/start-apiextensions-controllers"];
const READY: [&str; 2] = ["informer-sync", "shutdown"];

/// The answer of a health endpoint: `rest` names a single check.
pub(crate) fn answer(endpoint: &str, rest: &str, query: &[(String, String)]) -> Reply {
    let ready = if endpoint == "readyz" { &READY[..] } else { &[] };
    let checks = || LIVE.iter().chain(ready);
    if !rest.is_empty() {
        return match checks().any(|check| *check == rest) {
            true => plain(200, "ok"),
            false => plain(404, "404 page not found\n"),
        };
    }
    let excluded = query.iter().filter(|(name, _)| name == "exclude");
    let excluded: Vec<&str> = excluded.map(|(_, value)| value.as_str()).collect();
    if !query.iter().any(|(name, _)| name == "verbose") {
        return plain(200, "ok");
    }
    let mut text = String::new();
    for check in checks() {
        text += &match excluded.contains(check) {
            true => format!("[+]{check} excluded: ok\n"),
            false => format!("[+]{check} ok\n"),
        };
    }
    for odd in excluded.iter().filter(|it| !checks().any(|check| check == *it)) {
        text += &format!("warn: some health checks cannot be excluded: no matches for \"{odd}\"\n");
    }
    plain(200, &format!("{text}{endpoint} check passed\n"))
}

fn plain(status: u16, text: &str) -> Reply {
    let mut reply = Reply::new(status, "text/plain; charset=utf-8", text);
    reply.headers.push(("cache-control", "no-cache, no-store, must-revalidate".to_owned()));
    reply
}

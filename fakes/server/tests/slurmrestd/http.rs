//! Laws about HTTP itself, which can't be said in a line.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{
    client::{Connection, request},
    site::Site,
};

type Law = (&'static str, fn(&Site));

/// All of them.
pub(crate) const LAWS: &[Law] = &[
    ("a connection serves one request after the other", keep_alive),
    ("requests may come before answers have gone", pipelined),
    ("a refusal ends the connection", refusals_close),
    ("who wants the connection to end gets his answer first", connection_close),
    ("a client may stop sending and still gets its answer", half_closed),
    ("HEAD is refused", head),
    ("an unknown method is refused", unknown_method),
    ("chunks are refused", chunks),
    ("a content encoding is refused", encoded),
    ("100 Continue is said to who waits for it", expect_continue),
    ("the absolute form of a target is taken", absolute),
    ("a bearer token is as good", bearer),
    ("two tokens are none", two_tokens),
    ("Bearer is written with a capital", bearer_in_lower_case),
    ("a name must be the token's", wrong_name),
    ("root's token acts for others", root_for_others),
    ("an unknown content type is refused", content_type),
    ("a content type with a character set is refused", charset),
    ("a body without a content type is refused", no_content_type),
    ("YAML is read", yaml_in),
    ("YAML is written if it is asked for", yaml_out),
    ("what nobody can write is refused", unacceptable),
    ("a list of types takes the first that is known", accept_list),
    ("a large body gets an answer", large),
    ("a long header gets an answer", long_header),
    ("no header says what time it is", no_date),
];

/// Keeps them; how many were.
pub(crate) fn keep_all(site: &Site, broken: &mut Vec<String>) -> usize {
    let mut kept = 0;
    for (name, law) in LAWS {
        match catch_unwind(AssertUnwindSafe(|| law(site))) {
            Ok(()) => kept += 1,
            Err(panic) => {
                let why = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                broken.push(format!("{} {name}\n    {why}", site.release));
            }
        }
    }
    kept
}

fn with(site: &Site, more: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut headers = site.headers("alice");
    headers.extend(more.iter().map(|(name, value)| ((*name).into(), (*value).into())));
    headers
}

fn only(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

fn status(site: &Site, method: &str, path: &str, headers: &[(String, String)], body: &str) -> u16 {
    site.ask(method, &site.target(path), headers, body.as_bytes()).status
}

fn keep_alive(site: &Site) {
    let mut connection = Connection::open(site.address).unwrap();
    for path in ["ping", "nodes", "jobs", "ping"] {
        let bytes = request("GET", &site.target(path), &with(site, &[]), b"");
        connection.send(&bytes).unwrap();
        assert_eq!(connection.receive().unwrap().status, 200, "{path}");
    }
}

fn pipelined(site: &Site) {
    let mut connection = Connection::open(site.address).unwrap();
    let bytes = request("GET", &site.target("ping"), &with(site, &[]), b"");
    connection.send(&bytes.repeat(3)).unwrap();
    for _ in 0..3 {
        assert_eq!(connection.receive().unwrap().status, 200);
    }
}

fn refusals_close(site: &Site) {
    for path in ["nope", "job/123456", "job/abc"] {
        let mut connection = Connection::open(site.address).unwrap();
        connection.send(&request("GET", &site.target(path), &with(site, &[]), b"")).unwrap();
        let answer = connection.receive().unwrap();
        assert!(400 <= answer.status);
        assert_eq!(
            answer.header("connection").map(str::to_ascii_lowercase).as_deref(),
            Some("close")
        );
        assert!(connection.is_closed(), "{path}");
    }
}

fn connection_close(site: &Site) {
    let mut connection = Connection::open(site.address).unwrap();
    let headers = with(site, &[("Connection", "close")]);
    connection.send(&request("GET", &site.target("ping"), &headers, b"")).unwrap();
    assert_eq!(connection.receive().unwrap().status, 200);
    assert!(connection.is_closed());
}

fn half_closed(site: &Site) {
    let mut connection = Connection::open(site.address).unwrap();
    connection.send(&request("GET", &site.target("ping"), &with(site, &[]), b"")).unwrap();
    connection.finish().unwrap();
    assert_eq!(connection.receive().unwrap().status, 200);
    assert!(connection.is_closed());
    // In the middle of a request there is nothing to answer.
    let mut connection = Connection::open(site.address).unwrap();
    connection.send(b"GET /slurm/v0.0.42/ping HTTP/1.1\r\nHost: x\r\n").unwrap();
    connection.finish().unwrap();
    assert!(connection.is_closed());
}

/// What the head of an answer to this says; 24.11 leaves it unfinished.
fn first_line(site: &Site, bytes: &[u8]) -> u16 {
    let mut connection = Connection::open(site.address).unwrap();
    connection.send(bytes).unwrap();
    let _ = connection.finish();
    connection.first_status()
}

fn head(site: &Site) {
    let bytes = request("HEAD", &site.target("ping"), &with(site, &[]), b"");
    assert_eq!(first_line(site, &bytes), site.pick(411, 404));
}

fn unknown_method(site: &Site) {
    let bytes = request("BREW", &site.target("ping"), &with(site, &[]), b"");
    assert_eq!(first_line(site, &bytes), site.pick(400, 405));
}

fn chunks(site: &Site) {
    let headers =
        with(site, &[("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")]);
    let mut head = format!("POST {} HTTP/1.1\r\nHost: x\r\n", site.target("job/submit"));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n2\r\n{}\r\n0\r\n\r\n");
    assert_eq!(first_line(site, head.as_bytes()), 406);
}

fn encoded(site: &Site) {
    let headers = with(site, &[("Content-Type", "application/json"), ("Content-Encoding", "gzip")]);
    let bytes = request("POST", &site.target("job/submit"), &headers, b"{}");
    assert_eq!(first_line(site, &bytes), 406);
}

fn expect_continue(site: &Site) {
    let headers = with(site, &[("Content-Type", "application/json"), ("Expect", "100-continue")]);
    assert_eq!(status(site, "POST", "job/submit", &headers, "{}"), 422);
}

fn absolute(site: &Site) {
    let target = format!("http://localhost{}", site.target("ping"));
    assert_eq!(site.ask("GET", &target, &with(site, &[]), b"").status, 200);
}

fn bearer(site: &Site) {
    let token = format!("Bearer {}", site.token("alice"));
    assert_eq!(status(site, "GET", "jobs", &only(&[("Authorization", &token)]), ""), 200);
}

fn two_tokens(site: &Site) {
    let token = format!("Bearer {}", site.token("alice"));
    assert_eq!(status(site, "GET", "jobs", &with(site, &[("Authorization", &token)]), ""), 401);
}

fn bearer_in_lower_case(site: &Site) {
    let token = format!("bearer {}", site.token("alice"));
    assert_eq!(status(site, "GET", "jobs", &only(&[("Authorization", &token)]), ""), 401);
}

fn wrong_name(site: &Site) {
    assert_eq!(
        status(site, "GET", "jobs", &with(site, &[("X-SLURM-USER-NAME", "alice")]), ""),
        200
    );
    assert_eq!(status(site, "GET", "jobs", &with(site, &[("X-SLURM-USER-NAME", "bob")]), ""), 511);
    assert_eq!(status(site, "GET", "jobs", &only(&[("X-SLURM-USER-NAME", "alice")]), ""), 401);
}

fn root_for_others(site: &Site) {
    let token = site.token("root");
    let headers = only(&[
        ("X-SLURM-USER-TOKEN", &token),
        ("X-SLURM-USER-NAME", "alice"),
        ("Content-Type", "application/json"),
    ]);
    let body = r#"{"state": ["DRAIN"], "reason": "x"}"#;
    assert_eq!(status(site, "POST", "node/n1", &headers, body), site.pick(500, 422));
}

fn content_type(site: &Site) {
    let headers = with(site, &[("Content-Type", "text/plain")]);
    assert_eq!(status(site, "POST", "job/submit", &headers, "{}"), site.pick(400, 415));
}

fn charset(site: &Site) {
    let headers = with(site, &[("Content-Type", "application/json; charset=utf-8")]);
    assert_eq!(status(site, "POST", "job/submit", &headers, "{}"), site.pick(400, 415));
}

fn no_content_type(site: &Site) {
    assert_eq!(status(site, "POST", "job/submit", &with(site, &[]), "{}"), site.pick(400, 500));
}

fn yaml_in(site: &Site) {
    for name in ["application/x-yaml", "application/yaml", "text/yaml"] {
        let headers = with(site, &[("Content-Type", name)]);
        let body = "script: \"#!/bin/sh\\nsleep 9\\n\"\njob: {current_working_directory: /tmp}\n";
        let answer = site.ask("POST", &site.target("job/submit"), &headers, body.as_bytes());
        let number = answer.value()["errors"][0]["error_number"].as_i64();
        assert_eq!(
            (answer.status, number),
            (site.pick(500, 422), Some(site.pick(2019, 2127))),
            "{name}"
        );
    }
}

fn yaml_out(site: &Site) {
    let headers = with(site, &[("Accept", "application/yaml")]);
    let answer = site.ask("GET", &site.target("ping"), &headers, b"");
    assert_eq!(answer.header("content-type"), Some("application/yaml"));
    assert!(answer.body.starts_with(b"%YAML 1.1\n--- !!map\n"));
}

fn unacceptable(site: &Site) {
    for name in ["text/html", "application/*", "text/csv"] {
        assert_eq!(
            status(site, "GET", "ping", &with(site, &[("Accept", name)]), ""),
            415,
            "{name}"
        );
    }
}

fn accept_list(site: &Site) {
    for (list, name) in [
        ("text/html, */*;q=0.5", "application/json"),
        ("application/x-yaml, application/json", "application/x-yaml"),
        ("application/json;q=0.9", "application/json"),
    ] {
        let answer = site.ask("GET", &site.target("ping"), &with(site, &[("Accept", list)]), b"");
        assert_eq!(answer.header("content-type"), Some(name), "{list}");
    }
}

fn large(site: &Site) {
    let comment = "x".repeat(10 << 20);
    let body = format!(
        r##"{{"script":"#!/bin/sh\n","job":{{"current_working_directory":"/tmp","environment":["A=b"],"hold":true,"comment":"{comment}"}}}}"##
    );
    let headers = with(site, &[("Content-Type", "application/json")]);
    let answer = site.ask("POST", &site.target("job/submit"), &headers, body.as_bytes());
    assert_eq!(answer.status, site.pick(500, 422));
}

fn long_header(site: &Site) {
    let long = "y".repeat(10_000);
    assert_eq!(status(site, "GET", "ping", &with(site, &[("X-Long", &long)]), ""), 200);
}

fn no_date(site: &Site) {
    let answer = site.ask("GET", &site.target("ping"), &with(site, &[]), b"");
    assert_eq!(answer.header("date"), None);
    assert_eq!(answer.header("server"), None);
}

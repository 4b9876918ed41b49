//! Bad clients, and many of them: clear answers, no crash, memory that doesn't grow.

use std::{
    fs,
    process::Command,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use drawbridge_sim::Release;

use crate::{
    client::{Connection, request},
    site::Site,
};

/// This process's memory, in MiB.
fn memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    let kib = line.split_whitespace().nth(1).and_then(|word| word.parse().ok());
    kib.unwrap_or(0_usize) / 1024
}

/// One at a time: what one leaves in memory is not to be counted as another's.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_well(site: &Site) {
    assert_eq!(site.call("alice", "GET", "ping", None).status, 200);
}

/// Lets this process have more files open than many a login shell permits.
fn allow_many_files() {
    let id = std::process::id().to_string();
    let _ = Command::new("prlimit").args(["--pid", &id, "--nofile=8192:"]).status();
}

#[test]
fn a_thousand_connections_at_once_are_all_answered() {
    let _turn = turn();
    allow_many_files();
    let site = Site::fake(Release::V24_11, 1.0);
    let bytes = request("GET", &site.target("ping"), &site.headers("alice"), b"");
    let round = || {
        let mut connections: Vec<Connection> =
            (0..1000).map(|_| Connection::open(site.address).unwrap()).collect();
        // Twice, on the same ones.
        for _ in 0..2 {
            connections.iter_mut().for_each(|it| it.send(&bytes).unwrap());
            for connection in &mut connections {
                assert_eq!(connection.receive().unwrap().status, 200);
            }
        }
    };
    round();
    let before = memory();
    (0..3).for_each(|_| round());
    let grown = memory().saturating_sub(before);
    assert!(grown < 40, "3 times 1,000 connections left {grown} MiB behind");
}

#[test]
fn slow_and_silent_clients_keep_nobody_waiting() {
    let _turn = turn();
    let site = Site::fake(Release::V24_11, 1.0);
    let bytes = request("GET", &site.target("ping"), &site.headers("alice"), b"");
    let mut silent: Vec<Connection> =
        (0..200).map(|_| Connection::open(site.address).unwrap()).collect();
    for (at, connection) in silent.iter_mut().enumerate() {
        // Nothing at all, half a head, a head without its body.
        match at % 3 {
            0 => {}
            1 => connection.send(&bytes[..20]).unwrap(),
            _ => connection.send(b"POST /slurm/v0.0.42/job/submit HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{").unwrap(),
        }
    }
    // One that sends a byte at a time is answered when it has sent all of them.
    let slow = thread::spawn({
        let address = site.address;
        move || {
            let mut connection = Connection::open(address).unwrap();
            for byte in bytes {
                connection.send(&[byte]).unwrap();
                thread::sleep(Duration::from_millis(3));
            }
            connection.receive().unwrap().status
        }
    });
    let began = Instant::now();
    (0..200).for_each(|_| is_well(&site));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(slow.join().unwrap(), 200);
}

#[test]
fn whatever_is_sent_gets_an_answer_or_an_end() {
    let _turn = turn();
    let site = Site::fake(Release::V26_05, 1.0);
    let token = site.token("alice");
    let head = format!(
        "POST /slurm/v0.0.45/job/submit HTTP/1.1\r\nHost: x\r\nX-SLURM-USER-TOKEN: {token}\r\nContent-Type: application/json\r\n"
    );
    let with_body = |body: &[u8]| {
        [format!("{head}Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
    };
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let wide = format!(
        "{{\"job\": {{{}}}}}",
        (0..20_000).map(|at| format!("\"f{at}\": {at}")).collect::<Vec<_>>().join(",")
    );
    let requests: Vec<Vec<u8>> = vec![
        b"\r\n\r\n\r\n".to_vec(),
        b"\0\x01\x02\xff\xfe garbage \r\n\r\n".to_vec(),
        b"GET\r\n\r\n".to_vec(),
        b"GET / HTTP/9.9\r\n\r\n".to_vec(),
        format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(100_000)).into_bytes(),
        format!("GET / HTTP/1.1\r\n{}\r\n", "X-A: b\r\n".repeat(5_000)).into_bytes(),
        with_body(b"{\"job\": "),
        with_body(b"\xff\xfe\xfd"),
        with_body(b"{\"job\": {\"tasks\": 1e999, \"name\": \"\\ud800\"}}"),
        with_body(deep.as_bytes()),
        with_body(wide.as_bytes()),
        format!("{head}Content-Length: 99999999999999\r\n\r\n{{").into_bytes(),
        format!("{head}Content-Length: -1\r\n\r\n{{").into_bytes(),
        format!("{head}Content-Length: 5\r\nContent-Length: 7\r\n\r\n{{}}").into_bytes(),
    ];
    for (at, bytes) in requests.iter().enumerate() {
        let mut connection = Connection::open(site.address).unwrap();
        // The other side may have had enough before all of it was sent.
        let _ = connection.send(bytes);
        let _ = connection.finish();
        let status = connection.first_status();
        assert!(status == 0 || (400..600).contains(&status), "request {at}: {status}");
        is_well(&site);
    }
}

#[test]
fn large_bodies_do_not_stay_in_memory() {
    let _turn = turn();
    let site = Site::fake(Release::V24_11, 1.0);
    let mut headers = site.headers("alice");
    headers.push(("Content-Type".into(), "application/json".into()));
    let comment = "x".repeat(10 << 20);
    let body = format!(
        "{{\"script\":\"#!/bin/sh\\n\",\"job\":{{\"comment\":\"{comment}\",\"current_working_directory\":\"/\",\"environment\":[\"A=b\"]}}}}"
    );
    let bytes = request("POST", &site.target("job/submit"), &headers, body.as_bytes());
    let ask = || {
        let mut connection = Connection::open(site.address).unwrap();
        connection.send(&bytes).unwrap();
        assert_eq!(connection.receive().unwrap().status, 500);
    };
    (0..4).for_each(|_| ask());
    let before = memory();
    (0..20).for_each(|_| ask());
    let grown = memory().saturating_sub(before);
    assert!(grown < 60, "20 bodies of 10 MiB left {grown} MiB behind");
    // More than the largest is refused without being kept.
    let mut connection = Connection::open(site.address).unwrap();
    let head = request("POST", &site.target("job/submit"), &headers, b"");
    let head =
        String::from_utf8(head).unwrap().replace("Content-Length: 0", "Content-Length: 100000000");
    let _ = connection.send(head.as_bytes());
    let chunk = vec![b'x'; 1 << 20];
    let sent = (0..100).take_while(|_| connection.send(&chunk).is_ok()).count();
    assert!(connection.first_status() == 413 || sent < 100);
    is_well(&site);
}

#[test]
fn many_clients_at_once_change_and_read_without_harm() {
    let _turn = turn();
    let site = Site::fake(Release::V24_11, 5.0);
    let failed = AtomicUsize::new(0);
    thread::scope(|scope| {
        for client in 0..16 {
            let (site, failed) = (&site, &failed);
            scope.spawn(move || {
                for at in 0..40 {
                    let job = r##"{"script":"#!/bin/sh\nsleep 5\n","job":{"current_working_directory":"/tmp","environment":["A=b"],"memory_per_node":10}}"##;
                    let done = match (client + at) % 4 {
                        0 | 1 => site.call("alice", "POST", "job/submit", Some(job)).status == 200,
                        2 => site.call("bob", "GET", "jobs", None).status == 200,
                        _ => site.call("alice", "DELETE", &format!("job/{}", at + 1), None).status == 200,
                    };
                    failed.fetch_add(usize::from(!done), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(failed.into_inner(), 0);
    let jobs = site.call("alice", "GET", "jobs/state", None).value();
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 320);
}

#[test]
fn a_long_list_that_nobody_reads_stops_nobody() {
    let _turn = turn();
    let site = Site::fake(Release::V24_11, 1.0);
    let array = r##"{"script":"#!/bin/sh\nsleep 500\n","job":{"current_working_directory":"/tmp","environment":["A=b"],"hold":true}}"##;
    for _ in 0..400 {
        assert_eq!(site.call("alice", "POST", "job/submit", Some(array)).status, 200);
    }
    let bytes = request("GET", &site.target("jobs"), &site.headers("alice"), b"");
    let mut lazy: Vec<Connection> =
        (0..20).map(|_| Connection::open(site.address).unwrap()).collect();
    lazy.iter_mut().for_each(|it| it.send(&bytes).unwrap());
    (0..50).for_each(|_| is_well(&site));
    let answer = lazy[0].receive().unwrap();
    assert_eq!(answer.value()["jobs"].as_array().unwrap().len(), 400);
    drop(lazy);
    is_well(&site);
}

//! The client and the session against small servers made for the purpose: in memory under paused
//! time, on TCP, with TLS, on a Unix socket.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::panic, reason = "tests")]

mod faults;
mod server;
mod session;
mod tls;
mod tokens;
mod transports;

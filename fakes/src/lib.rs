//! Servers in process: a Kubernetes API server with what stands behind it, and slurmrestd.

mod http;

pub use http::{Method, Request, Response};

//! Servers in process: a Kubernetes API server with what stands behind it, and slurmrestd.

mod cluster;
mod http;
mod kube;

pub mod slurmrestd;

pub use cluster::{Behaviour, Cluster, Mpi, PodMatch, Runtime, Spread};
pub use http::{Answer, Frames, HttpRequest, Method, Reply, Request, Response, Stream, User};
pub use kube::base64_encode;
pub use kube::{
    Audit, Change, ChangeKind, KubeApi, LabelSelector, NoWebhooks, ObjectKey, Watch, WatchEvent,
    Webhooks,
};

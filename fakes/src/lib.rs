//! Servers in process: a Kubernetes API server with what stands behind it, and slurmrestd.

mod cluster;
mod http;
mod kube;

pub mod slurmrestd;

pub use cluster::{
    Across, Behaviour, Cluster, Crashes, ImagePull, Log, Mpi, PodMatch, Program, Provisioner,
    Reading, Runtime, Spread, Straggler, Trouble,
};
pub use http::{
    Answer, HttpRequest, Listing, Method, News, Reply, Request, Response, Stream, Texts, User,
};
pub use kube::{
    Asked, Attempt, Audit, Change, ChangeKind, Elsewhere, KubeApi, LabelSelector, Located,
    NoWebhooks, ObjectKey, Place, ReviewCall, Watch, WatchEvent, Webhooks,
};
pub use kube::{base64_decode, base64_encode};

//! The Kubernetes API server, as its clients meet it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "kube/admission.rs"]
mod admission;
#[path = "kube/always.rs"]
mod always;
#[path = "kube/definitions.rs"]
mod definitions;
#[path = "kube/deleting.rs"]
mod deleting;
#[path = "kube/objects.rs"]
mod objects;
#[path = "kube/pods.rs"]
mod pods;
#[path = "kube/reading.rs"]
mod reading;
#[path = "kube/talk.rs"]
mod talk;
#[path = "kube/watching.rs"]
mod watching;

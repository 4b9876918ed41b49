//! Whether answers fit the vendor's own document, as the real slurmrestd serves it.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use serde_json::Value;

use crate::{client::Answer, document::Document};

/// A document, and what was held to it.
pub(crate) struct Fit(Mutex<Held>);

struct Held {
    document: Document,
    /// How many answers were held to it.
    answers: usize,
    /// What it objects to, with a request whose answer shows it.
    objections: BTreeMap<String, String>,
}

impl Fit {
    pub(crate) fn new(document: Value) -> Self {
        let document = Document::new(document);
        Self(Mutex::new(Held { document, answers: 0, objections: BTreeMap::new() }))
    }

    /// Holds an answer to it, if the document says anything about such answers.
    pub(crate) fn hold(&self, method: &str, target: &str, answer: &Answer) {
        if answer.header("content-type") != Some("application/json") {
            return;
        }
        let body = answer.value();
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((pattern, _)) = held.document.schema_of(method, target) else {
            return;
        };
        held.answers += 1;
        // A refusal is of another kind than an answer: what it leaves out says nothing about them.
        let kind = if answer.status == 200 { "" } else { " refused" };
        for objection in held.document.objections(method, target, &body) {
            let objection = format!("{method} {pattern}{kind}: {objection}");
            held.objections.entry(objection).or_insert_with(|| target.to_owned());
        }
    }

    /// How many answers there were, and what was objected to.
    pub(crate) fn found(&self) -> (usize, BTreeMap<String, String>) {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (held.answers, held.objections.clone())
    }
}

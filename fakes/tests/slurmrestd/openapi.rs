//! Every answer of the replayed session, held to the vendor's own OpenAPI document.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_sim::Release;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::{
    recorded::{exchanges, openapi},
    replay::replay,
};

/// Validators by schema, made when first needed: the document is large.
struct Document {
    whole: Value,
    validators: BTreeMap<String, Validator>,
}

impl Document {
    /// What the document objects to in `body`, as the answer to `METHOD path` with this status.
    fn objections(&mut self, line: &str, status: u16, body: &Value) -> BTreeSet<String> {
        let Some(schema) = self.schema_of(line, status) else {
            return BTreeSet::from([format!("no schema for {line}")]);
        };
        let components = &self.whole["components"];
        let validator = self.validators.entry(schema.clone()).or_insert_with(|| {
            let root = json!({ "$ref": schema, "components": components });
            jsonschema::validator_for(&root).unwrap()
        });
        let errors = validator.iter_errors(body);
        // Positions in lists don't matter.
        let place =
            |path: String| path.replace(|c: char| c.is_ascii_digit(), "").replace("//", "/");
        errors
            .map(|error| {
                format!("{} {}", place(error.instance_path().to_string()), error.schema_path())
            })
            .collect()
    }

    fn schema_of(&self, line: &str, status: u16) -> Option<String> {
        let (method, path) = line.split_once(' ')?;
        let path = path.split('?').next()?.trim_end_matches('/');
        let paths = self.whole["paths"].as_object()?;
        let (_, operations) = paths.iter().find(|(pattern, _)| fits(pattern, path))?;
        let responses = &operations[method.to_ascii_lowercase()]["responses"];
        let key = if status == 200 { "200" } else { "default" };
        let schema = &responses[key]["content"]["application/json"]["schema"]["$ref"];
        schema.as_str().map(str::to_owned)
    }
}

/// Whether a path is of the form `/slurm/v0.0.42/job/{job_id}`; a word beats a variable.
fn fits(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.trim_end_matches('/').split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    let same = |(pattern, part): (&&str, &&str)| {
        pattern == part || (pattern.starts_with('{') && *part != "submit" && *part != "allocate")
    };
    pattern.len() == path.len() && pattern.iter().zip(&path).all(same)
}

#[test]
fn answers_break_the_vendors_document_only_where_the_vendors_own_do() {
    let Some(whole) = openapi() else {
        return;
    };
    let mut document = Document { whole, validators: BTreeMap::new() };
    let recordings = exchanges("24.11").unwrap();
    let mut checked = 0;
    for (exchange, status, body) in replay(Release::V24_11, recordings) {
        if !body.is_object() {
            continue;
        }
        let theirs = document.objections(&exchange.line, exchange.status, &exchange.body);
        let ours = document.objections(&exchange.line, status, &body);
        let new: Vec<&String> = ours.difference(&theirs).collect();
        assert!(new.is_empty(), "{}: {new:#?}", exchange.name);
        checked += 1;
    }
    assert!(60 < checked, "only {checked} answers were checked");
}

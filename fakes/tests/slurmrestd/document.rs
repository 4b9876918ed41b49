//! An OpenAPI document, and what it objects to.

use std::collections::{BTreeMap, BTreeSet};

use jsonschema::Validator;
use serde_json::{Value, json};

/// Of a job that holds nothing, slurmrestd says null where its document asks for an object.
pub(crate) const HOLDS_NOTHING: &str = "/jobs/job_resources type";

/// A document with its validators by schema, made when first needed: it is large.
pub(crate) struct Document {
    whole: Value,
    validators: BTreeMap<String, Validator>,
}

impl Document {
    pub(crate) const fn new(whole: Value) -> Self {
        Self { whole, validators: BTreeMap::new() }
    }

    /// What the document objects to in `body`, as the answer to this request.
    pub(crate) fn objections(
        &mut self,
        method: &str,
        target: &str,
        body: &Value,
    ) -> BTreeSet<String> {
        let Some((_, schema)) = self.schema_of(method, target) else {
            return BTreeSet::from([format!("no schema for {target}")]);
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
                let rule = error.schema_path().to_string();
                let rule = rule.rsplit('/').next().unwrap().to_owned();
                // A required field with a slash in its name is the vendor's way to say another thing.
                let slash = rule == "required" && error.to_string().contains('/');
                let rule = if slash { "required path".to_owned() } else { rule };
                format!("{} {rule}", place(error.instance_path().to_string()))
            })
            .collect()
    }

    /// The path as the document writes it, and the schema of what is answered there.
    pub(crate) fn schema_of(&self, method: &str, target: &str) -> Option<(String, String)> {
        let path = target.split('?').next()?.trim_end_matches('/');
        let paths = self.whole["paths"].as_object()?;
        let method = method.to_ascii_lowercase();
        let fitting =
            paths.iter().filter(|(pattern, it)| fits(pattern, path) && !it[&method].is_null());
        let (pattern, operations) = fitting.min_by_key(|(pattern, _)| pattern.contains('{'))?;
        let schema =
            &operations[&method]["responses"]["200"]["content"]["application/json"]["schema"];
        Some((pattern.clone(), schema["$ref"].as_str()?.to_owned()))
    }
}

/// Whether a path is of the form `/slurm/v0.0.42/job/{job_id}`.
fn fits(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.trim_end_matches('/').split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    let same = |(pattern, part): (&&str, &&str)| pattern == part || pattern.starts_with('{');
    pattern.len() == path.len() && pattern.iter().zip(&path).all(same)
}

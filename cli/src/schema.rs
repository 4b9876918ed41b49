//! `drawbridge schema`: what editors complete and check with.

use serde_json::Value;

use crate::{
    args::SchemaOf,
    failure::{Failure, print},
};

pub(crate) fn schema(what: SchemaOf) -> Result<(), Failure> {
    let schema = match what {
        SchemaOf::Scenario => drawbridge_scenarios::format::schema(),
        SchemaOf::Config => schemars::schema_for!(drawbridge_core::Config).into(),
    };
    print(pretty(&schema).as_bytes())
}

fn pretty(schema: &Value) -> String {
    format!("{schema:#}\n")
}

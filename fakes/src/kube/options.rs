//! Query parameters that contradict each other, refused as a real server refuses them.

use super::{status::Refusal, validate::FieldError};
use crate::Request;

fn refuse(errors: &[FieldError]) -> Result<(), Refusal> {
    match errors {
        [] => Ok(()),
        errors => Err(Refusal::invalid_part("ListOptions.meta.k8s.io", "", errors)),
    }
}

/// Checks what a list is asked for with.
pub(crate) fn check_list(request: &Request) -> Result<(), Refusal> {
    let given = |key: &str| request.query(key).unwrap_or("");
    let mut errors = vec![];
    if !given("sendInitialEvents").is_empty() {
        let why = "sendInitialEvents is forbidden for list";
        errors.push(FieldError::forbidden("sendInitialEvents", why));
    }
    let field = "resourceVersionMatch";
    let forbid = |why: &str| FieldError::forbidden(field, why);
    if !given(field).is_empty() {
        if given("resourceVersion").is_empty() {
            errors.push(forbid(
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ));
        }
        if !given("continue").is_empty() {
            errors.push(forbid("resourceVersionMatch is forbidden when continue is provided"));
        }
        match given(field) {
            "Exact" if given("resourceVersion") == "0" => {
                let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                errors.push(forbid(why));
            }
            "Exact" | "NotOlderThan" => {}
            other => {
                let known = ["Exact", "NotOlderThan", ""];
                errors.push(FieldError::unsupported(field, other, &known));
            }
        }
    }
    refuse(&errors)?;
    let continued = !given("continue").is_empty();
    if continued && !["", "0"].contains(&given("resourceVersion")) {
        return Err(Refusal::bad_request(
            "specifying resource version is not allowed when using continue",
        ));
    }
    Ok(())
}

/// Checks what a watch is asked for with.
pub(crate) fn check_watch(request: &Request) -> Result<(), Refusal> {
    let given = |key: &str| request.query(key).unwrap_or("");
    let mut errors = vec![];
    let streamed = given("sendInitialEvents");
    let matched = given("resourceVersionMatch");
    if !matched.is_empty() && streamed.is_empty() {
        let why =
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        errors.push(FieldError::forbidden("resourceVersionMatch", why));
    }
    if !streamed.is_empty() && matched != "NotOlderThan" {
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        errors.push(FieldError::forbidden("resourceVersionMatch", why));
    }
    refuse(&errors)
}

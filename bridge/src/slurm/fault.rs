//! What a reply that is no answer means: by its status, its list of errors and Slurm's numbers.
//!
//! | what comes | what it means |
//! |---|---|
//! | 401; 511; error 1007 | the token isn't accepted |
//! | 404 and a text | the path isn't served: another version |
//! | error 1800 | slurmrestd can't reach slurmctld; nothing was done |
//! | error 5004, 1802, -1 … | slurmctld didn't answer slurmrestd: nobody knows |
//! | any other error | slurmctld said no |
//! | 400 and a text | slurmrestd said no |
//! | anything else | a riddle |

use drawbridge_core::SlurmFault;

use super::reply::{Envelope, Reply, ReplyError};

/// From here on the number says which parser gave up; the description says on what.
const FIRST_REST_ERROR: i64 = 9000;

/// The fault in a reply, if it is one.
///
/// A refused list comes with an *empty* list beside the error, so this is asked first.
pub(crate) fn fault(reply: &Reply<'_>, envelope: &Envelope) -> Option<SlurmFault> {
    if let Some(first) = envelope.errors.first() {
        return Some(of_error(reply.status, first));
    }
    let text = reply.body.text();
    if reply.is_good() && text.is_none() {
        return None;
    }
    let why = text.filter(|text| !text.is_empty());
    Some(of_status(reply.status, why.as_deref()))
}

fn of_status(status: u16, text: Option<&str>) -> SlurmFault {
    let odd = || format!("status {status}: {}", text.unwrap_or("no error is given"));
    match (status, text) {
        (401 | 511, _) => SlurmFault::Unauthorized { why: text.map_or_else(odd, str::to_owned) },
        (404 | 405, Some(text)) => SlurmFault::NotServed { why: text.to_owned() },
        (400..=499, Some(text)) => SlurmFault::Refused { number: 0, text: text.to_owned() },
        // Somebody between us and slurmrestd, who may have passed it on.
        (502..=504, _) => SlurmFault::Lost { why: odd() },
        _ => SlurmFault::Unintelligible { why: odd() },
    }
}

fn of_error(status: u16, error: &ReplyError) -> SlurmFault {
    let (number, text) = (error.error_number, words(error));
    match (number, status) {
        // Authentication: the protocol's, the plugin's, slurmrestd's.
        (1007 | 6000..=6099 | 9008, _) | (_, 401 | 511) => SlurmFault::Unauthorized { why: text },
        // No connection to slurmctld, or to one that isn't in charge.
        (1001 | 1021 | 1800 | 1804 | 2027 | 2131, _) => SlurmFault::Unreachable { why: text },
        // It was sent, and then something went wrong. -1 and numbers of the system's own say no more
        // than that: a cancel that ran into a time-out is "Operation not permitted".
        (-1 | 1..=999 | 1000..=1099 | 1801..=1899 | 5000..=5999, _) => {
            SlurmFault::Lost { why: text }
        }
        (_, 405) => SlurmFault::NotServed { why: text },
        _ => SlurmFault::Refused { number, text },
    }
}

/// Slurm's own words. Its `error` says why; the `description` mostly says what was tried, except
/// where there is no number (an unknown node) or slurmrestd itself is the one who refuses.
fn words(error: &ReplyError) -> String {
    let (first, second) = match error.error_number {
        1..FIRST_REST_ERROR => (&error.error, &error.description),
        _ => (&error.description, &error.error),
    };
    let text = [first, second].into_iter().find(|text| !text.is_empty());
    text.map_or_else(|| "no reason given".to_owned(), Clone::clone)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::slurm::reply::Body;

    fn meaning(status: u16, body: &Value) -> String {
        let reply = Reply { status, body: Body::Json(body) };
        let envelope = reply.body.read().unwrap_or_default();
        match fault(&reply, &envelope) {
            None => "fine".to_owned(),
            Some(SlurmFault::Refused { number, text }) => format!("refused {number} {text}"),
            Some(SlurmFault::Unauthorized { why }) => format!("token {why}"),
            Some(SlurmFault::NotServed { why }) => format!("path {why}"),
            Some(SlurmFault::Unreachable { why }) => format!("unreachable {why}"),
            Some(SlurmFault::Unintelligible { why }) => format!("riddle {why}"),
            Some(SlurmFault::Lost { why }) => format!("lost {why}"),
        }
    }

    #[test]
    fn what_is_no_success_has_a_meaning() {
        let error = |number: i64| json!({"errors": [{"error_number": number, "error": "why", "description": "what"}], "jobs": []});
        let table = [
            (200, json!({"errors": []}), "fine"),
            (500, error(2014), "refused 2014 why"),
            (422, error(9000), "refused 9000 what"),
            (200, error(0), "refused 0 what"),
            (404, error(2017), "refused 2017 why"),
            (511, error(1007), "token why"),
            (401, json!("Authentication failure"), "token Authentication failure"),
            (511, json!({"errors": []}), "token status 511: no error is given"),
            (404, json!("Unable find requested URL."), "path Unable find requested URL."),
            (400, json!("Unable to parse query."), "refused 0 Unable to parse query."),
            (502, error(1800), "unreachable why"),
            (504, error(5004), "lost why"),
            (500, error(1802), "lost why"),
            (500, error(-1), "lost what"),
            (403, error(1), "lost why"),
            (502, json!("<html>\n"), "lost status 502: <html>"),
            (304, json!(""), "riddle status 304: no error is given"),
            (500, json!({"errors": []}), "riddle status 500: no error is given"),
            (200, json!("OK"), "riddle status 200: OK"),
        ];
        for (status, body, expected) in table {
            assert_eq!(meaning(status, &body), expected, "{status} {body}");
        }
    }
}

//! One `AdmissionReview` in, one out.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use drawbridge_core::admission::{MUTATE_PATH, VALIDATE_PATH};
use hyper::{Method, StatusCode};
use serde_json::Value;

use super::Judge;
use crate::front::{Answering, Front, Page, Question};

/// Reviews by path and verdict: `("validate", "denied")`.
pub(crate) type ReviewMetrics = BTreeMap<(&'static str, &'static str), u64>;

/// The counts, shared between connections.
#[derive(Debug, Default)]
pub(crate) struct Counted(Mutex<ReviewMetrics>);

impl Counted {
    fn count(&self, path: &'static str, verdict: &'static str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *all.entry((path, verdict)).or_default() += 1;
    }

    pub(crate) fn read(&self) -> ReviewMetrics {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Answers reviews.
#[derive(Debug)]
pub(super) struct Reviews {
    pub(super) judge: Judge,
    pub(super) counted: std::sync::Arc<Counted>,
}

impl Front for Reviews {
    fn answer<'a>(&'a self, question: &'a Question<'a>) -> Answering<'a> {
        Box::pin(std::future::ready(self.page(question)))
    }
}

impl Reviews {
    fn page(&self, question: &Question<'_>) -> Page {
        let name = match question.path {
            MUTATE_PATH => "mutate",
            VALIDATE_PATH => "validate",
            other => {
                let served = format!("{MUTATE_PATH} and {VALIDATE_PATH}");
                return Page::text(404, format!("{other} is not served here, only {served}\n"));
            }
        };
        match self.review(question) {
            Ok(answer) => {
                let allowed = answer["response"]["allowed"] == true;
                self.counted.count(name, if allowed { "allowed" } else { "denied" });
                Page::json(answer.to_string())
            }
            Err((status, why)) => {
                self.counted.count(name, "malformed");
                Page::text(status.as_u16(), why + "\n")
            }
        }
    }

    fn review(&self, question: &Question<'_>) -> Result<Value, (StatusCode, String)> {
        let wrong = |why: &str| (StatusCode::BAD_REQUEST, why.to_owned());
        if question.method != Method::POST {
            let why = format!("{} is not served here, only POST", question.method);
            return Err((StatusCode::METHOD_NOT_ALLOWED, why));
        }
        let kind = question.content_type.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            let why = format!("expected application/json, found `{kind}`");
            return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
        }
        let review: Value = serde_json::from_slice(question.body)
            .map_err(|error| wrong(&format!("the body is no JSON: {error}")))?;
        let version = &review["apiVersion"];
        if review["kind"] != "AdmissionReview" || *version != "admission.k8s.io/v1" {
            return Err(wrong("expected an AdmissionReview of admission.k8s.io/v1"));
        }
        if !review["request"]["uid"].is_string() {
            return Err(wrong("the review has no request with a uid"));
        }
        Ok(self.judge.review(question.path, &review))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use drawbridge_core::Config;
    use serde_json::json;

    use super::*;

    fn reviews() -> Reviews {
        let judge = Judge { config: Arc::new(Config::as_shipped()), me: Arc::default() };
        Reviews { judge, counted: Arc::default() }
    }

    fn ask(reviews: &Reviews, path: &str, body: &str) -> (u16, String) {
        let (method, content_type) = (&Method::POST, "application/json");
        let page = reviews.page(&Question {
            method,
            path,
            content_type,
            body: body.as_bytes(),
            token: None,
        });
        (page.status, page.body)
    }

    #[test]
    fn a_review_is_answered_under_its_uid_and_counted() {
        let reviews = reviews();
        let pod = json!({ "metadata": {}, "spec": { "schedulerName": "slurm-bridge-scheduler" } });
        let request = json!({
            "uid": "u", "operation": "CREATE", "namespace": "slurm-bridge", "object": pod,
        });
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request,
        });
        let (status, body) = ask(&reviews, VALIDATE_PATH, &review.to_string());
        let answer: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &answer["response"]["uid"]), (200, &json!("u")));
        assert_eq!(answer["response"]["allowed"], true);
        let counted = reviews.counted.read();
        assert_eq!(counted, BTreeMap::from([(("validate", "allowed"), 1)]));
    }

    #[test]
    fn what_is_no_review_is_said() {
        let reviews = reviews();
        let old = json!({ "apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview" });
        let bare = json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview" });
        let told = [
            ask(&reviews, "/mutate", "{}"),
            ask(&reviews, MUTATE_PATH, "{"),
            ask(&reviews, MUTATE_PATH, &old.to_string()),
            ask(&reviews, MUTATE_PATH, &bare.to_string()),
        ];
        let told: Vec<_> = told.iter().map(|(status, text)| format!("{status} {text}")).collect();
        insta::assert_snapshot!(told.concat(), @"
        404 /mutate is not served here, only /mutate--v1-pod and /validate--v1-pod
        400 the body is no JSON: EOF while parsing an object at line 1 column 1
        400 expected an AdmissionReview of admission.k8s.io/v1
        400 the review has no request with a uid
        ");
    }
}

//! Who may read metrics that are to be secure: whoever the API server lets.
//!
//! ```text
//!   bearer token ──▶ TokenReview: whose? ──▶ SubjectAccessReview: may they get /metrics? ──▶ page
//! ```

use drawbridge_core::{KubeRequest, Method};
use serde_json::{Value, json};

use crate::{
    front::{Page, Question},
    kube::KubeClient,
};

/// Asks the API server about everybody who comes.
#[derive(Clone, Debug)]
pub struct Guard(pub KubeClient);

impl Guard {
    /// Lets pass, or says what is answered instead.
    pub(super) async fn check(&self, question: &Question<'_>) -> Result<(), Page> {
        let Some(token) = question.token else {
            return Err(Page::text(401, "show a bearer token\n".into()));
        };
        let spec = json!({ "token": token });
        let known = self.ask("authentication.k8s.io", "TokenReview", "tokenreviews", spec).await?;
        if known["authenticated"] != true {
            return Err(Page::text(401, "the token is nobody's\n".into()));
        }
        let user = &known["user"];
        let spec = json!({
            "user": user["username"], "uid": user["uid"], "groups": user["groups"],
            "extra": user["extra"],
            "nonResourceAttributes": { "path": question.path, "verb": "get" },
        });
        let (group, kind) = ("authorization.k8s.io", "SubjectAccessReview");
        let verdict = self.ask(group, kind, "subjectaccessreviews", spec).await?;
        match verdict["allowed"] == true {
            true => Ok(()),
            false => {
                let who = user["username"].as_str().unwrap_or("this user");
                Err(Page::text(403, format!("{who} may not get {}\n", question.path)))
            }
        }
    }

    /// Puts a review to the API server; its status.
    async fn ask(&self, group: &str, kind: &str, plural: &str, spec: Value) -> Result<Value, Page> {
        let version = format!("{group}/v1");
        let body = json!({ "apiVersion": version, "kind": kind, "spec": spec });
        let request = KubeRequest {
            method: Method::Post,
            path: format!("/apis/{version}/{plural}"),
            query: vec![],
            body: Some(body),
        };
        match self.0.send("guard", &request).await {
            Ok(reply) if reply.status < 300 => Ok(reply.body["status"].clone()),
            Ok(reply) => {
                let said = reply.body["message"].as_str().unwrap_or("no message");
                Err(Page::text(500, format!("{kind} was refused: {said}\n")))
            }
            Err(lost) => Err(Page::text(503, format!("nobody to ask: {}\n", lost.why))),
        }
    }
}

//! One exchange as it is on the wire, without the wire: bytes in, bytes out.
//!
//! ```text
//!  HttpRequest ─▶ who? (impersonation) ─▶ may they? (RBAC) ─┬▶ documents: version, discovery, OpenAPI
//!                                                           ├▶ reviews: can-i, who am I
//!                                                           ├▶ watch ─▶ Stream ─▶ frames
//!                                                           └▶ decode ─▶ KubeApi ─▶ as asked: JSON, Table
//! ```
//!
//! Start at [`Cluster::answer`]. A server only has to move the bytes and to say what time it is.

use serde_json::Value;

use super::{
    accept::{self, Form},
    documents, media, reviews,
    stream::Stream,
    table,
};
use crate::{
    Cluster, Method, Request, Response, Webhooks,
    kube::{Access, Refusal},
};
use drawbridge_sim::Time;

/// Who asks, as the server's authentication found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// `alice`, `system:serviceaccount:default:builder`.
    pub name: String,
    /// `system:masters`, `system:authenticated`.
    pub groups: Vec<String>,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// Who asks.
    pub user: User,
    /// `GET`, `PATCH`.
    pub method: String,
    /// The path and the query, escaped as they came.
    pub target: String,
    /// Headers; their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
}

/// A whole reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Headers besides the length.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// What comes back.
pub enum Answer {
    /// All of it at once.
    Reply(Reply),
    /// A watch: frames as they happen.
    Watch(Box<Stream>),
}

impl HttpRequest {
    /// The first header of this name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

impl Reply {
    /// A reply with a body of some type.
    pub(crate) fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type", content_type.to_owned())];
        Self { status, headers, body: body.into() }
    }

    /// A reply in JSON; spread out for people who read it with curl.
    pub(crate) fn json(status: u16, body: &Value, pretty: bool) -> Self {
        let text = if pretty { format!("{body:#}") } else { body.to_string() };
        Self::new(status, "application/json", text + "\n")
    }
}

impl Cluster {
    /// Answers one request.
    pub fn answer(&mut self, now: Time, http: &HttpRequest, hooks: &mut dyn Webhooks) -> Answer {
        let pretty = pretty(http);
        match self.converse(now, http, hooks) {
            Ok(answer) => answer,
            Err(refusal) => {
                let response = refusal.response();
                Answer::Reply(Reply::json(response.status, &response.body, pretty))
            }
        }
    }

    fn converse(
        &mut self,
        now: Time,
        http: &HttpRequest,
        hooks: &mut dyn Webhooks,
    ) -> Result<Answer, Refusal> {
        let (path, query) = media::split(&http.target)?;
        let user = self.impersonated(http)?;
        if let Some(reply) = documents::answer(self.api(), http, &path) {
            return Ok(Answer::Reply(reply));
        }
        if let Some(review) = reviews::of(&path) {
            let body = media::body(http, "Review")?.unwrap_or(Value::Null);
            let answer = review.answer(self.api(), &user, &http.method, &body)?;
            return Ok(Answer::Reply(Reply::json(201, &answer, pretty(http))));
        }
        if !self.api().serves_path(&path) {
            let text = "404 page not found\n";
            return Ok(Answer::Reply(Reply::new(404, "text/plain; charset=utf-8", text)));
        }
        let mut request = Request::new(&user.name, media::method(http)?, path);
        request.query = query;
        request.agent = agent(http);
        let path = request.path.clone();
        let target = self.api().target(&path)?;
        let access = Access::of(&request, &target);
        self.api().authorize(&user, &access)?;
        let mut form = accept::form(http.header("accept").unwrap_or(""));
        if let Form::Table(include) = &mut form {
            *include = accept::include(request.query("includeObject"));
        }
        if access.verb == "watch" {
            let watch =
                self.api().watch(&request).map_err(|response| Refusal::from_response(&response))?;
            return Ok(Answer::Watch(Box::new(Stream::new(watch, form))));
        }
        if request.method != Method::Get {
            request.body = media::body(http, target.kind.kind)?;
        }
        let response = self.handle(now, &request, hooks);
        let warnings = self.api_mut().take_warnings();
        Ok(Answer::Reply(self.shaped(now, http, &request, &response, &form, &warnings)))
    }

    /// The response in the form that was asked for.
    fn shaped(
        &self,
        now: Time,
        http: &HttpRequest,
        request: &Request,
        response: &Response,
        form: &Form,
        warnings: &[String],
    ) -> Reply {
        let pretty = pretty(http);
        let target = self.api().target(&request.path).ok();
        let plain = response.status >= 300 || response.body["kind"] == "Status";
        let mut reply = match (form, target) {
            (Form::Table(object), Some(target)) if !plain => {
                let table = table::of(self.api(), now, target.kind, &response.body, *object);
                Reply::json(response.status, &table, pretty)
            }
            (Form::Partial, Some(_)) if !plain => {
                Reply::json(response.status, &table::partial(&response.body), pretty)
            }
            _ => match response.body.as_str() {
                Some(text) => {
                    Reply::new(response.status, "text/plain; charset=utf-8", text.as_bytes())
                }
                None => Reply::json(response.status, &response.body, pretty),
            },
        };
        for text in warnings {
            reply.headers.push(("warning", format!("299 - {}", quoted(text))));
        }
        reply
    }

    /// Whom the request speaks for: the caller, or whom the caller may be.
    fn impersonated(&self, http: &HttpRequest) -> Result<User, Refusal> {
        let Some(name) = http.header("impersonate-user") else {
            return Ok(http.user.clone());
        };
        let groups = http.headers.iter().filter(|(key, _)| key == "impersonate-group");
        let mut groups: Vec<String> = groups.map(|(_, value)| value.clone()).collect();
        self.api().authorize(&http.user, &Access::impersonate("users", name))?;
        for group in &groups {
            self.api().authorize(&http.user, &Access::impersonate("groups", group))?;
        }
        if let Some(rest) = name.strip_prefix("system:serviceaccount:")
            && let Some((namespace, _)) = rest.split_once(':')
        {
            groups.push("system:serviceaccounts".into());
            groups.push(format!("system:serviceaccounts:{namespace}"));
        }
        groups.push("system:authenticated".into());
        Ok(User { name: name.into(), groups })
    }
}

/// Whether a person reads the bytes as they come.
fn pretty(http: &HttpRequest) -> bool {
    let agent = http.header("user-agent").unwrap_or("");
    let asked = http.target.contains("pretty=true");
    asked || ["curl/", "Wget/", "Mozilla/"].iter().any(|name| agent.starts_with(name))
}

/// The program that asks, as fields are attributed to it: what is before the first slash.
fn agent(http: &HttpRequest) -> String {
    let agent = http.header("user-agent").unwrap_or("unknown");
    agent.split('/').next().unwrap_or("unknown").chars().take(128).collect()
}

fn quoted(text: &str) -> String {
    let clean: String = text.chars().filter(|letter| !letter.is_control()).collect();
    format!("\"{}\"", clean.replace('\\', "\\\\").replace('"', "\\\""))
}

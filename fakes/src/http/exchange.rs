//! One exchange as it is on the wire, without the wire: bytes in, bytes out.
//!
//! ```text
//!  HttpRequest ─▶ who? (impersonation) ─▶ may they? (RBAC) ─┬▶ documents: version, discovery, OpenAPI
//!                                                           ├▶ reviews: can-i, who am I
//!                                                           ├▶ watch, log ─▶ Stream ─▶ frames
//!                                                           ├▶ list ─▶ Listing ─▶ pieces
//!                                                           └▶ decode ─▶ KubeApi ─▶ as asked: JSON, Table
//! ```
//!
//! Start at [`Cluster::answer`]. A server only has to move the bytes and to say what time it is.

use serde_json::Value;

use super::{
    accept::{self, Form},
    documents,
    listing::Listing,
    log, media, reviews,
    stream::{Stream, WatchStream},
    table,
};
use crate::{
    Attempt, Cluster, Method, Request, Response, Webhooks,
    kube::{Access, Refusal, Target},
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
    /// A list, which is written without the cluster.
    List(Box<Listing>),
    /// A watch or a log that is followed: frames as they happen.
    Stream(Box<Stream>),
    /// Webhooks must be asked first: the attempt says which. The same request is made again then.
    Waits,
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
    /// Answers one request. `attempt` keeps what is known about it while it waits for webhooks.
    pub fn answer(
        &mut self,
        now: Time,
        http: &HttpRequest,
        attempt: &mut Attempt,
        hooks: &mut dyn Webhooks,
    ) -> Answer {
        let pretty = pretty(http);
        match self.converse(now, http, attempt, hooks) {
            Ok(answer) => answer,
            Err(refusal) => {
                let response = refusal.response();
                let mut reply = Reply::json(response.status, &response.body, pretty);
                let retry = &response.body["details"]["retryAfterSeconds"];
                reply.headers.extend(retry.as_u64().map(|secs| ("retry-after", secs.to_string())));
                Answer::Reply(reply)
            }
        }
    }

    fn converse(
        &mut self,
        now: Time,
        http: &HttpRequest,
        attempt: &mut Attempt,
        hooks: &mut dyn Webhooks,
    ) -> Result<Answer, Refusal> {
        let (path, mut query) = media::split(&http.target)?;
        let user = self.impersonated(http)?;
        let path = watched(path, &mut query);
        if documents::is_one(self.api(), &path) {
            let access = Access::of_path(http.method.as_str(), &path);
            self.api().authorize(&user, &access)?;
            if let Some(reply) = documents::answer(self.api(), http, &path, &query) {
                return Ok(Answer::Reply(reply));
            }
        }
        if let Some((review, access)) = reviews::of(&path) {
            self.api().authorize(&user, &access)?;
            let body = media::body(http, "Review")?.unwrap_or(Value::Null);
            let answer = review.answer(self.api(), now, &user, &http.method, &body)?;
            self.api_mut().count(&user.name, "create", &access.audited());
            return Ok(Answer::Reply(Reply::json(201, &answer, pretty(http))));
        }
        if !self.api().serves_path(&path) {
            let text = "404 page not found\n";
            return Ok(Answer::Reply(Reply::new(404, "text/plain; charset=utf-8", text)));
        }
        let mut request = Request::new(&user.name, media::method(http)?, path);
        request.query = query;
        request.agent = agent(http);
        request.groups.clone_from(&user.groups);
        let path = request.path.clone();
        let target = self.api().target(&path)?;
        let access = Access::of(&request, &target);
        self.api().authorize(&user, &access)?;
        let mut form = accept::form(http.header("accept").unwrap_or(""))?;
        if let Form::Table(include) = &mut form {
            *include = accept::include(request.query("includeObject"));
        }
        if request.method == Method::Get {
            if let Some(answer) = self.read(now, http, &request, &target, &access, form)? {
                self.api_mut().count(&user.name, read_verb(&access), &access.audited());
                return Ok(answer);
            }
        } else {
            request.body = media::body(http, target.kind.kind)?;
        }
        let Some(response) = self.attempt(now, &request, attempt, hooks) else {
            return Ok(Answer::Waits);
        };
        let warnings = self.api_mut().take_warnings();
        Ok(Answer::Reply(self.shaped(now, http, &request, &response, &form, &warnings)))
    }

    /// Answers what is read and isn't a single object: lists, watches, logs.
    fn read(
        &self,
        now: Time,
        http: &HttpRequest,
        request: &Request,
        target: &Target<'_>,
        access: &Access,
        form: Form,
    ) -> Result<Option<Answer>, Refusal> {
        if access.verb == "watch" {
            let watch =
                self.api().watch(request).map_err(|response| Refusal::from_response(&response))?;
            let stream = Box::new(WatchStream::new(self.api(), watch, form));
            return Ok(Some(Answer::Stream(Box::new(Stream::Watch(stream)))));
        }
        if let ("pods", Some(name), Some("log")) =
            (target.kind.key, target.name, target.subresource)
        {
            return log::answer(self, now, target.namespace, name, request).map(|told| {
                Some(match told {
                    log::Told::Text(text) => Answer::Reply(Reply::new(200, "text/plain", text)),
                    log::Told::Follow(stream) => Answer::Stream(Box::new(Stream::Log(stream))),
                })
            });
        }
        if access.verb != "list" || !target.kind.verbs.contains(&"list") {
            return Ok(None);
        }
        let listed = self.api().listed(target, request)?;
        let listing = Listing::new(self.api(), now, listed, form, pretty(http));
        Ok(Some(match listing.is_small() {
            true => Answer::Reply(listing.reply()),
            false => Answer::List(Box::new(listing)),
        }))
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
        let plain = plain || target.as_ref().is_some_and(|it| it.subresource == Some("token"));
        let mut reply = match (form, target) {
            (Form::Table(object), Some(target)) if !plain => {
                let now = self.api().epoch().unix(now);
                let table = table::of(now, target.kind, &response.body, *object);
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

/// `/api/v1/watch/pods` is how one asked for a watch before there was a parameter for it.
fn watched(path: String, query: &mut Vec<(String, String)>) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let place = match parts.as_slice() {
        ["", "api", _, "watch", ..] => 3,
        ["", "apis", _, _, "watch", ..] => 4,
        _ => return path,
    };
    query.push(("watch".to_owned(), "true".to_owned()));
    let rest = parts.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, part)| *part);
    rest.collect::<Vec<_>>().join("/")
}

/// The verb of a request that only reads.
fn read_verb(access: &Access) -> &'static str {
    ["get", "list", "watch"].into_iter().find(|verb| *verb == access.verb).unwrap_or("get")
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

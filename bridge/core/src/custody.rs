//! The certificate of the webhooks: one Secret that all replicas share, and configurations that trust it.
//!
//! ```text
//!               404, or due to be renewed          made             written, or somebody else was faster
//!  Reading ───────────────────────────▶ Making ──────────▶ Writing ──────┐
//!   ▲   │ good                                                           │
//!   │   ▼                                                                │
//!   │  Trusting: each configuration has the authority ──▶ Use ──▶ Resting┤
//!   └────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! A new certificate is used only when the API server's configurations trust its authority; the one
//! before stays trusted, since other replicas may still show it. Every replica does this: nobody has to
//! lead, because each write carries what it was decided on.

use drawbridge_sim::{Epoch, Span, Time};
use serde_json::{Value, json};

use crate::{
    admission::{CONFIGURATION, WEBHOOKS},
    base64,
    effect::{KubeRequest, Method},
    input::{KubeReply, Lost},
};

/// How often everything is looked at.
const OFTEN: Span = Span::secs(60);
/// How soon after something went wrong.
const AGAIN: Span = Span::secs(5);
/// When a certificate of our own ends, as seconds since the epoch.
const UNTIL: &str = "drawbridge.dev/valid-until";
/// For how long a certificate of our own is good.
pub const LIFETIME: Span = Span::hours(365 * 24);
/// With so much of it left it is renewed.
const RENEWED_BEFORE: Span = Span::hours(365 * 8);

const MUTATING: &str = "mutatingwebhookconfigurations";
const VALIDATING: &str = "validatingwebhookconfigurations";
const KINDS: [&str; 2] = [MUTATING, VALIDATING];

/// A certificate with its key, and whom to trust to believe it; all in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The certificate, and what it was signed with.
    pub certificate: String,
    /// Its key.
    pub key: String,
    /// The authority behind it; empty where the Secret doesn't tell.
    pub authority: String,
}

/// What the custodian is told.
#[derive(Clone, Debug, PartialEq)]
pub enum CustodyInput {
    /// The time has come that it asked for; also how it begins.
    Woke,
    /// The API server answered, or nothing came.
    Replied(Result<KubeReply, Lost>),
    /// A certificate was made.
    Made(Pair),
}

/// What the custodian wants done. There is never more than one thing that it waits for.
#[derive(Clone, Debug, PartialEq)]
pub enum CustodyEffect {
    /// Send this; answer with [`CustodyInput::Replied`].
    Kube(KubeRequest),
    /// Make a certificate for these names; answer with [`CustodyInput::Made`].
    Make(Vec<String>),
    /// Show this from the next connection on.
    Use(Pair),
    /// Give [`CustodyInput::Woke`] at this time.
    WakeAt(Time),
}

/// Keeps the certificate.
#[derive(Clone, Debug)]
pub struct Custodian {
    epoch: Epoch,
    namespace: String,
    secret: String,
    /// For whom certificates are made; none are where the Secret is somebody else's.
    names: Option<Vec<String>>,
    state: State,
    used: Option<Pair>,
    trouble: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    Resting,
    Reading,
    /// In place of this Secret, or as the first one.
    Making {
        instead_of: Option<Box<Value>>,
    },
    Writing,
    /// A configuration is read, of the kind of this number.
    Looking {
        pair: Pair,
        kind: usize,
    },
    /// And told whom to trust.
    Telling {
        pair: Pair,
        kind: usize,
    },
}

impl Custodian {
    /// Keeps a Secret of its own in this namespace, for servers of these names.
    pub fn self_signed(epoch: Epoch, namespace: &str, names: Vec<String>) -> Self {
        Self::new(epoch, namespace, "drawbridge-webhook-tls", Some(names))
    }

    /// Uses the Secret of this name, which is somebody else's to renew.
    pub fn of_secret(epoch: Epoch, namespace: &str, secret: &str) -> Self {
        Self::new(epoch, namespace, secret, None)
    }

    fn new(epoch: Epoch, namespace: &str, secret: &str, names: Option<Vec<String>>) -> Self {
        let (namespace, secret) = (namespace.to_owned(), secret.to_owned());
        let (state, used, trouble) = (State::Resting, None, None);
        Self { epoch, namespace, secret, names, state, used, trouble }
    }

    /// Why webhooks may not work, if something is wrong: for health checks.
    pub fn trouble(&self) -> Option<&str> {
        match (&self.trouble, &self.used) {
            (Some(trouble), _) => Some(trouble),
            (None, None) => Some("there is no certificate yet"),
            (None, Some(_)) => None,
        }
    }

    /// Takes one piece of news and says what is to be done about it.
    #[must_use]
    pub fn step(&mut self, now: Time, input: CustodyInput) -> Vec<CustodyEffect> {
        match (std::mem::replace(&mut self.state, State::Resting), input) {
            (State::Resting, CustodyInput::Woke) => self.read(),
            (State::Reading, CustodyInput::Replied(outcome)) => self.was_read(now, outcome),
            (State::Making { instead_of }, CustodyInput::Made(pair)) => {
                self.write(now, &pair, instead_of.as_deref())
            }
            (State::Writing, CustodyInput::Replied(outcome)) => match outcome {
                // Whoever wrote it, it is read like any other.
                Ok(KubeReply { status: 200 | 201 | 409, .. }) => self.read(),
                outcome => self.rest(now, Some(said("write the Secret", &outcome))),
            },
            (State::Looking { pair, kind }, CustodyInput::Replied(outcome)) => {
                self.looked(now, pair, kind, outcome)
            }
            (State::Telling { pair, kind }, CustodyInput::Replied(outcome)) => match outcome {
                Ok(KubeReply { status: 200, .. }) => self.look(now, pair, kind + 1),
                // Somebody changed it meanwhile: look again.
                Ok(KubeReply { status: 409 | 422, .. }) => self.look(now, pair, kind),
                outcome => self.distrusted(now, pair, kind, &said("tell", &outcome)),
            },
            // What comes late changes nothing.
            (state, CustodyInput::Woke | CustodyInput::Replied(_) | CustodyInput::Made(_)) => {
                self.state = state;
                vec![]
            }
        }
    }

    fn read(&mut self) -> Vec<CustodyEffect> {
        self.state = State::Reading;
        let path = format!("{}/{}", self.collection(), self.secret);
        vec![ask(Method::Get, path, None)]
    }

    fn was_read(&mut self, now: Time, outcome: Result<KubeReply, Lost>) -> Vec<CustodyEffect> {
        let secret = match outcome {
            Ok(KubeReply { status: 404, .. }) if self.names.is_some() => {
                return self.make(None);
            }
            Ok(KubeReply { status: 200, body }) => body,
            outcome => return self.rest(now, Some(said("read the Secret", &outcome))),
        };
        match pair_of(&secret) {
            Some(_) if self.is_due(now, &secret) => self.make(Some((*secret).clone())),
            Some(pair) => self.look(now, pair, 0),
            None if self.names.is_some() => self.make(Some((*secret).clone())),
            None => {
                let needed = "tls.crt and tls.key in PEM";
                let what = format!("Secret {}/{} lacks {needed}", self.namespace, self.secret);
                self.rest(now, Some(what))
            }
        }
    }

    /// Whether a certificate of our own has to be renewed, or isn't for the right names.
    fn is_due(&self, now: Time, secret: &Value) -> bool {
        let Some(names) = &self.names else { return false };
        let notes = &secret["metadata"]["annotations"];
        let until = notes[UNTIL].as_str().and_then(|until| until.parse::<u64>().ok());
        let soon = self.epoch.unix(now + RENEWED_BEFORE);
        until.is_none_or(|until| until <= soon) || notes[NAMES].as_str() != Some(&names.join(","))
    }

    fn make(&mut self, instead_of: Option<Value>) -> Vec<CustodyEffect> {
        let names = self.names.clone().unwrap_or_default();
        self.state = State::Making { instead_of: instead_of.map(Box::new) };
        vec![CustodyEffect::Make(names)]
    }

    fn write(&mut self, now: Time, pair: &Pair, old: Option<&Value>) -> Vec<CustodyEffect> {
        self.state = State::Writing;
        let trusted = old.and_then(pair_of).map(|old| first_of(&old.authority));
        let authority = format!("{}{}", pair.authority, trusted.unwrap_or_default());
        let names = self.names.clone().unwrap_or_default().join(",");
        let until = self.epoch.unix(now + LIFETIME).to_string();
        let mut secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {
                "name": self.secret, "namespace": self.namespace,
                "labels": { "app.kubernetes.io/name": "drawbridge" },
                "annotations": { UNTIL: until, NAMES: names },
            },
            "data": {
                "tls.crt": base64::encode(pair.certificate.as_bytes()),
                "tls.key": base64::encode(pair.key.as_bytes()),
                "ca.crt": base64::encode(authority.as_bytes()),
            },
        });
        match old {
            None => vec![ask(Method::Post, self.collection(), Some(secret))],
            Some(old) => {
                let version = old["metadata"]["resourceVersion"].clone();
                secret["metadata"]["resourceVersion"] = version;
                let path = format!("{}/{}", self.collection(), self.secret);
                vec![ask(Method::Put, path, Some(secret))]
            }
        }
    }

    /// Looks whether the configuration of this kind trusts the pair; when all do, the pair is used.
    fn look(&mut self, now: Time, pair: Pair, kind: usize) -> Vec<CustodyEffect> {
        match KINDS.get(kind) {
            Some(name) if !pair.authority.is_empty() => {
                self.state = State::Looking { pair, kind };
                vec![ask(Method::Get, configuration(name), None)]
            }
            Some(_) | None => self.show(now, pair, None),
        }
    }

    fn looked(
        &mut self,
        now: Time,
        pair: Pair,
        kind: usize,
        outcome: Result<KubeReply, Lost>,
    ) -> Vec<CustodyEffect> {
        let found = match outcome {
            Ok(KubeReply { status: 200, body }) => body,
            outcome => return self.distrusted(now, pair, kind, &said("read", &outcome)),
        };
        let patch = trusting(&found, &pair.authority);
        if patch.is_empty() {
            return self.look(now, pair, kind + 1);
        }
        self.state = State::Telling { pair, kind };
        let path = KINDS.get(kind).map(|name| configuration(name)).unwrap_or_default();
        vec![ask(Method::JsonPatch, path, Some(Value::Array(patch)))]
    }

    /// A configuration can't be read or changed. The first certificate is used all the same, so that
    /// whoever trusts it by other means is served.
    fn distrusted(&mut self, now: Time, pair: Pair, kind: usize, said: &str) -> Vec<CustodyEffect> {
        let name = KINDS.get(kind).copied().unwrap_or_default();
        let trouble = Some(format!("{said} ({name}/{CONFIGURATION})"));
        match self.used {
            None => self.show(now, pair, trouble),
            Some(_) => self.rest(now, trouble),
        }
    }

    fn show(&mut self, now: Time, pair: Pair, trouble: Option<String>) -> Vec<CustodyEffect> {
        let mut effects = vec![];
        if self.used.as_ref() != Some(&pair) {
            self.used = Some(pair.clone());
            effects.push(CustodyEffect::Use(pair));
        }
        effects.extend(self.rest(now, trouble));
        effects
    }

    fn rest(&mut self, now: Time, trouble: Option<String>) -> Vec<CustodyEffect> {
        self.state = State::Resting;
        let pause = if trouble.is_some() { AGAIN } else { OFTEN };
        self.trouble = trouble;
        vec![CustodyEffect::WakeAt(now + pause)]
    }

    fn collection(&self) -> String {
        format!("/api/v1/namespaces/{}/secrets", self.namespace)
    }
}

/// For whom a certificate of our own was made.
const NAMES: &str = "drawbridge.dev/names";

fn configuration(kind: &str) -> String {
    format!("/apis/admissionregistration.k8s.io/v1/{kind}/{CONFIGURATION}")
}

fn ask(method: Method, path: String, body: Option<Value>) -> CustodyEffect {
    CustodyEffect::Kube(KubeRequest { method, path, query: vec![], body })
}

/// The pair that a Secret holds.
fn pair_of(secret: &Value) -> Option<Pair> {
    let text = |key: &str| {
        let bytes = base64::decode(secret["data"][key].as_str()?)?;
        String::from_utf8(bytes).ok().filter(|text| text.contains("-----BEGIN"))
    };
    let authority = text("ca.crt").unwrap_or_default();
    Some(Pair { certificate: text("tls.crt")?, key: text("tls.key")?, authority })
}

/// The first certificate of several.
fn first_of(bundle: &str) -> String {
    const END: &str = "-----END CERTIFICATE-----";
    bundle.find(END).map(|at| format!("{}{END}\n", &bundle[..at])).unwrap_or_default()
}

/// What makes our webhooks of a configuration trust this authority; nothing if they do.
fn trusting(configuration: &Value, authority: &str) -> Vec<Value> {
    let webhooks = configuration["webhooks"].as_array().map_or(&[][..], Vec::as_slice);
    let trusts = |webhook: &Value| {
        let bundle = webhook["clientConfig"]["caBundle"].as_str().and_then(base64::decode);
        bundle.is_some_and(|bundle| String::from_utf8_lossy(&bundle).contains(authority.trim()))
    };
    let ours = |webhook: &Value| WEBHOOKS.iter().any(|name| webhook["name"] == *name);
    let bundle = base64::encode(authority.as_bytes());
    let told = webhooks.iter().enumerate().filter(|(_, webhook)| ours(webhook) && !trusts(webhook));
    let mut patch: Vec<Value> = told
        .map(|(i, _)| {
            let path = format!("/webhooks/{i}/clientConfig/caBundle");
            json!({ "op": "add", "path": path, "value": bundle })
        })
        .collect();
    if !patch.is_empty() {
        let version = &configuration["metadata"]["resourceVersion"];
        let test = json!({ "op": "test", "path": "/metadata/resourceVersion", "value": version });
        patch.insert(0, test);
    }
    patch
}

fn said(what: &str, outcome: &Result<KubeReply, Lost>) -> String {
    match outcome {
        Ok(KubeReply { status, body }) => {
            let message = body["message"].as_str().unwrap_or("no message");
            format!("could not {what}: {status} {message}")
        }
        Err(Lost { why }) => format!("could not {what}: {why}"),
    }
}

#[cfg(test)]
mod tests;

//! Tokens of service accounts: asked for by `…/serviceaccounts/NAME/token`, believed until they expire
//! or their account is gone.

use std::{collections::BTreeMap, sync::Arc};

use drawbridge_sim::{Epoch, Time};
use serde_json::{Value, json};

use super::{Call, KubeApi, base64, object, status::Refusal, validate::FieldError};
use crate::{Response, User};

/// How long a token lives if nobody says.
const LIFE_SECS: u64 = 3600;
/// The shortest and the longest that can be asked for.
const BOUNDS_SECS: std::ops::RangeInclusive<u64> = 600..=(1 << 32);
const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// Tokens that were given out.
#[derive(Clone, Default)]
pub(crate) struct Tokens(BTreeMap<Arc<str>, Token>);

#[derive(Clone)]
struct Token {
    namespace: String,
    account: String,
    uid: String,
    /// In seconds since 1970.
    expires: u64,
    audiences: Vec<String>,
}

impl KubeApi {
    /// Makes a token for an account.
    pub(crate) fn token(&mut self, call: &Call<'_>, name: &str) -> Result<Response, Refusal> {
        let mut body = call.request.body.clone().unwrap_or(json!({}));
        if !body.is_object() {
            return Err(Refusal::bad_request("the body is not a TokenRequest"));
        }
        let account = self.existing(&call.target, name)?.clone();
        let secs = body["spec"]["expirationSeconds"].as_u64().unwrap_or(LIFE_SECS);
        if !BOUNDS_SECS.contains(&secs) {
            let why = match secs < *BOUNDS_SECS.start() {
                true => "may not specify a duration less than 10 minutes",
                false => "may not specify a duration larger than 2^32 seconds",
            };
            let error = FieldError::invalid("spec.expirationSeconds", &secs.into(), why);
            let what = "TokenRequest.authentication.k8s.io";
            return Err(Refusal::invalid_part(what, name, &[error]));
        }
        let now = self.epoch.unix(call.now);
        let given = object::items(&body, &["spec", "audiences"]).iter().filter_map(Value::as_str);
        let mut audiences: Vec<String> = given.map(Into::into).collect();
        if audiences.is_empty() {
            audiences.push(ISSUER.to_owned());
        }
        let token = Token {
            namespace: object::namespace(&account).to_owned(),
            account: name.to_owned(),
            uid: object::uid(&account).to_owned(),
            expires: now + secs,
            audiences: audiences.clone(),
        };
        let text = self.written(&token, now);
        let expires = Epoch::from_unix(token.expires).rfc3339(Time::ZERO);
        if !self.dry {
            self.tokens.0.insert(text.as_str().into(), token);
        }
        body["apiVersion"] = "authentication.k8s.io/v1".into();
        body["kind"] = "TokenRequest".into();
        object::set(&mut body, &["spec", "audiences"], json!(audiences));
        object::set(&mut body, &["spec", "expirationSeconds"], secs.into());
        let metadata = object::metadata_mut(&mut body);
        metadata.insert("name".into(), name.into());
        metadata.insert("namespace".into(), object::namespace(&account).into());
        body["status"] = json!({"token": text, "expirationTimestamp": expires});
        Ok(Response { status: 201, body: Arc::new(body) })
    }

    /// A token as clients see one: three parts, the last of which nobody guesses.
    fn written(&mut self, token: &Token, now: u64) -> String {
        let subject = format!("system:serviceaccount:{}:{}", token.namespace, token.account);
        let claims = json!({
            "aud": token.audiences, "exp": token.expires, "iat": now, "iss": ISSUER, "nbf": now,
            "kubernetes.io": {
                "namespace": token.namespace,
                "serviceaccount": {"name": token.account, "uid": token.uid},
            },
            "sub": subject,
        });
        let head = json!({"alg": "RS256", "kid": "drawbridge"});
        let seal = format!("{}{}", self.identities.review(), self.identities.review());
        let part = |text: String| base64::encode_url(text.as_bytes());
        format!("{}.{}.{}", part(head.to_string()), part(claims.to_string()), part(seal))
    }

    /// Whose token this is, if it is still good.
    pub fn user_of_token(&self, now: Time, token: &str) -> Option<User> {
        let found = self.tokens.0.get(token)?;
        let account = self.get("serviceaccounts", &found.namespace, &found.account)?;
        let good = found.expires > self.epoch.unix(now) && object::uid(account) == found.uid;
        good.then(|| User {
            name: format!("system:serviceaccount:{}:{}", found.namespace, found.account),
            groups: vec![
                "system:serviceaccounts".into(),
                format!("system:serviceaccounts:{}", found.namespace),
                "system:authenticated".into(),
            ],
        })
    }

    /// The status of a `TokenReview`.
    pub(crate) fn review_token(&self, now: Time, spec: &Value) -> Value {
        let token = object::text(spec, &["token"]);
        match self.user_of_token(now, token) {
            Some(user) => {
                let found = self.tokens.0.get(token);
                json!({
                    "authenticated": true,
                    "user": {
                        "username": user.name, "groups": user.groups,
                        "uid": found.map_or("", |it| &it.uid),
                    },
                    "audiences": found.map(|it| &it.audiences),
                })
            }
            None => json!({
                "user": {}, "error": "[invalid bearer token, unknown or expired]",
            }),
        }
    }
}

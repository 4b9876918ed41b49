//! Tokens: given, in a file, or signed by ourselves.

use std::{
    fmt, fs,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use hyper::header::{HeaderName, HeaderValue};
use ring::hmac;

/// The header with the token.
pub(super) const USER_TOKEN: HeaderName = HeaderName::from_static("x-slurm-user-token");
/// The header with the user's name.
pub(super) const USER_NAME: HeaderName = HeaderName::from_static("x-slurm-user-name");

/// Where the token comes from.
#[derive(Clone, Debug)]
pub enum TokenSource {
    /// None is shown: a Unix socket whose other end looks who we are.
    None,
    /// This one.
    Text(String),
    /// The file is read whenever a token is shown, so that one that is renewed is used at once.
    File(PathBuf),
    /// Signed by ourselves, with slurmctld's own key.
    Key(SigningKey),
}

/// Signs tokens for one user.
#[derive(Clone)]
pub struct SigningKey {
    key: Arc<hmac::Key>,
    user: String,
    lifetime: Duration,
    /// The token last signed, and when it ends.
    last: Arc<Mutex<Option<(String, u64)>>>,
}

/// Why there is no token to show.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file can't be read.
    #[error("can't read the token in {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What is there isn't one.
    #[error("{0} holds no token: one line of letters, digits, `-`, `_` and `.` is expected")]
    NoToken(String),
}

impl TokenSource {
    /// The token to show now.
    pub(super) fn current(&self) -> Result<Option<HeaderValue>, TokenError> {
        match self {
            Self::None => Ok(None),
            Self::Text(token) => header(token, "the environment").map(Some),
            Self::File(path) => {
                let text = fs::read_to_string(path)
                    .map_err(|source| TokenError::Read { path: path.clone(), source })?;
                header(&text, &path.display().to_string()).map(Some)
            }
            Self::Key(key) => header(&key.token(now()), "the signing key").map(Some),
        }
    }
}

/// The text as a header; `scontrol token` writes `SLURM_JWT=` in front.
fn header(text: &str, place: &str) -> Result<HeaderValue, TokenError> {
    let token = text.trim();
    let token = token.strip_prefix("SLURM_JWT=").unwrap_or(token);
    let clean = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.=+/".contains(&byte);
    let value = HeaderValue::from_str(token).ok();
    let value = value.filter(|_| !token.is_empty() && token.bytes().all(clean));
    let mut value = value.ok_or_else(|| TokenError::NoToken(place.to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

impl SigningKey {
    /// Signs for this user, with the bytes of slurmctld's `jwt_hs256.key`.
    pub fn new(key: &[u8], user: &str, lifetime: Duration) -> Self {
        Self {
            key: Arc::new(hmac::Key::new(hmac::HMAC_SHA256, key)),
            user: user.to_owned(),
            lifetime,
            last: Arc::default(),
        }
    }

    /// A token that holds for at least half of a lifetime.
    fn token(&self, now: u64) -> String {
        let lifetime = self.lifetime.as_secs();
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((token, end)) = &*last
            && now + lifetime / 2 <= *end
        {
            return token.clone();
        }
        let end = now + lifetime;
        let token = self.sign(now, end);
        *last = Some((token.clone(), end));
        token
    }

    /// The token from here to there, in seconds since the epoch.
    pub fn sign(&self, from: u64, to: u64) -> String {
        let claims = serde_json::json!({"iat": from, "exp": to, "sun": self.user});
        let header = base64url(br#"{"alg":"HS256","typ":"JWT"}"#);
        let signed = format!("{header}.{}", base64url(claims.to_string().as_bytes()));
        let signature = hmac::sign(&self.key, signed.as_bytes());
        format!("{signed}.{}", base64url(signature.as_ref()))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey for {}", self.user)
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Base64 with the letters that may stand in a URL, without padding.
fn base64url(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let at = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        let letters = (0..=three.len()).map(|i| LETTERS[(bits >> (18 - 6 * i) & 63) as usize]);
        text.extend(letters.map(char::from));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_signed_as_the_standard_says() {
        // RFC 4648, section 10, without padding.
        for (plain, coded) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg")]
        {
            assert_eq!(base64url(plain.as_bytes()), coded);
        }
        assert_eq!(base64url(&[0xff, 0xef]), "_-8");
        // Made by another implementation, with the same key and claims.
        let key = SigningKey::new(b"0123456789abcdef", "alice", Duration::from_secs(60));
        let token = key.sign(1_700_000_000, 1_700_000_060);
        assert_eq!(token, include_str!("token/known.jwt").trim());
    }

    #[test]
    fn a_token_is_signed_anew_when_half_its_time_is_over() {
        let key = SigningKey::new(b"k", "alice", Duration::from_secs(100));
        let first = key.token(1_000);
        assert_eq!(key.token(1_050), first);
        assert_ne!(key.token(1_051), first);
    }

    #[test]
    fn what_is_no_token_is_not_shown() {
        assert_eq!(header(" SLURM_JWT=a.b-c_d\n", "x").unwrap(), "a.b-c_d");
        for wrong in ["", " \n", "two words", "a\nb", "é"] {
            assert!(header(wrong, "x").is_err(), "{wrong:?}");
        }
        let missing = TokenSource::File("/nonexistent/token".into()).current().unwrap_err();
        assert!(missing.to_string().starts_with("can't read the token in /nonexistent/token"));
    }
}

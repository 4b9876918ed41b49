//! Tokens: JSON Web Tokens signed with HMAC and SHA-256, as `scontrol token` makes them.
//!
//! ```text
//!   X-SLURM-USER-TOKEN: eyJ…            who is in it (`sun`, or `username`)
//!   X-SLURM-USER-NAME: alice            must be the same, unless the token is root's
//!   Authorization: Bearer eyJ…          instead of the first, never beside it
//! ```

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::RestRequest;

const BLOCK: usize = 64;

/// The key that signs tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Vec<u8>);

/// Its bytes are nobody's business.
impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// A key of these bytes.
    pub const fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// A token for a user, good from `now` on for so many seconds.
    pub fn mint(&self, user: &str, now: u64, seconds: u64) -> String {
        let head = json!({ "alg": "HS256", "typ": "JWT" }).to_string();
        let claims = json!({ "exp": now.saturating_add(seconds), "iat": now, "sun": user });
        let signed =
            format!("{}.{}", encode(head.as_bytes()), encode(claims.to_string().as_bytes()));
        let signature = encode(&self.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// Whose token it is, if it is good at this time.
    pub fn user(&self, token: &str, now: u64) -> Option<String> {
        let (signed, signature) = token.rsplit_once('.')?;
        if !equal(&decode(signature)?, &self.sign(signed.as_bytes())) {
            return None;
        }
        let (head, claims) = signed.split_once('.')?;
        let read = |part: &str| serde_json::from_slice::<Value>(&decode(part)?).ok();
        let (head, claims) = (read(head)?, read(claims)?);
        let expires = claims["exp"].as_u64()?;
        if head["alg"] != "HS256" || expires <= now {
            return None;
        }
        let user = claims["sun"].as_str().or_else(|| claims["username"].as_str())?;
        Some(user.to_owned())
    }

    /// HMAC: the message hashed with the key inside and outside.
    fn sign(&self, message: &[u8]) -> [u8; 32] {
        let mut key = [0; BLOCK];
        match self.0.get(..self.0.len().min(BLOCK + 1)) {
            Some(short) if short.len() <= BLOCK => key[..short.len()].copy_from_slice(short),
            _ => key[..32].copy_from_slice(&Sha256::digest(&self.0)),
        }
        let pad = |with: u8| key.map(|byte| byte ^ with);
        let inner = Sha256::new().chain_update(pad(0x36)).chain_update(message).finalize();
        Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().into()
    }
}

/// In a time that doesn't depend on where they differ.
fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

/// What a request shows.
#[derive(Debug)]
pub(super) struct Credentials<'a> {
    token: &'a str,
    name: Option<&'a str>,
}

impl<'a> Credentials<'a> {
    /// Finds them; nothing if there is no token, or two.
    pub(super) fn find(request: &'a RestRequest) -> Option<Self> {
        let name = request.header("x-slurm-user-name");
        let bearer = request.header("authorization");
        let token = match (request.header("x-slurm-user-token"), bearer) {
            (Some(token), None) => token,
            (None, Some(bearer)) => bearer.strip_prefix("Bearer ")?,
            (None, None) | (Some(_), Some(_)) => return None,
        };
        Some(Self { token, name })
    }

    /// Who asks; nobody if slurmctld doesn't believe it.
    pub(super) fn user(&self, key: &Key, now: u64) -> Option<String> {
        let user = key.user(self.token, now)?;
        match self.name {
            Some(name) if user == "root" => Some(name.to_owned()),
            Some(name) if user != name => None,
            Some(_) | None => Some(user),
        }
    }
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Base64 with the letters that may stand in URLs, without padding.
fn encode(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number = chunk.iter().fold(0_u32, |all, byte| all << 8 | u32::from(*byte));
        let number = number << (8 * (3 - chunk.len()));
        for at in 0..=chunk.len() {
            let letter = (number >> (18 - 6 * at)) & 63;
            text.push(char::from(LETTERS[letter as usize]));
        }
    }
    text
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = vec![];
    for chunk in text.as_bytes().chunks(4) {
        let mut number = 0_u32;
        for byte in chunk {
            let letter = LETTERS.iter().position(|letter| letter == byte)?;
            number = number << 6 | u32::try_from(letter).ok()?;
        }
        let number = number << (6 * (4 - chunk.len()));
        let whole = number.to_be_bytes();
        bytes.extend(whole.get(1..chunk.len())?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Test cases 1, 2 and 6 of RFC 4231.
    #[test]
    fn signatures_are_those_of_the_standard() {
        let rows: [(Vec<u8>, &[u8], &str); 3] = [
            (
                vec![0x0b; 20],
                b"Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe".to_vec(),
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                vec![0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ];
        for (key, message, expected) in rows {
            assert_eq!(hex(&Key::new(key).sign(message)), expected);
        }
    }

    #[test]
    fn base64_goes_both_ways() {
        for (plain, text) in [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg"),
            ("~~~", "fn5-"),
        ] {
            assert_eq!(encode(plain.as_bytes()), text);
            assert_eq!(decode(text), Some(plain.into()));
        }
        assert_eq!(decode("a"), Some(vec![]));
        assert_eq!(decode("!!"), None);
    }

    #[test]
    fn a_token_is_good_for_its_user_with_its_key_and_until_it_expires() {
        let key = Key::new(b"0123456789abcdef0123456789abcdef".to_vec());
        let token = key.mint("alice", 1000, 60);
        assert_eq!(key.user(&token, 1059).as_deref(), Some("alice"));
        assert_eq!(key.user(&token, 1060), None);
        assert_eq!(Key::new(b"another".to_vec()).user(&token, 1000), None);
        for bad in ["", "x", "a.b.c", "not.a.jwt", &token[..token.len() - 2]] {
            assert_eq!(key.user(bad, 1000), None, "{bad}");
        }
    }
}

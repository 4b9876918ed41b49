//! Who a client is: a bearer token, or the subject of the certificate that TLS has verified.

use drawbridge_fakes::{User, slurmrestd::token::Key};

use crate::ServerError;

/// Whoever comes with nothing.
pub(crate) fn anonymous() -> User {
    User { name: "system:anonymous".into(), groups: vec!["system:unauthenticated".into()] }
}

/// Tokens and whose they are.
pub(crate) struct Tokens(Vec<(String, User)>);

impl Tokens {
    /// One token, the administrator's.
    pub(crate) fn admin(token: &str) -> Self {
        let groups = ["system:masters", "system:authenticated"].map(Into::into).to_vec();
        Self(vec![(token.into(), User { name: "kubernetes-admin".into(), groups })])
    }

    /// Whose token this is. Every token is compared to its end, so that time tells nothing.
    pub(crate) fn user(&self, token: &str) -> Option<User> {
        let mut found = None;
        for (known, user) in &self.0 {
            let same = known.len() == token.len()
                && known.bytes().zip(token.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0;
            if same {
                found = Some(user.clone());
            }
        }
        found
    }
}

/// A token that nobody guesses.
pub(crate) fn random_token() -> Result<String, ServerError> {
    let mut bytes = [0_u8; 24];
    fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A number that differs every time.
pub fn random_number() -> Result<u64, ServerError> {
    let mut bytes = [0_u8; 8];
    fill(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// A key that signs tokens for slurmrestd.
pub fn random_key() -> Result<Key, ServerError> {
    let mut bytes = vec![0_u8; 32];
    fill(&mut bytes)?;
    Ok(Key::new(bytes))
}

fn fill(bytes: &mut [u8]) -> Result<(), ServerError> {
    let provider = rustls::crypto::ring::default_provider();
    let failed = |_| ServerError::Tls("the system gives no random numbers".into());
    provider.secure_random.fill(bytes).map_err(failed)
}

const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];

/// The user that a certificate is for: its common name, with its organizations as groups.
pub(crate) fn of_certificate(der: &[u8]) -> Option<User> {
    let (_, certificate, _) = element(der)?;
    let (_, mut fields, _) = element(certificate)?;
    // version (tagged 0xa0, if it is there), serial, algorithm, issuer, validity, subject
    if fields.first() == Some(&0xa0) {
        fields = element(fields)?.2;
    }
    for _ in 0..4 {
        fields = element(fields)?.2;
    }
    let (_, mut subject, _) = element(fields)?;
    let (mut name, mut groups) = (None, vec![]);
    while let Some((_, set, rest)) = element(subject) {
        subject = rest;
        let (_, pair, _) = element(set)?;
        let (_, oid, value) = element(pair)?;
        let text = String::from_utf8(element(value)?.1.to_vec()).ok()?;
        match oid {
            COMMON_NAME => name = Some(text),
            ORGANIZATION => groups.push(text),
            _ => {}
        }
    }
    groups.push("system:authenticated".into());
    Some(User { name: name?, groups })
}

/// One DER element: its tag, its content, and what follows it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let length = match first {
        0..=0x7f => usize::from(first),
        0x81..=0x84 => {
            let (digits, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
            rest = after;
            digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit))
        }
        _ => return None,
    };
    let (content, after) = rest.split_at_checked(length)?;
    Some((tag, content, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_names_its_user_and_groups() {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::OrganizationName, "system:masters");
        params.distinguished_name.push(rcgen::DnType::CommonName, "alice");
        let certificate = params.self_signed(&key).unwrap();
        let user = of_certificate(certificate.der()).unwrap();
        assert_eq!(user.name, "alice");
        assert_eq!(user.groups, ["system:masters", "system:authenticated"]);
    }

    #[test]
    fn bytes_that_are_no_certificate_name_nobody() {
        for bytes in [&[][..], &[0x30], &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff], &[0x30, 0x01, 0x30]]
        {
            assert_eq!(of_certificate(bytes), None);
        }
    }

    #[test]
    fn only_the_whole_token_opens() {
        let tokens = Tokens::admin("secret");
        assert!(tokens.user("secret").is_some());
        for wrong in ["", "secre", "secrets", "Secret"] {
            assert_eq!(tokens.user(wrong), None, "{wrong}");
        }
    }
}

//! Numbers that JSON doesn't have: v0.0.40 and v0.0.41 write a share's level as `Infinity`.

use std::borrow::Cow;

/// What stands for each of them: a number with flags.
const WORDS: [(&[u8], &[u8]); 3] =
    [(b"-Infinity", b"null"), (b"Infinity", br#"{"infinite":true}"#), (b"NaN", b"null")];

/// The document with these numbers in a form that can be read. Texts in it stay as they are.
pub(super) fn replaced(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut clean = Vec::new();
    let (mut done, mut at, mut in_text) = (0, 0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_text => at += 1,
            b'"' => in_text = !in_text,
            b'-' | b'I' | b'N' if !in_text => {
                let word = WORDS.iter().find(|(word, _)| bytes[at..].starts_with(word));
                if let Some((word, stand_in)) = word {
                    clean.extend_from_slice(&bytes[done..at]);
                    clean.extend_from_slice(stand_in);
                    at += word.len() - 1;
                    done = at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    if done == 0 {
        return Cow::Borrowed(bytes);
    }
    clean.extend_from_slice(&bytes[done..]);
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinity_is_read_as_no_limit() {
        let table = [
            (r#"{"a": 1}"#, r#"{"a": 1}"#),
            (r#"{"a":Infinity}"#, r#"{"a":{"infinite":true}}"#),
            (r#"[NaN,-Infinity, -1]"#, "[null,null, -1]"),
            (r#"{"Infinity": "\"NaN", "b": NaN}"#, r#"{"Infinity": "\"NaN", "b": null}"#),
        ];
        for (raw, expected) in table {
            assert_eq!(String::from_utf8_lossy(&replaced(raw.as_bytes())), expected);
        }
    }
}

//! Base64, as admission patches and continue tokens use it.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes bytes as text, padded.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            let padding = place > chunk.len();
            text.push(if padding { '=' } else { char::from(letter) });
        }
    }
    text
}

/// Reads text back, padded or not, in the standard or the URL alphabet.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for chunk in text.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for letter in chunk {
            bits = bits << 6 | value(*letter)?;
        }
        bits <<= 6 * (4 - chunk.len());
        let [_, first, second, third] = bits.to_be_bytes();
        bytes.extend(&[first, second, third][..chunk.len() - 1]);
    }
    (text.len() % 4 != 1).then_some(bytes)
}

fn value(letter: u8) -> Option<u32> {
    let letter = match letter {
        b'-' => b'+',
        b'_' => b'/',
        other => other,
    };
    let place = LETTERS.iter().position(|known| *known == letter)?;
    u32::try_from(place).ok()
}

/// The form that fits into tokens: no padding, and signs that need no escaping.
pub(crate) fn encode_url(bytes: &[u8]) -> String {
    encode(bytes).trim_end_matches('=').replace('+', "-").replace('/', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_agrees_with_its_published_vectors() {
        let table =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (plain, coded) in table {
            assert_eq!(encode(plain.as_bytes()), coded);
            assert_eq!(decode(coded).unwrap(), plain.as_bytes());
        }
        assert_eq!(decode("Zg").unwrap(), b"f");
        assert_eq!(decode("_-8").unwrap(), decode("/+8=").unwrap());
        assert_eq!(decode("a"), None);
        assert_eq!(decode("a*bc"), None);
    }
}

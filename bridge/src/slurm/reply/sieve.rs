//! A long list, thinned while it arrives: what nobody reads of its items is never kept.
//!
//! ```text
//!   {"jobs":[{"account":"x","job_id":7,"environment":[…]},…],"meta":{…}}   as it comes, in pieces
//!                        │ keep job_id
//!                        ▼
//!   {"jobs":[{"job_id":7},…],"meta":{…}}
//! ```
//!
//! A job has about two hundred fields in five kilobytes, and a busy cluster ten thousand jobs. What isn't such a
//! list passes as it is, down to its mistakes: whoever reads it says what is wrong.

use bytes::{BufMut, BytesMut};

/// How deep the members of a list's items lie: in the document, in the list, in the item.
const MEMBERS: usize = 3;

/// Thins one list of one document.
#[derive(Debug)]
pub(crate) struct Sieve {
    /// The name of the list.
    list: &'static str,
    /// What is kept of each item.
    keep: &'static [&'static str],
    kept: BytesMut,
    depth: usize,
    in_text: bool,
    is_escaped: bool,
    /// Whether the next text is a key.
    expects_key: bool,
    /// The last key of the document or of an item.
    key: Vec<u8>,
    is_in_list: bool,
    is_in_item: bool,
    /// Whether the item has a member so far that was kept.
    has_member: bool,
    /// Whether the member that is being read goes.
    drops: bool,
}

impl Sieve {
    /// Keeps these keys of every item in the list of this name.
    pub(crate) fn new(list: &'static str, keep: &'static [&'static str]) -> Self {
        Self {
            list,
            keep,
            kept: BytesMut::new(),
            depth: 0,
            in_text: false,
            is_escaped: false,
            expects_key: false,
            key: Vec::new(),
            is_in_list: false,
            is_in_item: false,
            has_member: false,
            drops: false,
        }
    }

    /// Takes the next piece.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.take(byte);
        }
    }

    /// What is left.
    pub(crate) fn into_kept(self) -> BytesMut {
        self.kept
    }

    fn take(&mut self, byte: u8) {
        if self.in_text {
            return self.take_text(byte);
        }
        match byte {
            b'"' => self.begin_text(),
            b'{' | b'[' => self.open(byte),
            b'}' | b']' => self.close(byte),
            b',' => self.comma(),
            _ => self.copy(byte),
        }
    }

    fn is_among_members(&self) -> bool {
        self.is_in_item && self.depth == MEMBERS
    }

    /// Whether a key is being read that decides about something: it is held back until it is whole.
    fn is_held(&self) -> bool {
        self.expects_key && self.is_among_members()
    }

    fn copy(&mut self, byte: u8) {
        if !self.drops && !self.is_held() {
            self.kept.put_u8(byte);
        }
    }

    fn begin_text(&mut self) {
        self.in_text = true;
        if self.expects_key {
            self.key.clear();
        }
        self.copy(b'"');
    }

    fn take_text(&mut self, byte: u8) {
        let ends = byte == b'"' && !self.is_escaped;
        self.is_escaped = byte == b'\\' && !self.is_escaped;
        if !ends {
            if self.expects_key {
                self.key.push(byte);
            }
            return self.copy(byte);
        }
        self.in_text = false;
        if self.is_held() {
            self.decide();
        } else {
            self.copy(b'"');
        }
        self.expects_key = false;
    }

    /// A member's key is known.
    fn decide(&mut self) {
        self.drops = !self.keep.iter().any(|key| key.as_bytes() == self.key);
        if self.drops {
            return;
        }
        if self.has_member {
            self.kept.put_u8(b',');
        }
        self.has_member = true;
        self.kept.put_u8(b'"');
        self.kept.put_slice(&self.key);
        self.kept.put_u8(b'"');
    }

    fn open(&mut self, byte: u8) {
        self.copy(byte);
        self.depth += 1;
        if self.depth == 2 {
            self.is_in_list = byte == b'[' && self.key == self.list.as_bytes();
        }
        if self.is_in_list && self.depth == MEMBERS {
            (self.is_in_item, self.has_member) = (byte == b'{', false);
        }
        // Deeper keys decide nothing.
        self.expects_key = byte == b'{' && (self.depth == 1 || self.is_among_members());
    }

    fn close(&mut self, byte: u8) {
        if self.is_among_members() {
            (self.is_in_item, self.drops, self.expects_key) = (false, false, false);
        }
        self.depth = self.depth.saturating_sub(1);
        if self.depth < 2 {
            self.is_in_list = false;
        }
        self.copy(byte);
    }

    fn comma(&mut self) {
        if self.is_among_members() {
            // Written again before the next that is kept.
            (self.drops, self.expects_key) = (false, true);
            return;
        }
        self.copy(b',');
        self.expects_key = self.depth == 1 && self.kept.starts_with(b"{");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn thinned(text: &str, piece: usize) -> String {
        let mut sieve = Sieve::new("jobs", &["id", "state"]);
        for piece in text.as_bytes().chunks(piece) {
            sieve.push(piece);
        }
        String::from_utf8(sieve.into_kept().to_vec()).unwrap()
    }

    #[test]
    fn only_what_is_kept_is_left_of_items() {
        let table = [
            (r#"{"jobs":[{"a":1,"id":2,"b":[{"id":3}]}]}"#, r#"{"jobs":[{"id":2}]}"#),
            (r#"{"jobs":[{"id":1,"a":{},"state":["X"]}]}"#, r#"{"jobs":[{"id":1,"state":["X"]}]}"#),
            (r#"{"jobs":[{"a":1},{}]}"#, r#"{"jobs":[{},{}]}"#),
            (r#"{"jobs":[],"meta":{"id":1,"a":2}}"#, r#"{"jobs":[],"meta":{"id":1,"a":2}}"#),
            (r#"{"x":[{"a":1}],"jobs":null}"#, r#"{"x":[{"a":1}],"jobs":null}"#),
            (r#"{"jobs":[{"a":"}],\"id\":\\","id":"\"}"}]}"#, r#"{"jobs":[{"id":"\"}"}]}"#),
            ("not found", "not found"),
            (r#"[0, "jobs", [{"a": 1}]]"#, r#"[0, "jobs", [{"a": 1}]]"#),
            ("}}]]{", "}}]]{"),
        ];
        for (text, expected) in table {
            for piece in 1..=text.len() {
                assert_eq!(thinned(text, piece), expected, "{text} in pieces of {piece}");
            }
        }
    }

    /// Any document.
    fn document() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i32>().prop_map(Value::from),
            "[a-z\"\\\\{}\\[\\],: é]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 5, |inner| {
            let key = prop_oneof![
                Just("jobs".to_owned()),
                Just("id".to_owned()),
                Just("state".to_owned()),
                "[a-z\"\\\\]{0,3}",
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(key, inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// The same, done to a document that is there.
    fn reference(mut document: Value) -> Value {
        let items = document.get_mut("jobs").and_then(Value::as_array_mut);
        for item in items.into_iter().flatten().filter_map(Value::as_object_mut) {
            item.retain(|key, _| ["id", "state"].contains(&key.as_str()));
        }
        document
    }

    proptest! {
        #[test]
        fn a_thinned_document_is_the_document_without_those_members(
            inner in document(), pretty: bool, piece in 1_usize..9,
        ) {
            for document in [inner.clone(), json!({ "a": 1, "jobs": [inner, {"id": 1, "x": 2}] })] {
                let text = match pretty {
                    true => serde_json::to_string_pretty(&document).unwrap(),
                    false => document.to_string(),
                };
                let thin: Value = serde_json::from_str(&thinned(&text, piece)).unwrap();
                prop_assert_eq!(thin, reference(document));
            }
        }
    }
}

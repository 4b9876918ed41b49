//! Protobuf as bytes: fields by number, messages in messages.

use serde_json::Value;

/// A message that is being written.
#[derive(Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// The message as it is on the wire.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.bytes.push(value.to_le_bytes()[0]);
    }

    fn tag(&mut self, number: u32, kind: u32) {
        self.varint(u64::from(number << 3 | kind));
    }

    fn raw(&mut self, number: u32, bytes: &[u8]) {
        self.tag(number, 2);
        self.varint(bytes.len() as u64);
        self.bytes.extend(bytes);
    }

    /// A text.
    pub(crate) fn word(&mut self, number: u32, text: &str) {
        self.raw(number, text.as_bytes());
    }

    /// A text, if the value is one.
    pub(crate) fn text(&mut self, number: u32, value: &Value) {
        if let Some(text) = value.as_str() {
            self.word(number, text);
        }
    }

    /// A whole number, if the value is one.
    pub(crate) fn number(&mut self, number: u32, value: &Value) {
        if let Some(value) = value.as_i64() {
            self.tag(number, 0);
            self.varint(value.cast_unsigned());
        }
    }

    /// A number with a fraction, if the value is a number.
    pub(crate) fn double(&mut self, number: u32, value: &Value) {
        if let Some(value) = value.as_f64() {
            self.tag(number, 1);
            self.bytes.extend(value.to_le_bytes());
        }
    }

    /// A message inside this one.
    pub(crate) fn message(&mut self, number: u32, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.raw(number, &inner.bytes);
    }
}

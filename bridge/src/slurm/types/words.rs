//! A list of words, which some versions write as a number.

use std::{fmt, ops::Deref};

use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};

/// A list of words. A number in its place is no words at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(pub Vec<String>);

impl Deref for Words {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordsVisitor)
    }
}

struct WordsVisitor;

impl<'de> Visitor<'de> for WordsVisitor {
    type Value = Words;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of words")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Words, A::Error> {
        let mut words = Vec::new();
        while let Some(word) = list.next_element()? {
            words.push(word);
        }
        Ok(Words(words))
    }

    fn visit_u64<E>(self, _number: u64) -> Result<Words, E> {
        Ok(Words::default())
    }

    fn visit_i64<E>(self, _number: i64) -> Result<Words, E> {
        Ok(Words::default())
    }
}

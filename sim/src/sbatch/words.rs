//! A command line split into words as a shell splits it.

use super::SbatchError;

/// A word and where it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) column: usize,
}

pub(super) fn split(line: &str) -> Result<Vec<Word>, SbatchError> {
    let mut words = vec![];
    let mut word: Option<Word> = None;
    let mut quote: Option<(char, usize)> = None;
    let mut chars = line.chars().zip(1..).peekable();
    while let Some((c, column)) = chars.next() {
        let mut push = |c: Option<char>| {
            let word = word.get_or_insert(Word { text: String::new(), column });
            word.text.extend(c);
        };
        match (quote, c) {
            (None, '\'' | '"') => {
                quote = Some((c, column));
                push(None);
            }
            (Some((open, _)), _) if open == c => quote = None,
            (None | Some(('"', _)), '\\') => push(chars.next().map(|(c, _)| c)),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            _ => push(Some(c)),
        }
    }
    if let Some((open, column)) = quote {
        let hint = format!("add a closing {open}");
        return Err(SbatchError::new(column, "the quote is not closed", hint));
    }
    words.extend(word);
    Ok(words)
}

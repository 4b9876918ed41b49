//! One field of a line, printed as Slurm's commands print it: padded, cut, to the left or the right.
//!
//! Widths count bytes, as C does.

/// The content of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// A text that is cut at the field's width.
    Text(String),
    /// A text that is never cut while it stands to the right.
    Whole(String),
    /// A text with a star after it, or as its last byte where that wouldn't fit.
    Starred(String),
    /// Nothing at all, which C prints as `(null)`.
    Null,
}

impl Cell {
    /// A text that is cut at the field's width.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A text, or nothing if it is empty: on the wire nothing is an empty text.
    pub fn or_null(text: &str) -> Self {
        if text.is_empty() { Self::Null } else { Self::Text(text.to_owned()) }
    }

    /// A text, or this one if it is empty.
    pub fn or(text: &str, otherwise: &str) -> Self {
        Self::text(if text.is_empty() { otherwise } else { text })
    }
}

/// How a field is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Bytes; 0 is as many as it takes, less is that and a space.
    pub width: i64,
    /// Whether the text stands to the right.
    pub right: bool,
}

/// C prints this for no text where at least so many bytes may be printed.
const NULL: &str = "(null)";

impl Layout {
    /// Prints a field.
    pub fn put(self, out: &mut Vec<u8>, cell: &Cell) {
        let width = usize::try_from(self.width).unwrap_or(0);
        let starred: String;
        let to_left = 0 < width && !self.right;
        let (text, cut) = match cell {
            Cell::Text(text) => (text.as_str(), true),
            Cell::Whole(text) => (text.as_str(), false),
            Cell::Starred(text) => {
                let end = (0..text.len().min(width.wrapping_sub(1)) + 1).rev();
                let end = end.into_iter().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
                starred = format!("{}*", &text[..end]);
                (starred.as_str(), true)
            }
            Cell::Null if to_left && width < NULL.len() => ("", true),
            Cell::Null => (NULL, true),
        };
        let bytes = text.as_bytes();
        let cut = 0 < width && (cut || to_left);
        let shown = if cut { &bytes[..bytes.len().min(width)] } else { bytes };
        let pad = width.saturating_sub(shown.len());
        let (before, after) = if self.right { (pad, 0) } else { (0, pad) };
        out.resize(out.len() + before, b' ');
        out.extend_from_slice(shown);
        out.resize(out.len() + after, b' ');
        if self.width < 0 {
            out.push(b' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_padded_and_cut_as_c_does() {
        let text = |text: &str| Cell::text(text);
        let whole = |text: &str| Cell::Whole(text.to_owned());
        let rows = [
            (0, false, text("abc"), "abc"),
            (5, false, text("abc"), "abc  "),
            (5, true, text("abc"), "  abc"),
            (2, false, text("abc"), "ab"),
            (2, true, text("abc"), "ab"),
            (2, true, whole("abc"), "abc"),
            (2, false, whole("abc"), "ab"),
            (-1, false, text("abc"), "abc "),
            (-1, true, text("abc"), "abc "),
            (0, false, Cell::Null, "(null)"),
            (8, false, Cell::Null, "(null)  "),
            (8, true, Cell::Null, "  (null)"),
            (3, false, Cell::Null, "   "),
            (3, true, Cell::Null, "(nu"),
            (0, false, Cell::Starred("main".into()), "main*"),
            (7, true, Cell::Starred("main".into()), "  main*"),
            (3, false, Cell::Starred("main".into()), "ma*"),
        ];
        for (width, right, cell, expected) in rows {
            let mut out = vec![];
            Layout { width, right }.put(&mut out, &cell);
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{width} {right} {cell:?}");
        }
    }
}

//! YAML as Slurm writes it: every value says what it is.

use super::Tree;

/// A document.
pub(super) fn document(tree: &Tree<'_>) -> String {
    let mut out = "%YAML 1.1\n---".to_owned();
    write(&mut out, tree, 0, true);
    out.push_str("...\n\n");
    out
}

/// Writes a value after what introduces it, up to the end of its last line.
fn write(out: &mut String, tree: &Tree<'_>, depth: usize, in_map: bool) {
    match tree {
        Tree::Word(word) => scalar(out, tag(word), &number(word)),
        Tree::Text(text) => scalar(out, "!!str", &plain(&unescape(text))),
        Tree::List(items) if items.is_empty() => out.push_str(" !!seq []\n"),
        Tree::List(items) => {
            out.push_str(" !!seq\n");
            for item in items {
                // A list inside a map isn't moved to the right.
                let depth = if in_map { depth.saturating_sub(1) } else { depth };
                indent(out, depth);
                out.push('-');
                write(out, item, depth + 1, false);
            }
        }
        Tree::Map(pairs) if pairs.is_empty() => out.push_str(" !!map {}\n"),
        Tree::Map(pairs) => {
            out.push_str(" !!map\n");
            for (key, value) in pairs {
                indent(out, depth);
                out.push_str("!!str ");
                out.push_str(&plain(&unescape(key)));
                out.push(':');
                write(out, value, depth + 1, true);
            }
        }
    }
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n("  ", depth));
}

fn scalar(out: &mut String, tag: &str, text: &str) {
    out.push(' ');
    out.push_str(tag);
    if !text.is_empty() {
        out.push(' ');
        out.push_str(text);
    }
    out.push('\n');
}

fn tag(word: &str) -> &'static str {
    match word {
        "true" | "false" => "!!bool",
        "null" => "!!null",
        word if word.contains(['.', 'e', 'E', 'I', 'N']) => "!!float",
        _ => "!!int",
    }
}

/// Fractions have six digits.
fn number(word: &str) -> String {
    match (tag(word), word.parse::<f64>()) {
        ("!!float", Ok(number)) if number.is_finite() => format!("{number:.6}"),
        _ => word.to_owned(),
    }
}

/// A text without quotes, where YAML lets it stand so.
fn plain(text: &str) -> String {
    let special = |c: char| "-?:,[]{}#&*!|>'\"%@`".contains(c);
    let starts_badly = text.starts_with(special)
        && !(text.starts_with(['-', '?', ':'])
            && text.len() > 1
            && !text[1..].starts_with(char::is_whitespace));
    let odd = text.starts_with(char::is_whitespace)
        || text.ends_with(char::is_whitespace)
        || text.contains(": ")
        || text.contains(" #")
        || text.ends_with(':')
        || starts_badly;
    if text.contains(|c: char| c.is_control()) {
        return format!("\"{}\"", text.escape_debug());
    }
    if odd && !text.is_empty() {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        text.to_owned()
    }
}

/// A JSON text without its escapes.
fn unescape(text: &str) -> String {
    serde_json::from_str(&format!("\"{text}\"")).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_says_what_it_is() {
        let tree = Tree::parse(
            r#"{"jobs":[{"a":"x y","f":["P","Q"],"n":{"set":true,"number":4.0}}],"e":[],"p":"\/tmp","m":"","c":["-j"]}"#,
        );
        insta::assert_snapshot!(document(&tree.unwrap()), @r"
        %YAML 1.1
        --- !!map
        !!str jobs: !!seq
        - !!map
          !!str a: !!str x y
          !!str f: !!seq
          - !!str P
          - !!str Q
          !!str n: !!map
            !!str set: !!bool true
            !!str number: !!float 4.000000
        !!str e: !!seq []
        !!str p: !!str /tmp
        !!str m: !!str
        !!str c: !!seq
        - !!str -j
        ...
        ");
    }
}

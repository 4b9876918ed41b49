//! YAML as slurmrestd writes it: every value with its type.

use std::fmt::Write as _;

use serde_json::Value;

/// A whole document.
pub(super) fn write(value: &Value) -> String {
    let mut text = String::from("%YAML 1.1\n---");
    put(&mut text, value, 0);
    text.push_str("...\n");
    text
}

/// The value behind what was written so far, and a line's end.
fn put(text: &mut String, value: &Value, indent: usize) {
    let space = " ".repeat(indent);
    let _ = match value {
        Value::Null => writeln!(text, " !!null null"),
        Value::Bool(flag) => writeln!(text, " !!bool {flag}"),
        Value::Number(number) if number.is_f64() => writeln!(text, " !!float {number}"),
        Value::Number(number) => writeln!(text, " !!int {number}"),
        // JSON's strings are YAML's.
        Value::String(_) => writeln!(text, " !!str {value}"),
        Value::Array(items) if items.is_empty() => writeln!(text, " !!seq []"),
        Value::Object(map) if map.is_empty() => writeln!(text, " !!map {{}}"),
        Value::Array(items) => {
            text.push_str(" !!seq\n");
            for item in items {
                let _ = write!(text, "{space}-");
                put(text, item, indent + 2);
            }
            Ok(())
        }
        Value::Object(map) => {
            text.push_str(" !!map\n");
            for (key, value) in map {
                let key = Value::String(key.clone());
                let _ = write!(text, "{space}!!str {key}:");
                put(text, value, indent + 2);
            }
            Ok(())
        }
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn what_is_written_reads_back() {
        let value = json!({
            "a": 1, "b": [1.5, "x: y\n", null, [], {}], "c": { "d": true, "e": [{ "f": "" }] },
        });
        let text = super::write(&value);
        let read: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(read, value, "{text}");
    }
}

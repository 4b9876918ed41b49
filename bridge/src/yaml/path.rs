//! Paths such as `steps[3].sbatch`: how a place in a document is written.
//!
//! A key that would be misread stands in brackets and quotes: `labels["a.b/c"]`.

/// One step down: into a mapping or into a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// A mapping's key.
    Key(String),
    /// A place in a list, from 0.
    Index(usize),
}

/// The path of `key` in the mapping at `parent`; the document itself is the empty path.
pub fn key(parent: &str, key: &str) -> String {
    if key.is_empty() || key.contains(['.', '[', ']', '"', '\\']) {
        let key = key.replace('\\', "\\\\").replace('"', "\\\"");
        return format!("{parent}[\"{key}\"]");
    }
    match parent {
        "" => key.to_owned(),
        parent => format!("{parent}.{key}"),
    }
}

/// The path of the item at `index` (from 0) in the list at `parent`.
pub fn index(parent: &str, index: usize) -> String {
    format!("{parent}[{index}]")
}

/// Writes steps as a path.
pub(crate) fn write(steps: &[Step]) -> String {
    steps.iter().fold(String::new(), |path, step| match step {
        Step::Key(name) => key(&path, name),
        Step::Index(i) => index(&path, *i),
    })
}

/// The path of what holds this; empty for what the document itself holds.
pub(crate) fn parent(path: &str) -> String {
    let steps = read(path).unwrap_or_default();
    write(steps.split_last().map_or(&[], |(_, above)| above))
}

/// Reads a path; `None` if it isn't one.
pub(crate) fn read(path: &str) -> Option<Vec<Step>> {
    let (mut steps, mut rest) = (Vec::new(), path);
    while !rest.is_empty() {
        let (step, after) = if let Some(quoted) = rest.strip_prefix("[\"") {
            read_quoted(quoted)?
        } else if let Some(number) = rest.strip_prefix('[') {
            let (number, after) = number.split_once(']')?;
            (Step::Index(number.parse().ok()?), after)
        } else {
            let plain = rest.strip_prefix('.').unwrap_or(rest);
            let end = plain.find(['.', '[']).unwrap_or(plain.len());
            let (name, after) = plain.split_at(end);
            (Step::Key(name.to_owned()), after)
        };
        steps.push(step);
        rest = after;
    }
    Some(steps)
}

fn read_quoted(text: &str) -> Option<(Step, &str)> {
    let mut name = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => name.push(letters.next()?.1),
            '"' => {
                let after = text[at + 1..].strip_prefix(']')?;
                return Some((Step::Key(name), after));
            }
            other => name.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_back_as_it_was_written() {
        for steps in [
            vec![],
            vec![Step::Key("steps".into()), Step::Index(3), Step::Key("sbatch".into())],
            vec![Step::Key("labels".into()), Step::Key("a.b/c".into())],
            vec![Step::Key(r#"odd"]\"#.into()), Step::Key(String::new()), Step::Index(0)],
            vec![Step::Index(1), Step::Index(2)],
        ] {
            assert_eq!(read(&write(&steps)), Some(steps));
        }
    }

    #[test]
    fn what_is_no_path_is_none() {
        for path in ["a[", "a[x]", "a[\"b", "a[\"b\"", "a[-1]"] {
            assert_eq!(read(path), None, "{path}");
        }
    }
}

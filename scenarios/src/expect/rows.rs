//! What expectations about pods, jobs and nodes have in common: select, look, count.

use crate::expect::{Amount, Glob};

/// At most so many rows are told of in a detail.
const ROWS_TOLD: usize = 5;

/// Judges rows. `wrong` says what is wrong with one, `name` how to call it.
///
/// Without `count`, there must be a row and nothing wrong with any; with it, that many must be
/// right.
pub(crate) fn judge<T>(
    noun: &str,
    rows: &[T],
    count: Option<Amount>,
    name: impl Fn(&T) -> String,
    wrong: impl Fn(&T) -> Vec<String>,
) -> Result<(), String> {
    let problems: Vec<String> = rows
        .iter()
        .filter_map(|row| match wrong(row) {
            wrong if wrong.is_empty() => None,
            wrong => Some(format!("{} {}", name(row), wrong.join(", "))),
        })
        .collect();
    let right = rows.len() - problems.len();
    match count {
        None if rows.is_empty() => Err(format!("there is no such {noun}")),
        None if problems.is_empty() => Ok(()),
        None => Err(shorten(&problems)),
        Some(amount) if amount.contains(right as u64) => Ok(()),
        Some(_) if right == 0 && rows.is_empty() => Err(format!("there is no such {noun}")),
        Some(_) => Err(miscounted(right, rows, &problems, name)),
    }
}

fn miscounted<T>(
    right: usize,
    rows: &[T],
    problems: &[String],
    name: impl Fn(&T) -> String,
) -> String {
    let seen =
        if problems.is_empty() { rows.iter().map(name).collect() } else { problems.to_vec() };
    format!("there are {right} of {}: {}", rows.len(), shorten(&seen))
}

/// What is wrong if one of these must fit, or none must be there where nothing is asked for.
pub(crate) fn none_fits(what: &str, wanted: Option<&Glob>, seen: &[String]) -> Option<String> {
    let wanted = wanted?;
    let fits = match wanted.as_str() {
        "" => seen.is_empty(),
        _ => seen.iter().any(|it| wanted.matches(it)),
    };
    let shown = || match seen {
        [] => format!("has no {what}"),
        seen => format!("has the {what} {}", shorten(seen)),
    };
    (!fits).then(shown)
}

/// The first few, and how many more there are.
pub(crate) fn shorten(items: &[String]) -> String {
    let told = items[..items.len().min(ROWS_TOLD)].join("; ");
    match items.len().saturating_sub(ROWS_TOLD) {
        0 => told,
        more => format!("{told}; and {more} more"),
    }
}

/// The beginning of a sentence: `pod a/b is`, `exactly 3 pods a/* are`, `every pod a/* is`.
pub(crate) fn subject(noun: &str, which: &str, count: Option<Amount>) -> String {
    match count {
        None if which.contains('*') || which.is_empty() || which.starts_with("of ") => {
            format!("every {} is", join(noun, which))
        }
        None => format!("{} is", join(noun, which)),
        Some(amount) if amount.is_one() => format!("exactly one {} is", join(noun, which)),
        Some(amount) => format!("{amount} {} are", join(&format!("{noun}s"), which)),
    }
}

/// A whole sentence from its subject and what is said of it.
pub(crate) fn sentence(subject: &str, predicates: &[String]) -> String {
    match predicates.first() {
        None => format!("{subject} there"),
        Some(first) if first.starts_with("with") => {
            format!("{subject} there, {}", predicates.join(", "))
        }
        Some(_) => format!("{subject} {}", predicates.join(", ")),
    }
}

fn join(noun: &str, which: &str) -> String {
    if which.is_empty() { noun.into() } else { format!("{noun} {which}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(rows: &[u64], count: Option<Amount>) -> Result<(), String> {
        judge(
            "row",
            rows,
            count,
            |row| format!("r{row}"),
            |row| (row % 2 == 1).then(|| "is odd".to_owned()).into_iter().collect(),
        )
    }

    #[test]
    fn without_a_count_there_must_be_a_row_and_all_must_be_right() {
        assert_eq!(look(&[2, 4], None), Ok(()));
        assert_eq!(look(&[], None), Err("there is no such row".into()));
        assert_eq!(look(&[1, 2], None), Err("r1 is odd".into()));
    }

    #[test]
    fn with_a_count_that_many_must_be_right() {
        assert_eq!(look(&[1, 2], Some(Amount::exactly(1))), Ok(()));
        assert_eq!(look(&[], Some(Amount::exactly(0))), Ok(()));
        assert_eq!(look(&[2, 4], Some(Amount::exactly(1))), Err("there are 2 of 2: r2; r4".into()));
        assert_eq!(
            look(&[1, 3, 5, 7, 9, 11, 2], Some(Amount::exactly(7))),
            Err("there are 1 of 7: r1 is odd; r3 is odd; r5 is odd; r7 is odd; r9 is odd; and 1 more".into())
        );
    }

    #[test]
    fn subjects_read_as_english() {
        assert_eq!(subject("pod", "a/b", None), "pod a/b is");
        assert_eq!(subject("pod", "a/*", None), "every pod a/* is");
        assert_eq!(subject("pod", "a/*", Some(Amount::exactly(3))), "exactly 3 pods a/* are");
        assert_eq!(subject("job", "", Some(Amount::exactly(0))), "no jobs are");
    }
}

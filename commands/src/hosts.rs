//! Lists of nodes: sorted as Slurm sorts them, and in their short form.

use std::cmp::Ordering;

use drawbridge_sim::{expand_hostlist, fold_hostlist};

/// The names that a list stands for; what can't be read stands for itself.
pub fn expand(list: &str) -> Vec<String> {
    expand_hostlist(list).unwrap_or_else(|_| vec![list.to_owned()])
}

/// A list in its short form, sorted: `n002,n001` is `n[001-002]`.
pub fn sorted(list: &str) -> String {
    if list.is_empty() {
        return String::new();
    }
    let mut names = expand(list);
    sort(&mut names);
    fold_hostlist(&names)
}

/// The short form of these names, sorted.
pub fn ranged(mut names: Vec<String>) -> String {
    sort(&mut names);
    fold_hostlist(&names)
}

/// Sorts names: by prefix, then by number, then by how many digits that has.
pub fn sort(names: &mut [String]) {
    names.sort_by(|a, b| compare(a, b));
}

/// Which of two names comes first.
pub fn compare(a: &str, b: &str) -> Ordering {
    let ((a_prefix, a_digits), (b_prefix, b_digits)) = (split(a), split(b));
    natural(a_prefix, b_prefix).then_with(|| {
        // A name without a number comes after those with one.
        let lone = a_digits.is_empty().cmp(&b_digits.is_empty());
        lone.then_with(|| {
            if widths_agree(a_digits, b_digits) {
                number(a_digits).cmp(&number(b_digits))
            } else {
                a_digits.len().cmp(&b_digits.len())
            }
        })
    })
}

fn split(name: &str) -> (&str, &str) {
    name.split_at(name.trim_end_matches(|c: char| c.is_ascii_digit()).len())
}

fn number(digits: &str) -> u128 {
    digits.parse().unwrap_or(0)
}

/// Whether both can stand in one range: `9` and `10` can, `09` and `9` can't.
fn widths_agree(a: &str, b: &str) -> bool {
    let padded = |digits: &str| digits.len() > 1 && digits.starts_with('0');
    let short = if a.len() < b.len() { b } else { a };
    a.len() == b.len() || !padded(short)
}

/// Digits inside a text count as numbers.
fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    loop {
        match (a.first(), b.first()) {
            (Some(x), Some(y)) if x.is_ascii_digit() && y.is_ascii_digit() => {
                let run = |text: &[u8]| text.iter().take_while(|c| c.is_ascii_digit()).count();
                let (x, y) = (&a[..run(a)], &b[..run(b)]);
                let fraction = x[0] == b'0' || y[0] == b'0';
                let order = if fraction { x.cmp(y) } else { x.len().cmp(&y.len()).then(x.cmp(y)) };
                if order.is_ne() {
                    return order;
                }
                (a, b) = (&a[x.len()..], &b[y.len()..]);
            }
            (Some(x), Some(y)) if x == y => (a, b) = (&a[1..], &b[1..]),
            (x, y) => return x.cmp(&y),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_by_number() {
        let rows = [
            ("", ""),
            ("n002,n001", "n[001-002]"),
            ("n10,n9,n1", "n[1,9-10]"),
            ("login,n1,g2,g1", "g[1-2],login,n1"),
            ("r10n1,r9n2,r9n1", "r9n[1-2],r10n1"),
        ];
        for (list, expected) in rows {
            assert_eq!(sorted(list), expected);
        }
    }
}

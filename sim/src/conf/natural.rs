//! The order in which Slurm keeps nodes: by name, numbers in it as numbers.

use std::cmp::Ordering;

/// `n2` comes before `n10`; digits that begin with 0 are compared as text.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    loop {
        match (digits(a), digits(b)) {
            (left @ [_, ..], right @ [_, ..]) => {
                let as_text = left[0] == b'0' || right[0] == b'0';
                let longer = if as_text { Ordering::Equal } else { left.len().cmp(&right.len()) };
                let order = longer.then_with(|| left.cmp(right));
                if order.is_ne() {
                    return order;
                }
                (a, b) = (&a[left.len()..], &b[right.len()..]);
            }
            _ => match (a, b) {
                ([x, rest_a @ ..], [y, rest_b @ ..]) if x == y => (a, b) = (rest_a, rest_b),
                _ => return a.first().cmp(&b.first()),
            },
        }
    }
}

fn digits(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn numbers_in_names_count_as_numbers_unless_they_begin_with_zero() {
        let mut names = ["n10", "n2", "n1", "m9", "n010", "n02", "n", "n1a", "n1-2", "rack2n1"];
        names.sort_by(|a, b| compare(a, b));
        assert_eq!(names.join(" "), "m9 n n010 n02 n1 n1-2 n1a n2 n10 rack2n1");
    }
}

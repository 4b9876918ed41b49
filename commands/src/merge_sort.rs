//! Sorting as the C library does it.
//!
//! Some of Slurm's orders aren't orders: of two jobs without a start, each comes after the other.
//! What comes out then depends on the algorithm, so it has to be the same one: halves, sorted, and
//! merged; the left one goes first unless it comes after.

/// Sorts by what `compare` says: above 0 if the first comes after the second.
pub fn merge_sort<T>(items: Vec<T>, compare: &mut impl FnMut(&T, &T) -> i32) -> Vec<T> {
    if items.len() <= 1 {
        return items;
    }
    let mut left = items;
    let right = left.split_off(left.len() / 2);
    let left = merge_sort(left, compare);
    let right = merge_sort(right, compare);
    merge(left, right, compare)
}

fn merge<T>(left: Vec<T>, right: Vec<T>, compare: &mut impl FnMut(&T, &T) -> i32) -> Vec<T> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if compare(a, b) <= 0 { left.next() } else { right.next() };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_stay_in_order_and_rivals_are_turned_round() {
        let by_tens = &mut |a: &i32, b: &i32| a / 10 - b / 10;
        assert_eq!(merge_sort(vec![21, 13, 20, 12, 11], by_tens), [13, 12, 11, 21, 20]);
        assert_eq!(merge_sort(vec![1, 2, 3, 4, 5], &mut |_, _| 1), [5, 4, 3, 2, 1]);
    }
}

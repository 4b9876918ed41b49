//! Tasks of an array that wait in one record: `3-20%2`.
//!
//! slurmrestd writes at most 64 bytes of them; what it left out ends in `...` and can't be had.

use std::collections::BTreeSet;

/// The most tasks that one record stands for, whatever it says.
const TASKS_MAX: u32 = 4_000_001;

/// The tasks that a text means, without the limit after `%`. What can't be read is passed over.
pub fn tasks(text: &str) -> BTreeSet<u32> {
    let list = text.split('%').next().unwrap_or("").trim_matches(['[', ']']);
    list.split(',').filter_map(range).flatten().collect()
}

fn range(text: &str) -> Option<impl Iterator<Item = u32>> {
    let (range, step) = text.split_once(':').unwrap_or((text, "1"));
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let step = step.parse::<usize>().ok().filter(|step| *step != 0)?;
    (last < TASKS_MAX).then(|| (first..=last).step_by(step))
}

/// The short form: `1-3,7`.
pub fn list(tasks: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = vec![];
    for task in tasks {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *task => *last = *task,
            _ => ranges.push((*task, *task)),
        }
    }
    let words = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    words.collect::<Vec<_>>().join(",")
}

/// The text of waiting tasks, whichever of its two forms slurmdbd has: the list itself, or a bit for
/// every task (`0x1FFFFC`), to which the limit belongs that stands elsewhere.
pub fn shown(text: &str, at_a_time: u32) -> String {
    let Some(tasks) = text.strip_prefix("0x").and_then(bits) else { return text.to_owned() };
    let limit = if at_a_time == 0 { String::new() } else { format!("%{at_a_time}") };
    format!("{}{limit}", steps(&tasks).unwrap_or_else(|| list(&tasks)))
}

/// The bits of a hexadecimal number, the lowest being task 0.
fn bits(digits: &str) -> Option<BTreeSet<u32>> {
    let mut tasks = BTreeSet::new();
    for (place, digit) in (0..TASKS_MAX / 4).zip(digits.chars().rev()) {
        let digit = digit.to_digit(16)?;
        tasks.extend((0..4).filter(|bit| digit >> bit & 1 == 1).map(|bit| 4 * place + bit));
    }
    Some(tasks)
}

/// `0-20:5`, which Slurm writes for tasks at equal distances if they reach far enough.
fn steps(tasks: &BTreeSet<u32>) -> Option<String> {
    let (first, last) = (*tasks.first()?, *tasks.last()?);
    let step = tasks.iter().nth(1)? - first;
    let even = tasks.iter().zip(tasks.iter().skip(1)).all(|(one, next)| next - one == step);
    (even && 1 < step && 10 < last - first).then(|| format!("{first}-{last}:{step}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_in_bits_are_shown_as_a_list_with_their_limit() {
        let rows = [
            ("0x00000000000000000001FFFFC", 2, "2-20%2"),
            ("0x1E", 0, "1-4"),
            ("0x8421", 3, "0-15:5%3"),
            ("0x15", 0, "0,2,4"),
            ("2-20%2", 2, "2-20%2"),
            ("0xg", 0, "0xg"),
        ];
        for (text, limit, expected) in rows {
            assert_eq!(shown(text, limit), expected, "{text}");
        }
    }

    #[test]
    fn tasks_are_read_and_written() {
        let rows = [
            ("3-6%2", "3-6"),
            ("1,3,5-7", "1,3,5-7"),
            ("0-8:4", "0,4,8"),
            ("7", "7"),
            ("", ""),
            ("1-3,5-...", "1-3"),
            ("5-1", ""),
        ];
        for (text, expected) in rows {
            assert_eq!(list(&tasks(text)), expected, "{text}");
        }
    }
}

//! Did you mean …?

use std::collections::BTreeSet;

/// A hint that names the closest of the right words, or all of them if none is close.
pub(crate) fn one_of<'a>(word: &str, right: impl IntoIterator<Item = &'a str>) -> String {
    let mut seen = BTreeSet::new();
    let right: Vec<&str> = right.into_iter().filter(|it| seen.insert(*it)).collect();
    let closest = right
        .iter()
        .map(|other| (distance(word, other), other))
        .filter(|(distance, _)| *distance <= 1 + word.len() / 4 && distance * 2 < word.len())
        .min();
    match closest {
        Some((_, other)) => format!("did you mean `{other}`?"),
        None if right.is_empty() => "there are none".into(),
        None => format!("there are: {}", shorten(&right)),
    }
}

/// How many letters two words differ by, large and small letters being the same.
fn distance(one: &str, other: &str) -> usize {
    strsim::damerau_levenshtein(&one.to_lowercase(), &other.to_lowercase())
}

fn shorten(words: &[&str]) -> String {
    const TOLD: usize = 12;
    match words.len().saturating_sub(TOLD) {
        // "and 1 more" would be no shorter than that one.
        0 | 1 => words.join(", "),
        more => format!("{} and {more} more", words[..TOLD].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_word_is_suggested() {
        assert_eq!(one_of("wbe", ["gpu", "web"]), "did you mean `web`?");
        assert_eq!(one_of("running", ["RUNNING"]), "did you mean `RUNNING`?");
    }

    #[test]
    fn one_word_too_many_is_told_and_several_are_counted() {
        let words = ["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10", "n11", "n12"];
        let longer = [&words[..], &["n13", "n14"]].concat();
        assert!(one_of("x", longer[..13].iter().copied()).ends_with("n12, n13"));
        assert!(one_of("x", longer).ends_with("n12 and 2 more"));
    }

    #[test]
    fn without_a_close_word_all_are_told_once() {
        assert_eq!(one_of("web", ["gpu", "cpu", "gpu"]), "there are: gpu, cpu");
        assert_eq!(one_of("n3", ["n1", "n2"]), "there are: n1, n2");
        assert_eq!(one_of("web", []), "there are none");
    }
}

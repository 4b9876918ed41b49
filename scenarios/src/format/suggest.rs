//! Did you mean …?

/// A hint that names the closest of the right words, or all of them if none is close.
pub(crate) fn one_of<'a>(word: &str, right: impl IntoIterator<Item = &'a str>) -> String {
    let right: Vec<&str> = right.into_iter().collect();
    let close = |other: &&&str| strsim::damerau_levenshtein(word, other) <= 1 + word.len() / 4;
    let closest = right
        .iter()
        .filter(close)
        .min_by_key(|other| strsim::damerau_levenshtein(word, other));
    match closest {
        Some(other) => format!("did you mean `{other}`?"),
        None if right.is_empty() => "there are none".into(),
        None => format!("there are: {}", shorten(&right)),
    }
}

fn shorten(words: &[&str]) -> String {
    const TOLD: usize = 12;
    match words.len().saturating_sub(TOLD) {
        0 => words.join(", "),
        more => format!("{} and {more} more", words[..TOLD].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_word_is_suggested() {
        assert_eq!(one_of("wbe", ["gpu", "web"]), "did you mean `web`?");
        assert_eq!(one_of("web", ["gpu", "cpu"]), "there are: gpu, cpu");
        assert_eq!(one_of("web", []), "there are none");
    }
}

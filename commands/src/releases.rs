//! Whose commands to be like: those of the Slurm that answers.

use drawbridge_sim::Release;

/// The release whose commands print as those of this one do: `24.11.5`. Of a Slurm that doesn't say
/// it is the newest.
pub fn nearest(release: &str) -> Release {
    let mut parts = release.split('.').map(|part| part.parse::<u32>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(year), Some(month)) if (year, month) < (26, 5) => Release::V24_11,
        _ => Release::V26_05,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_in_between_print_as_the_one_before() {
        assert_eq!(nearest("24.11.5"), Release::V24_11);
        assert_eq!(nearest("25.11.0"), Release::V24_11);
        assert_eq!(nearest("26.05.5"), Release::V26_05);
        assert_eq!(nearest(""), Release::V26_05);
    }
}

//! What things look like. Colour only ever repeats what letters and words say as well.

use ratatui::style::{Color, Modifier, Style};

/// How the screens are painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Theme {
    colour: bool,
}

/// What a piece of text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Nothing special.
    Plain,
    /// A heading.
    Heading,
    /// All is well.
    Good,
    /// Something is waited for.
    Waiting,
    /// Something is wrong.
    Bad,
    /// Over, or beside the point.
    Faint,
    /// A key to press.
    Key,
}

/// Told apart on dark and light terminals; the letters tell the rest apart.
const JOB_COLOURS: [Color; 10] = [
    Color::Cyan,
    Color::Yellow,
    Color::Magenta,
    Color::Green,
    Color::Blue,
    Color::LightRed,
    Color::LightCyan,
    Color::LightYellow,
    Color::LightMagenta,
    Color::LightGreen,
];

impl Theme {
    /// With colours, or with bold, dim and reversed text alone.
    pub(crate) const fn new(colour: bool) -> Self {
        Self { colour }
    }

    /// The style of a piece of text.
    pub(crate) fn tone(self, tone: Tone) -> Style {
        let plain = Style::new();
        match tone {
            Tone::Plain => plain,
            Tone::Heading => plain.add_modifier(Modifier::BOLD),
            Tone::Good => self.paint(Color::Green),
            Tone::Waiting => self.paint(Color::Yellow),
            Tone::Bad => self.paint(Color::Red).add_modifier(Modifier::BOLD),
            Tone::Faint => plain.add_modifier(Modifier::DIM),
            Tone::Key => self.paint(Color::Cyan).add_modifier(Modifier::BOLD),
        }
    }

    /// The style of the job that comes at this place among all jobs.
    pub(crate) fn job(self, place: usize) -> Style {
        self.paint(JOB_COLOURS[place % JOB_COLOURS.len()]).add_modifier(Modifier::BOLD)
    }

    /// The row or block that is selected.
    pub(crate) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn paint(self, colour: Color) -> Style {
        match self.colour {
            true => Style::new().fg(colour),
            false => Style::new(),
        }
    }
}

/// The letter of the job that comes at this place among all jobs; letters start again at A.
pub(crate) fn letter(place: usize) -> char {
    const LETTERS: &[u8; 52] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    char::from(LETTERS[place % LETTERS.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colour_no_style_has_a_colour() {
        let theme = Theme::new(false);
        let tones = [
            Tone::Plain,
            Tone::Heading,
            Tone::Good,
            Tone::Waiting,
            Tone::Bad,
            Tone::Faint,
            Tone::Key,
        ];
        let mut styles: Vec<Style> = tones.into_iter().map(|tone| theme.tone(tone)).collect();
        styles.extend([theme.job(3), theme.selected()]);
        assert!(styles.iter().all(|style| style.fg.is_none() && style.bg.is_none()));
    }

    #[test]
    fn letters_start_again_after_the_alphabet() {
        assert_eq!([letter(0), letter(25), letter(26), letter(52)], ['A', 'Z', 'a', 'A']);
    }
}

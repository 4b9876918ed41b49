//! What things look like. Colour only ever repeats what letters and words say as well.

use ratatui::style::{Color, Modifier, Style};

/// How the screens are painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThemeName {
    /// The terminal's own sixteen colours.
    Terminal,
    /// For a light background.
    Light,
    /// Colours that people tell apart whatever they can't see (Okabe and Ito).
    ColourBlind,
    /// Bright on black.
    Contrast,
    /// No colours at all: bold, dim and reversed.
    Mono,
}

impl ThemeName {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Terminal, Self::Light, Self::ColourBlind, Self::Contrast, Self::Mono];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Light => "light",
            Self::ColourBlind => "colour-blind",
            Self::Contrast => "contrast",
            Self::Mono => "mono",
        }
    }

    /// The theme of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|theme| theme.name() == name)
    }

    pub(crate) fn next(self) -> Self {
        let here = Self::ALL.iter().position(|theme| *theme == self).unwrap_or(0);
        Self::ALL[(here + 1) % Self::ALL.len()]
    }
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

/// A theme's colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Theme {
    good: Option<Color>,
    waiting: Option<Color>,
    bad: Option<Color>,
    key: Option<Color>,
    ground: Option<(Color, Color)>,
    jobs: &'static [Color],
}

/// Told apart on dark and light terminals; the letters tell the rest apart.
const TERMINAL_JOBS: [Color; 10] = [
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

const LIGHT_JOBS: [Color; 8] = [
    Color::Rgb(0, 95, 135),
    Color::Rgb(135, 95, 0),
    Color::Rgb(135, 0, 135),
    Color::Rgb(0, 95, 0),
    Color::Rgb(0, 0, 175),
    Color::Rgb(175, 0, 0),
    Color::Rgb(0, 115, 115),
    Color::Rgb(95, 55, 0),
];

/// Okabe and Ito's palette, without black.
const BLIND_JOBS: [Color; 7] = [
    Color::Rgb(86, 180, 233),
    Color::Rgb(230, 159, 0),
    Color::Rgb(0, 158, 115),
    Color::Rgb(240, 228, 66),
    Color::Rgb(204, 121, 167),
    Color::Rgb(0, 114, 178),
    Color::Rgb(213, 94, 0),
];

const CONTRAST_JOBS: [Color; 6] = [
    Color::Rgb(0, 255, 255),
    Color::Rgb(255, 255, 0),
    Color::Rgb(255, 128, 255),
    Color::Rgb(128, 255, 128),
    Color::Rgb(160, 160, 255),
    Color::Rgb(255, 176, 96),
];

impl Theme {
    /// The colours of a theme.
    pub(crate) const fn new(name: ThemeName) -> Self {
        match name {
            ThemeName::Terminal => Self {
                good: Some(Color::Green),
                waiting: Some(Color::Yellow),
                bad: Some(Color::Red),
                key: Some(Color::Cyan),
                ground: None,
                jobs: &TERMINAL_JOBS,
            },
            ThemeName::Light => Self {
                good: Some(Color::Rgb(0, 95, 0)),
                waiting: Some(Color::Rgb(135, 95, 0)),
                bad: Some(Color::Rgb(175, 0, 0)),
                key: Some(Color::Rgb(0, 0, 175)),
                ground: Some((Color::Rgb(20, 20, 20), Color::Rgb(250, 250, 245))),
                jobs: &LIGHT_JOBS,
            },
            ThemeName::ColourBlind => Self {
                good: Some(Color::Rgb(86, 180, 233)),
                waiting: Some(Color::Rgb(240, 228, 66)),
                bad: Some(Color::Rgb(213, 94, 0)),
                key: Some(Color::Rgb(204, 121, 167)),
                ground: None,
                jobs: &BLIND_JOBS,
            },
            ThemeName::Contrast => Self {
                good: Some(Color::Rgb(128, 255, 128)),
                waiting: Some(Color::Rgb(255, 255, 0)),
                bad: Some(Color::Rgb(255, 128, 128)),
                key: Some(Color::Rgb(0, 255, 255)),
                ground: Some((Color::Rgb(255, 255, 255), Color::Rgb(0, 0, 0))),
                jobs: &CONTRAST_JOBS,
            },
            ThemeName::Mono => {
                Self { good: None, waiting: None, bad: None, key: None, ground: None, jobs: &[] }
            }
        }
    }

    /// The style of the whole screen.
    pub(crate) fn ground(self) -> Style {
        self.ground.map_or(Style::new(), |(text, ground)| Style::new().fg(text).bg(ground))
    }

    /// The style of a piece of text.
    pub(crate) fn tone(self, tone: Tone) -> Style {
        let plain = Style::new();
        match tone {
            Tone::Plain => plain,
            Tone::Heading => plain.add_modifier(Modifier::BOLD),
            Tone::Good => paint(self.good),
            Tone::Waiting => paint(self.waiting),
            Tone::Bad => paint(self.bad).add_modifier(Modifier::BOLD),
            Tone::Faint => plain.add_modifier(Modifier::DIM),
            Tone::Key => paint(self.key).add_modifier(Modifier::BOLD),
        }
    }

    /// The style of the job in this slot.
    pub(crate) fn job(self, slot: usize) -> Style {
        let colour = self.jobs.get(slot % self.jobs.len().max(1)).copied();
        paint(colour).add_modifier(Modifier::BOLD)
    }

    /// The row or block that is selected.
    pub(crate) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// A row that is marked.
    pub(crate) fn marked(self) -> Style {
        paint(self.key).add_modifier(Modifier::UNDERLINED)
    }
}

fn paint(colour: Option<Color>) -> Style {
    colour.map_or(Style::new(), |colour| Style::new().fg(colour))
}

/// The letter of the job in this slot; letters start again at A.
pub(crate) fn letter(slot: usize) -> char {
    const LETTERS: &[u8; 52] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    char::from(LETTERS[slot % LETTERS.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TONES: [Tone; 7] =
        [Tone::Plain, Tone::Heading, Tone::Good, Tone::Waiting, Tone::Bad, Tone::Faint, Tone::Key];

    #[test]
    fn without_colour_no_style_has_a_colour() {
        let theme = Theme::new(ThemeName::Mono);
        let mut styles: Vec<Style> = TONES.into_iter().map(|tone| theme.tone(tone)).collect();
        styles.extend([theme.job(3), theme.selected(), theme.marked(), theme.ground()]);
        assert!(styles.iter().all(|style| style.fg.is_none() && style.bg.is_none()));
    }

    #[test]
    fn good_waiting_and_bad_never_look_the_same() {
        for name in ThemeName::ALL {
            let theme = Theme::new(name);
            let [good, waiting, bad] =
                [Tone::Good, Tone::Waiting, Tone::Bad].map(|tone| theme.tone(tone));
            // Without colours words tell good from waiting; what is bad stands out all the same.
            assert!(name == ThemeName::Mono || good != waiting, "{}", name.name());
            assert!(good != bad && waiting != bad, "{}", name.name());
        }
    }

    #[test]
    fn themes_are_found_by_name_and_go_round() {
        for theme in ThemeName::ALL {
            assert_eq!(ThemeName::named(theme.name()), Some(theme));
        }
        let round = ThemeName::ALL.iter().fold(ThemeName::Terminal, |theme, _| theme.next());
        assert_eq!(round, ThemeName::Terminal);
    }

    #[test]
    fn letters_start_again_after_the_alphabet() {
        assert_eq!([letter(0), letter(25), letter(26), letter(52)], ['A', 'Z', 'a', 'A']);
    }
}

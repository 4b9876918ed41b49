//! `drawbridge tui`: opens runs to be looked at, as they are played or as they were recorded.

mod args;
mod open;

use std::io::IsTerminal;

use drawbridge_tui::{Options, PressError, Script, ThemeName, TuiError};

pub(crate) use args::TuiArgs;

use crate::failure::{Failure, print};

pub(crate) fn tui(args: &TuiArgs) -> Result<(), Failure> {
    if args.keys_table {
        return print(drawbridge_tui::manual().as_bytes());
    }
    let openings = open::openings(args)?;
    let options = Options {
        theme: args.theme.unwrap_or_else(usual_theme),
        view: args.view.clone(),
        at: args.at,
        cast: args.cast.clone(),
    };
    if let Some(keys) = &args.press {
        let script = Script { keys: keys.clone(), size: args.size };
        return match &args.save {
            Some(path) => drawbridge_tui::save(openings, &options, &script, path),
            None => drawbridge_tui::screen(openings, &options, &script).map(|screen| {
                // Whoever has seen enough is no failure.
                let _ = print((screen + "\n").as_bytes());
            }),
        }
        .map_err(|error| pressed(args, &error));
    }
    if !std::io::stdout().is_terminal() {
        return Err(Failure::Terminal {
            what: "standard output is not a terminal".to_owned(),
            hint: "use `drawbridge run -o story` to read a run without one, or --press to see a screen",
        });
    }
    drawbridge_tui::run(openings, &options).map_err(|error| shown(&error))
}

/// Colours unless the environment says otherwise (<https://no-color.org>).
fn usual_theme() -> ThemeName {
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if no_colour { ThemeName::Mono } else { ThemeName::Terminal }
}

fn shown(error: &TuiError) -> Failure {
    Failure::Terminal { what: error.to_string(), hint: error.hint() }
}

fn pressed(args: &TuiArgs, error: &PressError) -> Failure {
    match error {
        PressError::Tui(error) => shown(error),
        PressError::Key(_) => Failure::Terminal {
            what: error.to_string(),
            hint: "write letters, or Enter, Esc, Tab, Space, Up, Down, Left, Right, Home, End, PgUp, \
                   PgDn, Ctrl-S",
        },
        PressError::File(_) => {
            let path = args.save.clone().unwrap_or_default();
            Failure::path(&path, error, "give a file that can be written")
        }
    }
}

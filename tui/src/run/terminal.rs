//! The terminal: taken over at the start, and given back whatever happens.

use std::{io, panic};

use crossterm::{
    cursor::{Hide, Show},
    event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture},
    execute,
    terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
};
use ratatui::{Terminal, backend::CrosstermBackend};

use super::cast::Tee;

/// Takes over. A panic gives it back before it says what went wrong.
pub(super) fn start(out: Tee) -> io::Result<Terminal<CrosstermBackend<Tee>>> {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let _ = stop();
        usual(info);
    }));
    enable_raw_mode()?;
    let entered = execute!(
        io::stdout(),
        EnterAlternateScreen,
        EnableMouseCapture,
        EnableBracketedPaste,
        Hide
    );
    let terminal = entered.and_then(|()| Terminal::new(CrosstermBackend::new(out)));
    terminal.inspect_err(|_| {
        let _ = stop();
    })
}

/// Gives it back.
pub(super) fn stop() -> io::Result<()> {
    let left = execute!(
        io::stdout(),
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        Show
    );
    disable_raw_mode().and(left)
}

//! `DownNodes` lines: nodes that are out of service from the start.

use super::{ConfError, NodeSpec, Note, known, line::Line, value};

/// Words of a DownNodes line.
const WORDS: &[&str] = &["DownNodes", "Reason", "State"];

/// How the line leaves its nodes.
#[derive(Clone, Copy)]
enum State {
    Down,
    Drained,
}

pub(super) fn read_line(
    line: &Line,
    nodes: &mut [NodeSpec],
    notes: &mut Vec<Note>,
) -> Result<(), ConfError> {
    let state = read_state(line, notes)?;
    for name in value::hostlist(&line.words[0])? {
        let node = nodes.iter_mut().find(|node| node.name.as_str() == name);
        let node = node.ok_or_else(|| {
            line.words[0].value_place.error(
                format!("DownNodes names `{name}`, which no NodeName line defines"),
                "put the NodeName line above",
            )
        })?;
        (node.starts_down, node.starts_drained) = match state {
            State::Down => (true, false),
            State::Drained => (false, true),
        };
    }
    Ok(())
}

fn read_state(line: &Line, notes: &mut Vec<Note>) -> Result<State, ConfError> {
    let mut state = State::Down;
    for word in &line.words[1..] {
        if !word.is("State") {
            known::refuse_or_note(word, WORDS, "DownNodes", notes)?;
            continue;
        }
        state = match value::one_of(word, &["DOWN", "DRAIN", "FAIL", "FAILING", "UNKNOWN"])? {
            0 => State::Down,
            1 => State::Drained,
            _ => {
                let text =
                    format!("State={} is not modelled; the node is taken as DOWN", word.value);
                notes.push(word.place.note(text));
                State::Down
            }
        };
    }
    Ok(state)
}

//! `DownNodes` lines: nodes that are out of service from the start.

use crate::Release;

use super::{ConfError, InitialState, NodeSpec, Note, known, line::Line, node_line, value};

/// Words of a DownNodes line.
const WORDS: &[&str] = &["DownNodes", "Reason", "State"];

pub(super) fn read_line(
    line: &Line,
    release: Release,
    nodes: &mut [NodeSpec],
    notes: &mut Vec<Note>,
) -> Result<(), ConfError> {
    let (mut state, mut reason) = (InitialState::Down, "Set in slurm.conf");
    for word in &line.words[1..] {
        if word.is("State") {
            state = node_line::read_down_state(word, release)?;
        } else if word.is("Reason") {
            reason = &word.value;
        } else {
            known::refuse_or_note(word, WORDS, "DownNodes", notes)?;
        }
    }
    for name in value::hostlist(&line.words[0])? {
        let Some(node) = nodes.iter_mut().find(|node| node.name.as_str() == name) else {
            let text = format!("DownNodes names `{name}`, which no NodeName line defines");
            notes.push(line.words[0].value_place.note(text));
            continue;
        };
        if state != InitialState::Unknown {
            node.initial_state = state;
        }
        node.reason = Some(reason.to_owned());
    }
    Ok(())
}

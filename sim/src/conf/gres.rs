//! `gres.conf`: which devices there are. The counts must agree with slurm.conf's.

use super::{ConfError, NodeSpec, Note, line::Line, value};

/// Checks one line against the nodes; what it says beyond their number is noted.
pub(super) fn read_line(
    line: &Line,
    nodes: &[NodeSpec],
    notes: &mut Vec<Note>,
) -> Result<(), ConfError> {
    let mut on: Option<Vec<String>> = None;
    let (mut name, mut kind, mut count) = (None, None, None);
    for word in &line.words {
        match word.key.to_ascii_lowercase().as_str() {
            "nodename" => on = Some(value::hostlist(word)?),
            "name" => name = Some(word),
            "type" => kind = Some(word.value.as_str()),
            "count" => count = Some(value::number::<usize>(word)?),
            "file" | "multiplefiles" => count = Some(files(&word.value)),
            "cores" | "cpus" | "links" | "flags" | "autodetect" => {
                notes.push(word.place.note(format!("gres.conf {}= is not honoured yet", word.key)));
            }
            _ => {
                let known = "NodeName, Name, Type, File, Count, Cores, Links, Flags, AutoDetect";
                let what = format!("gres.conf does not know `{}`", word.key);
                return Err(word.place.error(what, format!("it knows {known}")));
            }
        }
    }
    let Some(name) = name else {
        return Ok(());
    };
    for node in nodes.iter().filter(|node| {
        on.as_ref().is_none_or(|on| on.iter().any(|name| name == node.name.as_str()))
    }) {
        let configured = node.gres_count(&name.value, kind);
        // Without NodeName the line is for the nodes that have such devices.
        if on.is_none() && configured == 0 {
            continue;
        }
        if let Some(count) = count
            && count < configured
        {
            let what = format!(
                "gres/{} count reported lower than configured ({count} < {configured}) on {}",
                name.value, node.name
            );
            return Err(name
                .value_place
                .error(what, "make Gres= in slurm.conf and gres.conf agree"));
        }
    }
    Ok(())
}

/// How many files `/dev/nvidia[0-3]` stands for.
fn files(text: &str) -> usize {
    // A path isn't a host name: only the part in brackets counts.
    let plain: String = text.replace('/', "-");
    crate::expand_hostlist(&plain).map_or(1, |names| names.len().max(1))
}

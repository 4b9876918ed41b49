//! `sinfo`: partitions and nodes.
//!
//! ```text
//!   options ──▶ slurmrestd: partitions, nodes ──▶ filter ──▶ rows: nodes alike in one ──▶ sort ──▶ lines
//! ```

pub(crate) mod fields;
mod options;
mod reservations;
mod row;
mod sort;

use std::rc::Rc;

use drawbridge_bridge::slurm::{
    calls::{NodeByName, Nodes, Partitions, Show, Showing},
    session::Session,
    types::Node,
};

use drawbridge_sim::Release;

use self::{
    fields::FIELDS,
    options::{Formatted, Options},
    row::{Row, View},
};
use crate::{
    amounts::Shorten,
    format::Format,
    moments::Clock,
    releases,
    repeat::Repeat,
    shell::{Outcome, Shell},
};

pub(crate) use options::MANUAL;

/// Runs `sinfo`.
pub(crate) fn run(shell: &mut Shell<'_>, args: &[String]) -> Outcome {
    let Some(options) = Options::read(shell, args)? else { return Ok(()) };
    let format = format(shell, &options)?;
    let session = shell.connect()?;
    let Options { iterate: every, long, noheader, .. } = options;
    Repeat { every, long, noheader }.run(shell, |shell| show(shell, &session, &options, &format))
}

fn format(shell: &mut Shell<'_>, options: &Options) -> Outcome<Format<Row>> {
    let format = match &options.format {
        Formatted::Short(text) => Format::short(FIELDS, text, Release::V26_05),
        Formatted::Long(text) => Format::long(FIELDS, text, Release::V26_05),
    };
    for unknown in &format.unknown {
        match &options.format {
            Formatted::Short(_) => {
                shell.say(&format!("Invalid node format specification: {unknown}"));
            }
            Formatted::Long(_) => {
                shell.error(&format!("Invalid job format specification: {unknown}"));
            }
        }
    }
    match format.missing() {
        Some((name, why)) => shell.unsupported(&format!("the field {name}"), why),
        None => Ok(format),
    }
}

fn show(
    shell: &mut Shell<'_>,
    session: &Session,
    options: &Options,
    format: &Format<Row>,
) -> Outcome {
    if options.reservations {
        return reservations::show(shell, session, options);
    }
    let mut wanted = vec![Show::Mixed];
    wanted.extend(options.all.then_some(Show::All));
    wanted.extend(options.future.then_some(Show::Future));
    let call = Showing { call: Partitions, show: wanted.clone() };
    let partitions = match session.ask_fully(&call) {
        Ok(partitions) => partitions,
        Err(error) => return shell.perror("slurm_load_partitions", &error),
    };
    wanted.extend(format.shows("GresUsed").then_some(Show::Detail));
    let nodes = load_nodes(shell, session, options, wanted)?;
    let release = releases::nearest(&partitions.meta.slurm.release);
    let ids = nodes.iter().map(|node| node.reason_set_by_user.clone());
    let ids = ids.map(|name| (shell.world.user_id(&name), name));
    let users = ids.filter_map(|(id, name)| Some((name, id?))).collect();
    let shorten = if options.noconvert { Shorten::Never } else { Shorten::Exactly };
    let view = Rc::new(View { clock: Clock::of(shell), release, shorten, users });
    let kept: Vec<_> = nodes.into_iter().filter(|node| options.keeps(node)).map(Rc::new).collect();
    let partitions: Vec<_> = partitions.value.items.into_iter().map(Rc::new).collect();
    let rows = row::rows(options, format, &view, &partitions, &kept);
    let rows = sort::sort(options, rows);
    print(shell, options, format, &rows);
    Ok(())
}

fn load_nodes(
    shell: &mut Shell<'_>,
    session: &Session,
    options: &Options,
    wanted: Vec<Show>,
) -> Outcome<Vec<Node>> {
    let loaded = match options.nodes.as_deref() {
        // A node by itself is shown even where partitions hide it.
        Some([name]) => {
            session.ask(&NodeByName(name.clone())).map(|node| node.into_iter().collect())
        }
        _ => session.ask(&Showing { call: Nodes, show: wanted }).map(|nodes| nodes.items),
    };
    match loaded {
        Ok(nodes) => Ok(nodes),
        Err(error) => shell.perror("slurm_load_node", &error),
    }
}

/// Prints every line. In the usual formats partitions and nodes are as wide as they have to be.
fn print(shell: &mut Shell<'_>, options: &Options, format: &Format<Row>, rows: &[Row]) {
    const LEAST: usize = 9;
    let widest = |width: fn(&Row) -> usize| rows.iter().map(width).chain([LEAST]).max();
    let partition = options.fit_partitions.then(|| widest(Row::partition_width)).flatten();
    let nodes = options.fit_nodes.then(|| widest(Row::nodes_width)).flatten();
    let fitted = format.fitted(|name| match name {
        "Partition" | "PartitionName" => partition,
        "NodeList" | "NodeHost" => nodes,
        _ => None,
    });
    if !options.noheader {
        fitted.put_header(&mut shell.out, &["NODELIST", "NODE_ADDR", "HOSTNAMES"]);
    }
    for row in rows {
        fitted.put(&mut shell.out, row);
    }
}

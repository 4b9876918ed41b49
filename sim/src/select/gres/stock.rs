//! What a node has for the needs of a job.

use crate::{
    IndexSet,
    conf::{DeviceGroup, NodeSpec},
    node::Usage,
    select::{ask::GresNeed, trial::Trial},
};

use super::Supply;

/// Devices of a group that nobody holds.
fn free(group: &DeviceGroup, usage: &Usage) -> u64 {
    let used = usage.gres.get(&group.name);
    let used = used.map_or(0, |used| used.count_in(group.first, group.first + group.count));
    (group.count - used) as u64
}

fn groups<'a>(spec: &'a NodeSpec, need: &'a GresNeed) -> impl Iterator<Item = &'a DeviceGroup> {
    spec.devices
        .iter()
        .filter(|group| group.name == need.name && (need.kind.is_none() || group.kind == need.kind))
}

/// Whether a node has what each need takes at least, were it idle.
pub(in crate::select) fn enough_in_all(spec: &NodeSpec, needs: &[GresNeed]) -> bool {
    needs.iter().all(|need| {
        let least =
            u64::from(need.per_job != 0).max(need.per_node).max(need.per_socket).max(need.per_task);
        let has: u64 = groups(spec, need).map(|group| group.count as u64).sum();
        has != 0 && least <= has
    })
}

/// The node's supply for each need, and the sockets that it must use for them; `None` if it
/// can't serve one. Takes cores out that the devices rule out.
pub(in crate::select) fn supplies(
    trial: &Trial<'_>,
    spec: &NodeSpec,
    usage: &Usage,
    cores: &mut IndexSet,
) -> Option<(Vec<Supply>, Vec<usize>)> {
    let mut wanted = IndexSet::new();
    let mut all = vec![];
    for (at, need) in trial.ask.gres.iter().enumerate() {
        if cores.is_empty() {
            return None;
        }
        let told_apart = groups(spec, need).any(|group| group.told_apart);
        let supply = if told_apart {
            by_socket(trial, spec, usage, need, cores, &mut wanted)?
        } else {
            by_count(spec, usage, need)?
        };
        all.push(Supply { need: at, told_apart, ..supply });
    }
    Some((all, wanted.iter().collect()))
}

fn by_count(spec: &NodeSpec, usage: &Usage, need: &GresNeed) -> Option<Supply> {
    let least = need.per_node.max(need.per_socket).max(need.per_task).max(1);
    let kinds = groups(spec, need).map(|group| free(group, usage));
    let typed = groups(spec, need).any(|group| group.kind.is_some());
    let total: u64 = if typed { kinds.filter(|free| least <= *free).sum() } else { kinds.sum() };
    (least <= total).then(|| Supply {
        need: 0,
        told_apart: false,
        by_socket: vec![],
        bits_by_socket: vec![],
        anywhere: total,
        bits_anywhere: IndexSet::new(),
        total,
        unfiltered: None,
        most: 0,
    })
}

fn by_socket(
    trial: &Trial<'_>,
    spec: &NodeSpec,
    usage: &Usage,
    need: &GresNeed,
    cores: &mut IndexSet,
    wanted: &mut IndexSet,
) -> Option<Supply> {
    let binding = trial.ask.enforce_binding;
    let mut supply = sort_by_socket(spec, usage, need, cores, binding)?;
    if need.per_socket != 0 {
        limit_per_socket(spec, &mut supply, need.per_socket, cores, binding);
    }
    let sockets = trial.sockets.filter(|_| need.per_job != 0 && need.per_socket == 0);
    if let Some(sockets) = sockets.filter(|sockets| binding && *sockets < spec.sockets) {
        drop_poor_sockets(spec, &mut supply, sockets as usize, cores);
    }
    let least = need.per_node.max(need.per_task);
    if supply.total < least {
        return None;
    }
    want_sockets(spec, &supply, least, cores, wanted);
    Some(supply)
}

fn sort_by_socket(
    spec: &NodeSpec,
    usage: &Usage,
    need: &GresNeed,
    cores: &IndexSet,
    binding: bool,
) -> Option<Supply> {
    let sockets = spec.sockets as usize;
    let mut supply = Supply {
        need: 0,
        told_apart: true,
        by_socket: vec![0; sockets],
        bits_by_socket: vec![IndexSet::new(); sockets],
        anywhere: 0,
        bits_anywhere: IndexSet::new(),
        total: 0,
        unfiltered: None,
        most: 0,
    };
    let mut found = false;
    for group in groups(spec, need) {
        let count = free(group, usage);
        if count == 0 {
            continue;
        }
        let near = |socket: &usize| match &group.cores {
            Some(near) => 0 < count_on(spec, near, *socket),
            None => true,
        };
        if (0..sockets).all(|socket| near(&socket)) {
            supply.anywhere += count;
            supply.bits_anywhere.insert_range(group.first, group.first + group.count);
        } else {
            let open = |socket: &usize| !binding || 0 < count_on(spec, cores, *socket);
            let Some(socket) = (0..sockets).filter(open).find(near) else {
                continue;
            };
            supply.bits_by_socket[socket].insert_range(group.first, group.first + group.count);
            supply.by_socket[socket] += count;
        }
        supply.total += count;
        found = true;
    }
    found.then_some(supply)
}

fn count_on(spec: &NodeSpec, cores: &IndexSet, socket: usize) -> usize {
    let per_socket = spec.cores_per_socket as usize;
    cores.count_in(socket * per_socket, (socket + 1) * per_socket)
}

fn close(spec: &NodeSpec, supply: &mut Supply, socket: usize) {
    let _ = spec;
    supply.total -= supply.by_socket[socket];
    supply.by_socket[socket] = 0;
}

/// So many of each socket: no use for sockets that have fewer, nor for more than that.
fn limit_per_socket(
    spec: &NodeSpec,
    supply: &mut Supply,
    per_socket: u64,
    cores: &mut IndexSet,
    binding: bool,
) {
    for socket in 0..spec.sockets as usize {
        let has = supply.by_socket[socket];
        if has < per_socket {
            close(spec, supply, socket);
            if binding {
                clear_socket(spec, cores, socket);
            }
        } else {
            supply.by_socket[socket] = per_socket;
            supply.total -= has - per_socket;
        }
    }
}

fn clear_socket(spec: &NodeSpec, cores: &mut IndexSet, socket: usize) {
    let per_socket = spec.cores_per_socket as usize;
    cores.remove_range(socket * per_socket, (socket + 1) * per_socket);
}

/// Where few sockets will do, those with the most devices stay.
fn drop_poor_sockets(spec: &NodeSpec, supply: &mut Supply, keep: usize, cores: &mut IndexSet) {
    let mut open: Vec<usize> = (0..spec.sockets as usize)
        .filter(|socket| supply.by_socket[*socket] != 0 && 0 < count_on(spec, cores, *socket))
        .collect();
    while keep < open.len() {
        let Some(at) = (0..open.len()).min_by_key(|at| supply.by_socket[open[*at]]) else {
            return;
        };
        let socket = open.remove(at);
        clear_socket(spec, cores, socket);
        close(spec, supply, socket);
    }
}

/// The sockets that must be used to come to `least` devices: those with the most first.
fn want_sockets(
    spec: &NodeSpec,
    supply: &Supply,
    least: u64,
    cores: &IndexSet,
    wanted: &mut IndexSet,
) {
    let mut missing = least.saturating_sub(supply.anywhere);
    let mut open: Vec<usize> = (0..spec.sockets as usize)
        .filter(|socket| supply.by_socket[*socket] != 0 && 0 < count_on(spec, cores, *socket))
        .collect();
    open.sort_by_key(|socket| std::cmp::Reverse(supply.by_socket[*socket]));
    for socket in open {
        if missing == 0 {
            return;
        }
        wanted.insert(socket);
        missing = missing.saturating_sub(supply.by_socket[socket]);
    }
}

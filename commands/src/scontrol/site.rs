//! `scontrol show node`, `partition` and `reservation`.

use drawbridge_bridge::slurm::types::{Node, Number, Partition, Reservation};
use drawbridge_sim::Release;

use super::record::{Record, or, or_null, yes};
use crate::{moments::Clock, spans, states::node::NodeState};

fn at(number: Number) -> i64 {
    number.get().and_then(|at| i64::try_from(at).ok()).unwrap_or(0)
}

/// A node's record.
pub(crate) fn node(node: &Node, clock: &Clock, release: Release, one_line: bool) -> String {
    let mut record = Record::new(one_line);
    let arch = if node.architecture.is_empty() {
        String::new()
    } else {
        format!("Arch={} ", node.architecture)
    };
    record.line(format!("NodeName={} {arch}CoresPerSocket={} ", node.name, node.cores));
    record.line(format!(
        "CPUAlloc={} CPUEfctv={} CPUTot={} CPULoad={}",
        node.alloc_cpus,
        node.effective_cpus,
        node.cpus,
        load(node.cpu_load)
    ));
    record.line(format!("AvailableFeatures={}", or_null(&node.features.join(","))));
    record.line(format!("ActiveFeatures={}", or_null(&node.active_features.join(","))));
    record.line(format!("Gres={}", or_null(&node.gres)));
    record.some("GresDrain", or(&node.gres_drained, "").trim_start_matches("N/A"));
    record.some("GresUsed", &node.gres_used);
    let version = or(&node.version, "");
    let version = if version.is_empty() { String::new() } else { format!("Version={version}") };
    record.line(format!(
        "NodeAddr={} NodeHostName={} {}{version}",
        node.address,
        node.hostname,
        port(node.port)
    ));
    if !node.operating_system.is_empty() {
        record.line(format!("OS={} ", node.operating_system));
    }
    let free = node.free_mem.get().map_or_else(|| "N/A".to_owned(), |free| free.to_string());
    record.line(format!(
        "RealMemory={} AllocMem={} FreeMem={free} Sockets={} Boards={}",
        node.real_memory, node.alloc_memory, node.sockets, node.boards
    ));
    special(&mut record, node);
    record.line(format!(
        "State={} ThreadsPerCore={} TmpDisk={} Weight={} Owner={} MCS_label={}",
        NodeState::of(node).complete(),
        node.threads,
        node.temporary_disk,
        node.weight,
        or(&node.owner, "N/A"),
        or(&node.mcs_label, "N/A")
    ));
    if !node.partitions.is_empty() {
        record.line(format!("Partitions={} ", node.partitions.join(",")));
    }
    history(&mut record, node, clock, release);
    record.text()
}

fn load(hundredths: i64) -> String {
    /// What slurmctld says of a node that hasn't told.
    const UNKNOWN: i64 = 0xffff_fffe;
    match hundredths {
        UNKNOWN => "N/A".to_owned(),
        hundredths => format!("{:.2}", hundredths as f64 / 100.0),
    }
}

/// The port is printed where it isn't the usual one.
fn port(port: i64) -> String {
    const USUAL: i64 = 6818;
    if port == USUAL { String::new() } else { format!("Port={port} ") }
}

fn special(record: &mut Record, node: &Node) {
    let mut line = String::new();
    if node.specialized_cores != 0 {
        line += &format!("CoreSpecCount={} ", node.specialized_cores);
    }
    if !node.specialized_cpus.is_empty() {
        line += &format!("CPUSpecList={} ", node.specialized_cpus);
    }
    if node.specialized_memory != 0 {
        line += &format!("MemSpecLimit={}", node.specialized_memory);
    }
    if !line.is_empty() {
        record.line(line);
    }
    if node.res_cores_per_gpu != 0 {
        record
            .line(format!("RestrictedCoresPerGPU={}({}) ", node.res_cores_per_gpu, node.gpu_spec));
    }
}

fn history(record: &mut Record, node: &Node, clock: &Clock, release: Release) {
    let time = |number: Number| clock.show_or(at(number), "None");
    record.line(format!(
        "BootTime={} SlurmdStartTime={}",
        time(node.boot_time),
        time(node.slurmd_start_time)
    ));
    let mut line = format!(
        "LastBusyTime={} ResumeAfterTime={}",
        clock.show(at(node.last_busy)),
        time(node.resume_after)
    );
    if release == Release::V26_05 {
        let suspend = node.suspend_time.get();
        let suspend = suspend.map_or_else(|| "INFINITE".to_owned(), |secs| secs.to_string());
        line += &format!(" SuspendTime={suspend}");
    }
    record.line(line);
    record.line(format!("CfgTRES={}", or_null(&node.tres)));
    record.line(format!("AllocTRES={}", node.tres_used));
    let watts = node.energy.current_watts.get();
    record.line(match watts {
        Some(watts) => format!("CurrentWatts={watts} AveWatts={}", node.energy.average_watts),
        None => "CurrentWatts=n/a AveWatts=n/a".to_owned(),
    });
    if release == Release::V24_11 {
        record.line("");
    }
    for (number, line) in node.reason.lines().enumerate() {
        if number == 0 && at(node.reason_changed_at) != 0 {
            let (user, time) = (&node.reason_set_by_user, clock.show(at(node.reason_changed_at)));
            record.line(format!("Reason={line} [{user}@{time}]"));
        } else {
            record.line(format!("{}{line}", if number == 0 { "Reason=" } else { "       " }));
        }
    }
    record.some("Comment", &node.comment);
    record.some("Extra", &node.extra);
    let instance =
        [("InstanceId", &node.instance_id, " "), ("InstanceType", &node.instance_type, "")];
    let instance = instance.iter().filter(|(_, value, _)| !value.is_empty());
    let instance: String =
        instance.map(|(name, value, after)| format!("{name}={value}{after}")).collect();
    if !instance.is_empty() {
        record.line(instance);
    }
    record.some("ReservationName", &node.reservation);
    record.some("Topology", &node.topology);
}

/// A partition's record. What older versions of slurmrestd don't tell is `N/A`.
pub(crate) fn partition(part: &Partition, release: Release, one_line: bool) -> String {
    let mut record = Record::new(one_line);
    let told = !part.partition.oversubscribe.is_empty();
    let flag = |word: &str| {
        if told { yes(part.flags.iter().any(|flag| flag == word)) } else { "N/A" }
    };
    record.line(format!("PartitionName={}", part.name));
    let access = |what: &str, allowed: &str, denied: &str| {
        if allowed.is_empty() && !denied.is_empty() {
            format!("Deny{what}={denied}")
        } else {
            format!("Allow{what}={}", or(allowed, "ALL"))
        }
    };
    record.line(format!(
        "AllowGroups={} {} {}",
        or(&part.groups.allowed, "ALL"),
        access("Accounts", &part.accounts.allowed, &part.accounts.deny),
        access("Qos", &part.qos.allowed, &part.qos.deny)
    ));
    let alternate = if part.alternate.is_empty() {
        String::new()
    } else {
        format!(" Alternate={}", part.alternate)
    };
    record.line(format!(
        "AllocNodes={}{alternate} Default={} QoS={}",
        or(&part.nodes.allowed_allocation, "ALL"),
        flag("DEFAULT"),
        or(&part.qos.assigned, "N/A")
    ));
    let alone = match release {
        Release::V26_05 => format!("Exclusive={}", or(&part.partition.exclusive, "N/A")),
        Release::V24_11 => format!(
            "ExclusiveUser={} ExclusiveTopo={}",
            flag("EXCLUSIVE_USER"),
            flag("EXCLUSIVE_TOPO")
        ),
    };
    record.line(format!(
        "DefaultTime={} DisableRootJobs={} {alone} GraceTime={} Hidden={}",
        span(part.defaults.time, "NONE"),
        flag("NO_ROOT"),
        part.grace_time,
        flag("HIDDEN")
    ));
    limits(&mut record, part, flag);
    sharing(&mut record, part, release, flag);
    record.text()
}

fn span(minutes: Number, unset: &str) -> String {
    match minutes {
        Number::Is(minutes) => {
            spans::full(i64::try_from(minutes).unwrap_or(i64::MAX).saturating_mul(60))
        }
        Number::Infinite => "UNLIMITED".to_owned(),
        Number::Unset => unset.to_owned(),
    }
}

fn limits(record: &mut Record, part: &Partition, flag: impl Fn(&str) -> &'static str) {
    let most = |number: Number| {
        number.get().map_or_else(|| "UNLIMITED".to_owned(), |number| number.to_string())
    };
    record.line(format!(
        "MaxNodes={} MaxTime={} MinNodes={} LLN={} MaxCPUsPerNode={} MaxCPUsPerSocket={}",
        most(part.maximums.nodes),
        span(part.maximums.time, "UNLIMITED"),
        part.minimums.nodes,
        flag("LLN"),
        most(part.maximums.cpus_per_node),
        most(part.maximums.cpus_per_socket)
    ));
    record.some("NodeSets", &part.node_sets);
    record.line(format!("Nodes={}", or_null(&part.nodes.configured)));
}

fn sharing(
    record: &mut Record,
    part: &Partition,
    release: Release,
    flag: impl Fn(&str) -> &'static str,
) {
    record.line(format!(
        "PriorityJobFactor={} PriorityTier={} RootOnly={} ReqResv={} OverSubscribe={}",
        part.priority.job_factor,
        part.priority.tier,
        flag("ROOT_ONLY"),
        flag("REQ_RESV"),
        crate::sinfo::fields::shared(part, release)
    ));
    let over = match part.maximums.over_time_limit {
        Number::Is(minutes) => minutes.to_string(),
        Number::Infinite => "UNLIMITED".to_owned(),
        Number::Unset => "NONE".to_owned(),
    };
    let modes: Vec<&str> = part.preempt_mode.iter().map(String::as_str).collect();
    let modes = match modes.as_slice() {
        // What slurm.conf says for all isn't told.
        [] | ["CLUSTER_GLOBAL"] => "N/A".to_owned(),
        modes => modes.join(","),
    };
    record.line(format!("OverTimeLimit={over} PreemptMode={modes}"));
    record.some("Topology", &part.topology);
    let select = part.select_type.first().map_or("NONE", String::as_str);
    record.line(format!(
        "State={} TotalCPUs={} TotalNodes={} SelectTypeParameters={select}",
        part.partition.state.first().map_or("UNKNOWN", String::as_str),
        part.cpus.total,
        part.nodes.total
    ));
    record.line(format!("JobDefaults={}", or_null(&part.defaults.job)));
    let memory = |cpu: Number, node: Number| match (cpu.get(), node.get()) {
        (Some(cpu), _) => format!("MemPerCPU={}", or(&nought(cpu), "UNLIMITED")),
        (None, node) => format!("MemPerNode={}", or(&nought(node.unwrap_or(0)), "UNLIMITED")),
    };
    let (usual, most) = (&part.defaults, &part.maximums);
    record.line(format!(
        "Def{} Max{}",
        memory(usual.partition_memory_per_cpu, usual.partition_memory_per_node),
        memory(most.partition_memory_per_cpu, most.partition_memory_per_node)
    ));
    record.line(format!("TRES={}", or_null(&part.tres.configured)));
    record.some("TRESBillingWeights", &part.tres.billing_weights);
}

/// Nothing for 0.
fn nought(number: u64) -> String {
    if number == 0 { String::new() } else { number.to_string() }
}

/// A reservation's record.
pub(crate) fn reservation(
    one: &Reservation,
    clock: &Clock,
    release: Release,
    one_line: bool,
) -> String {
    let mut record = Record::new(one_line);
    let (start, end) = (at(one.start_time), at(one.end_time));
    record.line(format!(
        "ReservationName={} StartTime={} EndTime={} Duration={}",
        one.name,
        clock.show(start),
        clock.show(end),
        spans::full(end - start)
    ));
    record.line(format!(
        "Nodes={} NodeCnt={} CoreCnt={} Features={} PartitionName={} Flags={}",
        or_null(&one.node_list),
        one.node_count,
        one.core_count,
        or_null(&one.features),
        or_null(&one.partition),
        one.flags.join(",")
    ));
    record.line(format!("TRES={}", or_null(&one.tres)));
    if release == Release::V26_05 {
        // slurmrestd tells neither.
        record.line("AllowedPartitions=N/A QOS=N/A".to_owned());
    }
    let active = start <= clock.now && clock.now <= end;
    record.line(format!(
        "Users={} Groups={} Accounts={} Licenses={} State={} BurstBuffer={}",
        or_null(&one.users),
        or_null(&one.groups),
        or_null(&one.accounts),
        or_null(&one.licenses),
        if active { "ACTIVE" } else { "INACTIVE" },
        or_null(&one.burst_buffer)
    ));
    record.line(format!(
        "MaxStartDelay={}",
        or(&nought(u64::try_from(one.max_start_delay).unwrap_or(0)), "(null)")
    ));
    record.text()
}

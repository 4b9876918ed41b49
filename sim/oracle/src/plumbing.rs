//! From a cluster that both sides know to files with which daemons start on one machine.
//!
//! Ports, paths, authentication and process tracking are the lab's; everything that decides
//! anything is the cluster's.

use std::{collections::BTreeMap, fmt::Write};

use drawbridge_sim::expand_hostlist;

use crate::{
    case::Cluster,
    lab::{LabError, LabOptions, Services},
};

/// What the lab sets, whatever the cluster says.
const FIXED: &[(&str, &str)] = &[
    ("ClusterName", "lab"),
    ("SlurmctldHost", "slurmhost(127.0.0.1)"),
    ("SlurmctldPort", "6817"),
    ("SlurmUser", "root"),
    ("SlurmdUser", "root"),
    ("AuthType", "auth/slurm"),
    ("CredType", "auth/slurm"),
    ("StateSaveLocation", "/var/spool/slurm/ctld"),
    ("SlurmdSpoolDir", "/var/spool/slurm/d.%n"),
    ("SlurmctldPidFile", "/run/slurm/slurmctld.pid"),
    ("SlurmdPidFile", "/run/slurm/slurmd.%n.pid"),
    ("SlurmctldLogFile", "/var/log/slurm/slurmctld.log"),
    ("SlurmdLogFile", "/var/log/slurm/slurmd.%n.log"),
    ("ProctrackType", "proctrack/linuxproc"),
    ("TaskPlugin", "task/none"),
    ("JobAcctGatherType", "jobacct_gather/none"),
    ("SwitchType", "switch/none"),
    ("MpiDefault", "none"),
    ("SlurmdParameters", "config_overrides"),
    ("DebugFlags", "NO_CONF_HASH"),
];

/// What else it sets where every decision is compared with the model's.
const LOCKSTEP: &[(&str, &str)] = &[("SlurmctldTimeout", "30000")];

/// What it sets there unless a generated cluster does.
const UNLESS_SAID: &[(&str, &str)] = &[
    ("MessageTimeout", "100"),
    ("SlurmdTimeout", "30000"),
    // A job's nodes come free one after the other, as their epilogs end. Whether a cycle falls in
    // between is chance; with this none does.
    ("CompleteWait", "60"),
];

/// What slurmrestd's tokens need.
const REST: &[(&str, &str)] =
    &[("AuthAltTypes", "auth/jwt"), ("AuthAltParameters", "jwt_key=/etc/slurm/jwt_hs256.key")];

/// Where slurmdbd is.
const ACCOUNTING: &[(&str, &str)] = &[
    ("AccountingStorageType", "accounting_storage/slurmdbd"),
    ("AccountingStorageHost", "slurmhost"),
    ("AccountingStoragePort", "6819"),
];

/// What means something only where slurmdbd is.
const NEEDS_ACCOUNTING: &[&str] = &["accountingstorageenforce", "accountingstoragetres"];

/// What a site's own file may say and the lab has no use for.
const DROPPED: &[&str] = &[
    "slurmctldaddr",
    "slurmctldparameters",
    "slurmdport",
    "authalttypes",
    "authaltparameters",
    "accountingstoragetype",
    "accountingstoragehost",
    "accountingstorageport",
    "accountingstorageuser",
    "accountingstoragebackuphost",
    "jobcomptype",
    "jobcomploc",
    "jobcomphost",
    "prolog",
    "epilog",
    "prologslurmctld",
    "epilogslurmctld",
    "taskprolog",
    "taskepilog",
    "healthcheckprogram",
    "healthcheckinterval",
    "mailprog",
    "jobsubmitplugins",
    "plugindir",
    "plugstackconfig",
    "controlmachine",
    "controladdr",
    "backupcontroller",
    "backupaddr",
    "tmpfs",
    "rebootprogram",
    "resumeprogram",
    "suspendprogram",
    "include",
    "launchparameters",
    "prologflags",
    "acctgatherenergytype",
    "x11parameters",
    "srunportrange",
    "comminfo",
];

/// Programs that the lab has: `Epilog=/run/sleep/8` takes eight seconds.
pub(crate) const SLEEP: &str = "=/run/sleep/";

const FIRST_PORT: usize = 7000;

/// Nodes whose slurmd isn't started: they aren't there, or nobody expects one.
const ABSENT: &[&str] = &["state=future", "state=external", "state=cloud"];

/// The files of a lab's Slurm, and what changes in them.
#[derive(Debug)]
pub(crate) struct Plumbing {
    cluster: Cluster,
    services: Services,
    lockstep: bool,
    /// The port of every node that there ever was.
    ports: BTreeMap<String, usize>,
}

impl Plumbing {
    pub(crate) fn new(options: &LabOptions, cluster: &Cluster) -> Self {
        let LabOptions { services, lockstep, .. } = *options;
        Self { cluster: cluster.clone(), services, lockstep, ports: BTreeMap::new() }
    }

    /// The script that writes the files and starts the daemons.
    pub(crate) fn boot_script(&mut self) -> Result<String, LabError> {
        let (files, names) = self.files()?;
        let Services { rest, accounting } = self.services;
        let rest = if rest { format!("{} && ", self.rest_script()) } else { String::new() };
        let accounting = if accounting { "accounting && " } else { "" };
        let names = names.join(" ");
        Ok(format!("{files}keys && {accounting}boot {names} && {rest}echo booted\n"))
    }

    /// The script that starts slurmrestd.
    pub(crate) fn rest_script(&self) -> String {
        let accounting = self.services.accounting;
        let plugins = if accounting { "slurmctld,slurmdbd" } else { "slurmctld" };
        format!("rest {plugins}")
    }

    /// The script that changes slurm.conf, has slurmctld read it (`how`) and starts the slurmds of
    /// new nodes.
    pub(crate) fn change_script(&mut self, edits: &str, how: &str) -> Result<String, LabError> {
        let (_, before) = self.files()?;
        self.cluster.edit(edits);
        let (files, after) = self.files()?;
        let missing = |all: &[String], in_these: &[String]| {
            let gone = in_these.iter().filter(|name| !all.contains(name));
            gone.cloned().collect::<Vec<_>>().join(" ")
        };
        let (gone, new) = (missing(&after, &before), missing(&before, &after));
        Ok(format!("stop_slurmds {gone}\n{files}{how}\nstart_slurmds {new}"))
    }

    /// The script that starts the slurmd of a node that no file knows: `d1 CPUs=2 Feature=x`.
    pub(crate) fn dynamic_script(&mut self, words: &str) -> String {
        let (name, words) = words.split_once(' ').unwrap_or((words, ""));
        let port = self.port(name);
        format!("start_dynamic {name} '{words} Port={port}'")
    }

    /// The script that writes the files, and the nodes in them that have a slurmd.
    fn files(&mut self) -> Result<(String, Vec<String>), LabError> {
        let (conf, names) = self.slurm_conf()?;
        let gres = self.cluster.gres_conf.replace("File=/dev/", "File=/run/dev/");
        let mut script = String::new();
        let _ = writeln!(script, "cat > /etc/slurm/slurm.conf <<'END-OF-FILE'\n{conf}END-OF-FILE");
        let _ = writeln!(script, "cat > /etc/slurm/gres.conf <<'END-OF-FILE'\n{gres}\nEND-OF-FILE");
        let _ = writeln!(script, "mkdir -p /run/dev");
        for path in devices(&gres)? {
            let _ = writeln!(script, "[ -e {path} ] || mknod -m 666 {path} c 1 3");
        }
        Ok((script, names))
    }

    /// What the lab sets.
    fn fixed(&self) -> Vec<(&'static str, &'static str)> {
        let Services { rest, accounting } = self.services;
        let said = |name: &str| {
            !self.cluster.given && self.cluster.slurm_conf.lines().any(|line| is_key(line, name))
        };
        let parts =
            [(true, FIXED), (self.lockstep, LOCKSTEP), (rest, REST), (accounting, ACCOUNTING)];
        let parts = parts.into_iter().filter(|(wanted, _)| *wanted);
        let unsaid = UNLESS_SAID.iter().filter(|(name, _)| self.lockstep && !said(name));
        parts.flat_map(|(_, part)| part).chain(unsaid).copied().collect()
    }

    fn slurm_conf(&mut self) -> Result<(String, Vec<String>), LabError> {
        let fixed = self.fixed();
        let mut conf = String::new();
        for (key, value) in &fixed {
            let _ = writeln!(conf, "{key}={value}");
        }
        let Services { accounting, .. } = self.services;
        let mut names = vec![];
        for line in self.cluster.slurm_conf.clone().lines() {
            let any = |list: &[&str]| list.iter().any(|name| is_key(line, name));
            let useless = !accounting && any(NEEDS_ACCOUNTING);
            let ours = line.contains(SLEEP) || (!self.cluster.given && is_key(line, "prologflags"));
            if useless
                || (any(DROPPED) && !ours)
                || fixed.iter().any(|(name, _)| is_key(line, name))
            {
                continue;
            }
            let _ = match self.node_line(line, &mut names)? {
                Some(line) => writeln!(conf, "{line}"),
                None => writeln!(conf, "{line}"),
            };
        }
        Ok((conf, names))
    }

    /// A `NodeName=` line with an address on this machine; its names join `names` if slurmds run
    /// there.
    fn node_line(
        &mut self,
        line: &str,
        names: &mut Vec<String>,
    ) -> Result<Option<String>, LabError> {
        if !is_key(line, "nodename") {
            return Ok(None);
        }
        let list = line.split('=').nth(1).and_then(|rest| rest.split_whitespace().next());
        let list = list.unwrap_or_default();
        if list.eq_ignore_ascii_case("default") {
            return Ok(None);
        }
        let here = expand(list)?;
        let ports: Vec<_> = here.iter().map(|name| self.port(name).to_string()).collect();
        let port = if here.len() == 1 { ports.concat() } else { format!("[{}]", ports.join(",")) };
        let absent = |word: &str| ABSENT.contains(&word.to_ascii_lowercase().as_str());
        if !line.split_whitespace().any(absent) {
            names.extend(here);
        }
        let words: Vec<_> = line.split_whitespace().filter(|word| !is_address(word)).collect();
        let words = words.join(" ");
        Ok(Some(format!("{words} NodeHostname=slurmhost NodeAddr=127.0.0.1 Port={port}")))
    }

    /// A node keeps its port, whoever comes and goes.
    fn port(&mut self, name: &str) -> usize {
        let next = FIRST_PORT + self.ports.len();
        *self.ports.entry(name.to_owned()).or_insert(next)
    }
}

fn is_key(line: &str, key: &str) -> bool {
    line.split('=').next().unwrap_or_default().trim().eq_ignore_ascii_case(key)
}

fn is_address(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    ["nodehostname=", "nodeaddr=", "port=", "bcastaddr="].iter().any(|key| word.starts_with(key))
}

fn devices(gres: &str) -> Result<Vec<String>, LabError> {
    let words = gres.split_whitespace().filter_map(|word| word.strip_prefix("File="));
    let mut all = vec![];
    for word in words {
        let (folder, names) = word.rsplit_once('/').unwrap_or(("", word));
        all.extend(expand(names)?.iter().map(|name| format!("{folder}/{name}")));
    }
    Ok(all)
}

fn expand(list: &str) -> Result<Vec<String>, LabError> {
    let hint = "write names such as n[1-4]";
    expand_hostlist(list)
        .ok()
        .filter(|names| !names.is_empty())
        .ok_or_else(|| LabError { what: format!("`{list}` is no list of names"), hint })
}

#[cfg(test)]
mod tests {
    use drawbridge_sim::Release;

    use super::*;

    #[test]
    fn nodes_get_ports_of_their_own_and_the_lab_s_words_win() {
        let text = "ClusterName=theirs\nProlog=/x\nSlurmdTimeout=20\nNodeName=DEFAULT CPUs=4\n\
                    NodeName=n[1-2] CPUs=4 NodeAddr=x\nNodeName=n3 Port=5\n\
                    NodeName=e1 State=External\nAccountingStorageTRES=gres/gpu\nWeird=1\n";
        let (conf, names) = plumbing(text).slurm_conf().unwrap();
        let own: Vec<_> = conf.lines().skip(FIXED.len() + LOCKSTEP.len()).collect();
        assert_eq!(names, ["n1", "n2", "n3"]);
        assert_eq!(
            own,
            [
                "MessageTimeout=100",
                "CompleteWait=60",
                "SlurmdTimeout=20",
                "NodeName=DEFAULT CPUs=4",
                "NodeName=n[1-2] CPUs=4 NodeHostname=slurmhost NodeAddr=127.0.0.1 Port=[7000,7001]",
                "NodeName=n3 NodeHostname=slurmhost NodeAddr=127.0.0.1 Port=7002",
                "NodeName=e1 State=External NodeHostname=slurmhost NodeAddr=127.0.0.1 Port=7003",
                "Weird=1",
            ]
        );
    }

    fn plumbing(slurm_conf: &str) -> Plumbing {
        let options = LabOptions { lockstep: true, ..LabOptions::of(Release::V24_11) };
        let cluster = Cluster { slurm_conf: slurm_conf.into(), ..Cluster::default() };
        Plumbing::new(&options, &cluster)
    }

    #[test]
    fn nodes_that_come_get_a_slurmd_and_those_that_go_lose_theirs() {
        let mut plumbing = plumbing("NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL\n");
        plumbing.boot_script().unwrap();
        let edits = "-NodeName=n[1-2]; NodeName=n[2-3] CPUs=4";
        let script = plumbing.change_script(edits, "scontrol reconfigure").unwrap();
        assert!(script.starts_with("stop_slurmds n1\n"), "{script}");
        assert!(script.ends_with("scontrol reconfigure\nstart_slurmds n3"), "{script}");
        assert!(script.contains("Port=[7001,7002]"), "{script}");
    }

    #[test]
    fn every_device_file_is_made() {
        let gres =
            "NodeName=n1 Name=gpu File=/run/dev/g[0-1]\nNodeName=n2 Name=gpu File=/run/dev/g5\n";
        assert_eq!(devices(gres).unwrap(), ["/run/dev/g0", "/run/dev/g1", "/run/dev/g5"]);
    }
}

//! From a cluster that both sides know to files with which daemons start on one machine.
//!
//! Ports, paths, authentication and process tracking are the lab's; everything that decides
//! anything is the cluster's.

use std::fmt::Write;

use drawbridge_sim::expand_hostlist;

use crate::{case::Cluster, lab::LabError};

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
    ("MessageTimeout", "100"),
    ("SlurmdTimeout", "30000"),
    ("SlurmctldTimeout", "30000"),
    // A job's nodes come free one after the other, as their epilogs end. Whether a cycle falls in
    // between is chance; with this none does.
    ("CompleteWait", "60"),
];

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
    "accountingstorageenforce",
    "accountingstoragetres",
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

const FIRST_PORT: usize = 7000;

/// The script that writes the files and starts the daemons.
pub(crate) fn boot_script(cluster: &Cluster) -> Result<String, LabError> {
    let (conf, names) = slurm_conf(&cluster.slurm_conf)?;
    let gres = cluster.gres_conf.replace("File=/dev/", "File=/run/dev/");
    let mut script = String::new();
    let _ = writeln!(script, "cat > /etc/slurm/slurm.conf <<'END-OF-FILE'\n{conf}END-OF-FILE");
    let _ = writeln!(script, "cat > /etc/slurm/gres.conf <<'END-OF-FILE'\n{gres}\nEND-OF-FILE");
    let _ = writeln!(script, "mkdir -p /run/dev");
    for path in devices(&gres)? {
        let _ = writeln!(script, "[ -e {path} ] || mknod -m 666 {path} c 1 3");
    }
    let _ = writeln!(script, "boot {}", names.join(" "));
    Ok(script)
}

fn slurm_conf(text: &str) -> Result<(String, Vec<String>), LabError> {
    let mut conf = String::new();
    for (key, value) in FIXED {
        let _ = writeln!(conf, "{key}={value}");
    }
    let mut names = vec![];
    for line in text.lines() {
        let key = line.split('=').next().unwrap_or_default().trim().to_ascii_lowercase();
        let fixed = FIXED.iter().any(|(other, _)| other.eq_ignore_ascii_case(&key));
        if fixed || DROPPED.contains(&key.as_str()) {
            continue;
        }
        let _ = match node_line(line, &key, &mut names)? {
            Some(line) => writeln!(conf, "{line}"),
            None => writeln!(conf, "{line}"),
        };
    }
    Ok((conf, names))
}

/// A `NodeName=` line with an address on this machine; its names join `names`.
fn node_line(line: &str, key: &str, names: &mut Vec<String>) -> Result<Option<String>, LabError> {
    if key != "nodename" {
        return Ok(None);
    }
    let list = line.split('=').nth(1).and_then(|rest| rest.split_whitespace().next());
    let list = list.unwrap_or_default();
    if list.eq_ignore_ascii_case("default") {
        return Ok(None);
    }
    let here = expand(list)?;
    let (first, last) = (FIRST_PORT + names.len(), FIRST_PORT + names.len() + here.len() - 1);
    let port = if first == last { first.to_string() } else { format!("[{first}-{last}]") };
    names.extend(here);
    let words: Vec<_> = line.split_whitespace().filter(|word| !is_address(word)).collect();
    Ok(Some(format!("{} NodeHostname=slurmhost NodeAddr=127.0.0.1 Port={port}", words.join(" "))))
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
    use super::*;

    #[test]
    fn nodes_get_ports_of_their_own_and_the_lab_s_words_win() {
        let text = "ClusterName=theirs\nProlog=/x\nNodeName=DEFAULT CPUs=4\n\
                    NodeName=n[1-2] CPUs=4 NodeAddr=x\nNodeName=n3 Port=5\nWeird=1\n";
        let (conf, names) = slurm_conf(text).unwrap();
        let own: Vec<_> = conf.lines().skip(FIXED.len()).collect();
        assert_eq!(names, ["n1", "n2", "n3"]);
        assert_eq!(
            own,
            [
                "NodeName=DEFAULT CPUs=4",
                "NodeName=n[1-2] CPUs=4 NodeHostname=slurmhost NodeAddr=127.0.0.1 Port=[7000-7001]",
                "NodeName=n3 NodeHostname=slurmhost NodeAddr=127.0.0.1 Port=7002",
                "Weird=1",
            ]
        );
    }

    #[test]
    fn every_device_file_is_made() {
        let gres =
            "NodeName=n1 Name=gpu File=/run/dev/g[0-1]\nNodeName=n2 Name=gpu File=/run/dev/g5\n";
        assert_eq!(devices(gres).unwrap(), ["/run/dev/g0", "/run/dev/g1", "/run/dev/g5"]);
    }
}

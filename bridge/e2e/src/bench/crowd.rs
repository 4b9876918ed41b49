//! A thousand gangs wait beside ten thousand jobs of others.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use drawbridge_bridge::slurm::calls::{JobDescription, Submit};
use drawbridge_core::names::POD_GROUP_LABEL;
use tokio::time::{Instant, sleep};

use crate::{
    Trouble,
    api::until,
    cluster::free_port,
    manifests::PodPlan,
    options::Options,
    say,
    scenes::{leader, make_group},
    stage::{Stage, job_of},
};

const GANGS: u32 = 1_000;
const FOREIGN: u32 = 10_000;
/// For so long it is counted.
const WHILE: Duration = Duration::from_secs(60);

const CONF: &str = "\
ClusterName=crowd
MaxJobCount=50000
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=n[1-100] Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=16000
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
";

/// Our slurmrestd, until this is dropped.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Measures, and prints what it saw.
pub(crate) async fn crowd(options: &Options) -> Result<(), Trouble> {
    let folder = std::env::temp_dir().join(format!("drawbridge-crowd.{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let (served, address) = serve(options, &folder)?;
    let token = until("slurmrestd's token", Duration::from_secs(20), async || {
        Ok(std::fs::read_to_string(folder.join("drawbridge.jwt")).ok().filter(|it| !it.is_empty()))
    })
    .await?;
    let options = Options { slurm: Some((address, token)), ..options.clone() };
    let stage = Stage::set(&options).await??;
    let measured = measure(&stage).await;
    stage.strike(measured.is_ok());
    drop(served);
    let _ = std::fs::remove_dir_all(folder);
    measured
}

fn serve(options: &Options, folder: &Path) -> Result<(Served, String), Trouble> {
    std::fs::write(folder.join("slurm.conf"), CONF).map_err(|error| error.to_string())?;
    let address = format!("127.0.0.1:{}", free_port()?);
    let child = Command::new(&options.drawbridge)
        .args(["serve", "--slurm-only", "--conf", "slurm.conf", "--slurm-addr", &address])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    Ok((Served(child), format!("http://{address}")))
}

async fn measure(stage: &Stage) -> Result<(), Trouble> {
    let holder = fill(stage).await?;
    let began = Instant::now();
    for gang in 0..GANGS {
        let group = format!("gang-{gang}");
        make_group(stage, &group, 2).await?;
        for rank in 0..2 {
            let labels = vec![(POD_GROUP_LABEL, group.clone())];
            let plan = PodPlan { labels, ..PodPlan::new(&format!("{group}-{rank}"), 1, Some(1)) };
            stage.create_pod(&plan).await?;
        }
    }
    say(&format!("{GANGS} gangs of two were made in {:.1} s", began.elapsed().as_secs_f64()));
    until("every gang has its job", Duration::from_secs(300), async || {
        let pods = stage.api.list(&stage.path("pods")).await?;
        let marked = pods.iter().filter(|pod| job_of(pod).is_ok()).count();
        if marked == pods.len() { Ok(Some(())) } else { Err(format!("{marked} of {}", pods.len())) }
    })
    .await?;
    say(&format!("every gang had its job after {:.1} s", began.elapsed().as_secs_f64()));
    count(stage).await?;
    let began = Instant::now();
    stage.slurm.cancel(&holder).await?;
    until("every gang has run", Duration::from_secs(300), async || {
        let pods = stage.api.list(&stage.path("pods")).await?;
        let over = pods.iter().filter(|pod| pod["status"]["phase"] == "Succeeded").count();
        if over == pods.len() { Ok(Some(())) } else { Err(format!("{over} of {}", pods.len())) }
    })
    .await?;
    say(&format!(
        "with the nodes free, all of them had run after {:.1} s",
        began.elapsed().as_secs_f64()
    ));
    Ok(())
}

/// Takes every node, and queues others' jobs behind; the job that has the nodes.
async fn fill(stage: &Stage) -> Result<String, Trouble> {
    let job = |name: String, hold: bool, nodes: Option<String>| {
        Submit(JobDescription {
            name: Some(name),
            script: Some("#!/bin/sh\n#DRAWBRIDGE runtime=100h\nsleep 360000\n".into()),
            current_working_directory: Some("/tmp".into()),
            environment: Some(vec!["PATH=/bin".into()]),
            shared: nodes.is_some().then(|| vec!["none".into()]),
            nodes,
            hold: Some(hold),
            ..JobDescription::default()
        })
    };
    let holder = stage.slurm.submit(job("holder".into(), false, Some("100".into()))).await?;
    for number in 0..FOREIGN {
        stage.slurm.submit(job(format!("foreign-{number}"), true, None)).await?;
    }
    say(&format!("{FOREIGN} jobs of others are queued"));
    Ok(holder.to_string())
}

/// Counts requests, processor time and memory of the leader for a while.
async fn count(stage: &Stage) -> Result<(), Trouble> {
    let leader = &stage.replicas[leader(stage).await?];
    let sums = async || {
        let page = leader.metrics().await;
        let sum = |family: &str| -> f64 {
            let lines = page.lines().filter(|line| line.starts_with(family));
            lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
        };
        (sum("drawbridge_slurm_requests_total{"), sum("drawbridge_kube_requests_total{"))
    };
    let (slurm, kube) = sums().await;
    let (_, cpu) = leader.usage().ok_or("the leader is gone")?;
    sleep(WHILE).await;
    let (slurm_later, kube_later) = sums().await;
    let (peak, cpu_later) = leader.usage().ok_or("the leader is gone")?;
    let secs = WHILE.as_secs_f64();
    say(&format!(
        "requests a second: {:.1} to slurmrestd, {:.1} to the API server",
        (slurm_later - slurm) / secs,
        (kube_later - kube) / secs
    ));
    let busy = (cpu_later - cpu).as_secs_f64() / secs * 100.0;
    say(&format!(
        "processor: {busy:.1} % of a core; memory at the most: {:.0} MB",
        peak as f64 / 1024.0
    ));
    Ok(())
}

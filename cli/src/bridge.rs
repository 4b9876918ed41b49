//! `drawbridge bridge`: the bridge as a process between real clusters.

mod args;
mod log;

use std::{env, fs, io::ErrorKind, path::Path};

use drawbridge_bridge::{
    daemon::{self, DaemonError, Plan, Rehearsal},
    kube::KubeError,
    settings::{CONFIG_PATH, Settings, SettingsError},
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};

use crate::failure::{self, Failure};

pub(crate) use args::BridgeArgs;

/// Runs the bridge until somebody stops it.
pub(crate) fn bridge(args: &BridgeArgs) -> Result<(), Failure> {
    let settings = settings(args)?;
    if args.check_config {
        return check(&settings);
    }
    if args.print_webhooks {
        return print_webhooks(&settings);
    }
    let plan = Plan {
        settings,
        kubeconfig: args.kubeconfig.clone(),
        metrics: args.metrics_bind_address.0,
        health: args.health_probe_bind_address.0,
        webhook: args.webhook_bind_address,
        journal: args.journal.clone(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Process(format!("no runtime: {error}")))?;
    match args.dry_run {
        true => rehearse(&runtime.block_on(daemon::rehearse(&plan)).map_err(failed)?),
        false => {
            log::start(args);
            runtime.block_on(run(plan))
        }
    }
}

async fn run(plan: Plan) -> Result<(), Failure> {
    let no_signals = |error| Failure::Process(format!("can't wait for signals: {error}"));
    let mut terminated = signal(SignalKind::terminate()).map_err(no_signals)?;
    let mut interrupted = signal(SignalKind::interrupt()).map_err(no_signals)?;
    let (tell, stop) = mpsc::channel(1);
    let running = daemon::run(plan, stop);
    tokio::pin!(running);
    tokio::select! {
        done = &mut running => return done.map_err(failed),
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
    }
    // Who doesn't listen has ended already.
    let _ = tell.try_send(());
    tokio::select! {
        done = daemon::farewell(running) => match done {
            Some(done) => done.map_err(failed),
            None => Err(Failure::Process("it took too long to let go".to_owned())),
        },
        // Told twice, it goes at once: nothing is lost by that.
        _ = terminated.recv() => Err(Failure::Exit(143)),
        _ = interrupted.recv() => Err(Failure::Exit(130)),
    }
}

fn settings(args: &BridgeArgs) -> Result<Settings, Failure> {
    let path = args.config.as_deref().unwrap_or(Path::new(CONFIG_PATH));
    let text = match fs::read_to_string(path) {
        Ok(text) => Some(text),
        // Whoever names no file may have none: the environment and the flags are enough.
        Err(error) if error.kind() == ErrorKind::NotFound && args.config.is_none() => None,
        Err(error) => {
            return Err(Failure::path(path, error, "give a readable configuration with --config"));
        }
    };
    let var = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let file = text.as_deref().map(|text| (path, text));
    Settings::resolve(&args.flags(), &var, file).map_err(|error| {
        let SettingsError { place, what, hint } = error;
        Failure::Input { place, what, hint }
    })
}

/// Prints what is in force, as a file that would say the same.
fn check(settings: &Settings) -> Result<(), Failure> {
    let object = serde_json::to_value(&settings.config);
    let object = object.map_err(|error| Failure::Process(error.to_string()))?;
    let lines = object.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    // JSON is YAML: one line for each key.
    let text: String = lines.map(|(key, value)| format!("{key}: {value}\n")).collect();
    failure::print(text.as_bytes())
}

fn print_webhooks(settings: &Settings) -> Result<(), Failure> {
    let objects = drawbridge_core::admission::configurations(&settings.config);
    // JSON is YAML.
    let text = |object| serde_json::to_string_pretty(object).map(|text| format!("---\n{text}\n"));
    let texts: Result<Vec<String>, _> = objects.iter().map(text).collect();
    let texts = texts.map_err(|error| Failure::Process(error.to_string()))?;
    failure::print(texts.concat().as_bytes())
}

fn rehearse(rehearsal: &Rehearsal) -> Result<(), Failure> {
    let Rehearsal { wanted, learned, refused, unreachable } = rehearsal;
    if let Some(why) = unreachable {
        return Err(Failure::Server {
            what: format!("not everything could be read: {why}"),
            hint: "check the addresses and the credentials of both sides",
        });
    }
    let list = |title: &str, lines: &[String]| {
        let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
        format!("{title}\n{lines}")
    };
    let mut text = match wanted.is_empty() {
        true => "Nothing would be changed.\n".to_owned(),
        false => list("Would:", wanted),
    };
    if !learned.is_empty() {
        text += &list("Came to know:", learned);
    }
    failure::print(text.as_bytes())?;
    match refused.is_empty() {
        true => Ok(()),
        false => {
            failure::print(list("Kubernetes refuses:", refused).as_bytes())?;
            Err(Failure::Unmet("Kubernetes would refuse some of it".to_owned()))
        }
    }
}

fn failed(error: DaemonError) -> Failure {
    let what = error.to_string();
    match error {
        DaemonError::Kube(error @ KubeError::Kubeconfig { .. }) => {
            Failure::Input { place: "--kubeconfig".to_owned(), what, hint: error.hint().to_owned() }
        }
        DaemonError::Kube(error) => Failure::Server { what, hint: error.hint() },
        DaemonError::Slurm(_) => Failure::Input {
            place: "slurmRest".to_owned(),
            what,
            hint: "see docs/bridge.md for what may stand there".to_owned(),
        },
        DaemonError::Front(_) => Failure::Server {
            what,
            hint: "give another address with --metrics-bind-address, --health-probe-bind-address or \
                   --webhook-bind-address; `0` serves no metrics and no health",
        },
        DaemonError::Journal { .. } => Failure::Input {
            place: "--journal".to_owned(),
            what,
            hint: "give a file that can be written".to_owned(),
        },
    }
}

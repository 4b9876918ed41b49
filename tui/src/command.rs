//! What can be typed after `:`. One table, from which commands are read, completed and explained.

use std::path::PathBuf;

use drawbridge_scenarios::format::Lasting;
use drawbridge_sim::{JobId, Span, Time};

use crate::{
    model::{
        deed::{Deed, Object},
        moment,
        msg::{MenuKind, Msg, Tab},
        scene::Scene,
    },
    theme::ThemeName,
};

/// A command.
pub(crate) struct Command {
    /// Its names, the first of which is the usual one.
    pub(crate) names: &'static [&'static str],
    /// What follows it.
    pub(crate) wants: &'static str,
    /// What it does.
    pub(crate) does: &'static str,
    /// What its words complete to.
    completes: Completes,
    read: fn(&str, Time) -> Result<Msg, String>,
}

/// What a command's words complete to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Completes {
    Nothing,
    Nodes,
    KubeNodes,
    Jobs,
    Workloads,
    Objects,
    Themes,
}

const fn command(
    names: &'static [&'static str],
    wants: &'static str,
    does: &'static str,
    completes: Completes,
    read: fn(&str, Time) -> Result<Msg, String>,
) -> Command {
    Command { names, wants, does, completes, read }
}

use Completes::{Jobs, KubeNodes, Nodes, Nothing, Objects, Themes, Workloads};

/// Every command.
#[rustfmt::skip]
pub(crate) const TABLE: &[Command] = &[
    command(&["overview", "ov", "pulses"], "", "the cluster, the queue, what is wrong", Nothing, |_, _| Ok(Msg::Tab(Tab::Overview))),
    command(&["pods", "po"],              "", "pods, with gangs", Nothing, |_, _| Ok(Msg::Tab(Tab::Pods))),
    command(&["jobs", "squeue"],          "", "jobs as squeue shows them", Nothing, |_, _| Ok(Msg::Tab(Tab::Jobs))),
    command(&["nodes", "no", "sinfo"],    "", "who holds what on which node", Nothing, |_, _| Ok(Msg::Tab(Tab::Nodes))),
    command(&["timeline", "gantt"],       "", "who held what when", Nothing, |_, _| Ok(Msg::Tab(Tab::Timeline))),
    command(&["gangs", "mpi"],            "", "gangs and their ranks", Nothing, |_, _| Ok(Msg::Tab(Tab::Gangs))),
    command(&["events", "ev"],            "", "what happened", Nothing, |_, _| Ok(Msg::Tab(Tab::Events))),
    command(&["why", "explain"],          "", "why the selection is as it is", Nothing, |_, _| Ok(Msg::Tab(Tab::Why))),
    command(&["diff"],                    "", "two runs side by side", Nothing, |_, _| Ok(Msg::Tab(Tab::Diff))),
    command(&["goto", "t"],               "TIME", "go to a time: 1h30m, 00:10:00, +30s", Nothing, |rest, now| moment::parse(rest, now).map(Msg::GoTo)),
    command(&["speed"],                   "TIMES", "play so many times faster than real time", Nothing, speed),
    command(&["bookmark"],                "NAME", "keep this moment", Nothing, |rest, _| named(rest, "a name", |name| Msg::Bookmark(name.to_owned()))),
    command(&["bookmarks"],               "", "moments that were kept", Nothing, |_, _| Ok(Msg::Menu(MenuKind::Bookmarks))),
    command(&["sort"],                    "COLUMN", "order by a column; again: from the other end", Nothing, |rest, _| named(rest, "a column", |name| Msg::SortBy(name.to_uppercase()))),
    command(&["columns"],                 "", "choose columns", Nothing, |_, _| Ok(Msg::Menu(MenuKind::Columns))),
    command(&["theme", "skin"],           "NAME", "how the screens are painted", Themes, theme),
    command(&["screenshot"],              "[FILE]", "save the screen as .txt or .svg", Nothing, |rest, _| Ok(Msg::Screenshot(path(rest)))),
    command(&["cast"],                    "[FILE]", "record the session as asciicast; again: stop", Nothing, |rest, _| Ok(Msg::Cast(path(rest)))),
    command(&["copy"],                    "", "copy the selection, or what is marked", Nothing, |_, _| Ok(Msg::Copy(false))),
    command(&["submit", "sbatch"],        "[user=U] [runtime=T] FLAGS", "submit a Slurm job", Nothing, submit),
    command(&["cancel", "scancel"],       "JOB", "cancel a job", Jobs, |rest, _| job(rest).map(Deed::Cancel).map(Msg::Do)),
    command(&["priority"],                "JOB NUMBER", "give a job another priority", Jobs, priority),
    command(&["hold"],                    "JOB", "keep a job from starting", Jobs, |rest, _| job(rest).map(Deed::Hold).map(Msg::Do)),
    command(&["release"],                 "JOB", "let a held job start", Jobs, |rest, _| job(rest).map(Deed::Release).map(Msg::Do)),
    command(&["kill"],                    "NODE", "a Slurm node goes down, with what runs on it", Nodes, |rest, _| named(rest, "a node", |node| Msg::Do(Deed::Kill(node.to_owned())))),
    command(&["drain"],                   "NODE [REASON]", "a Slurm node takes no new work", Nodes, drain),
    command(&["resume"],                  "NODE", "a Slurm node takes work again", Nodes, |rest, _| named(rest, "a node", |node| Msg::Do(Deed::Resume(node.to_owned())))),
    command(&["cordon"],                  "NODE", "keep pods from a Kubernetes node", KubeNodes, |rest, _| named(rest, "a node", |node| Msg::Do(Deed::Cordon(node.to_owned(), true)))),
    command(&["uncordon"],                "NODE", "no longer", KubeNodes, |rest, _| named(rest, "a node", |node| Msg::Do(Deed::Cordon(node.to_owned(), false)))),
    command(&["scale"],                   "KIND/NAMESPACE/NAME N", "give a workload N replicas", Workloads, scale),
    command(&["delete"],                  "KIND/NAMESPACE/NAME", "delete an object", Objects, |rest, _| object(rest).map(Deed::Delete).map(Msg::Do)),
    command(&["apply"],                   "FILE", "create or change the objects of a file", Nothing, |rest, _| named(rest, "a file", |file| Msg::Do(Deed::Apply(PathBuf::from(file))))),
    command(&["crash"],                   "[TIME]", "the bridge dies, and is back after TIME", Nothing, crash),
    command(&["save", "w"],               "FILE.yaml", "write what was changed as a scenario", Nothing, |rest, _| named(rest, "a file", |file| Msg::Save(PathBuf::from(file)))),
    command(&["undo"],                    "", "take the last change back", Nothing, |_, _| Ok(Msg::Undo)),
    command(&["try"],                     "", "what would let the selection start now?", Nothing, |_, _| Ok(Msg::Try)),
    command(&["help"],                    "", "every key and command", Nothing, |_, _| Ok(Msg::Help)),
    command(&["quit", "q", "q!", "exit"], "", "leave", Nothing, |_, _| Ok(Msg::Quit)),
];

/// Reads a command. The error says what would be right.
pub(crate) fn parse(text: &str, now: Time) -> Result<Msg, String> {
    let text = text.trim();
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let found = TABLE.iter().find(|command| command.names.contains(&name));
    let Some(command) = found else {
        let near = TABLE.iter().flat_map(|it| it.names).filter(|it| it.starts_with(name));
        let near: Vec<&str> = near.copied().take(6).collect();
        return Err(match near.is_empty() || name.is_empty() {
            true => format!("there is no command `{name}`; `help` lists all"),
            false => format!("`{name}` could be {}", near.join(", ")),
        });
    };
    (command.read)(rest.trim(), now).map_err(|wrong| match command.wants {
        "" => wrong,
        wants => format!("{wrong}: {name} {wants}"),
    })
}

/// What the text could become: whole texts, in order.
pub(crate) fn complete(text: &str, scene: Scene<'_>) -> Vec<String> {
    let Some((name, rest)) = text.split_once(' ') else {
        let names = TABLE.iter().filter_map(|it| it.names.iter().find(|it| it.starts_with(text)));
        let mut names: Vec<String> = names.map(|name| (*name).to_owned()).collect();
        names.sort();
        return names;
    };
    let Some(command) = TABLE.iter().find(|it| it.names.contains(&name)) else { return vec![] };
    // Only the first word behind the name has a list to choose from.
    if rest.contains(' ') {
        return vec![];
    }
    let mut words = words(command.completes, scene);
    words.retain(|word| word.starts_with(rest));
    words.sort_by_cached_key(|word| crate::model::natural(word));
    words.dedup();
    words.into_iter().map(|word| format!("{name} {word}")).collect()
}

fn words(completes: Completes, scene: Scene<'_>) -> Vec<String> {
    let nodes = || scene.nodes().map(|(_, node)| node);
    let pods = || scene.pods().map(|(_, pod)| pod);
    match completes {
        Nothing => vec![],
        Nodes => nodes().filter_map(|node| node.slurm_name.clone()).collect(),
        KubeNodes => nodes().map(|node| node.name.clone()).collect(),
        Jobs => {
            let live = scene.jobs().filter(|(_, job)| job.end_ms.is_none());
            live.map(|(_, job)| job.job_id.to_string()).collect()
        }
        Workloads => pods().filter_map(owner).collect(),
        Objects => {
            let own = pods().map(|pod| format!("Pod/{}/{}", pod.namespace, pod.name));
            pods().filter_map(owner).chain(own).collect()
        }
        Themes => ThemeName::ALL.iter().map(|theme| theme.name().to_owned()).collect(),
    }
}

/// `Deployment/web` of a pod, with its namespace between.
fn owner(pod: &drawbridge_scenarios::PodRow) -> Option<String> {
    let (kind, name) = pod.owner.as_ref()?.split_once('/')?;
    Some(format!("{kind}/{}/{name}", pod.namespace))
}

fn named(rest: &str, what: &str, msg: impl FnOnce(&str) -> Msg) -> Result<Msg, String> {
    if rest.is_empty() { Err(format!("{what} is missing")) } else { Ok(msg(rest)) }
}

fn path(rest: &str) -> Option<PathBuf> {
    (!rest.is_empty()).then(|| PathBuf::from(rest))
}

fn speed(rest: &str, _: Time) -> Result<Msg, String> {
    let times = rest.trim_end_matches('x').parse();
    times.map(Msg::SetSpeed).map_err(|_| format!("`{rest}` is no whole number"))
}

fn theme(rest: &str, _: Time) -> Result<Msg, String> {
    let found = ThemeName::ALL.into_iter().find(|theme| theme.name() == rest);
    let names = || ThemeName::ALL.map(ThemeName::name).join(", ");
    found.map(|theme| Msg::Theme(Some(theme))).ok_or_else(|| format!("there are {}", names()))
}

fn submit(rest: &str, _: Time) -> Result<Msg, String> {
    let (mut user, mut runtime, mut flags) = (None, None, rest);
    loop {
        let (word, tail) = flags.split_once(char::is_whitespace).unwrap_or((flags, ""));
        match word.split_once('=') {
            Some(("user", name)) => user = Some(name.to_owned()),
            Some(("runtime", time)) => runtime = Some(time.to_owned()),
            Some(_) | None => break,
        }
        flags = tail.trim_start();
    }
    if flags.is_empty() {
        return Err("the flags of sbatch are missing".to_owned());
    }
    Ok(Msg::Do(Deed::Submit { flags: flags.to_owned(), user, runtime }))
}

fn job(text: &str) -> Result<JobId, String> {
    text.parse().map(JobId).map_err(|_| format!("`{text}` is no job number"))
}

fn priority(rest: &str, _: Time) -> Result<Msg, String> {
    let (id, number) = rest.split_once(' ').ok_or("the priority is missing")?;
    let number = number.trim().parse().map_err(|_| format!("`{number}` is no priority"))?;
    Ok(Msg::Do(Deed::Priority(job(id)?, number)))
}

fn drain(rest: &str, _: Time) -> Result<Msg, String> {
    let (node, reason) = rest.split_once(' ').unwrap_or((rest, "by hand"));
    named(node, "a node", |node| Msg::Do(Deed::Drain(node.to_owned(), reason.trim().to_owned())))
}

fn object(text: &str) -> Result<Object, String> {
    Object::parse(text).ok_or_else(|| format!("`{text}` is no object"))
}

fn scale(rest: &str, _: Time) -> Result<Msg, String> {
    let (workload, replicas) = rest.split_once(' ').ok_or("the number of replicas is missing")?;
    let replicas = replicas.trim().parse().map_err(|_| format!("`{replicas}` is no number"))?;
    Ok(Msg::Do(Deed::Scale(object(workload)?, replicas)))
}

fn crash(rest: &str, _: Time) -> Result<Msg, String> {
    let span = match rest {
        "" => Ok(Span::secs(10)),
        text => Lasting::parse(text).map(|lasting| lasting.0),
    };
    span.map(|span| Msg::Do(Deed::Crash(span)))
        .map_err(|wrong| wrong.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_mean_what_they_say() {
        let read = |text: &str| parse(text, Time::from_ms(60_000));
        let submit = |user: Option<&str>, flags: &str| {
            let (user, runtime) = (user.map(str::to_owned), user.map(|_| "5m".to_owned()));
            Ok(Msg::Do(Deed::Submit { flags: flags.to_owned(), user, runtime }))
        };
        #[rustfmt::skip]
        let rows = [
            ("po",                            Ok(Msg::Tab(Tab::Pods))),
            ("goto +30s",                     Ok(Msg::GoTo(Time::from_ms(90_000)))),
            ("speed 60x",                     Ok(Msg::SetSpeed(60))),
            ("submit -N2 -J a",               submit(None, "-N2 -J a")),
            ("sbatch user=al runtime=5m -n1", submit(Some("al"), "-n1")),
            ("cancel 7",                      Ok(Msg::Do(Deed::Cancel(JobId(7))))),
            ("priority 7 100",                Ok(Msg::Do(Deed::Priority(JobId(7), 100)))),
            ("drain n1 bad disk",             Ok(Msg::Do(Deed::Drain("n1".into(), "bad disk".into())))),
            ("crash 1m",                      Ok(Msg::Do(Deed::Crash(Span::mins(1))))),
            ("q!",                            Ok(Msg::Quit)),
            ("",                              Err("there is no command ``; `help` lists all".to_owned())),
            ("x",                             Err("there is no command `x`; `help` lists all".to_owned())),
            ("no7",                           Err("there is no command `no7`; `help` lists all".to_owned())),
            ("unc",                           Err("`unc` could be uncordon".to_owned())),
            ("cancel all",                    Err("`all` is no job number: cancel JOB".to_owned())),
            ("scale web 3",                   Err("`web` is no object: scale KIND/NAMESPACE/NAME N".to_owned())),
            ("kill",                          Err("a node is missing: kill NODE".to_owned())),
        ];
        for (text, want) in rows {
            assert_eq!(read(text), want, "{text}");
        }
    }

    #[test]
    fn no_name_means_two_things() {
        let mut names: Vec<&str> = TABLE.iter().flat_map(|it| it.names).copied().collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}

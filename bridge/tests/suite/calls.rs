//! Jobs: every call, in one version.

use std::time::Duration;

use drawbridge_bridge::slurm::{
    calls::{
        Call, Cancel, CancelMany, JobById, JobDescription, JobStates, Jobs, NodeChange, Nodes,
        Partitions, Requeue, Resources, Since, Submit, UpdateJob, UpdateNode,
    },
    client::{Client, Settings},
    session::{Session, SessionError},
    types::Number,
};
use drawbridge_core::{
    NodeTarget, SlurmFault, SlurmReply, SlurmRequest,
    slurm::{ApiVersion, Base, Flag, Memory, ObservedState, Submission, Via, Wishes},
};

use crate::site::{Site, wait_for};

/// Slurm's number and words for a refusal.
pub(crate) fn refusal<C: Call>(session: &Session, call: &C) -> (i64, String) {
    match session.ask(call) {
        Err(SessionError::Fault { fault: SlurmFault::Refused { number, text }, .. }) => {
            (number, text)
        }
        Ok(_) => panic!("{} was not refused", C::NAME),
        Err(other) => panic!("{}: {other}", C::NAME),
    }
}

pub(crate) fn jobs(site: &mut Site, version: ApiVersion) {
    let session = site.session("alice", version);
    let job = site.submit(&session);
    let running = wait_for(&session, &job, "RUNNING");
    assert_eq!((running.user_name.as_str(), running.account.as_str()), ("alice", "physics"));
    assert_eq!(running.time_limit, Number::Is(10));
    assert_eq!(running.comment, "ours");
    let resources = running.job_resources.unwrap();
    assert_eq!(resources.allocation.len(), 1);
    assert_eq!(resources.allocation[0].cores.len(), 2);
    assert_eq!(resources.allocation[0].memory_allocated, 100);

    let list = session.ask(&Jobs).unwrap();
    assert!(list.items.iter().any(|one| one.job_id.to_string() == job && one.is("RUNNING")));
    let states = session.ask(&JobStates::default()).unwrap();
    assert!(states.iter().any(|one| one.job_id == job && one.state == ["RUNNING"]));
    let states = session.ask(&JobStates(vec![job.clone()])).unwrap();
    assert_eq!(states.len(), 1);

    let change = JobDescription { comment: Some("changed".into()), ..JobDescription::default() };
    session.ask(&UpdateJob { job: job.clone(), change }).unwrap();
    assert_eq!(session.ask(&JobById(job.clone())).unwrap()[0].comment, "changed");
    let raise = JobDescription { time_limit: Some(Number::Is(99)), ..JobDescription::default() };
    assert_eq!(refusal(&session, &UpdateJob { job: job.clone(), change: raise }).0, 2002);

    if version >= ApiVersion::V44 {
        let granted = session.ask(&Resources(job.parse().unwrap())).unwrap();
        assert_eq!((granted.len(), granted[0].mem_alloc), (1, 100));
    }

    let signal = |signal: &str| Cancel {
        job: job.clone(),
        signal: Some(signal.into()),
        ..Cancel::default()
    };
    // Its script needs a moment to say what it does on a signal.
    std::thread::sleep(Duration::from_secs(1));
    session.ask(&signal("USR1")).unwrap();
    let ended = wait_for(&session, &job, "COMPLETED");
    assert_eq!(ended.exit_code.return_code, Number::Is(0));
    let again = refusal(&session, &Cancel { job: job.clone(), ..Cancel::default() });
    assert_eq!(again.0, 2021, "{version}: {}", again.1);

    let second = site.submit(&session);
    session.ask(&Cancel { job: second.clone(), ..Cancel::default() }).unwrap();
    wait_for(&session, &second, "CANCELLED");
    unknown_jobs(&session);
    refused_jobs(&session);
    requeued(site, &session, version);
    many(site, &session);
    since(&session, &list.last_update);
}

fn unknown_jobs(session: &Session) {
    assert_eq!(session.ask(&JobById("99999".into())).unwrap(), []);
    let unknown = Cancel { job: "99999".into(), ..Cancel::default() };
    assert_eq!(refusal(session, &unknown).0, 2017);
    let change = JobDescription { comment: Some("x".into()), ..JobDescription::default() };
    assert_eq!(refusal(session, &UpdateJob { job: "99999".into(), change }).0, 2017);
}

fn refused_jobs(session: &Session) {
    let job = |partition: &str| JobDescription {
        script: Some("#!/bin/sh\n".into()),
        environment: Some(vec!["A=1".into()]),
        current_working_directory: Some("/tmp".into()),
        partition: Some(partition.into()),
        ..JobDescription::default()
    };
    assert_eq!(refusal(session, &Submit(job("nope"))).0, 2000);
    let bare = JobDescription { environment: None, ..job("main") };
    let (number, text) = refusal(session, &Submit(bare));
    assert!([2019, 2127].contains(&number), "{number} {text}");
    let homeless = JobDescription { current_working_directory: None, ..job("main") };
    assert_eq!(refusal(session, &Submit(homeless)).0, 2063);
}

fn requeued(site: &Site, session: &Session, version: ApiVersion) {
    let job = site.submit(session);
    wait_for(session, &job, "RUNNING");
    let requeue = Requeue { job: job.clone(), hold: true, ..Requeue::default() };
    if version < ApiVersion::V45 {
        let text = refusal(session, &requeue).1;
        assert!(text.contains("requeueing a job needs another version"), "{text}");
    } else {
        session.ask(&requeue).unwrap();
        let waiting = wait_for(session, &job, "PENDING");
        assert_eq!(waiting.restart_cnt, 1);
    }
    session.ask(&Cancel { job, ..Cancel::default() }).unwrap();
}

fn many(site: &Site, session: &Session) {
    let jobs: Vec<String> = (0..3).map(|_| site.submit(session)).collect();
    let named = CancelMany { jobs: vec![jobs[0].clone(), "99999".into()], ..CancelMany::default() };
    let trouble = session.ask(&named).unwrap();
    assert_eq!(trouble.iter().map(|one| one.error.code).collect::<Vec<_>>(), [2017]);
    // The fake takes numbers, and says that it looks for nothing else.
    let rest = match site.is_real() {
        true => CancelMany { user_name: Some("alice".into()), ..CancelMany::default() },
        false => CancelMany { jobs: jobs[1..].to_vec(), ..CancelMany::default() },
    };
    session.ask(&rest).unwrap();
    for job in &jobs {
        wait_for(session, job, "CANCELLED");
    }
}

fn since(session: &Session, before: &u64) {
    let changed = session.ask(&Since { call: Jobs, moment: *before }).unwrap();
    assert!(changed.is_some_and(|list| !list.items.is_empty()));
    let later = before + 100_000;
    assert_eq!(session.ask(&Since { call: Jobs, moment: later }).unwrap(), None);
    assert_eq!(session.ask(&Since { call: Nodes, moment: later }).unwrap(), None);
    assert_eq!(session.ask(&Since { call: Partitions, moment: later }).unwrap(), None);
    assert!(session.ask(&Since { call: Nodes, moment: 1 }).unwrap().is_some());
}

/// Nobody touches what isn't his, and hears so in every version.
pub(crate) fn what_others_have(site: &Site, version: ApiVersion) {
    let (alice, bob) = (site.session("alice", version), site.session("bob", version));
    let job = site.submit(&alice);
    let cancel = Cancel { job, ..Cancel::default() };
    let (number, text) = refusal(&bob, &cancel);
    assert_eq!((number, text.as_str()), (2002, "Access/permission denied"), "{version}");
    alice.ask(&cancel).unwrap();
    let drain = NodeChange {
        state: vec!["DRAIN".into()],
        reason: Some("x".into()),
        ..NodeChange::default()
    };
    assert_eq!(refusal(&bob, &UpdateNode { node: "n1".into(), change: drain }).0, 2010);
}

pub(crate) fn as_the_core_asks(site: &Site, version: ApiVersion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut settings = Settings::new(vec![site.address()]);
    settings.token = site.token("root");
    let client = Client::new(settings).unwrap();
    let via = Via { endpoint: 0, version };
    let perform =
        |request: SlurmRequest| runtime.block_on(client.perform(via, "1", &request)).unwrap();
    let SlurmReply::Submitted { job } = perform(SlurmRequest::Submit(Box::new(placeholder())))
    else {
        panic!("not submitted");
    };
    let found = loop {
        let SlurmReply::Job(Some(found)) = perform(SlurmRequest::Job(job)) else {
            panic!("no job")
        };
        if found.state == ObservedState::RUNNING {
            break found;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(found.admin_comment, "{\"pods\":[\"a/b\"]}");
    // Eight CPUs on two nodes: both nodes in full, however the version counts.
    assert_eq!(found.allocation.iter().map(|on| on.cpus).collect::<Vec<_>>(), [4, 4]);
    let SlurmReply::States(states) = perform(SlurmRequest::JobStates) else { panic!("no states") };
    assert!(states.contains(&(job, ObservedState::RUNNING)));
    let SlurmReply::Jobs(jobs) = perform(SlurmRequest::Jobs) else { panic!("no jobs") };
    assert!(jobs.contains(&found));
    let SlurmReply::Nodes(nodes) = perform(SlurmRequest::Nodes) else { panic!("no nodes") };
    assert_eq!(nodes.len(), 2);
    for state in [NodeTarget::Drain, NodeTarget::Undrain] {
        perform(SlurmRequest::UpdateNode { node: "n1".into(), state, reason: "x".into() });
    }
    std::thread::sleep(Duration::from_secs(1));
    perform(SlurmRequest::Cancel { job, signal: Some("USR2".into()) });
    let ended = loop {
        let SlurmReply::Job(Some(found)) = perform(SlurmRequest::Job(job)) else {
            panic!("no job")
        };
        let going = [Base::Pending, Base::Running].contains(found.state.base());
        if !going && !found.state.has(&Flag::Completing) {
            break found.state;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(ended, ObservedState::FAILED);
}

fn placeholder() -> Submission {
    Submission {
        name: "placeholder".into(),
        script: "#!/bin/bash\ntrap 'exit 1' USR2\nsleep 600 & wait\n".to_owned().into(),
        partition: Some("main".into()),
        account: None,
        qos: None,
        reservation: None,
        wckey: None,
        licenses: None,
        constraints: None,
        user_id: None,
        group_id: None,
        tasks: 2,
        cpus_per_task: 4,
        memory: Memory::PerNode(200),
        tres_per_task: None,
        tres_per_node: None,
        tasks_per_node: None,
        required_nodes: vec![],
        min_nodes: None,
        max_nodes: None,
        excluded_nodes: vec![],
        time_limit_minutes: Some(5),
        wishes: Wishes::default(),
        priority: None,
        exclusive: true,
        admin_comment: "{\"pods\":[\"a/b\"]}".into(),
        mcs_label: None,
    }
}

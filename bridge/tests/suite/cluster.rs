//! Nodes, partitions, reservations, licences, shares and accounting, in one version.

use drawbridge_bridge::slurm::{
    calls::{
        AccountingJobs, Accounts, Associations, CreateNode, DeleteNode, Diagnostics, Licenses,
        NodeByName, NodeChange, Nodes, PartitionByName, Partitions, Pings, QosList,
        ReservationByName, Reservations, ShareTree, UpdateNode, Users,
    },
    session::Session,
};
use drawbridge_core::slurm::ApiVersion;

use crate::{calls::refusal, site::Site};

pub(crate) fn nodes(site: &Site, version: ApiVersion) {
    let session = site.session("root", version);
    let nodes = session.ask(&Nodes).unwrap().items;
    assert_eq!(nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["n1", "n2"]);
    assert_eq!((nodes[0].cpus, nodes[0].real_memory), (4, 4000));
    assert_eq!(session.ask(&NodeByName("nope".into())).unwrap(), None);
    let change = |state: &str| {
        let change = NodeChange {
            state: vec![state.into()],
            reason: Some("test".into()),
            ..NodeChange::default()
        };
        session.ask(&UpdateNode { node: "n2".into(), change }).unwrap();
        session.ask(&NodeByName("n2".into())).unwrap().unwrap()
    };
    let drained = change("DRAIN");
    assert!(drained.is("DRAIN") && drained.reason == "test");
    assert!(!change("RESUME").is("DRAIN"));
    assert_eq!(refusal(&session, &DeleteNode("n1".into())).0, 2028, "it is slurm.conf's");
    let create = CreateNode("NodeName=d1 CPUs=1 RealMemory=100 State=FUTURE".into());
    if version < ApiVersion::V44 {
        assert!(refusal(&session, &create).1.contains("creating a node needs"));
        return;
    }
    // It is not listed before its slurmd comes, but it is there.
    session.ask(&create).unwrap();
    session.ask(&DeleteNode("d1".into())).unwrap();
    assert_eq!(refusal(&session, &DeleteNode("d1".into())).0, 2018);
}

pub(crate) fn cluster(site: &mut Site, version: ApiVersion) {
    let session = site.session("root", version);
    let pings = session.ask(&Pings).unwrap();
    assert!(pings[0].is_up() && pings[0].is_primary());
    let partitions = session.ask(&Partitions).unwrap().items;
    assert_eq!(partitions[0].name, "main");
    assert_eq!(partitions[0].partition.state, ["UP"]);
    assert!(session.ask(&PartitionByName("main".into())).unwrap().is_some());
    assert_eq!(session.ask(&PartitionByName("nope".into())).unwrap(), None);
    assert_eq!(session.ask(&ReservationByName("nope".into())).unwrap(), None);
    reservations(site, &session);
    let licenses = session.ask(&Licenses).unwrap().items;
    assert_eq!((licenses[0].name.as_str(), licenses[0].total), ("matlab", 4));
    assert!(session.ask(&ShareTree::default()).unwrap().iter().any(|share| share.name == "alice"));
    assert!(session.ask(&Diagnostics).unwrap().jobs_submitted > 0);
    let answered = session.ask_fully(&Pings).unwrap();
    assert_eq!(answered.meta.slurm.release.get(..2), Some(&site_release(site)[..2]));
    assert!(session.ask_raw(&Partitions).unwrap()["partitions"].is_array());
}

fn site_release(site: &Site) -> &'static str {
    if site.versions().contains(&ApiVersion::V40) { "24.11" } else { "26.05" }
}

fn reservations(site: &mut Site, session: &Session) {
    assert_eq!(session.ask(&Reservations).unwrap().items, []);
    let words = "reservationname=maint starttime=now+1hour duration=60 users=alice nodes=n2";
    if !site.run(&format!("scontrol create {words}")) {
        return;
    }
    let all = session.ask(&Reservations).unwrap().items;
    let one = session.ask(&ReservationByName("maint".into())).unwrap().unwrap();
    assert_eq!(all, std::slice::from_ref(&one));
    assert_eq!((one.node_list.as_str(), one.users.as_str()), ("n2", "alice"));
    assert!(site.run("scontrol delete reservationname=maint"));
    assert_eq!(session.ask(&ReservationByName("maint".into())).unwrap(), None);
}

/// What slurmdbd keeps.
pub(crate) fn accounting(site: &Site) {
    for version in site.versions() {
        let session = site.session("root", *version);
        let jobs = session.ask(&AccountingJobs(vec![("users".into(), "alice".into())])).unwrap();
        assert!(jobs.iter().any(|job| job.state.current == ["COMPLETED"] && job.user == "alice"));
        let accounts = session.ask(&Accounts).unwrap();
        assert!(accounts.iter().any(|account| account.name == "physics"));
        assert!(session.ask(&Users).unwrap().iter().any(|user| user.name == "alice"));
        let associations = session.ask(&Associations::default()).unwrap();
        assert!(associations.iter().any(|one| one.user == "alice" && one.account == "physics"));
        assert!(session.ask(&QosList).unwrap().iter().any(|qos| qos.name == "normal"));
        let nobody = AccountingJobs(vec![("users".into(), "carol".into())]);
        assert_eq!(session.ask(&nobody).unwrap(), []);
    }
}

//! slurmdbd: who may charge what, and every job that there ever was.
//!
//! ```text
//!   account ── association (cluster, account) ── association (cluster, account, user)
//!      │                └── qos, shares                      └── qos, default qos
//!   Slurmctld ──facts──▶ learn ──▶ history: a record per job and run
//! ```
//!
//! It keeps and shows; nothing is enforced here yet. [`Slurmdbd::admit`] says what slurmctld makes of a
//! job's account and QOS where `AccountingStorageEnforce` names `associations`.

mod admit;
mod history;
mod manage;
mod records;

use std::collections::BTreeMap;

use crate::{AccountName, UserName};

pub use self::{
    admit::{Admitted, Enforced},
    history::JobRecord,
    manage::DbError,
    records::{Account, AdminLevel, Association, DbUser, Qos, Tres, Wckey},
};

/// The accounting of one cluster.
#[derive(Clone, Debug)]
pub struct Slurmdbd {
    cluster: String,
    accounts: BTreeMap<AccountName, Account>,
    users: BTreeMap<UserName, DbUser>,
    associations: BTreeMap<u32, Association>,
    qos: BTreeMap<u32, Qos>,
    wckeys: BTreeMap<u32, Wckey>,
    tres: Vec<Tres>,
    history: history::History,
    next: Numbers,
}

/// The numbers that are given next: none is given twice.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    association: u32,
    qos: u32,
    wckey: u32,
}

impl Slurmdbd {
    /// The accounting of a cluster that has just registered: the account and the user `root`, and the
    /// QOS `normal`. `gres` are the generic resources that are counted.
    pub fn new<'a>(cluster: &str, gres: impl IntoIterator<Item = &'a str>) -> Self {
        let mut dbd = Self {
            cluster: cluster.to_owned(),
            accounts: BTreeMap::new(),
            users: BTreeMap::new(),
            associations: BTreeMap::new(),
            qos: BTreeMap::new(),
            wckeys: BTreeMap::new(),
            tres: records::tres(gres),
            history: history::History::default(),
            next: Numbers { association: 1, qos: 1, wckey: 1 },
        };
        dbd.put_qos(Qos::new("normal", "Normal QOS default"));
        let root = Account::new("root", "default root account", "root");
        dbd.accounts.insert(root.name.clone(), root);
        let mut user = DbUser::new("root");
        user.level = AdminLevel::Administrator;
        user.default_account = Some("root".into());
        dbd.users.insert(user.name.clone(), user);
        let mut whole = Association::of_account(cluster, "root", None);
        whole.qos = vec!["normal".into()];
        dbd.put_association(whole);
        let mut user = Association::of_user(cluster, "root", "root");
        user.is_default = true;
        dbd.put_association(user);
        dbd
    }

    /// The cluster's name.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// Accounts by name.
    pub fn accounts(&self) -> impl Iterator<Item = &Account> {
        self.accounts.values()
    }

    /// Users by name.
    pub fn users(&self) -> impl Iterator<Item = &DbUser> {
        self.users.values()
    }

    /// Associations as Slurm lists them: a parent before its children, an account before its users.
    pub fn associations(&self) -> Vec<&Association> {
        let mut all: Vec<&Association> = self.associations.values().collect();
        all.sort_by_cached_key(|association| (association.lineage.clone(), association.id));
        all
    }

    /// An association by its number.
    pub fn association(&self, id: u32) -> Option<&Association> {
        self.associations.get(&id)
    }

    /// Qualities of service by number.
    pub fn qos(&self) -> impl Iterator<Item = &Qos> {
        self.qos.values()
    }

    /// The QOS of this name.
    pub fn qos_named(&self, name: &str) -> Option<&Qos> {
        self.qos.values().find(|qos| qos.name == name)
    }

    /// Workload characterisation keys by number.
    pub fn wckeys(&self) -> impl Iterator<Item = &Wckey> {
        self.wckeys.values()
    }

    /// What is counted.
    pub fn tres(&self) -> &[Tres] {
        &self.tres
    }

    /// What QOS somebody may use, by number: the association's own, or its account's, upwards.
    pub fn qos_of(&self, association: &Association) -> Vec<String> {
        let mut at = Some(association);
        while let Some(here) = at {
            if !here.qos.is_empty() {
                let own = self.qos.values().filter(|qos| here.qos.contains(&qos.name));
                return own.map(|qos| qos.name.clone()).collect();
            }
            at = self.above(here);
        }
        vec![]
    }

    /// The association that this one inherits from.
    fn above(&self, association: &Association) -> Option<&Association> {
        let account = match (&association.user, &association.parent) {
            (Some(_), _) => &association.account,
            (None, Some(parent)) => parent,
            (None, None) => return None,
        };
        self.find(account, None, None)
    }

    /// The association of exactly these.
    pub fn find(
        &self,
        account: &AccountName,
        user: Option<&UserName>,
        partition: Option<&str>,
    ) -> Option<&Association> {
        self.associations.values().find(|it| {
            it.account == *account
                && it.user.as_ref() == user
                && it.partition.as_ref().map(|name| name.as_str()) == partition
        })
    }

    fn put_association(&mut self, mut association: Association) -> u32 {
        let id = self.next.association;
        association.id = id;
        association.lineage = self.lineage(&association);
        self.associations.insert(id, association);
        self.next.association += 1;
        id
    }

    /// `/proj/0-alice/`: where it lies in the tree.
    fn lineage(&self, association: &Association) -> String {
        let above = self.above(association);
        let above = above.map_or("/", |above| above.lineage.as_str());
        match &association.user {
            Some(user) => {
                let part =
                    association.partition.as_ref().map_or(String::new(), |p| format!("{p}/"));
                format!("{above}0-{user}/{part}")
            }
            None if association.account.as_str() == "root" => "/".into(),
            None => format!("{above}{}/", association.account),
        }
    }

    fn put_qos(&mut self, mut qos: Qos) {
        qos.id = self.next.qos;
        self.qos.insert(qos.id, qos);
        self.next.qos += 1;
    }
}

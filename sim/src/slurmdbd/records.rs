//! What slurmdbd keeps a record of.

use crate::{AccountName, PartitionName, UserName};

/// An account: what jobs are charged to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: AccountName,
    /// In words.
    pub description: String,
    /// Whose it is.
    pub organization: String,
    /// Who may manage it.
    pub coordinators: Vec<UserName>,
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DbUser {
    /// Their name.
    pub name: UserName,
    /// What they may do here.
    pub level: AdminLevel,
    /// What is charged if they don't say.
    pub default_account: Option<AccountName>,
    /// The key if they don't say.
    pub default_wckey: Option<String>,
}

/// What a user may do in the accounting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum AdminLevel {
    /// Look.
    #[default]
    None,
    /// Everything but give rights.
    Operator,
    /// Everything.
    Administrator,
}

impl AdminLevel {
    /// As Slurm spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Operator => "Operator",
            Self::Administrator => "Administrator",
        }
    }

    /// The level of this name, in any case.
    pub fn parse(text: &str) -> Option<Self> {
        let all = [Self::None, Self::Operator, Self::Administrator];
        all.into_iter().find(|level| level.as_str().eq_ignore_ascii_case(text))
    }
}

/// Who may charge an account, and with what; without a user it is the account's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Association {
    /// Its number.
    pub id: u32,
    /// The cluster.
    pub cluster: String,
    /// The account.
    pub account: AccountName,
    /// The user; none for the account itself.
    pub user: Option<UserName>,
    /// Only for jobs in this partition.
    pub partition: Option<PartitionName>,
    /// The account above; none for `root` and for users.
    pub parent: Option<AccountName>,
    /// It is charged if the user doesn't say.
    pub is_default: bool,
    /// Shares of the account's resources.
    pub shares: u32,
    /// What QOS may be used; the account's if empty.
    pub qos: Vec<String>,
    /// The QOS if the job doesn't say.
    pub default_qos: Option<String>,
    /// In words.
    pub comment: String,
    /// Where it lies in the tree: `/proj/0-alice/`.
    pub lineage: String,
}

/// A quality of service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qos {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// In words.
    pub description: String,
    /// What it adds to a job's priority, where there is a weight for it.
    pub priority: u32,
}

/// A workload characterisation key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wckey {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub user: UserName,
    /// On which cluster.
    pub cluster: String,
}

/// Something that is counted: `cpu`, `gres/gpu`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tres {
    /// Its number.
    pub id: u32,
    /// `cpu`, `gres`.
    pub kind: String,
    /// `gpu`; empty where the kind says it all.
    pub name: String,
}

impl Account {
    /// An account.
    pub fn new(name: &str, description: &str, organization: &str) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            organization: organization.into(),
            coordinators: vec![],
        }
    }
}

impl DbUser {
    /// A user without rights.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            level: AdminLevel::None,
            default_account: None,
            default_wckey: None,
        }
    }
}

impl Association {
    /// An account's own; without a parent it is `root`'s child.
    pub fn of_account(cluster: &str, account: &str, parent: Option<&str>) -> Self {
        let parent = Some(parent.unwrap_or("root")).filter(|_| account != "root");
        Self {
            id: 0,
            cluster: cluster.into(),
            account: account.into(),
            user: None,
            partition: None,
            parent: parent.map(Into::into),
            is_default: false,
            shares: 1,
            qos: vec![],
            default_qos: None,
            comment: String::new(),
            lineage: String::new(),
        }
    }

    /// A user's.
    pub fn of_user(cluster: &str, account: &str, user: &str) -> Self {
        let of_account = Self::of_account(cluster, account, None);
        Self { user: Some(user.into()), parent: None, ..of_account }
    }
}

impl Qos {
    /// A QOS without limits.
    pub fn new(name: &str, description: &str) -> Self {
        Self { id: 0, name: name.into(), description: description.into(), priority: 0 }
    }
}

impl Tres {
    /// `cpu`, `gres/gpu`.
    pub fn full_name(&self) -> String {
        if self.name.is_empty() {
            self.kind.clone()
        } else {
            format!("{}/{}", self.kind, self.name)
        }
    }
}

/// Those that are always there have fixed numbers; others begin at 1001.
pub(super) fn tres<'a>(gres: impl IntoIterator<Item = &'a str>) -> Vec<Tres> {
    const FIXED: [(&str, &str); 8] = [
        ("cpu", ""),
        ("mem", ""),
        ("energy", ""),
        ("node", ""),
        ("billing", ""),
        ("fs", "disk"),
        ("vmem", ""),
        ("pages", ""),
    ];
    let make = |id, (kind, name): (&str, &str)| Tres { id, kind: kind.into(), name: name.into() };
    let fixed = (1..).zip(FIXED).map(|(id, names)| make(id, names));
    let more = (1001..).zip(gres).map(|(id, name)| make(id, ("gres", name)));
    fixed.chain(more).collect()
}

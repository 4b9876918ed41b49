//! What operators add, change and remove.

use std::collections::BTreeSet;

use crate::{AccountName, UserName};

use super::{Account, Association, DbUser, Qos, Slurmdbd, Wckey};

/// Why slurmdbd says no.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DbError {
    /// 2002: not an operator.
    #[error("Access/permission denied")]
    AccessDenied,
    /// 7001: jobs use it.
    #[error("Job(s) active, cancel job(s) before remove")]
    JobsActive,
}

impl DbError {
    /// Slurm's number for it.
    pub const fn number(&self) -> u32 {
        match self {
            Self::AccessDenied => 2002,
            Self::JobsActive => 7001,
        }
    }
}

impl Slurmdbd {
    /// Whether this user may change anything.
    pub fn allow(&self, by: &UserName) -> Result<(), DbError> {
        let level = self.users.get(by).map(|user| user.level);
        let operator = crate::Slurmctld::is_operator(by)
            || level.is_some_and(|level| level != super::AdminLevel::None);
        operator.then_some(()).ok_or(DbError::AccessDenied)
    }

    /// Adds an account or changes the one of this name. It can be charged once it has an association.
    pub fn put_account(&mut self, account: Account) {
        self.accounts.insert(account.name.clone(), account);
    }

    /// The account of this name.
    pub fn account(&self, name: &str) -> Option<&Account> {
        self.accounts.get(name)
    }

    /// Removes an account and what hangs on it.
    pub fn remove_account(&mut self, name: &AccountName) -> Result<bool, DbError> {
        if self.history.uses_account(name) {
            return Err(DbError::JobsActive);
        }
        let known = self.accounts.remove(name).is_some();
        let mut gone = BTreeSet::from([name.clone()]);
        // Accounts below it go too, and those below them.
        loop {
            let below = self
                .associations
                .values()
                .filter(|it| it.parent.as_ref().is_some_and(|p| gone.contains(p)));
            let more: Vec<AccountName> =
                below.map(|it| it.account.clone()).filter(|it| !gone.contains(it)).collect();
            if more.is_empty() {
                break;
            }
            gone.extend(more);
        }
        self.associations.retain(|_, it| !gone.contains(&it.account));
        Ok(known)
    }

    /// Adds a user or changes the one of this name.
    pub fn put_user(&mut self, user: DbUser) {
        self.users.insert(user.name.clone(), user);
    }

    /// The user of this name.
    pub fn user(&self, name: &str) -> Option<&DbUser> {
        self.users.get(name)
    }

    /// Removes a user and their associations.
    pub fn remove_user(&mut self, name: &UserName) -> Result<bool, DbError> {
        if self.history.uses_user(name) {
            return Err(DbError::JobsActive);
        }
        self.associations.retain(|_, it| it.user.as_ref() != Some(name));
        Ok(self.users.remove(name).is_some())
    }

    /// Adds an association, or changes the one of the same cluster, account, user and partition. As in
    /// Slurm nothing happens, and nobody is told, where the account has none itself, or the user isn't
    /// known.
    pub fn associate(&mut self, mut association: Association) -> bool {
        let account = association.account.clone();
        let user = association.user.clone();
        let known = self.accounts.contains_key(&account)
            && user.as_ref().is_none_or(|user| self.users.contains_key(user))
            && (user.is_none() || self.find(&account, None, None).is_some());
        if !known || association.cluster != self.cluster {
            return false;
        }
        let partition = association.partition.as_ref().map(|name| name.as_str());
        if let Some(old) = self.find(&account, user.as_ref(), partition) {
            (association.id, association.is_default) = (old.id, old.is_default);
            association.lineage.clone_from(&old.lineage);
            self.associations.insert(association.id, association);
            return true;
        }
        if let Some(user) = user.as_ref().and_then(|user| self.users.get_mut(user)) {
            association.is_default = user.default_account.is_none();
            user.default_account.get_or_insert(account);
        }
        self.put_association(association);
        true
    }

    /// Removes the associations that `doomed` picks; they are given back.
    pub fn dissociate(
        &mut self,
        doomed: impl Fn(&Association) -> bool,
    ) -> Result<Vec<Association>, DbError> {
        let ids: Vec<u32> =
            self.associations.values().filter(|it| doomed(it)).map(|it| it.id).collect();
        let active = |id: &u32| {
            self.associations.get(id).is_some_and(|it| self.history.uses_association(it))
        };
        if ids.iter().any(active) {
            return Err(DbError::JobsActive);
        }
        Ok(ids.iter().filter_map(|id| self.associations.remove(id)).collect())
    }

    /// Adds a QOS or changes the one of this name.
    pub fn update_qos(&mut self, qos: Qos) {
        match self.qos.values_mut().find(|it| it.name == qos.name) {
            Some(old) => *old = Qos { id: old.id, ..qos },
            None => self.put_qos(qos),
        }
    }

    /// Removes a QOS, also from who may use it.
    pub fn remove_qos(&mut self, name: &str) -> Result<bool, DbError> {
        if self.history.uses_qos(name) {
            return Err(DbError::JobsActive);
        }
        let before = self.qos.len();
        self.qos.retain(|_, qos| qos.name != name);
        for association in self.associations.values_mut() {
            association.qos.retain(|qos| qos != name);
            association.default_qos = association.default_qos.take().filter(|qos| qos != name);
        }
        Ok(self.qos.len() < before)
    }

    /// Adds a key, once.
    pub fn put_wckey(&mut self, name: &str, user: &UserName, cluster: &str) {
        let same = |it: &Wckey| it.name == name && it.user == *user && it.cluster == cluster;
        if self.wckeys.values().any(same) {
            return;
        }
        let id = self.next.wckey;
        self.next.wckey += 1;
        let (name, cluster) = (name.to_owned(), cluster.to_owned());
        self.wckeys.insert(id, Wckey { id, name, user: user.clone(), cluster });
    }
}

//! What an account and a QOS come to when a job names them, or doesn't.

use crate::{AccountName, SlurmError, UserName};

use super::{Association, Slurmdbd};

/// `AccountingStorageEnforce`, as far as it is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Enforced {
    /// A job needs an association.
    pub associations: bool,
    /// And a QOS that it lets it use.
    pub qos: bool,
}

/// What a job is charged to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admitted {
    /// The association's number; 0 if there is none.
    pub association: u32,
    /// The account.
    pub account: Option<AccountName>,
    /// The QOS.
    pub qos: Option<String>,
}

impl Slurmdbd {
    /// Finds what a user's job is charged to. What is enforced must be known to the accounting; of the
    /// rest anything is as good as any.
    pub fn admit(
        &self,
        user: &UserName,
        account: Option<&AccountName>,
        qos: Option<&str>,
        enforced: Enforced,
    ) -> Result<Admitted, SlurmError> {
        let default = self.users.get(user).and_then(|user| user.default_account.as_ref());
        let account = account.or(default);
        let association = account.and_then(|account| self.find(account, Some(user), None));
        if association.is_none() && enforced.associations {
            return Err(SlurmError::InvalidAccount);
        }
        let qos = self.admit_qos(association, qos, enforced.qos)?;
        Ok(Admitted {
            association: association.map_or(0, |it| it.id),
            account: account.cloned(),
            qos,
        })
    }

    fn admit_qos(
        &self,
        association: Option<&Association>,
        asked: Option<&str>,
        enforced: bool,
    ) -> Result<Option<String>, SlurmError> {
        let Some(name) = asked.filter(|name| !name.is_empty()) else {
            let default = association.and_then(|it| it.default_qos.clone());
            let normal = || self.qos_named("normal").map(|qos| qos.name.clone());
            return Ok(default.or_else(normal));
        };
        let known = self.qos_named(name).is_some();
        let allowed = association.is_none_or(|it| self.qos_of(it).iter().any(|qos| qos == name));
        match enforced && !(known && allowed) {
            true => Err(SlurmError::InvalidQos),
            false => Ok(Some(name.to_owned())),
        }
    }
}

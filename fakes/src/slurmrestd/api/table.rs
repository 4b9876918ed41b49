//! A release's table of operations and named types.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use drawbridge_sim::Release;

use crate::Method;

use super::{Kind, Shape, Type, Version};

/// What a release serves.
#[derive(Debug)]
pub(crate) struct Table {
    /// In the vendor's order.
    pub(crate) operations: Vec<Operation>,
    /// Named types, in the vendor's order.
    pub(crate) types: Vec<(Box<str>, Type)>,
    places: BTreeMap<Box<str>, usize>,
}

/// A path and a method.
#[derive(Debug)]
pub(crate) struct Operation {
    /// `get`, `post`, `delete`.
    pub(crate) method: Method,
    /// With `{name}` for what varies.
    pub(crate) path: Box<str>,
    /// The path, split at its slashes.
    pub(crate) parts: Vec<Box<str>>,
    /// `slurm_v0042_get_jobs`.
    pub(crate) id: Box<str>,
    /// The id without the version: `slurm_get_jobs`.
    pub(crate) name: Box<str>,
    /// It will go.
    pub(crate) deprecated: bool,
    /// In the path or in the query.
    pub(crate) parameters: Vec<Parameter>,
    /// What the body must be.
    pub(crate) body: Option<Type>,
    /// What the answer is, whatever its status.
    pub(crate) answer: Type,
    /// The same, ready to be filled in.
    pub(crate) shape: Arc<Shape>,
    /// Of which version.
    pub(crate) version: Version,
}

/// A parameter.
#[derive(Debug)]
pub(crate) struct Parameter {
    /// In the path; in the query otherwise.
    pub(crate) in_path: bool,
    /// Its name.
    pub(crate) name: Box<str>,
    /// It must be given.
    pub(crate) required: bool,
    /// It may be given without a value.
    pub(crate) may_be_empty: bool,
    /// It will go.
    pub(crate) deprecated: bool,
    /// Its type.
    pub(crate) of: Type,
}

static V24_11: LazyLock<Table> = LazyLock::new(|| {
    let text = include_str!("../../../schema/slurmrestd/24.11.txt");
    Table::read(Release::V24_11, text).expect("the table of 24.11 is well formed")
});
static V26_05: LazyLock<Table> = LazyLock::new(|| {
    let text = include_str!("../../../schema/slurmrestd/26.05.txt");
    Table::read(Release::V26_05, text).expect("the table of 26.05 is well formed")
});

impl Table {
    /// The table of a release.
    pub(crate) fn of(release: Release) -> &'static Self {
        match release {
            Release::V24_11 => &V24_11,
            Release::V26_05 => &V26_05,
        }
    }

    /// The type behind a name, and behind that one's.
    pub(crate) fn resolve<'a>(&'a self, of: &'a Type) -> &'a Type {
        match &of.kind {
            Kind::Named(name) => match self.places.get(name) {
                Some(place) => self.resolve(&self.types[*place].1),
                None => of,
            },
            Kind::Any | Kind::Plain { .. } | Kind::OneOf(_) | Kind::List(_) | Kind::Dict { .. } => {
                of
            }
        }
    }

    fn read(release: Release, text: &str) -> Option<Self> {
        let mut table = Self { operations: vec![], types: vec![], places: BTreeMap::new() };
        let mut heads: Vec<(&str, Vec<&str>)> = vec![];
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some(part) = line.strip_prefix("  ") {
                heads.last_mut()?.1.push(part);
            } else if line.starts_with(|c: char| c.is_ascii_uppercase()) {
                heads.push((line, vec![]));
            } else {
                let (name, of) = line.split_once(' ')?;
                table.places.insert(name.into(), table.types.len());
                table.types.push((name.into(), Type::parse(of)?));
            }
        }
        for (head, parts) in heads {
            let operation = table.operation(release, head, &parts)?;
            table.operations.push(operation);
        }
        Some(table)
    }

    fn operation(&self, release: Release, head: &str, parts: &[&str]) -> Option<Operation> {
        let mut words = head.split(' ');
        let method = match words.next()? {
            "GET" => Method::Get,
            "POST" => Method::Post,
            "DELETE" => Method::Delete,
            _other => return None,
        };
        let (path, id) = (words.next()?, words.next()?);
        let mut parameters = vec![];
        let (mut body, mut answer) = (None, None);
        for part in parts {
            match part.split_once(' ')? {
                ("body", of) => body = Some(Type::parse(of)?),
                ("answer", of) => answer = Some(Type::parse(of)?),
                (place, rest) => parameters.push(parameter(place, rest)?),
            }
        }
        let answer = answer?;
        let version = path.split('/').nth(2)?;
        Some(Operation {
            method,
            path: path.into(),
            parts: path.split('/').filter(|part| !part.is_empty()).map(Into::into).collect(),
            id: id.into(),
            name: unversioned(id).into(),
            deprecated: words.next().is_some(),
            parameters,
            body,
            shape: Arc::new(Shape::of(self, &answer)),
            answer,
            version: Version::find(release, version)?,
        })
    }
}

/// `slurm_v0042_get_jobs` without its version.
fn unversioned(id: &str) -> String {
    let words = id.split('_').enumerate().filter(|(at, _)| *at != 1).map(|(_, word)| word);
    words.collect::<Vec<_>>().join("_")
}

fn parameter<'a>(place: &str, rest: &'a str) -> Option<Parameter> {
    let (name, of) = rest.split_once('\t')?;
    let marked =
        |name: &'a str, mark| name.strip_suffix(mark).map_or((name, false), |name| (name, true));
    let (name, deprecated) = marked(name, '~');
    let (name, may_be_empty) = marked(name, '?');
    let (name, required) = marked(name, '!');
    let in_path = place == "path";
    let of = Type::parse(of)?;
    Some(Parameter { in_path, name: name.into(), required, may_be_empty, deprecated, of })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tables_are_whole() {
        for (release, operations, types) in
            [(Release::V24_11, 174, 384), (Release::V26_05, 260, 685)]
        {
            let table = Table::of(release);
            assert_eq!(
                (table.operations.len(), table.types.len()),
                (operations, types),
                "{release}"
            );
            for (name, of) in &table.types {
                assert!(!matches!(table.resolve(of).kind, Kind::Named(_)), "{name} leads nowhere");
            }
        }
    }
}

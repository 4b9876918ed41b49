//! Evaluation. Errors are values that `&&`, `||` and the macros may pass over.

use std::{cell::Cell, cmp::Ordering};

use super::{
    ast::{Expr, Fold, Literal, Node},
    functions,
    operators::{self, no_overload},
    signatures,
    value::{Dict, List, Val},
};

/// How many steps one evaluation may take.
const MOST_STEPS: u64 = 1_000_000;

type Result<'a> = std::result::Result<Val<'a>, String>;

/// Names and what they stand for, those inside first.
pub(super) struct Scope<'s, 'a> {
    names: &'s [(&'s str, Val<'a>)],
    outer: Option<&'s Scope<'s, 'a>>,
    steps: &'s Cell<u64>,
}

/// Evaluates an expression with these variables.
pub(super) fn run<'a>(expr: &'a Expr, variables: &[(&str, Val<'a>)]) -> Result<'a> {
    let steps = Cell::new(0);
    Scope { names: variables, outer: None, steps: &steps }.eval(expr)
}

impl<'s, 'a> Scope<'s, 'a> {
    fn look_up(&self, name: &str) -> Option<Val<'a>> {
        let own = self.names.iter().find(|(known, _)| *known == name);
        own.map(|(_, value)| value.clone()).or_else(|| self.outer?.look_up(name))
    }

    fn inside<'t>(&'t self, names: &'t [(&'t str, Val<'a>)]) -> Scope<'t, 'a>
    where
        's: 't,
    {
        Scope { names, outer: Some(self), steps: self.steps }
    }

    fn eval(&self, expr: &'a Expr) -> Result<'a> {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > MOST_STEPS {
            return Err("operation cancelled: actual cost limit exceeded".to_owned());
        }
        match &expr.node {
            Node::Literal(literal) => Ok(constant(literal)),
            Node::Name(name) => self.named(name),
            Node::Select { of, field, optional } => select(self.eval(of)?, field, *optional),
            Node::Has { of, field } => has(self.eval(of)?, field),
            Node::Index { of, index, optional } => {
                at_index(self.eval(of)?, &self.eval(index)?, *optional)
            }
            Node::Call { function, target, args } => self.call(function, target.as_deref(), args),
            Node::List(items) => self.list(items),
            Node::Map(pairs) => self.map(pairs),
            Node::Not(of) => truth(&self.eval(of)?).map(|it| Val::Bool(!it)),
            Node::Negate(of) => operators::negated(&self.eval(of)?),
            Node::And(parts) => self.all_of(parts.iter().map(|part| self.eval(part)), false),
            Node::Or(parts) => self.all_of(parts.iter().map(|part| self.eval(part)), true),
            Node::If(test, yes, no) => match truth(&self.eval(test)?)? {
                true => self.eval(yes),
                false => self.eval(no),
            },
            Node::Binary(operator, one, two) => {
                operators::apply(*operator, &self.eval(one)?, &self.eval(two)?)
            }
            Node::Fold { fold, range, names, parts } => self.fold(*fold, range, names, parts),
        }
    }

    fn named(&self, name: &str) -> Result<'a> {
        if let Some(value) = self.look_up(name) {
            return Ok(value);
        }
        match super::check::TYPES.contains(&name) {
            true => Ok(Val::Kind(name.to_owned())),
            false => Err(format!("no such attribute(s): {name}")),
        }
    }

    fn call(&self, function: &str, target: Option<&'a Expr>, args: &'a [Expr]) -> Result<'a> {
        let qualified = target.and_then(|target| match &target.node {
            Node::Name(space) if self.look_up(space).is_none() => {
                Some(format!("{space}.{function}"))
            }
            _ => None,
        });
        let qualified = qualified.filter(|name| signatures::is_qualified(name));
        let function = qualified.as_deref().unwrap_or(function);
        let target = target.filter(|_| qualified.is_none());
        let all = target.into_iter().chain(args);
        let values: std::result::Result<Vec<Val<'a>>, String> =
            all.map(|it| self.eval(it)).collect();
        let values = values?;
        let size: usize = values.iter().map(weight).sum();
        self.steps.set(self.steps.get().saturating_add(size as u64));
        functions::call(function, target.is_some(), &values)
    }

    fn list(&self, items: &'a [(Expr, bool)]) -> Result<'a> {
        let mut all = vec![];
        for (item, optional) in items {
            match (self.eval(item)?, optional) {
                (Val::Optional(inner), true) => all.extend(inner.map(|it| *it)),
                (_, true) => return no_overload(),
                (value, false) => all.push(value),
            }
        }
        Ok(Val::list(all))
    }

    fn map(&self, pairs: &'a [(Expr, Expr, bool)]) -> Result<'a> {
        let mut all = vec![];
        for (key, value, optional) in pairs {
            let key = self.eval(key)?;
            match (self.eval(value)?, optional) {
                (Val::Optional(inner), true) => all.extend(inner.map(|it| (key, *it))),
                (_, true) => return no_overload(),
                (value, false) => all.push((key, value)),
            }
        }
        operators::map(all)
    }

    /// A conjunction, or a disjunction if `decisive` is true: one decisive truth settles it, whatever
    /// errors the others are.
    fn all_of(&self, parts: impl Iterator<Item = Result<'a>>, decisive: bool) -> Result<'a> {
        let mut error = None;
        for part in parts {
            match part.and_then(|it| truth(&it)) {
                Ok(it) if it == decisive => return Ok(Val::Bool(decisive)),
                Ok(_) => {}
                Err(why) => error = error.or(Some(why)),
            }
        }
        error.map_or(Ok(Val::Bool(!decisive)), Err)
    }

    fn fold(
        &self,
        fold: Fold,
        range: &'a Expr,
        names: &'a [String],
        parts: &'a [Expr],
    ) -> Result<'a> {
        let range = self.eval(range)?;
        if let (Fold::OptMap | Fold::OptFlatMap, [name], [part]) = (fold, names, parts) {
            return self.through(fold, range, name, part);
        }
        let (entries, is_map) = match &range {
            Val::List(list) => {
                let items = list.items().into_iter().enumerate();
                let place = |place: usize| Val::Int(i64::try_from(place).unwrap_or(i64::MAX));
                (items.map(|(it, item)| (place(it), item)).collect::<Vec<_>>(), false)
            }
            Val::Map(map) => (map.pairs(), true),
            _ => return no_overload(),
        };
        let each = Each { scope: self, names, is_map };
        let (test, last) = match parts {
            [test, last] => (Some(test), last),
            [last] => (None, last),
            _ => return no_overload(),
        };
        match fold {
            Fold::All => self.all_of(entries.iter().map(|it| each.eval(it, last)), false),
            Fold::Exists => self.all_of(entries.iter().map(|it| each.eval(it, last)), true),
            Fold::ExistsOne => {
                let mut found = 0;
                for entry in &entries {
                    found += i32::from(truth(&each.eval(entry, last)?)?);
                }
                Ok(Val::Bool(found == 1))
            }
            Fold::Filter => each.chosen(entries, last),
            Fold::Map | Fold::TransformList => {
                let kept = each.kept(entries, test)?;
                let made: std::result::Result<_, _> =
                    kept.iter().map(|it| each.eval(it, last)).collect();
                Ok(Val::list(made?))
            }
            Fold::TransformMap => {
                let kept = each.kept(entries, test)?;
                let made: std::result::Result<Vec<_>, String> =
                    kept.iter().map(|it| Ok((it.0.clone(), each.eval(it, last)?))).collect();
                operators::map(made?)
            }
            Fold::TransformMapEntry => {
                let mut all = vec![];
                for entry in each.kept(entries, test)? {
                    match each.eval(&entry, last)? {
                        Val::Map(map) => all.extend(map.pairs()),
                        _ => return no_overload(),
                    }
                }
                operators::map(all)
            }
            Fold::SortBy => each.sorted(entries, last),
            Fold::OptMap | Fold::OptFlatMap => no_overload(),
        }
    }

    /// What is there, put through an expression.
    fn through(&self, fold: Fold, range: Val<'a>, name: &'a str, part: &'a Expr) -> Result<'a> {
        let Val::Optional(inner) = range else { return no_overload() };
        let Some(inner) = inner else { return Ok(Val::Optional(None)) };
        let value = self.inside(&[(name, *inner)]).eval(part)?;
        Ok(if fold == Fold::OptMap { Val::some(value) } else { value })
    }
}

/// What a macro does with each entry of its range.
struct Each<'s, 'a> {
    scope: &'s Scope<'s, 'a>,
    names: &'a [String],
    is_map: bool,
}

type Entry<'a> = (Val<'a>, Val<'a>);

impl<'a> Each<'_, 'a> {
    fn eval(&self, (key, value): &Entry<'a>, part: &'a Expr) -> Result<'a> {
        match self.names {
            [one] => {
                let met = if self.is_map { key } else { value };
                self.scope.inside(&[(one, met.clone())]).eval(part)
            }
            [one, two] => self.scope.inside(&[(one, key.clone()), (two, value.clone())]).eval(part),
            _ => no_overload(),
        }
    }

    fn kept(
        &self,
        entries: Vec<Entry<'a>>,
        test: Option<&'a Expr>,
    ) -> std::result::Result<Vec<Entry<'a>>, String> {
        let Some(test) = test else { return Ok(entries) };
        let mut kept = vec![];
        for entry in entries {
            if truth(&self.eval(&entry, test)?)? {
                kept.push(entry);
            }
        }
        Ok(kept)
    }

    fn chosen(&self, entries: Vec<Entry<'a>>, test: &'a Expr) -> Result<'a> {
        let kept = self.kept(entries, Some(test))?.into_iter();
        let is_map = self.is_map;
        Ok(Val::list(kept.map(|(key, value)| if is_map { key } else { value }).collect()))
    }

    fn sorted(&self, entries: Vec<Entry<'a>>, by: &'a Expr) -> Result<'a> {
        let mut keyed = vec![];
        for entry in entries {
            keyed.push((self.eval(&entry, by)?, entry.1));
        }
        let mut incomparable = false;
        keyed.sort_by(|(one, _), (two, _)| {
            operators::compare(one, two).unwrap_or_else(|| {
                incomparable = true;
                Ordering::Equal
            })
        });
        match incomparable {
            true => no_overload(),
            false => Ok(Val::list(keyed.into_iter().map(|(_, value)| value).collect())),
        }
    }
}

/// About how much work a value is for a function.
fn weight(value: &Val<'_>) -> usize {
    match value {
        Val::Text(text) => text.len() / 10,
        Val::Bytes(bytes) => bytes.len() / 10,
        Val::List(list) => list.len(),
        Val::Map(map) => map.len(),
        _ => 0,
    }
}

fn constant<'a>(literal: &'a Literal) -> Val<'a> {
    match literal {
        Literal::Null => Val::Null,
        Literal::Bool(it) => Val::Bool(*it),
        Literal::Int(it) => Val::Int(*it),
        Literal::Uint(it) => Val::Uint(*it),
        Literal::Double(it) => Val::Double(*it),
        Literal::Text(it) => Val::Text(it.as_str().into()),
        Literal::Bytes(it) => Val::Bytes(it.as_slice().into()),
    }
}

fn truth(value: &Val<'_>) -> std::result::Result<bool, String> {
    match value {
        Val::Bool(it) => Ok(*it),
        _ => no_overload(),
    }
}

fn select<'a>(of: Val<'a>, field: &str, optional: bool) -> Result<'a> {
    match of {
        Val::Optional(None) => Ok(Val::Optional(None)),
        Val::Optional(Some(inner)) => select(*inner, field, true),
        Val::Map(map) => found(map.field(field, true), optional, || field.to_owned()),
        _ => no_overload(),
    }
}

fn found<'a>(value: Option<Val<'a>>, optional: bool, key: impl Fn() -> String) -> Result<'a> {
    match (value, optional) {
        (Some(value), true) => Ok(Val::some(value)),
        (Some(value), false) => Ok(value),
        (None, true) => Ok(Val::Optional(None)),
        (None, false) => Err(format!("no such key: {}", key())),
    }
}

fn has<'a>(of: Val<'a>, field: &str) -> Result<'a> {
    match of {
        Val::Optional(inner) => match inner {
            Some(inner) => has(*inner, field),
            None => Ok(Val::Bool(false)),
        },
        Val::Map(map) => Ok(Val::Bool(map.field(field, true).is_some())),
        _ => no_overload(),
    }
}

fn at_index<'a>(of: Val<'a>, index: &Val<'a>, optional: bool) -> Result<'a> {
    let place = |list: &List<'a>| match index {
        Val::Int(it) => usize::try_from(*it).ok().and_then(|it| list.get(it)),
        Val::Uint(it) => usize::try_from(*it).ok().and_then(|it| list.get(it)),
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        Val::Double(it) if it.fract() == 0.0 && *it >= 0.0 && *it < 1e9 => list.get(*it as usize),
        _ => None,
    };
    match of {
        Val::Optional(None) => Ok(Val::Optional(None)),
        Val::Optional(Some(inner)) => at_index(*inner, index, true),
        Val::List(list) => match (place(&list), optional, index.number()) {
            (_, _, None) => no_overload(),
            (None, false, _) => Err(format!("index out of bounds: {}", functions::written(index))),
            (value, optional, _) => found(value, optional, String::new),
        },
        Val::Map(map) => found(keyed(&map, index), optional, || functions::written(index)),
        _ => no_overload(),
    }
}

fn keyed<'a>(map: &Dict<'a>, key: &Val<'a>) -> Option<Val<'a>> {
    map.get(key)
}

//! Operators: equality over all types, order, arithmetic that never wraps.

use std::{cmp::Ordering, sync::Arc};

use super::{
    ast::Operator,
    value::{Dict, List, Val},
};

/// Whether two values are the same. Values of different types aren't, except numbers.
pub(super) fn equal(one: &Val<'_>, two: &Val<'_>) -> bool {
    match (one, two) {
        (Val::Null, Val::Null) => true,
        (Val::Bool(one), Val::Bool(two)) => one == two,
        (Val::Text(one), Val::Text(two)) => one == two,
        (Val::Bytes(one), Val::Bytes(two)) => one == two,
        (Val::Time(one), Val::Time(two)) => one == two,
        (Val::Span(one), Val::Span(two)) => one == two,
        (Val::Kind(one), Val::Kind(two)) => one == two,
        (Val::Foreign(one), Val::Foreign(two)) => one == two,
        (Val::List(one), Val::List(two)) => equal_lists(one, two),
        (Val::Map(one), Val::Map(two)) => equal_maps(one, two),
        (Val::Optional(one), Val::Optional(two)) => match (one, two) {
            (Some(one), Some(two)) => equal(one, two),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        },
        (one, two) => match (one.number(), two.number()) {
            (Some(one), Some(two)) => one.compare(two) == Some(Ordering::Equal),
            _ => false,
        },
    }
}

/// Lists are the same item by item; those of a set, or known by keys, in any order.
fn equal_lists(one: &List<'_>, two: &List<'_>) -> bool {
    let (mine, theirs) = (one.items(), two.items());
    if mine.len() != theirs.len() {
        return false;
    }
    match one.shape().keys().or(two.shape().keys()) {
        None => mine.iter().zip(&theirs).all(|(one, two)| equal(one, two)),
        Some(_) => mine.iter().all(|one| theirs.iter().any(|two| equal(one, two))),
    }
}

fn equal_maps(one: &Dict<'_>, two: &Dict<'_>) -> bool {
    let (mine, theirs) = (one.pairs(), two.pairs());
    let same = |(key, value): &(Val<'_>, Val<'_>)| {
        let found = theirs.iter().find(|(known, _)| equal(known, key));
        found.is_some_and(|(_, other)| equal(value, other))
    };
    mine.len() == theirs.len() && mine.iter().all(same)
}

/// Which of two values is greater, if they can be compared.
pub(super) fn compare(one: &Val<'_>, two: &Val<'_>) -> Option<Ordering> {
    match (one, two) {
        (Val::Bool(one), Val::Bool(two)) => Some(one.cmp(two)),
        (Val::Text(one), Val::Text(two)) => Some(one.cmp(two)),
        (Val::Bytes(one), Val::Bytes(two)) => Some(one.cmp(two)),
        (Val::Time(one), Val::Time(two)) => Some(one.cmp(two)),
        (Val::Span(one), Val::Span(two)) => Some(one.cmp(two)),
        (one, two) => one.number()?.compare(two.number()?),
    }
}

/// That no function or operator takes values like these.
pub(super) fn no_overload<T>() -> Result<T, String> {
    Err("no such overload".to_owned())
}

/// What an operator makes of two values.
pub(super) fn apply<'a>(
    operator: Operator,
    one: &Val<'a>,
    two: &Val<'a>,
) -> Result<Val<'a>, String> {
    let ordered = |is: fn(Ordering) -> bool| match compare(one, two) {
        Some(order) => Ok(Val::Bool(is(order))),
        // Not a number is not less, and not greater either.
        None if one.number().is_some() && two.number().is_some() => Ok(Val::Bool(false)),
        None => no_overload(),
    };
    match operator {
        Operator::Equal => Ok(Val::Bool(equal(one, two))),
        Operator::Unequal => Ok(Val::Bool(!equal(one, two))),
        Operator::Less => ordered(Ordering::is_lt),
        Operator::LessOrEqual => ordered(Ordering::is_le),
        Operator::Greater => ordered(Ordering::is_gt),
        Operator::GreaterOrEqual => ordered(Ordering::is_ge),
        Operator::In => is_in(one, two),
        Operator::Add => add(one, two),
        Operator::Subtract => subtract(one, two),
        Operator::Multiply | Operator::Divide | Operator::Modulo => multiply(operator, one, two),
    }
}

fn is_in<'a>(item: &Val<'a>, range: &Val<'a>) -> Result<Val<'a>, String> {
    match range {
        Val::List(list) => Ok(Val::Bool(list.items().iter().any(|it| equal(it, item)))),
        Val::Map(map) => Ok(Val::Bool(map.get(item).is_some())),
        _ => no_overload(),
    }
}

fn overflow<T>(value: Option<T>, what: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("{what} overflow"))
}

fn add<'a>(one: &Val<'a>, two: &Val<'a>) -> Result<Val<'a>, String> {
    Ok(match (one, two) {
        (Val::Int(one), Val::Int(two)) => Val::Int(overflow(one.checked_add(*two), "integer")?),
        (Val::Uint(one), Val::Uint(two)) => {
            Val::Uint(overflow(one.checked_add(*two), "unsigned integer")?)
        }
        (Val::Double(one), Val::Double(two)) => Val::Double(one + two),
        (Val::Text(one), Val::Text(two)) => Val::text(format!("{one}{two}")),
        (Val::Bytes(one), Val::Bytes(two)) => Val::Bytes([&**one, &**two].concat().into()),
        (Val::List(one), Val::List(two)) => Val::list(joined(one, two)),
        (Val::Time(time), Val::Span(span)) | (Val::Span(span), Val::Time(time)) => {
            Val::Time(overflow(time.checked_add(*span).ok(), "timestamp")?)
        }
        (Val::Span(one), Val::Span(two)) => Val::Span(overflow(one.checked_add(*two), "duration")?),
        _ => return no_overload(),
    })
}

/// One list behind the other; of a set, or known by keys, what is in both is there once.
fn joined<'a>(one: &List<'a>, two: &List<'a>) -> Vec<Val<'a>> {
    let mut all = one.items();
    let Some(keys) = one.shape().keys() else {
        all.extend(two.items());
        return all;
    };
    let key_of = |item: &Val<'a>| -> Vec<Option<Val<'a>>> {
        match item {
            Val::Map(map) if !keys.is_empty() => {
                keys.iter().map(|key| map.field(key, false)).collect()
            }
            item => vec![Some(item.clone())],
        }
    };
    let same = |one: &Val<'a>, two: &Val<'a>| {
        let (one, two) = (key_of(one), key_of(two));
        one.iter().zip(&two).all(|pair| match pair {
            (Some(one), Some(two)) => equal(one, two),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        })
    };
    for item in two.items() {
        match all.iter_mut().find(|known| same(known, &item)) {
            Some(known) => *known = item,
            None => all.push(item),
        }
    }
    all
}

fn subtract<'a>(one: &Val<'a>, two: &Val<'a>) -> Result<Val<'a>, String> {
    Ok(match (one, two) {
        (Val::Int(one), Val::Int(two)) => Val::Int(overflow(one.checked_sub(*two), "integer")?),
        (Val::Uint(one), Val::Uint(two)) => {
            Val::Uint(overflow(one.checked_sub(*two), "unsigned integer")?)
        }
        (Val::Double(one), Val::Double(two)) => Val::Double(one - two),
        (Val::Time(one), Val::Time(two)) => Val::Span(one.duration_since(*two)),
        (Val::Time(one), Val::Span(two)) => {
            Val::Time(overflow(one.checked_sub(*two).ok(), "timestamp")?)
        }
        (Val::Span(one), Val::Span(two)) => Val::Span(overflow(one.checked_sub(*two), "duration")?),
        _ => return no_overload(),
    })
}

fn multiply<'a>(operator: Operator, one: &Val<'a>, two: &Val<'a>) -> Result<Val<'a>, String> {
    use Operator::{Divide, Multiply};
    let nothing = matches!(two, Val::Int(0) | Val::Uint(0));
    if nothing && operator != Multiply {
        let what = if operator == Divide { "division" } else { "modulus" };
        return Err(format!("{what} by zero"));
    }
    Ok(match (one, two, operator) {
        (Val::Int(one), Val::Int(two), _) => {
            let made = match operator {
                Multiply => one.checked_mul(*two),
                Divide => one.checked_div(*two),
                _ => one.checked_rem(*two),
            };
            Val::Int(overflow(made, "integer")?)
        }
        (Val::Uint(one), Val::Uint(two), _) => {
            let made = match operator {
                Multiply => one.checked_mul(*two),
                Divide => one.checked_div(*two),
                _ => one.checked_rem(*two),
            };
            Val::Uint(overflow(made, "unsigned integer")?)
        }
        (Val::Double(one), Val::Double(two), Multiply) => Val::Double(one * two),
        (Val::Double(one), Val::Double(two), Divide) => Val::Double(one / two),
        _ => return no_overload(),
    })
}

/// The opposite of a number.
pub(super) fn negated<'a>(value: &Val<'a>) -> Result<Val<'a>, String> {
    match value {
        Val::Int(it) => Ok(Val::Int(overflow(it.checked_neg(), "integer")?)),
        Val::Double(it) => Ok(Val::Double(-it)),
        _ => no_overload(),
    }
}

/// A map of our own; a key that comes twice is an error.
pub(super) fn map<'a>(pairs: Vec<(Val<'a>, Val<'a>)>) -> Result<Val<'a>, String> {
    for (place, (key, _)) in pairs.iter().enumerate() {
        if !matches!(key, Val::Text(_) | Val::Int(_) | Val::Uint(_) | Val::Bool(_)) {
            return Err("unsupported key type".to_owned());
        }
        if pairs[..place].iter().any(|(known, _)| equal(known, key)) {
            return Err("Failed with repeated key".to_owned());
        }
    }
    Ok(Val::Map(Dict::Made(Arc::new(pairs))))
}

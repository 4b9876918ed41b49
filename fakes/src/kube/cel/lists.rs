//! Functions over lists and sets.

use std::cmp::Ordering;

use super::{
    ast::Operator,
    functions::Called,
    operators::{apply, compare, equal, no_overload},
    value::{List, Val},
};

/// The longest list that `lists.range` makes.
const LONGEST: i64 = 100_000;

/// The functions over lists.
pub(super) fn call<'a>(function: &str, is_method: bool, args: &[Val<'a>]) -> Called<'a> {
    match (function, args) {
        ("lists.range", [Val::Int(n)]) => Some(range(*n)),
        ("sets.contains", [Val::List(one), Val::List(two)]) => {
            let all = two.items().iter().all(|it| holds(one, it));
            Some(Ok(Val::Bool(all)))
        }
        ("sets.equivalent", [Val::List(one), Val::List(two)]) => {
            let same = two.items().iter().all(|it| holds(one, it))
                && one.items().iter().all(|it| holds(two, it));
            Some(Ok(Val::Bool(same)))
        }
        ("sets.intersects", [Val::List(one), Val::List(two)]) => {
            Some(Ok(Val::Bool(two.items().iter().any(|it| holds(one, it)))))
        }
        (function, [Val::List(list), rest @ ..]) if is_method => of_list(function, list, rest),
        _ => None,
    }
}

fn holds(list: &List<'_>, item: &Val<'_>) -> bool {
    list.items().iter().any(|it| equal(it, item))
}

fn range<'a>(n: i64) -> Result<Val<'a>, String> {
    match n <= LONGEST {
        true => Ok(Val::list((0..n).map(Val::Int).collect())),
        false => Err(format!("lists.range: {n} is more than {LONGEST}")),
    }
}

fn of_list<'a>(function: &str, list: &List<'a>, rest: &[Val<'a>]) -> Called<'a> {
    let items = list.items();
    let place = |found: Option<usize>| {
        Ok(Val::Int(found.and_then(|it| i64::try_from(it).ok()).unwrap_or(-1)))
    };
    Some(match (function, rest) {
        ("isSorted", []) => {
            let pairs = items.windows(2).map(|pair| compare(&pair[0], &pair[1]));
            let orders: Option<Vec<Ordering>> = pairs.collect();
            match orders {
                Some(orders) => Ok(Val::Bool(orders.iter().all(|it| it.is_le()))),
                None => no_overload(),
            }
        }
        ("sum", []) => sum(&items),
        ("min", []) => extreme(&items, Ordering::Less),
        ("max", []) => extreme(&items, Ordering::Greater),
        ("indexOf", [item]) => place(items.iter().position(|it| equal(it, item))),
        ("lastIndexOf", [item]) => place(items.iter().rposition(|it| equal(it, item))),
        ("join", []) => join(&items, ""),
        ("join", [Val::Text(by)]) => join(&items, by),
        ("slice", [Val::Int(from), Val::Int(to)]) => slice(&items, *from, *to),
        ("flatten", []) => Ok(Val::list(flat(items, 1))),
        ("flatten", [Val::Int(depth)]) if *depth < 0 => Err("level must be non-negative".into()),
        ("flatten", [Val::Int(depth)]) => Ok(Val::list(flat(items, *depth))),
        ("distinct", []) => {
            let mut kept: Vec<Val<'a>> = vec![];
            for item in items {
                if !kept.iter().any(|it| equal(it, &item)) {
                    kept.push(item);
                }
            }
            Ok(Val::list(kept))
        }
        ("reverse", []) => Ok(Val::list(items.into_iter().rev().collect())),
        ("sort", []) => sorted(items),
        ("first", []) => Ok(Val::Optional(items.first().cloned().map(Box::new))),
        ("last", []) => Ok(Val::Optional(items.last().cloned().map(Box::new))),
        _ => return None,
    })
}

/// The sum; nothing adds up to a whole zero.
fn sum<'a>(items: &[Val<'a>]) -> Result<Val<'a>, String> {
    let Some((first, rest)) = items.split_first() else { return Ok(Val::Int(0)) };
    let number = |it: &Val<'a>| it.number().is_some() || matches!(it, Val::Span(_));
    if !items.iter().all(number) {
        return no_overload();
    }
    rest.iter().try_fold(first.clone(), |sum, item| apply(Operator::Add, &sum, item))
}

fn extreme<'a>(items: &[Val<'a>], wanted: Ordering) -> Result<Val<'a>, String> {
    let (first, rest) = items.split_first().ok_or_else(|| match wanted {
        Ordering::Less => "min called on empty list".to_owned(),
        _ => "max called on empty list".to_owned(),
    })?;
    let mut best = first.clone();
    for item in rest {
        match compare(item, &best) {
            Some(order) if order == wanted => best = item.clone(),
            Some(_) => {}
            None => return no_overload(),
        }
    }
    Ok(best)
}

fn join<'a>(items: &[Val<'a>], by: &str) -> Result<Val<'a>, String> {
    let texts: Option<Vec<&str>> = items
        .iter()
        .map(|it| match it {
            Val::Text(text) => Some(&**text),
            _ => None,
        })
        .collect();
    texts.map_or_else(no_overload, |texts| Ok(Val::text(texts.join(by))))
}

fn slice<'a>(items: &[Val<'a>], from: i64, to: i64) -> Result<Val<'a>, String> {
    let place = |at: i64| usize::try_from(at).ok().filter(|it| *it <= items.len());
    match (place(from), place(to)) {
        (Some(begin), Some(end)) if begin <= end => Ok(Val::list(items[begin..end].to_vec())),
        _ => Err(format!("cannot slice({from}, {to}), list is length {}", items.len())),
    }
}

fn flat(items: Vec<Val<'_>>, depth: i64) -> Vec<Val<'_>> {
    let mut all = vec![];
    for item in items {
        match item {
            Val::List(list) if depth > 0 => all.extend(flat(list.items(), depth - 1)),
            other => all.push(other),
        }
    }
    all
}

fn sorted(mut items: Vec<Val<'_>>) -> Result<Val<'_>, String> {
    let mut incomparable = false;
    items.sort_by(|one, two| {
        compare(one, two).unwrap_or_else(|| {
            incomparable = true;
            Ordering::Equal
        })
    });
    if incomparable { no_overload() } else { Ok(Val::list(items)) }
}

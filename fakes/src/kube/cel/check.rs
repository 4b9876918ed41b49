//! Types are checked before anything is evaluated: what can't work is said when it is written.

use super::{
    Mistake,
    ast::{Expr, Fold, Literal, Node, Operator},
    signatures, strings,
    types::{Letters, Type},
};

/// Names that stand for types.
pub(super) const TYPES: [&str; 12] = [
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "list",
    "map",
    "null_type",
    "type",
    "timestamp",
    "duration",
];

/// Names and their types, those inside first.
pub(super) struct Names<'s, 'a> {
    own: Vec<(&'s str, Type<'a>)>,
    outer: Option<&'s Names<'s, 'a>>,
}

type Checked<'a> = Result<Type<'a>, Mistake>;

/// The type of an expression in which these variables occur.
pub(super) fn check<'a>(expr: &Expr, variables: &[(&str, Type<'a>)]) -> Checked<'a> {
    Names { own: variables.to_vec(), outer: None }.check(expr)
}

fn wrong<T>(at: usize, why: String) -> Result<T, Mistake> {
    Err(Mistake::new(at, why))
}

/// That nothing takes arguments of these types.
fn no_overload<T>(
    at: usize,
    function: &str,
    types: &[&Type<'_>],
    method: bool,
) -> Result<T, Mistake> {
    let names: Vec<String> = types.iter().map(ToString::to_string).collect();
    let applied = match names.split_first() {
        Some((receiver, rest)) if method => format!("{receiver}.({})", rest.join(", ")),
        _ => format!("({})", names.join(", ")),
    };
    wrong(at, format!("found no matching overload for '{function}' applied to '{applied}'"))
}

impl<'a> Names<'_, 'a> {
    fn find(&self, name: &str) -> Option<Type<'a>> {
        let own = self.own.iter().find(|(known, _)| *known == name);
        own.map(|(_, kind)| kind.clone()).or_else(|| self.outer?.find(name))
    }

    fn check(&self, expr: &Expr) -> Checked<'a> {
        let at = expr.at;
        match &expr.node {
            Node::Literal(literal) => Ok(of_literal(literal)),
            Node::Name(name) => match self.find(name) {
                Some(kind) => Ok(kind),
                None if TYPES.contains(&name.as_str()) => Ok(Type::Kind),
                None => wrong(at, format!("undeclared reference to '{name}' (in container '')")),
            },
            Node::Select { of, field, optional } => {
                let of = self.check(of)?;
                selected(at, &of, field, *optional)
            }
            Node::Has { of, field } => {
                selected(at, &self.check(of)?, field, false)?;
                Ok(Type::Bool)
            }
            Node::Index { of, index, optional } => {
                let (of, index) = (self.check(of)?, self.check(index)?);
                indexed(at, &of, &index, *optional)
            }
            Node::Call { function, target, args } => {
                self.call(at, function, target.as_deref(), args)
            }
            Node::List(items) => self.list(items),
            Node::Map(pairs) => self.map(pairs),
            Node::Not(of) => self.truth(of, "!_").map(|()| Type::Bool),
            Node::Negate(of) => match self.check(of)? {
                kind @ (Type::Int | Type::Double | Type::Dyn) => Ok(kind),
                other => no_overload(at, "-_", &[&other], false),
            },
            Node::And(parts) => self.truths(parts, "_&&_"),
            Node::Or(parts) => self.truths(parts, "_||_"),
            Node::If(test, yes, no) => {
                self.truth(test, "_?_:_")?;
                let (yes, no) = (self.check(yes)?, self.check(no)?);
                match yes.agrees(&no) || yes == Type::Null || no == Type::Null {
                    true => Ok(yes.or(no)),
                    false => no_overload(at, "_?_:_", &[&Type::Bool, &yes, &no], false),
                }
            }
            Node::Binary(operator, one, two) => {
                let (one, two) = (self.check(one)?, self.check(two)?);
                let found = operated(*operator, &one, &two);
                found.map_or_else(|| no_overload(at, operator.name(), &[&one, &two], false), Ok)
            }
            Node::Fold { fold, range, names, parts } => self.fold(at, *fold, range, names, parts),
        }
    }

    fn truth(&self, expr: &Expr, operator: &str) -> Result<(), Mistake> {
        match self.check(expr)? {
            Type::Bool | Type::Dyn => Ok(()),
            other => no_overload(expr.at, operator, &[&other], false),
        }
    }

    fn truths(&self, parts: &[Expr], operator: &str) -> Checked<'a> {
        for part in parts {
            self.truth(part, operator)?;
        }
        Ok(Type::Bool)
    }

    fn list(&self, items: &[(Expr, bool)]) -> Checked<'a> {
        let mut item_type: Option<Type<'a>> = None;
        for (item, optional) in items {
            let kind = match (self.check(item)?, optional) {
                (Type::Optional(inner), true) => *inner,
                (kind, _) => kind,
            };
            item_type = Some(match item_type {
                None => kind,
                Some(known) if known.agrees(&kind) => known.or(kind),
                Some(known) => {
                    let why = format!("expected type '{known}' but found '{kind}'");
                    return wrong(item.at, why);
                }
            });
        }
        Ok(Type::List(Box::new(item_type.unwrap_or(Type::Any('T')))))
    }

    fn map(&self, pairs: &[(Expr, Expr, bool)]) -> Checked<'a> {
        let (mut keys, mut values): (Option<Type<'a>>, Option<Type<'a>>) = (None, None);
        for (key, value, optional) in pairs {
            let key = self.check(key)?;
            let value = match (self.check(value)?, optional) {
                (Type::Optional(inner), true) => *inner,
                (kind, _) => kind,
            };
            keys = Some(keys.map_or(key.clone(), |known| known.or(key)));
            values = Some(values.map_or(value.clone(), |known| known.or(value)));
        }
        let or_any = |kind: Option<Type<'a>>, letter| Box::new(kind.unwrap_or(Type::Any(letter)));
        Ok(Type::Map(or_any(keys, 'K'), or_any(values, 'V')))
    }

    fn call(&self, at: usize, function: &str, target: Option<&Expr>, args: &[Expr]) -> Checked<'a> {
        // `sets.contains(…)` is a function, unless something is called `sets`.
        let qualified = target.and_then(|target| match &target.node {
            Node::Name(space) if self.find(space).is_none() => Some(format!("{space}.{function}")),
            _ => None,
        });
        let qualified = qualified.filter(|name| signatures::is_qualified(name));
        let (name, receiver) = match &qualified {
            Some(name) => (name.as_str(), None),
            None => (function, target.map(|it| self.check(it)).transpose()?),
        };
        let argument = |it: &Expr| match &it.node {
            // What is formatted may be of many types; other lists have items of one.
            Node::List(items) if name == "format" => {
                items.iter().try_for_each(|(item, _)| self.check(item).map(drop))?;
                Ok(Type::List(Box::new(Type::Dyn)))
            }
            _ => self.check(it),
        };
        let types: Vec<Type<'a>> = args.iter().map(argument).collect::<Result<_, _>>()?;
        let known = signatures::all().get(name);
        let Some(known) =
            known.filter(|all| all.iter().any(|it| it.receiver.is_some() == receiver.is_some()))
        else {
            return wrong(at, format!("undeclared reference to '{name}' (in container '')"));
        };
        if ["matches", "find", "findAll"].contains(&name)
            && let Some(Node::Literal(Literal::Text(pattern))) =
                args.get(usize::from(receiver.is_none())).map(|it| &it.node)
        {
            strings::regex(pattern)
                .or_else(|why| wrong(at, format!("invalid matches argument: {why}")))?;
        }
        let mut found: Option<Type<'a>> = None;
        for signature in known {
            let mut letters: Letters<'a> = vec![];
            let receives = match (&receiver, &signature.receiver) {
                (Some(is), Some(wanted)) => is.fits(wanted, &mut letters),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            let fits = receives
                && types.len() == signature.args.len()
                && types
                    .iter()
                    .zip(&signature.args)
                    .all(|(is, wanted)| is.fits(wanted, &mut letters));
            if fits {
                let result = signature.result.filled(&letters);
                found = Some(found.map_or(result.clone(), |known| known.or(result)));
            }
        }
        let all: Vec<&Type<'a>> = receiver.iter().chain(&types).collect();
        found.map_or_else(|| no_overload(at, name, &all, receiver.is_some()), Ok)
    }

    fn fold(
        &self,
        at: usize,
        fold: Fold,
        range: &Expr,
        names: &[String],
        parts: &[Expr],
    ) -> Checked<'a> {
        let range = self.check(range)?;
        let (key, value) = match &range {
            Type::List(item) => (Type::Int, (**item).clone()),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Optional(inner) => (Type::Dyn, (**inner).clone()),
            Type::Dyn | Type::Any(_) => (Type::Dyn, Type::Dyn),
            other => {
                let why = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, \
                     map, or dynamic)"
                );
                return wrong(at, why);
            }
        };
        let is_map = matches!(range, Type::Map(..));
        let own = match names {
            [one] => vec![(one.as_str(), if is_map { key.clone() } else { value.clone() })],
            [one, two] => vec![(one.as_str(), key.clone()), (two.as_str(), value.clone())],
            _ => vec![],
        };
        let inside = Names { own, outer: Some(self) };
        let (tests, last) = parts.split_at(parts.len().saturating_sub(1));
        for test in tests {
            inside.truth(test, "_?_:_")?;
        }
        let Some(last) = last.first() else { return Ok(Type::Dyn) };
        let made = inside.check(last)?;
        Ok(match fold {
            Fold::All | Fold::Exists | Fold::ExistsOne => {
                inside.truth(last, "_&&_")?;
                Type::Bool
            }
            Fold::Filter => {
                inside.truth(last, "_?_:_")?;
                Type::List(Box::new(if is_map { key } else { value }))
            }
            Fold::Map | Fold::TransformList => Type::List(Box::new(made)),
            Fold::TransformMap => Type::Map(Box::new(key), Box::new(made)),
            Fold::TransformMapEntry => made,
            Fold::SortBy => Type::List(Box::new(value)),
            Fold::OptMap => Type::Optional(Box::new(made)),
            Fold::OptFlatMap => made,
        })
    }
}

fn of_literal<'a>(literal: &Literal) -> Type<'a> {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::Text(_) => Type::Text,
        Literal::Bytes(_) => Type::Bytes,
    }
}

fn selected<'a>(at: usize, of: &Type<'a>, field: &str, optional: bool) -> Checked<'a> {
    let found = match of {
        Type::Dyn | Type::Any(_) => Type::Dyn,
        Type::Map(_, value) => (**value).clone(),
        Type::Optional(inner) => return selected(at, inner, field, true),
        Type::Object(shape) => match shape.field(&shape.unescaped(field)) {
            Some(inner) => inner.kind(),
            None => return wrong(at, format!("undefined field '{field}'")),
        },
        other => return wrong(at, format!("type '{other}' does not support field selection")),
    };
    Ok(if optional { Type::Optional(Box::new(found)) } else { found })
}

fn indexed<'a>(at: usize, of: &Type<'a>, index: &Type<'a>, optional: bool) -> Checked<'a> {
    let found = match of {
        Type::Dyn | Type::Any(_) => Type::Dyn,
        Type::List(item) if matches!(index, Type::Int | Type::Dyn) => (**item).clone(),
        Type::Map(key, value) if key.agrees(index) => (**value).clone(),
        Type::Optional(inner) => return indexed(at, inner, index, true),
        _ => return no_overload(at, "_[_]", &[of, index], false),
    };
    Ok(if optional { Type::Optional(Box::new(found)) } else { found })
}

/// What an operator makes of two types; nothing if it takes none like these.
fn operated<'a>(operator: Operator, one: &Type<'a>, two: &Type<'a>) -> Option<Type<'a>> {
    let numbers = one.is_number() && two.is_number();
    let either = |kind: &Type<'a>| one == kind && two == kind;
    let open = *one == Type::Dyn || *two == Type::Dyn;
    match operator {
        Operator::Equal | Operator::Unequal => {
            let null = |kind: &Type<'a>, other: &Type<'a>| {
                *kind == Type::Null
                    && !other.is_number()
                    && *other != Type::Bool
                    && *other != Type::Text
            };
            let good = one.agrees(two) || numbers || null(one, two) || null(two, one);
            good.then_some(Type::Bool)
        }
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
            let ordered = [Type::Bool, Type::Text, Type::Bytes, Type::Time, Type::Span];
            (open || numbers || ordered.iter().any(either)).then_some(Type::Bool)
        }
        Operator::In => match two {
            Type::List(item) => {
                (one.agrees(item) || one.is_number() && item.is_number()).then_some(Type::Bool)
            }
            Type::Map(key, _) => one.agrees(key).then_some(Type::Bool),
            Type::Dyn => Some(Type::Bool),
            _ => None,
        },
        Operator::Add => match (one, two) {
            (Type::Time, Type::Span) | (Type::Span, Type::Time) => Some(Type::Time),
            (Type::List(a), Type::List(b)) => {
                a.agrees(b).then(|| Type::List(Box::new((**a).clone().or((**b).clone()))))
            }
            (Type::Text | Type::Bytes | Type::Span, _) if one == two => Some(one.clone()),
            _ => arithmetic(one, two, open),
        },
        Operator::Subtract => match (one, two) {
            (Type::Time, Type::Time) | (Type::Span, Type::Span) => Some(Type::Span),
            (Type::Time, Type::Span) => Some(Type::Time),
            _ => arithmetic(one, two, open),
        },
        Operator::Multiply | Operator::Divide => arithmetic(one, two, open),
        Operator::Modulo => arithmetic(one, two, open).filter(|it| *it != Type::Double),
    }
}

fn arithmetic<'a>(one: &Type<'a>, two: &Type<'a>, open: bool) -> Option<Type<'a>> {
    match (one, two) {
        _ if one == two && one.is_number() => Some(one.clone()),
        (Type::Dyn, other) | (other, Type::Dyn) if open => Some(match other {
            kind if kind.is_number() => kind.clone(),
            _ => Type::Dyn,
        }),
        _ => None,
    }
}

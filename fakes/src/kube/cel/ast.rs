//! What an expression is made of.

/// A part of an expression, and the byte where it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expr {
    pub(super) node: Node,
    pub(super) at: usize,
    /// How deep other expressions lie in it.
    pub(super) height: u32,
}

/// The forms of expressions.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Literal(Literal),
    Name(String),
    /// `of.field`, or `of.?field`, which is there or not.
    Select {
        of: Box<Expr>,
        field: String,
        optional: bool,
    },
    /// `has(of.field)`.
    Has {
        of: Box<Expr>,
        field: String,
    },
    /// `of[index]`, or `of[?index]`.
    Index {
        of: Box<Expr>,
        index: Box<Expr>,
        optional: bool,
    },
    /// `function(args)`, or `target.function(args)`.
    Call {
        function: String,
        target: Option<Box<Expr>>,
        args: Vec<Expr>,
    },
    /// Items; those marked are left out if they are none.
    List(Vec<(Expr, bool)>),
    /// Keys and values; values that are marked are left out if they are none.
    Map(Vec<(Expr, Expr, bool)>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// A macro that goes through a range with names for what it meets.
    Fold {
        fold: Fold,
        range: Box<Expr>,
        names: Vec<String>,
        parts: Vec<Expr>,
    },
}

/// Plain values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// Operators between two values that are both needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
}

impl Operator {
    /// The operator as errors name it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Add => "_+_",
            Self::Subtract => "_-_",
            Self::Multiply => "_*_",
            Self::Divide => "_/_",
            Self::Modulo => "_%_",
            Self::Equal => "_==_",
            Self::Unequal => "_!=_",
            Self::Less => "_<_",
            Self::LessOrEqual => "_<=_",
            Self::Greater => "_>_",
            Self::GreaterOrEqual => "_>=_",
            Self::In => "@in",
        }
    }
}

/// Macros that go through a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
    /// A list from keys (or places) and values.
    TransformList,
    /// A map with new values.
    TransformMap,
    /// A map from entries.
    TransformMapEntry,
    SortBy,
    /// What is there, through an expression.
    OptMap,
    OptFlatMap,
}

impl Fold {
    /// The macro of this name with so many arguments.
    pub(super) fn named(name: &str, arguments: usize) -> Option<(Self, usize)> {
        Some(match (name, arguments) {
            ("all", 2) => (Self::All, 1),
            ("all", 3) => (Self::All, 2),
            ("exists", 2) => (Self::Exists, 1),
            ("exists", 3) => (Self::Exists, 2),
            ("exists_one" | "existsOne", 2) => (Self::ExistsOne, 1),
            ("existsOne", 3) => (Self::ExistsOne, 2),
            ("filter", 2) => (Self::Filter, 1),
            ("map", 2 | 3) => (Self::Map, 1),
            ("transformList", 3 | 4) => (Self::TransformList, 2),
            ("transformMap", 3 | 4) => (Self::TransformMap, 2),
            ("transformMapEntry", 3 | 4) => (Self::TransformMapEntry, 2),
            ("sortBy", 2) => (Self::SortBy, 1),
            ("optMap", 2) => (Self::OptMap, 1),
            ("optFlatMap", 2) => (Self::OptFlatMap, 1),
            _ => return None,
        })
    }
}

impl Node {
    /// The expressions that lie in it.
    pub(super) fn parts(&self) -> Vec<&Expr> {
        match self {
            Self::Literal(_) | Self::Name(_) => vec![],
            Self::Select { of, .. } | Self::Has { of, .. } | Self::Not(of) | Self::Negate(of) => {
                vec![of]
            }
            Self::Index { of, index, .. } => vec![of, index],
            Self::And(parts) | Self::Or(parts) => parts.iter().collect(),
            Self::Binary(_, left, right) => vec![left, right],
            Self::If(test, yes, no) => vec![test, yes, no],
            Self::Call { target, args, .. } => target.as_deref().into_iter().chain(args).collect(),
            Self::List(items) => items.iter().map(|(item, _)| item).collect(),
            Self::Map(pairs) => pairs.iter().flat_map(|(key, value, _)| [key, value]).collect(),
            Self::Fold { range, parts, .. } => std::iter::once(&**range).chain(parts).collect(),
        }
    }
}

impl Expr {
    /// Whether a variable occurs, and isn't the name of something that a macro meets.
    pub(super) fn uses(&self, variable: &str) -> bool {
        match &self.node {
            Node::Name(name) => name == variable,
            Node::Fold { range, names, parts, .. } => {
                let hidden = names.iter().any(|name| name == variable);
                range.uses(variable) || !hidden && parts.iter().any(|it| it.uses(variable))
            }
            node => node.parts().iter().any(|part| part.uses(variable)),
        }
    }
}

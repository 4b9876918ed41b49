//! The Common Expression Language, as Kubernetes uses it: in rules of definitions, in match conditions.
//!
//! ```text
//!  text ─▶ lex ─▶ parse ─▶ check: are there such fields and functions? ─▶ Program ─▶ eval ─▶ Val
//! ```
//!
//! With Kubernetes' libraries (lists, sets, strings, regular expressions, URLs, quantities, addresses,
//! versions, formats, optionals, macros with two variables). Not here: the authorizer.
//! Whatever isn't here is refused when the expression is written, never ignored.

#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "a function takes some types and refuses all others, whichever there are"
)]

mod ast;
mod check;
mod eval;
mod foreign;
mod functions;
mod lex;
mod lists;
mod net;
mod operators;
mod parse;
mod shape;
mod signatures;
mod strings;
#[cfg(test)]
mod tests;
mod time;
mod types;
mod value;

use self::ast::Expr;
pub(crate) use self::{shape::Shape, types::Type, value::Val};

/// What is wrong with an expression, and where: the byte.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mistake {
    at: usize,
    why: String,
}

impl Mistake {
    fn new(at: usize, why: String) -> Self {
        Self { at, why }
    }

    /// The mistake in its line, as compilers show it.
    fn shown(&self, text: &str) -> String {
        let before = text.get(..self.at).unwrap_or(text);
        let number = before.matches('\n').count() + 1;
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let column = text[begin..].chars().take(before[begin..].chars().count()).count();
        let line = text[begin..].lines().next().unwrap_or("");
        let dots = ".".repeat(column);
        format!("ERROR: <input>:{number}:{}: {}\n | {line}\n | {dots}^", column + 1, self.why)
    }
}

/// An expression that was checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Program {
    expr: Expr,
    gives: String,
}

impl Program {
    /// Reads and checks an expression over variables of these types.
    pub(crate) fn compile(text: &str, variables: &[(&str, Type<'_>)]) -> Result<Self, String> {
        let failed = |mistake: Mistake| format!("compilation failed: {}", mistake.shown(text));
        let expr = parse::parse(text).map_err(failed)?;
        let gives = check::check(&expr, variables).map_err(failed)?.to_string();
        Ok(Self { expr, gives })
    }

    /// The type of what it gives: `bool`; `dyn` if nobody can know.
    pub(crate) fn gives(&self) -> &str {
        &self.gives
    }

    /// Whether a variable occurs.
    pub(crate) fn uses(&self, variable: &str) -> bool {
        self.expr.uses(variable)
    }

    /// What the expression gives for these values.
    pub(crate) fn run<'a>(&'a self, variables: &[(&str, Val<'a>)]) -> Result<Val<'a>, String> {
        eval::run(&self.expr, variables)
    }
}

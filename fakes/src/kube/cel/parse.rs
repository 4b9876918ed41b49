//! From words to an expression, with the macros recognized.

use super::{
    Mistake,
    ast::{Expr, Fold, Literal, Node, Operator},
    lex::{self, Token},
};

/// How deep brackets may lie in each other: each takes a good piece of the stack to read.
const NESTED: u32 = 40;
/// How deep expressions may lie in each other, however they are written.
const DEEPEST: u32 = 200;

/// Reads an expression.
pub(super) fn parse(text: &str) -> Result<Expr, Mistake> {
    let mut parser = Parser { tokens: lex::tokens(text)?, next: 0, depth: 0 };
    let expr = parser.expression()?;
    match parser.peek() {
        Token::End => Ok(expr),
        _ => Err(parser.unexpected()),
    }
}

struct Parser {
    tokens: Vec<(Token, usize)>,
    next: usize,
    depth: u32,
}

type Parsed = Result<Expr, Mistake>;

fn made(node: Node, at: usize) -> Parsed {
    let height = 1 + node.parts().iter().map(|part| part.height).max().unwrap_or(0);
    match height > DEEPEST {
        false => Ok(Expr { node, at, height }),
        true => Err(too_deep(at, DEEPEST)),
    }
}

fn too_deep(at: usize, limit: u32) -> Mistake {
    Mistake::new(at, format!("expression recursion limit exceeded: {limit}"))
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].0
    }

    fn at(&self) -> usize {
        self.tokens[self.next].1
    }

    fn advance(&mut self) -> Token {
        let token = self.peek().clone();
        if token != Token::End {
            self.next += 1;
        }
        token
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Token::Sign(it) if *it == sign);
        if found {
            self.next += 1;
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), Mistake> {
        if self.takes(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&self) -> Mistake {
        let what = match self.peek() {
            Token::End => "mismatched input '<EOF>'".to_owned(),
            Token::Sign(sign) => format!("mismatched input '{sign}'"),
            Token::Name(name) => format!("mismatched input '{name}'"),
            other => format!("mismatched input {other:?}"),
        };
        Mistake::new(self.at(), format!("Syntax error: {what}"))
    }

    fn expression(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > NESTED {
            return Err(too_deep(self.at(), NESTED));
        }
        let at = self.at();
        let mut expr = self.or()?;
        if self.takes("?") {
            let yes = self.or()?;
            self.expect(":")?;
            let no = self.expression()?;
            expr = made(Node::If(expr.into(), yes.into(), no.into()), at)?;
        }
        self.depth -= 1;
        Ok(expr)
    }

    fn or(&mut self) -> Parsed {
        self.chain("||", Self::and, Node::Or)
    }

    fn and(&mut self) -> Parsed {
        self.chain("&&", Self::relation, Node::And)
    }

    fn chain(
        &mut self,
        sign: &str,
        part: fn(&mut Self) -> Parsed,
        whole: fn(Vec<Expr>) -> Node,
    ) -> Parsed {
        let first = part(self)?;
        if !self.takes(sign) {
            return Ok(first);
        }
        let at = first.at;
        let mut parts = vec![first, part(self)?];
        while self.takes(sign) {
            parts.push(part(self)?);
        }
        made(whole(parts), at)
    }

    fn relation(&mut self) -> Parsed {
        use Operator::{Equal, Greater, GreaterOrEqual, In, Less, LessOrEqual, Unequal};
        let signs = [
            ("==", Equal),
            ("!=", Unequal),
            ("<=", LessOrEqual),
            (">=", GreaterOrEqual),
            ("<", Less),
            (">", Greater),
        ];
        let mut left = self.sum()?;
        loop {
            let at = self.at();
            let mut operator = signs.iter().find(|(sign, _)| self.takes(sign)).map(|it| it.1);
            if operator.is_none() && *self.peek() == Token::Name("in".into()) {
                self.next += 1;
                operator = Some(In);
            }
            let Some(operator) = operator else { return Ok(left) };
            let right = self.sum()?;
            left = made(Node::Binary(operator, left.into(), right.into()), at)?;
        }
    }

    fn sum(&mut self) -> Parsed {
        let mut left = self.product()?;
        loop {
            let at = self.at();
            let operator = match self.peek() {
                Token::Sign("+") => Operator::Add,
                Token::Sign("-") => Operator::Subtract,
                _ => return Ok(left),
            };
            self.next += 1;
            let right = self.product()?;
            left = made(Node::Binary(operator, left.into(), right.into()), at)?;
        }
    }

    fn product(&mut self) -> Parsed {
        let mut left = self.unary()?;
        loop {
            let at = self.at();
            let operator = match self.peek() {
                Token::Sign("*") => Operator::Multiply,
                Token::Sign("/") => Operator::Divide,
                Token::Sign("%") => Operator::Modulo,
                _ => return Ok(left),
            };
            self.next += 1;
            let right = self.unary()?;
            left = made(Node::Binary(operator, left.into(), right.into()), at)?;
        }
    }

    fn unary(&mut self) -> Parsed {
        let at = self.at();
        let mut nots = 0;
        while self.takes("!") {
            nots += 1;
        }
        if nots > 0 {
            let inner = self.member()?;
            // Two of them say nothing, but what they say it of must be a truth.
            let once = made(Node::Not(inner.into()), at)?;
            return if nots % 2 == 1 { Ok(once) } else { made(Node::Not(once.into()), at) };
        }
        let mut minuses = 0;
        while self.takes("-") {
            minuses += 1;
        }
        if minuses == 0 {
            return self.member();
        }
        if minuses % 2 == 1
            && let Token::Int(value) = *self.peek()
            && value == i64::MIN.unsigned_abs()
        {
            self.next += 1;
            return made(Node::Literal(Literal::Int(i64::MIN)), at);
        }
        let inner = self.member()?;
        let once = made(Node::Negate(inner.into()), at)?;
        if minuses % 2 == 1 { Ok(once) } else { made(Node::Negate(once.into()), at) }
    }

    fn member(&mut self) -> Parsed {
        let mut expr = self.primary()?;
        loop {
            let at = self.at();
            if self.takes(".") {
                let field = self.field()?;
                expr = match self.takes("(") {
                    true => self.method(expr, field, at)?,
                    false => made(Node::Select { of: expr.into(), field, optional: false }, at)?,
                };
            } else if self.takes(".?") {
                let field = self.field()?;
                expr = made(Node::Select { of: expr.into(), field, optional: true }, at)?;
            } else if let optional @ ("[" | "[?") = match self.peek() {
                Token::Sign(sign) => sign,
                _ => "",
            } {
                let optional = optional == "[?";
                self.next += 1;
                let index = self.expression()?.into();
                self.expect("]")?;
                expr = made(Node::Index { of: expr.into(), index, optional }, at)?;
            } else {
                return Ok(expr);
            }
        }
    }

    fn field(&mut self) -> Result<String, Mistake> {
        match self.peek().clone() {
            Token::Name(name) if name != "in" => {
                self.next += 1;
                Ok(name)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// A method, or a macro that looks like one; the bracket is open. What looks like a method may be
    /// a function with a dot in its name, if nothing else has the name before it.
    fn method(&mut self, target: Expr, function: String, at: usize) -> Parsed {
        let args = self.arguments(")")?;
        let named = |expr: &Expr| match &expr.node {
            Node::Name(name) => Some(name.clone()),
            _ => None,
        };
        if let Some((fold, n_names)) = Fold::named(&function, args.len())
            && let Some(names) =
                args.iter().take(n_names).map(named).collect::<Option<Vec<String>>>()
        {
            let parts = args.into_iter().skip(n_names).collect();
            return made(Node::Fold { fold, range: target.into(), names, parts }, at);
        }
        made(Node::Call { function, target: Some(target.into()), args }, at)
    }

    fn arguments(&mut self, close: &str) -> Result<Vec<Expr>, Mistake> {
        let mut args = vec![];
        while !self.takes(close) {
            args.push(self.expression()?);
            if !self.takes(",") {
                self.expect(close)?;
                break;
            }
        }
        Ok(args)
    }

    fn primary(&mut self) -> Parsed {
        let at = self.at();
        let literal = |literal| made(Node::Literal(literal), at);
        match self.peek().clone() {
            Token::Sign("(") => {
                self.next += 1;
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Sign("[" | "[?") => self.list(at),
            Token::Sign("{" | "{?") => self.map(at),
            Token::Sign(".") => {
                self.next += 1;
                self.named(at)
            }
            Token::Name(_) => self.named(at),
            Token::Sign(_) | Token::End => Err(self.unexpected()),
            token => {
                self.next += 1;
                match token {
                    Token::Uint(value) => literal(Literal::Uint(value)),
                    Token::Double(value) => literal(Literal::Double(value)),
                    Token::Text(value) => literal(Literal::Text(value)),
                    Token::Bytes(value) => literal(Literal::Bytes(value)),
                    Token::Int(value) => match i64::try_from(value) {
                        Ok(value) => literal(Literal::Int(value)),
                        Err(_) => Err(Mistake::new(at, "invalid int literal".to_owned())),
                    },
                    Token::Name(_) | Token::Sign(_) | Token::End => Err(self.unexpected()),
                }
            }
        }
    }

    fn named(&mut self, at: usize) -> Parsed {
        let name = self.field()?;
        match name.as_str() {
            "true" | "false" => return made(Node::Literal(Literal::Bool(name == "true")), at),
            "null" => return made(Node::Literal(Literal::Null), at),
            _ => {}
        }
        if !self.takes("(") {
            return made(Node::Name(name), at);
        }
        let mut args = self.arguments(")")?;
        if name == "has" && args.len() == 1 {
            return match args.remove(0).node {
                Node::Select { of, field, optional: false } => made(Node::Has { of, field }, at),
                _ => Err(Mistake::new(at, "invalid argument to has() macro".to_owned())),
            };
        }
        made(Node::Call { function: name, target: None, args }, at)
    }

    fn list(&mut self, at: usize) -> Parsed {
        let mut items = vec![];
        let mut optional = self.advance() == Token::Sign("[?");
        while !self.takes("]") {
            optional |= self.takes("?");
            items.push((self.expression()?, std::mem::take(&mut optional)));
            if !self.takes(",") {
                self.expect("]")?;
                break;
            }
        }
        made(Node::List(items), at)
    }

    fn map(&mut self, at: usize) -> Parsed {
        let mut pairs = vec![];
        let mut optional = self.advance() == Token::Sign("{?");
        while !self.takes("}") {
            optional |= self.takes("?");
            let key = self.expression()?;
            self.expect(":")?;
            pairs.push((key, self.expression()?, std::mem::take(&mut optional)));
            if !self.takes(",") {
                self.expect("}")?;
                break;
            }
        }
        made(Node::Map(pairs), at)
    }
}

//! Types, as the tables write them.
//!
//! ```text
//!   string   integer:int32   boolean=false   any        plain, with format and default
//!   <UP|DOWN>                                           one of these words
//!   [T]   {name!:T,other:T~}   @v0.0.42_node            list, dictionary, named type
//! ```
//!
//! `!` behind a name is a required field, `~` behind a type one that is deprecated. `!` behind a
//! dictionary says that its list of required fields is there, and empty; `!(a/b,c)` is that list where
//! there are paths in it.

use serde_json::Value;

/// A type and whether the vendor wants to be rid of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Type {
    /// What it is.
    pub(crate) kind: Kind,
    /// It will go.
    pub(crate) deprecated: bool,
}

/// What a type is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Anything.
    Any,
    /// `string`, `integer`, `number`, `boolean`, or an `object` whose fields nobody names.
    Plain {
        /// Which.
        name: Box<str>,
        /// `int32`, `double` …
        format: Option<Box<str>>,
        /// What it is if nobody says.
        default: Option<Value>,
    },
    /// One of these words.
    OneOf(Vec<Box<str>>),
    /// A list.
    List(Box<Type>),
    /// A dictionary.
    Dict {
        /// Its fields.
        fields: Vec<Field>,
        /// The list of required fields, where it isn't what the fields say.
        required: Option<Vec<Box<str>>>,
    },
    /// The type of this name.
    Named(Box<str>),
}

/// A field of a dictionary.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    /// Its name.
    pub(crate) name: Box<str>,
    /// It must be there.
    pub(crate) required: bool,
    /// Its type.
    pub(crate) of: Type,
}

impl Type {
    /// Reads an expression. The tables are ours and tested, so `None` is never seen.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader { rest: text };
        let read = reader.read()?;
        reader.rest.is_empty().then_some(read)
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn read(&mut self) -> Option<Type> {
        let kind = match self.rest.chars().next()? {
            '@' => {
                self.eat('@');
                Kind::Named(self.word().into())
            }
            '<' => self.words()?,
            '[' => {
                self.eat('[');
                let of = self.read()?;
                self.expect(']')?;
                Kind::List(Box::new(of))
            }
            '{' => self.dict()?,
            _ => self.plain()?,
        };
        Some(Type { kind, deprecated: self.eat('~') })
    }

    fn words(&mut self) -> Option<Kind> {
        let (words, rest) = self.rest.strip_prefix('<')?.split_once('>')?;
        self.rest = rest;
        Some(Kind::OneOf(words.split('|').map(Into::into).collect()))
    }

    fn dict(&mut self) -> Option<Kind> {
        self.expect('{')?;
        let mut fields = vec![];
        while !self.eat('}') {
            self.eat(',');
            let name = self.until(&[':', '!']);
            let required = self.eat('!');
            self.expect(':')?;
            fields.push(Field { name: name.into(), required, of: self.read()? });
        }
        let listed = self.eat('!').then(|| self.eat('('));
        let required = listed.map(|listed| {
            let names = if listed { self.until(&[')']) } else { "" };
            self.eat(')');
            names.split(',').filter(|name| !name.is_empty()).map(Into::into).collect()
        });
        Some(Kind::Dict { fields, required })
    }

    fn plain(&mut self) -> Option<Kind> {
        let name = self.word();
        if name == "any" {
            return Some(Kind::Any);
        }
        let format = self.eat(':').then(|| self.word().into());
        let default = self.eat('=').then(|| self.until(&[',', '}', ']', '~']));
        let default = default.map(serde_json::from_str).transpose().ok()?;
        Some(Kind::Plain { name: name.into(), format, default })
    }

    /// A name as types have them.
    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_.".contains(c)));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn until(&mut self, ends: &[char]) -> &'a str {
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        text
    }

    fn eat(&mut self, c: char) -> bool {
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, c: char) -> Option<()> {
        self.eat(c).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read_to_their_end() {
        let read =
            Type::parse("{a!:integer:int32,last run:[<X|Y=1>]~,b:@v0.0.42_t,c:{}!}").unwrap();
        let Kind::Dict { fields, required } = read.kind else { panic!("no dictionary") };
        assert_eq!(required, None);
        let names: Vec<_> = fields.iter().map(|field| (&*field.name, field.required)).collect();
        assert_eq!(names, [("a", true), ("last run", false), ("b", false), ("c", false)]);
        assert!(fields[1].of.deprecated);
        assert_eq!(fields[2].of.kind, Kind::Named("v0.0.42_t".into()));
        assert_eq!(fields[3].of.kind, Kind::Dict { fields: vec![], required: Some(vec![]) });
        assert_eq!(Type::parse("{a:string"), None);
        assert_eq!(Type::parse("string]"), None);
    }
}

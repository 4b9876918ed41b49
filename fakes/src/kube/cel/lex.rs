//! From text to words: names, numbers, strings and signs.

use super::Mistake;

/// One word of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    Int(u64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Sign(&'static str),
    End,
}

/// Signs, longer ones first.
const SIGNS: [&str; 26] = [
    "&&", "||", "==", "!=", "<=", ">=", ".?", "[?", "{?", "<", ">", "+", "-", "*", "/", "%", "!",
    "?", ":", ".", ",", "(", ")", "[", "]", "{",
];

/// All words of a text, each with the byte where it begins.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, Mistake> {
    let mut lexer = Lexer { text, at: 0 };
    let mut all = vec![];
    loop {
        lexer.skip_blank();
        let begin = lexer.at;
        let token = lexer.next()?;
        let end = token == Token::End;
        all.push((token, begin));
        if end {
            return Ok(all);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_blank(&mut self) {
        loop {
            let blank = self.rest().len() - self.rest().trim_start().len();
            self.at += blank;
            if !self.rest().starts_with("//") {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    fn next(&mut self) -> Result<Token, Mistake> {
        let Some(first) = self.peek() else { return Ok(Token::End) };
        if let Some(token) = self.quoted()? {
            return Ok(token);
        }
        if first.is_ascii_digit() || first == '.' && self.digit_follows() {
            return self.number();
        }
        if first.is_ascii_alphabetic() || first == '_' {
            return Ok(Token::Name(self.name()));
        }
        let sign = SIGNS.iter().chain(&["}"]).find(|sign| self.rest().starts_with(**sign));
        match sign {
            // `a ? .5 : b` and `[?` are told apart by what is allowed where: a sign is a sign.
            Some(sign) => {
                self.at += sign.len();
                Ok(Token::Sign(sign))
            }
            None => {
                let why = format!("Syntax error: token recognition error at: '{first}'");
                Err(Mistake::new(self.at, why))
            }
        }
    }

    fn digit_follows(&self) -> bool {
        self.rest()[1..].starts_with(|letter: char| letter.is_ascii_digit())
    }

    fn name(&mut self) -> String {
        let more = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let end = self.rest().find(|letter| !more(letter)).unwrap_or(self.rest().len());
        let name = self.rest()[..end].to_owned();
        self.at += end;
        name
    }

    fn number(&mut self) -> Result<Token, Mistake> {
        let begin = self.at;
        let wrong = || Mistake::new(begin, "Syntax error: invalid number".to_owned());
        if let Some(hex) = self.rest().strip_prefix("0x").or(self.rest().strip_prefix("0X")) {
            let end = hex.find(|it: char| !it.is_ascii_hexdigit()).unwrap_or(hex.len());
            let value = u64::from_str_radix(&hex[..end], 16).map_err(|_| wrong())?;
            self.at += 2 + end;
            return Ok(self.whole(value));
        }
        let bytes = self.rest().as_bytes();
        let mut end = 0;
        let mut double = false;
        while let Some(byte) = bytes.get(end) {
            let exponent = matches!(byte, b'e' | b'E');
            let sign = matches!(byte, b'+' | b'-') && matches!(bytes[end - 1], b'e' | b'E');
            let point = *byte == b'.' && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
            if !(byte.is_ascii_digit() || exponent || sign || point && !double) {
                break;
            }
            double |= exponent || point;
            end += 1;
        }
        let digits = self.rest()[..end].to_owned();
        self.at += end;
        match double {
            true => digits.parse().map(Token::Double).map_err(|_| wrong()),
            false => digits.parse().map(|value| self.whole(value)).map_err(|_| wrong()),
        }
    }

    fn whole(&mut self, value: u64) -> Token {
        match self.rest().starts_with(['u', 'U']) {
            true => {
                self.at += 1;
                Token::Uint(value)
            }
            false => Token::Int(value),
        }
    }

    /// A string or bytes, if one begins here: `'a'`, `r"b"`, `b'''c'''`.
    fn quoted(&mut self) -> Result<Option<Token>, Mistake> {
        let head: String =
            self.rest().chars().take_while(char::is_ascii_alphabetic).take(3).collect();
        let (raw, bytes) = match head.to_ascii_lowercase().as_str() {
            "" => (false, false),
            "r" => (true, false),
            "b" => (false, true),
            "rb" | "br" => (true, true),
            _ => return Ok(None),
        };
        let body = &self.rest()[head.len()..];
        let quotes = ["\"\"\"", "'''", "\"", "'"];
        let Some(quote) = quotes.into_iter().find(|quote| body.starts_with(quote)) else {
            return Ok(None);
        };
        let begin = self.at;
        self.at += head.len() + quote.len();
        let mut value = vec![];
        loop {
            if self.rest().starts_with(quote) {
                self.at += quote.len();
                break;
            }
            let letter = self.peek().filter(|it| *it != '\n' || quote.len() == 3);
            let unended = || Mistake::new(begin, "Syntax error: the string has no end".to_owned());
            let letter = letter.ok_or_else(unended)?;
            self.at += letter.len_utf8();
            match letter == '\\' && !raw {
                true => self.escape(bytes, &mut value)?,
                false => value.extend(letter.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        if bytes {
            return Ok(Some(Token::Bytes(value)));
        }
        let text = String::from_utf8(value);
        text.map(|text| Some(Token::Text(text)))
            .map_err(|_| Mistake::new(begin, "Syntax error: the string is not UTF-8".to_owned()))
    }

    /// What follows a backslash.
    fn escape(&mut self, bytes: bool, to: &mut Vec<u8>) -> Result<(), Mistake> {
        let begin = self.at - 1;
        let wrong = || Mistake::new(begin, "Syntax error: unknown escape in a string".to_owned());
        let letter = self.peek().ok_or_else(wrong)?;
        self.at += letter.len_utf8();
        let plain = match letter {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            '\\' | '\'' | '"' | '`' | '?' => letter as u8,
            'x' | 'X' | 'u' | 'U' | '0'..='3' => return self.coded(letter, bytes, to, wrong),
            _ => return Err(wrong()),
        };
        to.push(plain);
        Ok(())
    }

    fn coded(
        &mut self,
        letter: char,
        bytes: bool,
        to: &mut Vec<u8>,
        wrong: impl Fn() -> Mistake,
    ) -> Result<(), Mistake> {
        let (length, radix) = match letter {
            'x' | 'X' => (2, 16),
            'u' => (4, 16),
            'U' => (8, 16),
            _ => {
                self.at -= 1;
                (3, 8)
            }
        };
        let digits = self.rest().get(..length).ok_or_else(&wrong)?;
        let code = u32::from_str_radix(digits, radix).map_err(|_| wrong())?;
        self.at += length;
        if bytes {
            to.push(u8::try_from(code).map_err(|_| wrong())?);
            return Ok(());
        }
        let letter = char::from_u32(code).ok_or_else(wrong)?;
        to.extend(letter.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }
}

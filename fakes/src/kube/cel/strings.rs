//! Functions over texts: the extended library, regular expressions, formatting.

use regex::Regex;

use super::{
    functions::{Called, written},
    operators::no_overload,
    value::Val,
};

/// A regular expression; Go's and ours are close relatives.
pub(super) fn regex(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|error| format!("error parsing regexp: {error}"))
}

/// The functions over texts.
pub(super) fn call<'a>(function: &str, _: bool, args: &[Val<'a>]) -> Called<'a> {
    Some(match (function, args) {
        ("charAt", [Val::Text(text), Val::Int(at)]) => char_at(text, *at),
        ("indexOf", [Val::Text(text), Val::Text(part)]) => index_of(text, part, 0),
        ("indexOf", [Val::Text(text), Val::Text(part), Val::Int(at)]) => index_of(text, part, *at),
        ("lastIndexOf", [Val::Text(text), Val::Text(part)]) => last_index_of(text, part, None),
        ("lastIndexOf", [Val::Text(text), Val::Text(part), Val::Int(at)]) => {
            last_index_of(text, part, Some(*at))
        }
        ("lowerAscii", [Val::Text(text)]) => Ok(Val::text(text.to_ascii_lowercase())),
        ("upperAscii", [Val::Text(text)]) => Ok(Val::text(text.to_ascii_uppercase())),
        ("trim", [Val::Text(text)]) => Ok(Val::text(text.trim())),
        ("replace", [Val::Text(text), Val::Text(old), Val::Text(new)]) => {
            Ok(Val::text(text.replace(&**old, new)))
        }
        ("replace", [Val::Text(text), Val::Text(old), Val::Text(new), Val::Int(n)]) => {
            let times = usize::try_from(*n).unwrap_or(usize::MAX);
            Ok(Val::text(text.replacen(&**old, new, times)))
        }
        ("split", [Val::Text(text), Val::Text(by)]) => Ok(split(text, by, -1)),
        ("split", [Val::Text(text), Val::Text(by), Val::Int(n)]) => Ok(split(text, by, *n)),
        ("substring", [Val::Text(text), Val::Int(from)]) => substring(text, *from, None),
        ("substring", [Val::Text(text), Val::Int(from), Val::Int(to)]) => {
            substring(text, *from, Some(*to))
        }
        ("strings.quote", [Val::Text(text)]) => Ok(Val::text(quoted(text))),
        ("format", [Val::Text(text), Val::List(args)]) => format(text, &args.items()),
        ("find", [Val::Text(text), Val::Text(pattern)]) => {
            regex(pattern).map(|it| Val::text(it.find(text).map_or("", |found| found.as_str())))
        }
        ("findAll", [Val::Text(text), Val::Text(pattern)]) => find_all(text, pattern, -1),
        ("findAll", [Val::Text(text), Val::Text(pattern), Val::Int(n)]) => {
            find_all(text, pattern, *n)
        }
        _ => return None,
    })
}

fn out_of_range<T>(at: i64) -> Result<T, String> {
    Err(format!("index out of range: {at}"))
}

fn number<'a>(place: Option<usize>) -> Val<'a> {
    Val::Int(place.and_then(|it| i64::try_from(it).ok()).unwrap_or(-1))
}

fn char_at<'a>(text: &str, at: i64) -> Result<Val<'a>, String> {
    let place = usize::try_from(at).ok();
    let length = text.chars().count();
    match place.filter(|it| *it <= length) {
        Some(place) => Ok(Val::text(text.chars().nth(place).map(String::from).unwrap_or_default())),
        None => out_of_range(at),
    }
}

/// The first place at or after `from`, counted in letters.
fn index_of<'a>(text: &str, part: &str, from: i64) -> Result<Val<'a>, String> {
    let (text, part) = (letters(text), letters(part));
    let Some(from) = usize::try_from(from).ok().filter(|it| *it <= text.len()) else {
        return out_of_range(from);
    };
    let mut places = from..=text.len();
    Ok(number(places.find(|place| text[*place..].starts_with(&part))))
}

fn last_index_of<'a>(text: &str, part: &str, from: Option<i64>) -> Result<Val<'a>, String> {
    let (text, part) = (letters(text), letters(part));
    let from = match from {
        None => text.len(),
        Some(at) => match usize::try_from(at).ok().filter(|it| *it <= text.len()) {
            Some(at) => at,
            None => return out_of_range(at),
        },
    };
    let mut places = (0..=from).rev();
    Ok(number(places.find(|place| text[*place..].starts_with(&part))))
}

fn letters(text: &str) -> Vec<char> {
    text.chars().collect()
}

fn split<'a>(text: &str, by: &str, n: i64) -> Val<'a> {
    let parts: Vec<String> = match (n, by) {
        (0, _) => vec![],
        (1, _) => vec![text.to_owned()],
        (n, "") => {
            let all = letters(text);
            let most = usize::try_from(n).unwrap_or(usize::MAX).min(all.len());
            let (front, rest) = all.split_at(most.saturating_sub(1));
            let last = match n < 0 || most == all.len() {
                true => rest.iter().map(ToString::to_string).collect(),
                false => vec![rest.iter().collect::<String>()],
            };
            front.iter().map(ToString::to_string).chain(last).collect()
        }
        (n, by) => {
            let most = usize::try_from(n).unwrap_or(usize::MAX);
            text.splitn(most, by).map(Into::into).collect()
        }
    };
    Val::list(parts.into_iter().map(Val::text).collect())
}

fn substring<'a>(text: &str, from: i64, to: Option<i64>) -> Result<Val<'a>, String> {
    let text = letters(text);
    let place = |at: i64| usize::try_from(at).ok().filter(|it| *it <= text.len());
    let Some(begin) = place(from) else { return out_of_range(from) };
    let end = match to {
        None => text.len(),
        Some(to) => match place(to) {
            Some(end) => end,
            None => return out_of_range(to),
        },
    };
    if begin > end {
        return Err(format!("invalid substring range. start: {begin}, end: {end}"));
    }
    Ok(Val::text(text[begin..end].iter().collect::<String>()))
}

fn find_all<'a>(text: &str, pattern: &str, n: i64) -> Result<Val<'a>, String> {
    let most = usize::try_from(n).unwrap_or(usize::MAX);
    let pattern = regex(pattern)?;
    let found = pattern.find_iter(text).take(most);
    Ok(Val::list(found.map(|it| Val::text(it.as_str())).collect()))
}

/// `"%s is %d".format([a, b])`.
fn format<'a>(text: &str, args: &[Val<'a>]) -> Result<Val<'a>, String> {
    let mut made = String::new();
    let mut args = args.iter();
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        if letter != '%' {
            made.push(letter);
            continue;
        }
        if rest.next_if_eq(&'%').is_some() {
            made.push('%');
            continue;
        }
        let mut precision = None;
        if rest.next_if_eq(&'.').is_some() {
            let mut digits = String::new();
            while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            precision = digits.parse::<usize>().ok().filter(|it| *it <= 100);
        }
        let verb =
            rest.next().ok_or("could not parse formatting clause: unexpected end of string")?;
        let arg = args.next().ok_or("index out of range")?;
        made.push_str(&formatted(verb, precision, arg)?);
    }
    Ok(Val::text(made))
}

fn formatted(verb: char, precision: Option<usize>, arg: &Val<'_>) -> Result<String, String> {
    let fraction = precision.unwrap_or(6);
    let whole = match arg {
        Val::Int(it) => Some(i128::from(*it)),
        Val::Uint(it) => Some(i128::from(*it)),
        Val::Bool(it) if verb == 'b' => Some(i128::from(*it)),
        _ => None,
    };
    #[allow(clippy::cast_precision_loss, reason = "it is written with few digits")]
    let double = match arg {
        Val::Double(it) => Some(*it),
        _ => whole.map(|it| it as f64),
    };
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    match (verb, arg, whole, double) {
        ('s', arg, _, _) => Ok(shown(arg)),
        ('d' | 'f' | 'e', _, _, Some(it)) if !it.is_finite() => Ok(shown(&Val::Double(it))),
        ('d', _, Some(it), _) => Ok(it.to_string()),
        ('f', _, _, Some(it)) => Ok(format!("{it:.fraction$}")),
        ('e', _, _, Some(it)) => Ok(scientific(it, fraction)),
        ('b', _, Some(it), _) => Ok(format!("{it:b}")),
        ('o', _, Some(it), _) => Ok(format!("{it:o}")),
        ('x', _, Some(it), _) => Ok(format!("{it:x}")),
        ('X', _, Some(it), _) => Ok(format!("{it:X}")),
        ('x', Val::Text(it), _, _) => Ok(hex(it.as_bytes())),
        ('X', Val::Text(it), _, _) => Ok(hex(it.as_bytes()).to_uppercase()),
        ('x', Val::Bytes(it), _, _) => Ok(hex(it)),
        ('X', Val::Bytes(it), _, _) => Ok(hex(it).to_uppercase()),
        ('d' | 'f' | 'e' | 'b' | 'x' | 'X' | 'o', _, _, _) => no_overload(),
        (other, _, _, _) => Err(format!(
            "could not parse formatting clause: unrecognized formatting clause \"{other}\""
        )),
    }
}

/// `1.5e+03`: with a sign and two digits at least behind the letter.
fn scientific(value: f64, fraction: usize) -> String {
    let text = format!("{value:.fraction$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |it| ('-', it));
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// A text as a literal.
fn quoted(text: &str) -> String {
    let inner: String = text
        .chars()
        .map(|letter| match letter {
            '\x07' => "\\a".to_owned(),
            '\x08' => "\\b".to_owned(),
            '\x0b' => "\\v".to_owned(),
            '\x0c' => "\\f".to_owned(),
            '\n' => "\\n".to_owned(),
            '\r' => "\\r".to_owned(),
            '\t' => "\\t".to_owned(),
            '"' => "\\\"".to_owned(),
            '\\' => "\\\\".to_owned(),
            other => other.to_string(),
        })
        .collect();
    format!("\"{inner}\"")
}

/// A value inside a text, with those inside it.
fn shown(value: &Val<'_>) -> String {
    match value {
        Val::List(list) => {
            let items: Vec<String> = list.items().iter().map(shown).collect();
            format!("[{}]", items.join(", "))
        }
        Val::Map(map) => {
            let mut pairs: Vec<String> = map
                .pairs()
                .iter()
                .map(|(key, value)| format!("{}: {}", shown(key), shown(value)))
                .collect();
            pairs.sort();
            format!("{{{}}}", pairs.join(", "))
        }
        Val::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Val::Double(it) if it.is_infinite() => {
            (if *it > 0.0 { "Infinity" } else { "-Infinity" }).to_owned()
        }
        other => written(other),
    }
}

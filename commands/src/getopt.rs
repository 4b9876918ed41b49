//! Command lines as GNU's `getopt_long` reads them: Slurm's commands do, and their users know it.
//!
//! ```text
//!   -hla            three flags            --form=%i   a prefix is enough while it is unique
//!   -p main -pmain  a value either way     --jobs 7    an optional value must be glued: --jobs=7
//!   flags and words in any order           --          words alone from here on
//! ```

use crate::flags::{Flag, Takes};

/// A command line that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// Flags in order: the first of their long names, and the value.
    pub flags: Vec<(&'static str, Option<String>)>,
    /// Everything else.
    pub words: Vec<String>,
}

/// Reads a command line. What is wrong is said as the C library says it, without the program's name.
pub fn parse(flags: &'static [Flag], args: &[String]) -> Result<Parsed, String> {
    read(flags, args, false)
}

/// The same, but the first word ends the flags: it and what follows are somebody else's.
pub fn parse_until_word(flags: &'static [Flag], args: &[String]) -> Result<Parsed, String> {
    read(flags, args, true)
}

fn read(flags: &'static [Flag], args: &[String], until_word: bool) -> Result<Parsed, String> {
    let mut parsed = Parsed::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--" {
            break;
        }
        if let Some(long) = arg.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            let (spelt, flag) = find_long(flags, name)?;
            let value = long_value(spelt, flag, value, || args.next().cloned())?;
            parsed.flags.push((flag.key(), value));
        } else if let Some(letters) = arg.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            read_letters(flags, letters, &mut parsed, || args.next().cloned())?;
        } else {
            parsed.words.push(arg.clone());
            if until_word {
                break;
            }
        }
    }
    parsed.words.extend(args.cloned());
    Ok(parsed)
}

fn read_letters(
    flags: &'static [Flag],
    letters: &str,
    parsed: &mut Parsed,
    mut next: impl FnMut() -> Option<String>,
) -> Result<(), String> {
    let mut rest = letters;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        let flag = flags.iter().find(|flag| flag.letters.contains(letter));
        let flag = flag.ok_or_else(|| format!("invalid option -- '{letter}'"))?;
        let glued = (!rest.is_empty()).then(|| rest.to_owned());
        let value = match flag.takes {
            Takes::Nothing => {
                parsed.flags.push((flag.key(), None));
                continue;
            }
            Takes::Maybe(_) => glued,
            Takes::Value(_) => Some(
                glued
                    .or_else(&mut next)
                    .ok_or_else(|| format!("option requires an argument -- '{letter}'"))?,
            ),
        };
        parsed.flags.push((flag.key(), value));
        break;
    }
    Ok(())
}

/// The flag of this name, or of the only names that begin so.
fn find_long(flags: &'static [Flag], name: &str) -> Result<(&'static str, &'static Flag), String> {
    let names = || flags.iter().flat_map(|flag| flag.names.iter().map(move |name| (*name, flag)));
    if let Some(exact) = names().find(|(long, _)| *long == name) {
        return Ok(exact);
    }
    let candidates: Vec<_> = names().filter(|(long, _)| long.starts_with(name)).collect();
    match candidates.as_slice() {
        [] => Err(format!("unrecognized option '--{name}'")),
        [first, others @ ..] if others.iter().all(|other| std::ptr::eq(other.1, first.1)) => {
            Ok(*first)
        }
        several => {
            let several: Vec<_> = several.iter().map(|(long, _)| format!("'--{long}'")).collect();
            let several = several.join(" ");
            Err(format!("option '--{name}' is ambiguous; possibilities: {several}"))
        }
    }
}

fn long_value(
    name: &str,
    flag: &Flag,
    glued: Option<String>,
    next: impl FnOnce() -> Option<String>,
) -> Result<Option<String>, String> {
    match (flag.takes, glued) {
        (Takes::Nothing, Some(_)) => Err(format!("option '--{name}' doesn't allow an argument")),
        (Takes::Nothing, None) | (Takes::Maybe(_), None) => Ok(None),
        (Takes::Maybe(_) | Takes::Value(_), Some(value)) => Ok(Some(value)),
        (Takes::Value(_), None) => {
            let value = next();
            value.map(Some).ok_or_else(|| format!("option '--{name}' requires an argument"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::flag;

    static FLAGS: &[Flag] = &[
        flag(&["all"], "a", Takes::Nothing, ""),
        flag(&["array"], "r", Takes::Nothing, ""),
        flag(&["format"], "o", Takes::Value("F"), ""),
        flag(&["jobs"], "j", Takes::Maybe("J"), ""),
        flag(&["node", "nodes", "nodelist"], "w", Takes::Value("N"), ""),
    ];

    fn read(line: &str) -> String {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match parse(FLAGS, &args) {
            Ok(parsed) => {
                let flags = parsed.flags.iter().map(|(name, value)| match value {
                    Some(value) => format!("{name}={value}"),
                    None => (*name).to_owned(),
                });
                flags.chain(parsed.words.iter().map(|word| format!("<{word}>"))).collect::<Vec<_>>()
            }
            .join(" "),
            Err(wrong) => wrong,
        }
    }

    #[test]
    fn command_lines_are_read_as_the_c_library_does() {
        let rows = [
            ("-ar", "all array"),
            ("-o%i -ofoo", "format=%i format=foo"),
            ("-aro %i", "all array format=%i"),
            ("--format %i --form=%j", "format=%i format=%j"),
            ("-j 7", "jobs <7>"),
            ("-j7,8 --jobs=9 --jobs", "jobs=7,8 jobs=9 jobs"),
            ("one -a two", "all <one> <two>"),
            ("-a -- -r", "all <-r>"),
            ("- -a", "all <->"),
            ("--nod=n1 --nodel=n2", "node=n1 node=n2"),
            ("--al", "all"),
            ("--a", "option '--a' is ambiguous; possibilities: '--all' '--array'"),
            ("--nope", "unrecognized option '--nope'"),
            ("--nope=3", "unrecognized option '--nope'"),
            ("-x", "invalid option -- 'x'"),
            ("-o", "option requires an argument -- 'o'"),
            ("--format", "option '--format' requires an argument"),
            ("--all=1", "option '--all' doesn't allow an argument"),
        ];
        for (line, expected) in rows {
            assert_eq!(read(line), expected, "{line}");
        }
    }
}

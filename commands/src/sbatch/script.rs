//! A batch script: where it comes from, what it must look like, the options in it.

use crate::shell::{Outcome, Quit, Shell};

/// The script's text, and what the job is called if nobody says.
pub(crate) struct Script {
    pub(crate) text: String,
    pub(crate) name: String,
}

impl Script {
    /// A command line as a script.
    pub(crate) fn wrapped(command: &str) -> Self {
        let text = format!("#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{command}\n");
        Self { text, name: "wrap".to_owned() }
    }

    /// The script of this file, or from standard input.
    pub(crate) fn read(shell: &mut Shell<'_>, file: Option<&str>) -> Outcome<Self> {
        let (bytes, name) = match file {
            Some(file) => {
                let path = if file.starts_with('/') {
                    file.to_owned()
                } else {
                    format!("{}/{file}", shell.cwd)
                };
                let Ok(bytes) = shell.world.read_file(&path) else {
                    return shell.fail(&format!("Unable to open file {file}"));
                };
                (bytes, file.rsplit('/').next().unwrap_or(file).to_owned())
            }
            None => {
                let mut bytes = vec![];
                if shell.world.stdin().read_to_end(&mut bytes).is_err() {
                    return shell.fail("Unable to read standard input");
                }
                (bytes, "sbatch".to_owned())
            }
        };
        Self::checked(shell, bytes, name)
    }

    fn checked(shell: &mut Shell<'_>, bytes: Vec<u8>, name: String) -> Outcome<Self> {
        if bytes.is_empty() {
            return shell.fail("Batch script is empty!");
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return shell.fail("Batch script contains only whitespace!");
        }
        if !bytes.starts_with(b"#!") {
            shell.error("This does not look like a batch script.  The first");
            shell.error("line must start with #! followed by the path to an interpreter.");
            return shell.fail("For instance: #!/bin/sh");
        }
        if bytes.contains(&0) {
            shell.error("The Slurm controller does not allow scripts that");
            return shell.fail("contain a NULL character '\\0'.");
        }
        if bytes.windows(2).any(|pair| pair == b"\r\n") {
            shell.error("Batch script contains DOS line breaks (\\r\\n)");
            return shell.fail("instead of expected UNIX line breaks (\\n).");
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { text, name }),
            Err(_) => shell.fail("Batch script isn't UTF-8, as slurmrestd's JSON must be."),
        }
    }

    /// The words of its `#SBATCH` lines: they end at the first command.
    pub(crate) fn options(&self, shell: &mut Shell<'_>) -> Outcome<Vec<String>> {
        let mut all = vec![];
        for (number, line) in self.text.lines().enumerate().skip(1) {
            let line = line.trim_end();
            if let Some(rest) = line.strip_prefix("#SBATCH") {
                let Some(found) = words(rest) else {
                    let line = number + 1;
                    shell.error(&format!("Unmatched quote in the script's line {line}"));
                    return Err(Quit(255));
                };
                all.extend(found);
            } else if !line.trim_start().is_empty() && !line.trim_start().starts_with('#') {
                break;
            }
        }
        Ok(all)
    }
}

/// The words of a line: blanks separate, quotes hold together, `#` ends it, `\` takes the next as it is.
/// `None` if a quote isn't closed.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = vec![];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (None, '#') if word.is_none() => break,
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_options_is_taken_apart_as_a_shell_would() {
        let rows: [(&str, Option<&[&str]>); 7] = [
            (" -n 4 --mem=1G", Some(&["-n", "4", "--mem=1G"])),
            (" --comment=\"a b\" -J 'x y'", Some(&["--comment=a b", "-J", "x y"])),
            (" -p main # the usual", Some(&["-p", "main"])),
            (" -J a#b", Some(&["-J", "a#b"])),
            (" -J a\\ b", Some(&["-J", "a b"])),
            ("", Some(&[])),
            (" -J \"open", None),
        ];
        for (line, expected) in rows {
            let expected =
                expected.map(|words| words.iter().map(|word| (*word).to_owned()).collect());
            assert_eq!(words(line), expected, "{line}");
        }
    }
}

//! `--junit FILE`: results as the XML that CI systems read.

use std::{fmt::Write, fs, path::Path};

use drawbridge_scenarios::{Report, Run};

use crate::failure::Failure;

pub(crate) fn write(path: &Path, runs: &[Run], differing: &[String]) -> Result<(), Failure> {
    fs::write(path, render(runs, differing))
        .map_err(|error| Failure::path(path, error, "give a file that can be written"))
}

/// What was looked at, and what was found instead if it failed.
type Case = (String, Option<String>);

/// One suite per scenario, and one for snapshots that differ.
fn render(runs: &[Run], differing: &[String]) -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"drawbridge\">\n",
    );
    for run in runs {
        suite(&mut xml, &run.report.scenario, &cases(&run.report));
    }
    if !differing.is_empty() {
        let cases =
            differing.iter().map(|it| ("the story is as kept".to_owned(), Some(it.clone())));
        suite(&mut xml, "snapshots", &cases.collect::<Vec<_>>());
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// One case per expectation, one for the steps and one for the laws.
fn cases(report: &Report) -> Vec<Case> {
    let expected = report.expectations.iter().map(|it| {
        let seen = it.detail.clone().unwrap_or("it was not so".to_owned());
        (it.text.clone(), (!it.passed).then_some(seen))
    });
    let all_of = |text: &str, wrong: &[String]| {
        (text.to_owned(), (!wrong.is_empty()).then(|| wrong.join("; ")))
    };
    let steps = all_of("no step is refused", &report.refused);
    let laws = all_of("no law is broken", &report.violations);
    expected.chain([steps, laws]).collect()
}

fn suite(xml: &mut String, name: &str, cases: &[Case]) {
    let (name, n) = (escape(name), cases.len());
    let n_failed = cases.iter().filter(|(_, failed)| failed.is_some()).count();
    // Writing to a String can't fail.
    let _ = writeln!(xml, "  <testsuite name=\"{name}\" tests=\"{n}\" failures=\"{n_failed}\">");
    for (text, failed) in cases {
        let case = format!("<testcase classname=\"{name}\" name=\"{}\"", escape(text));
        let _ = match failed {
            None => writeln!(xml, "    {case}/>"),
            Some(seen) => {
                writeln!(xml, "    {case}><failure message=\"{}\"/></testcase>", escape(seen))
            }
        };
    }
    xml.push_str("  </testsuite>\n");
}

/// Text as an XML attribute may hold it; control characters have no place there.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            char if char.is_control() => escaped.push('\u{fffd}'),
            char => escaped.push(char),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_for_attributes() {
        assert_eq!(escape("a<b & \"c\"\n\u{7}"), "a&lt;b &amp; &quot;c&quot;&#10;\u{fffd}");
    }
}

//! `--junit FILE`: results as the XML that CI systems read.

use std::{fmt::Write, fs, path::Path};

use drawbridge_scenarios::Run;

use crate::failure::Failure;

pub(crate) fn write(path: &Path, runs: &[Run]) -> Result<(), Failure> {
    fs::write(path, render(runs))
        .map_err(|error| Failure::path(path, error, "give a file that can be written"))
}

/// One suite per scenario, one case per expectation, and one for the laws.
fn render(runs: &[Run]) -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"drawbridge\">\n",
    );
    runs.iter().for_each(|run| suite(&mut xml, run));
    xml.push_str("</testsuites>\n");
    xml
}

fn suite(xml: &mut String, run: &Run) {
    let report = &run.report;
    let name = escape(&report.scenario);
    let cases: Vec<(&str, Option<&str>)> = report
        .expectations
        .iter()
        .map(|it| {
            (it.text.as_str(), (!it.passed).then(|| it.detail.as_deref().unwrap_or("failed")))
        })
        .collect();
    let broken = report.violations.join("; ");
    let laws = ("no law is broken", (!report.violations.is_empty()).then_some(broken.as_str()));
    let cases: Vec<_> = cases.into_iter().chain([laws]).collect();
    let n_failed = cases.iter().filter(|(_, failed)| failed.is_some()).count();
    // Writing to a String can't fail.
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{n_failed}\">",
        cases.len()
    );
    for (text, failed) in cases {
        let text = escape(text);
        let _ = match failed {
            None => writeln!(xml, "    <testcase classname=\"{name}\" name=\"{text}\"/>"),
            Some(detail) => writeln!(
                xml,
                "    <testcase classname=\"{name}\" name=\"{text}\"><failure message=\"{}\"/></testcase>",
                escape(detail)
            ),
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

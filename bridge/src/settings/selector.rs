//! A selector of labels as kubectl writes it: `a=b,c!=d,e in (f,g),h,!i`.

use drawbridge_core::{LabelExpression, LabelSelector};

use crate::config::{is_label_key, is_label_value};

/// Reads a selector; says what is wrong with it.
pub(super) fn parse(text: &str) -> Result<LabelSelector, String> {
    let mut selector = LabelSelector::default();
    for part in parts(text)? {
        match requirement(part)? {
            Requirement::Label(key, value) => drop(selector.match_labels.insert(key, value)),
            Requirement::Expression(expression) => selector.match_expressions.push(expression),
        }
    }
    Ok(selector)
}

enum Requirement {
    Label(String, String),
    Expression(LabelExpression),
}

/// Splits at commas that aren't in brackets.
fn parts(text: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut from, mut is_open) = (vec![], 0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' if !is_open => is_open = true,
            ')' if is_open => is_open = false,
            '(' | ')' => return Err(format!("the brackets of `{text}` don't match")),
            ',' if !is_open => {
                parts.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    if is_open {
        return Err(format!("the brackets of `{text}` don't match"));
    }
    parts.push(text[from..].trim());
    Ok(parts)
}

fn requirement(part: &str) -> Result<Requirement, String> {
    if part.is_empty() {
        return Err("a requirement is empty".to_owned());
    }
    if let Some(key) = part.strip_prefix('!') {
        return expression(key, "DoesNotExist", &[]);
    }
    if let Some((key, value)) = part.split_once("!=") {
        return expression(key, "NotIn", &[value]);
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        let (key, value) = (checked_key(key)?, checked_value(value)?);
        return Ok(Requirement::Label(key, value));
    }
    let Some((key, rest)) = part.split_once(char::is_whitespace) else {
        return expression(part, "Exists", &[]);
    };
    let rest = rest.trim();
    let (operator, list) = match (rest.strip_prefix("in"), rest.strip_prefix("notin")) {
        (_, Some(list)) => ("NotIn", list),
        (Some(list), None) => ("In", list),
        (None, None) => return Err(format!("`{part}` isn't a requirement")),
    };
    let list = list.trim().strip_prefix('(').and_then(|list| list.strip_suffix(')'));
    let list = list.ok_or_else(|| format!("`{part}` has no values in brackets"))?;
    let values: Vec<&str> = list.split(',').collect();
    expression(key, operator, &values)
}

fn expression(key: &str, operator: &str, values: &[&str]) -> Result<Requirement, String> {
    let values = values.iter().map(|value| checked_value(value)).collect::<Result<_, _>>()?;
    let (key, operator) = (checked_key(key)?, operator.to_owned());
    Ok(Requirement::Expression(LabelExpression { key, operator, values }))
}

fn checked_key(key: &str) -> Result<String, String> {
    let key = key.trim();
    match is_label_key(key) {
        true => Ok(key.to_owned()),
        false => Err(format!("`{key}` can't be the name of a label")),
    }
}

fn checked_value(value: &str) -> Result<String, String> {
    let value = value.trim();
    match is_label_value(value) {
        true => Ok(value.to_owned()),
        false => Err(format!("`{value}` can't be the value of a label")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_kubectl_is_read() {
        let selector =
            parse("slurm.managed=true,a==b, c != d,e in (f, g),h notin (i),j,!k").unwrap();
        let labels: Vec<_> =
            selector.match_labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(labels, ["a=b", "slurm.managed=true"]);
        let each = selector.match_expressions.iter();
        let each: Vec<_> =
            each.map(|one| format!("{} {} {:?}", one.key, one.operator, one.values)).collect();
        insta::assert_snapshot!(each.join("\n"), @r#"
        c NotIn ["d"]
        e In ["f", "g"]
        h NotIn ["i"]
        j Exists []
        k DoesNotExist []
        "#);
    }

    #[test]
    fn what_is_no_selector_is_said() {
        let told: Vec<_> =
            ["", "a=b,", "a in b", "a in (b", "a b", "a b=c", "=b", "a=b c", "a in (b c)", "a)("]
                .into_iter()
                .map(|text| format!("{text:12} {}", parse(text).unwrap_err()))
                .collect();
        insta::assert_snapshot!(told.join("\n"), @"
                     a requirement is empty
        a=b,         a requirement is empty
        a in b       `a in b` has no values in brackets
        a in (b      the brackets of `a in (b` don't match
        a b          `a b` isn't a requirement
        a b=c        `a b` can't be the name of a label
        =b           `` can't be the name of a label
        a=b c        `b c` can't be the value of a label
        a in (b c)   `b c` can't be the value of a label
        a)(          the brackets of `a)(` don't match
        ");
    }
}

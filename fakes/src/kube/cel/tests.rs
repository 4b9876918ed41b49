//! Expressions and what they give.

use serde_json::json;

use super::{functions::written, *};

/// What an expression gives, as an expression would write it; or the error.
fn value(text: &str) -> String {
    let program = match Program::compile(text, &[]) {
        Ok(program) => program,
        Err(why) => return why.lines().next().unwrap_or("").replace("compilation failed: ", ""),
    };
    program.run(&[]).map_or_else(|why| format!("error: {why}"), |it| written(&it))
}

#[test]
fn expressions_give_what_they_say() {
    let table = [
        ("1 + 2 * 3", "7"),
        ("true && false || !false", "true"),
        ("'a' + \"b\"", "ab"),
        ("size('añb')", "3"),
        ("[1, 2, 3].all(x, x > 0)", "true"),
        ("[1, 2, 3].map(x, x > 1, x * 2) == [4, 6]", "true"),
        ("{'a': 1}.exists(k, k == 'a')", "true"),
        ("{'a': 1}.transformMap(k, v, v + 1)['a']", "2"),
        ("[3, 1, 2].sortBy(x, -x) == [3, 2, 1]", "true"),
        ("[1, 2].sum() + [4, 9].max() - [4, 9].min()", "8"),
        ("'a,b'.split(',').join('-')", "a-b"),
        ("'%s has %d of %.1f'.format(['x', 3, 2.5])", "x has 3 of 2.5"),
        ("'abc'.matches('^a.c$')", "true"),
        ("quantity('1Gi').isGreaterThan(quantity('1000M'))", "true"),
        ("quantity('1500m').add(quantity('500m')).asInteger()", "2"),
        ("isQuantity('1.5.5')", "false"),
        ("url('https://a.example:8443/x?y=1').getPort()", "8443"),
        ("cidr('10.0.0.0/8').containsIP('10.2.3.4')", "true"),
        ("semver('1.2.3-rc.1').isLessThan(semver('1.2.3'))", "true"),
        ("sets.contains([1, 2, 3], [2])", "true"),
        ("duration('90m').getHours()", "1"),
        ("timestamp('2026-11-16T14:00:00Z').getDayOfWeek()", "1"),
        ("string(timestamp('2026-11-16T14:00:00Z') + duration('1h'))", "2026-11-16T15:00:00Z"),
        ("optional.none().orValue('x')", "x"),
        ("{'a': {'b': 1}}[?'a'].?b.orValue(0)", "1"),
        ("has({'a': 1}.a) && !has({'a': 1}.b)", "true"),
        ("format.dns1123Label().validate('A').hasValue()", "true"),
        ("9223372036854775807 + 1", "error: integer overflow"),
        ("1 / 0", "error: division by zero"),
        ("[1][1]", "error: index out of bounds: 1"),
        ("{'a': 1}['b']", "error: no such key: b"),
        // One decisive side settles it, whatever the other is.
        ("false && 1 / 0 == 1", "false"),
        ("1 / 0 == 1 || true", "true"),
    ];
    for (text, wanted) in table {
        assert_eq!(value(text), wanted, "{text}");
    }
}

#[test]
fn what_cannot_work_is_said_where_it_stands() {
    let table = [
        ("1 +", "ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>'"),
        ("foo == 1", "ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')"),
        ("'a'.shout()", "ERROR: <input>:1:4: undeclared reference to 'shout' (in container '')"),
        (
            "'a' + 1",
            "ERROR: <input>:1:5: found no matching overload for '_+_' applied to '(string, int)'",
        ),
        (
            "'a'.contains(1)",
            "ERROR: <input>:1:4: found no matching overload for 'contains' applied to \
             'string.(int)'",
        ),
        ("[1, 'a']", "ERROR: <input>:1:5: expected type 'int' but found 'string'"),
        (
            "'a'.matches('(')",
            "ERROR: <input>:1:4: invalid matches argument: error parsing regexp: regex parse error:",
        ),
        ("'abc", "ERROR: <input>:1:1: Syntax error: the string has no end"),
        ("1 = 2", "ERROR: <input>:1:3: Syntax error: token recognition error at: '='"),
    ];
    for (text, wanted) in table {
        assert_eq!(value(text), wanted, "{text}");
    }
}

#[test]
fn a_schema_says_which_fields_there_are_and_what_they_are() {
    let schema = json!({"type": "object", "properties": {
        "replicas": {"type": "integer"},
        "share": {"type": "number"},
        "when": {"type": "string", "format": "date-time"},
        "port": {"x-kubernetes-int-or-string": true},
        "max-size": {"type": "string"},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    }});
    let object = json!({
        "replicas": 3, "share": 1, "when": "2026-01-02T03:04:05Z", "port": "http", "max-size": "1Gi",
        "tags": ["a", "b"], "labels": {"x": "y"},
    });
    let shape = Shape::Schema(&schema);
    let judge = |text: &str| {
        let program = Program::compile(text, &[("self", shape.kind())]);
        let program = program.map_err(|why| why.lines().next().unwrap_or("").to_owned())?;
        if program.gives() != "bool" {
            return Err(format!("gives {}", program.gives()));
        }
        program.run(&[("self", shape.read(&object))]).map(|it| written(&it))
    };
    for text in [
        "self.replicas == 3 && self.share < 1.5",
        "self.when < timestamp('2027-01-01T00:00:00Z')",
        "self.port == 'http' || self.port == 80",
        "quantity(self.max__dash__size).isGreaterThan(quantity('1M'))",
        "self.tags == ['b', 'a'] && self.labels.x == 'y' && 'x' in self.labels",
        "!has(self.labels.z) && self.labels.all(k, k.size() == 1)",
    ] {
        assert_eq!(judge(text), Ok("true".to_owned()), "{text}");
    }
    for (text, wanted) in [
        ("self.nothing", "undefined field 'nothing'"),
        (
            "self.replicas == 'x'",
            "found no matching overload for '_==_' applied to '(int, string)'",
        ),
        ("self.replicas", "gives int"),
    ] {
        let why = judge(text).unwrap_err();
        assert!(why.ends_with(wanted), "{text}: {why}");
    }
}

#[test]
fn depth_and_work_are_bounded() {
    let deep = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(value(&deep).ends_with("expression recursion limit exceeded: 40"), "{}", value(&deep));
    let long = format!("1{}", " + 1".repeat(5000));
    assert!(value(&long).ends_with("expression recursion limit exceeded: 200"), "{}", value(&long));
    let many = format!("true{}", " && true".repeat(5000));
    assert_eq!(value(&many), "true");
    let work = "lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, true)))";
    assert_eq!(value(work), "error: operation cancelled: actual cost limit exceeded");
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[ a-c0-9.'\"()\\[\\]{}?:,+*/%!&|<>=-]{0,40}") {
        value(&text);
    }
}

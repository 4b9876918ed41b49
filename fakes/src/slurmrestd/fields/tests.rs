//! What a body says, and what slurmrestd says about it.

use std::sync::LazyLock;

use drawbridge_sim::Release;
use serde_json::json;

use super::*;

static OF: LazyLock<Type> = LazyLock::new(|| Type::parse("@v0.0.42_job_desc_msg").unwrap());

fn read(version: Version, object: &Value) -> Body {
    let mut body = Body::default();
    let reader = Reader { table: Table::of(Release::V24_11), version };
    body.fields = body.dict(reader, &OF, "#/job/", object);
    body
}

fn talk(object: &Value) -> String {
    talk_in(Version::V42, object)
}

fn talk_in(version: Version, object: &Value) -> String {
    let body = read(version, object);
    let mut said = format!("{:?}", body.fields.values);
    for Warning { description, source } in &body.warnings {
        said.push_str(&format!("\n{source} {description}"));
    }
    for trouble in &body.troubles {
        said.push_str(&format!("\n{} {}", trouble.number, trouble.description));
    }
    if body.broken {
        said.push_str("\nbroken");
    }
    said
}

#[test]
fn the_right_types_are_taken_without_a_word() {
    insta::assert_snapshot!(talk(&json!({
        "name": "a", "tasks": 2, "hold": true, "excluded_nodes": ["n1", "n2"],
        "time_limit": {"set": true, "number": 60},
    })), @r#"{"excluded_nodes": List(["n1", "n2"]), "hold": Flag(true), "name": Text("a"), "tasks": Int(2), "time_limit": Number(Is(60))}"#);
}

#[test]
fn a_plain_number_or_flag_needs_no_wrapping() {
    let same = r#"{"shared": List(["none"]), "time_limit": Number(Is(60))}"#;
    assert_eq!(talk(&json!({"time_limit": 60, "shared": "none"})), same);
    assert_eq!(talk(&json!({"time_limit": "60", "shared": ["none"]})), same);
}

#[test]
fn an_unknown_flag_is_an_error_that_stops_nothing() {
    insta::assert_snapshot!(talk(&json!({"shared": ["bogus", "user"]})), @r#"
    {"shared": List(["user"])}
    9207 Unknown flag "bogus"
    "#);
}

#[test]
fn a_number_inside_a_number_is_looked_at_too() {
    insta::assert_snapshot!(talk(&json!({"time_limit": {"set": true, "number": "x"}})), @r#"
    {}
    #/job/time_limit/number/ Expected OpenAPI type=integer format=int64 (Slurm type=64 bit integer) but got OpenAPI type=string (Slurm type=string): "x"
    broken
    "#);
}

#[test]
fn what_can_be_converted_is_taken_with_a_warning() {
    insta::assert_snapshot!(talk(&json!({"tasks": "4", "name": 7, "excluded_nodes": "n1,n2"})), @r#"
    {"excluded_nodes": List(["n1", "n2"]), "name": Text("7"), "tasks": Int(4)}
    #/job/excluded_nodes/ Expected OpenAPI type=array (Slurm type=list) but got OpenAPI type=string (Slurm type=string): "n1,n2"
    #/job/name/ Expected OpenAPI type=string (Slurm type=string) but got OpenAPI type=integer (Slurm type=64 bit integer): 7
    #/job/tasks/ Expected OpenAPI type=integer format=int32 (Slurm type=64 bit integer) but got OpenAPI type=string (Slurm type=string): "4"
    "#);
}

#[test]
fn what_cannot_be_converted_breaks_the_request_without_an_error() {
    insta::assert_snapshot!(talk(&json!({"tasks": "abc"})), @r#"
    {}
    #/job/tasks/ Expected OpenAPI type=integer format=int32 (Slurm type=64 bit integer) but got OpenAPI type=string (Slurm type=string): "abc"
    broken
    "#);
}

#[test]
fn the_oldest_version_does_not_show_the_value() {
    insta::assert_snapshot!(talk_in(Version::V40, &json!({"tasks": "abc"})), @r#"
    {}
    #/job/tasks/ Expected OpenAPI type=integer format=int32 (Slurm type=64 bit integer) but got OpenAPI type=string (Slurm type=string)
    broken
    "#);
}

#[test]
fn unknown_fields_are_ignored_with_a_warning() {
    insta::assert_snapshot!(talk(&json!({"exclusive": ["true"]})), @r#"
    {}
    #/job/exclusive/ Ignoring unknown field "exclusive" of type list in DATA_PARSER_JOB_DESC_MSG
    "#);
}

#[test]
fn what_nobody_honours_is_named_unless_it_asks_for_nothing() {
    let uses = Uses { honoured: &["name"], noted: &["mail_user"] };
    let beyond = |object: Value| read(Version::V42, &object).fields.beyond(uses);
    assert_eq!(beyond(json!({"name": "a", "mail_user": "b"})), None);
    assert_eq!(beyond(json!({"burst_buffer": "x"})), Some("burst_buffer"));
    assert_eq!(beyond(json!({"burst_buffer": "", "contiguous": false, "reserve_ports": 0})), None);
}

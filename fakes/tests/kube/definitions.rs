//! CustomResourceDefinitions: what they accept, what their objects may be.

use drawbridge_fakes::KubeApi;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::talk::{server, talk};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const THINGS: &str = "/apis/example.org/v1/namespaces/default/things";

/// A definition of things whose spec has these properties.
fn definition(spec: &Value) -> Value {
    let schema = json!({"type": "object", "properties": {
        "spec": spec, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }});
    json!({"metadata": {"name": "things.example.org"}, "spec": {
        "group": "example.org", "scope": "Namespaced",
        "names": {"kind": "Thing", "plural": "things", "shortNames": ["th"]},
        "versions": [{
            "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": schema},
        }],
    }})
}

/// A server that knows things, and what it said to their definition.
fn with(crd: &Value) -> (KubeApi, String) {
    let mut api = server();
    let said = talk(&mut api, &format!("POST {CRDS} {crd}"));
    (api, said.replace(CRDS, "crds"))
}

#[allow(clippy::needless_pass_by_value, reason = "it is built where it is given")]
fn spec_of(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

#[test]
fn values_are_judged_in_the_servers_words() {
    let (mut api, _) = with(&definition(&spec_of(json!({
        "size": {"type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 2},
        "share": {"type": "number", "minimum": 0, "exclusiveMinimum": true},
        "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
        "mode": {"type": "string", "enum": ["a", "b"]},
        "when": {"type": "string", "format": "date-time"},
        "port": {"x-kubernetes-int-or-string": true},
        "tags": {"type": "array", "maxItems": 2, "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "either": {"type": "object", "oneOf": [{"required": ["x"]}, {"required": ["y"]}],
            "properties": {"x": {"type": "string"}, "y": {"type": "string"}}},
    }))));
    let mut said = String::new();
    for spec in [
        json!({"size": 3}),
        json!({"size": 10}),
        json!({"size": "3"}),
        json!({"share": 0}),
        json!({"name": "A"}),
        json!({"name": "abcdefg"}),
        json!({"mode": "c"}),
        json!({"when": "yesterday"}),
        json!({"port": true}),
        json!({"tags": ["x", "x"]}),
        json!({"tags": ["x", "y", "z"]}),
        json!({"either": {}}),
        json!({"either": {"x": "1", "y": "2"}}),
        json!({"size": 2, "share": 0.5, "name": "ab", "mode": "a", "port": "http", "tags": ["x"], "either": {"x": "1"}}),
    ] {
        said += &talk(
            &mut api,
            &format!("POST {THINGS} {}", json!({"metadata": {"name": "t"}, "spec": spec})),
        );
    }
    let said =
        said.replace("POST things: ", "").replace("Thing.example.org \"t\" is invalid: ", "");
    assert_snapshot!(said, @r#"
    422 Invalid: spec.size: Invalid value: 3: spec.size in body should be a multiple of 2
    422 Invalid: spec.size: Invalid value: 10: spec.size in body should be less than or equal to 9
    422 Invalid: spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"
    422 Invalid: spec.share: Invalid value: 0: spec.share in body should be greater than 0
    422 Invalid: spec.name: Invalid value: "A": spec.name in body should match '^[a-z]+$'
    422 Invalid: spec.name: Too long: may not be more than 5 bytes
    422 Invalid: spec.mode: Unsupported value: "c": supported values: "a", "b"
    422 Invalid: spec.when: Invalid value: "yesterday": spec.when in body must be of type date-time: "yesterday"
    422 Invalid: spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"
    422 Invalid: spec.tags[1]: Duplicate value: "x"
    422 Invalid: spec.tags: Too many: 3: must have at most 2 items
    422 Invalid: spec.either: Invalid value: {}: spec.either in body must validate one and only one schema (oneOf). Found none valid
    422 Invalid: spec.either: Invalid value: {"x":"1","y":"2"}: spec.either in body must validate one and only one schema (oneOf). Found 2 valid alternatives
    201 Thing t rv 8
    "#);
}

#[test]
fn rules_are_evaluated_with_what_was_there_before() {
    let mut spec = spec_of(json!({
        "least": {"type": "integer"}, "most": {"type": "integer"},
        "class": {"type": "string", "x-kubernetes-validations": [
            {"rule": "self == oldSelf", "message": "class may not change"},
        ]},
        "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"}, "size": {"type": "integer", "x-kubernetes-validations": [
                    {"rule": "self >= oldSelf", "messageExpression": "'may not shrink from ' + string(oldSelf)"},
                ]},
            }}},
    }));
    spec["x-kubernetes-validations"] = json!([
        {"rule": "!has(self.least) || !has(self.most) || self.least <= self.most", "fieldPath": ".least", "reason": "FieldValueForbidden", "message": "least is more than most"},
        {"rule": "size(self.parts) < 4"},
    ]);
    let (mut api, _) = with(&definition(&spec));
    let said = talk(
        &mut api,
        &format!(
            r#"
        POST {THINGS} {{"metadata":{{"name":"a"}},"spec":{{"least":2,"most":1,"parts":[]}}}}
        POST {THINGS} {{"metadata":{{"name":"a"}},"spec":{{"least":1}}}}
        POST {THINGS} {{"metadata":{{"name":"a"}},"spec":{{"class":"x","parts":[{{"name":"p","size":3}}]}}}}
        MERGE {THINGS}/a {{"spec":{{"class":"y"}}}}
        MERGE {THINGS}/a {{"spec":{{"parts":[{{"name":"q","size":1}},{{"name":"p","size":2}}]}}}}
        MERGE {THINGS}/a {{"spec":{{"parts":[{{"name":"q","size":1}},{{"name":"p","size":4}}]}}}} ?? spec.parts
    "#
        ),
    );
    assert_snapshot!(said, @r#"
    POST things: 422 Invalid: Thing.example.org "a" is invalid: spec.least: Forbidden: least is more than most
    POST things: 422 Invalid: Thing.example.org "a" is invalid: spec: Invalid value: "object": no such key: parts evaluating rule: size(self.parts) < 4
    POST things: 201 Thing a rv 8
    MERGE things/a: 422 Invalid: Thing.example.org "a" is invalid: spec.class: Invalid value: "y": class may not change
    MERGE things/a: 422 Invalid: Thing.example.org "a" is invalid: spec.parts[1].size: Invalid value: 2: may not shrink from 3
    MERGE things/a: 200 Thing a rv 9 spec.parts=[{"name":"q","size":1},{"name":"p","size":4}]
    "#);
}

#[test]
fn what_was_wrong_before_may_stay_as_it_is() {
    let (mut api, _) = with(&definition(&spec_of(
        json!({"name": {"type": "string"}, "other": {"type": "string"}}),
    )));
    talk(
        &mut api,
        &format!(r#"POST {THINGS} {{"metadata":{{"name":"a"}},"spec":{{"name":"long"}}}}"#),
    );
    let strict =
        spec_of(json!({"name": {"type": "string", "maxLength": 2}, "other": {"type": "string"}}));
    let mut crd = definition(&strict);
    crd["metadata"]["resourceVersion"] = api
        .get("customresourcedefinitions.apiextensions.k8s.io", "", "things.example.org")
        .unwrap()["metadata"]["resourceVersion"]
        .clone();
    let said = talk(
        &mut api,
        &format!(
            r#"
        PUT {CRDS}/things.example.org {crd}
        MERGE {THINGS}/a {{"spec":{{"other":"x"}}}} ?? spec
        MERGE {THINGS}/a {{"spec":{{"name":"longer"}}}}
    "#
        ),
    );
    assert_snapshot!(said.replace(CRDS, "crds"), @r#"
    PUT crds/things.example.org: 200 CustomResourceDefinition things.example.org rv 9
    MERGE things/a: 200 Thing a rv 10 spec={"name":"long","other":"x"}
    MERGE things/a: 422 Invalid: Thing.example.org "a" is invalid: spec.name: Too long: may not be more than 2 bytes
    "#);
}

#[test]
fn definitions_that_cannot_work_are_refused_where_they_are_wrong() {
    let mut said = String::new();
    let object = |properties: Value| spec_of(properties);
    for spec in [
        object(json!({"a": {}})),
        object(json!({"a": {"type": "array"}})),
        object(json!({"a": {"type": "text"}})),
        object(json!({"a": {"type": "string", "pattern": "("}})),
        object(json!({"a": {"type": "integer", "default": "x"}})),
        object(json!({"a": {"type": "object", "anyOf": [{"type": "object"}]}})),
        object(
            json!({"a": {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"}}),
        ),
        object(
            json!({"a": {"type": "string", "x-kubernetes-validations": [{"rule": "self.size() < 3 && self.foo == 1"}]}}),
        ),
        object(
            json!({"a": {"type": "string", "x-kubernetes-validations": [{"rule": "self.shout() == 'A'"}]}}),
        ),
        object(json!({"a": {"type": "string", "x-kubernetes-validations": [{"rule": "self"}]}})),
        object(
            json!({"a": {"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}}),
        ),
    ] {
        said += &with(&definition(&spec)).1;
    }
    let said = said.replace(
        "CustomResourceDefinition.apiextensions.k8s.io \"things.example.org\" is invalid: ",
        "",
    );
    let said = said.replace("spec.versions[0].schema.openAPIV3Schema.properties[spec].", "…");
    assert_snapshot!(said, @r#"
    POST crds: 422 Invalid: …properties[a].type: Required value: must not be empty for specified object fields
    POST crds: 422 Invalid: …properties[a].items: Required value: must be specified
    POST crds: 422 Invalid: …properties[a].type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"
    POST crds: 422 Invalid: …properties[a].pattern: Invalid value: "(": must be a valid regular expression, but isn't: regex parse error:
        (
        ^
    error: unclosed group
    POST crds: 422 Invalid: …properties[a].default: Invalid value: "string": default in body must be of type integer: "string"
    POST crds: 422 Invalid: …properties[a].anyOf[0].type: Forbidden: must be empty to be structural
    POST crds: 422 Invalid: …properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map
    POST crds: 422 Invalid: …properties[a].x-kubernetes-validations[0].rule: Invalid value: "self.size() < 3 && self.foo == 1": compilation failed: ERROR: <input>:1:24: type 'string' does not support field selection
     | self.size() < 3 && self.foo == 1
     | .......................^
    POST crds: 422 Invalid: …properties[a].x-kubernetes-validations[0].rule: Invalid value: "self.shout() == 'A'": compilation failed: ERROR: <input>:1:5: undeclared reference to 'shout' (in container '')
     | self.shout() == 'A'
     | ....^
    POST crds: 422 Invalid: …properties[a].x-kubernetes-validations[0].rule: Invalid value: "self": cel expression must evaluate to a bool
    POST crds: 422 Invalid: …properties[a].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within …properties[a]
    "#);
}

#[test]
fn names_and_versions_of_definitions_are_checked() {
    let good = definition(&spec_of(json!({})));
    let mut said = String::new();
    let mut with_spec = |path: &[&str], value: Value| {
        let mut crd = good.clone();
        let mut slot = &mut crd;
        for key in path {
            slot = &mut slot[*key];
        }
        *slot = value;
        said += &with(&crd).1;
    };
    with_spec(&["metadata", "name"], json!("other.example.org"));
    with_spec(&["spec", "group"], json!("example"));
    with_spec(&["spec", "scope"], json!("Somewhere"));
    with_spec(&["spec", "names", "kind"], json!("a thing"));
    with_spec(&["spec", "versions"], json!([]));
    with_spec(&["spec", "conversion"], json!({"strategy": "Webhook"}));
    let said = said.replace("CustomResourceDefinition.apiextensions.k8s.io ", "");
    assert_snapshot!(said, @r#"
    POST crds: 422 Invalid: "other.example.org" is invalid: metadata.name: Invalid value: "other.example.org": must be spec.names.plural+"."+spec.group, in form `things.example.org`
    POST crds: 422 Invalid: "things.example.org" is invalid: [metadata.name: Invalid value: "things.example.org": must be spec.names.plural+"."+spec.group, in form `things.example`, spec.group: Invalid value: "example": should be a domain with at least one dot]
    POST crds: 422 Invalid: "things.example.org" is invalid: spec.scope: Unsupported value: "Somewhere": supported values: "Cluster", "Namespaced"
    POST crds: 422 Invalid: "things.example.org" is invalid: [spec.names.singular: Invalid value: "a thing": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?'), spec.names.kind: Invalid value: "a thing": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?'), spec.names.listKind: Invalid value: "a thingList": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')]
    POST crds: 422 Invalid: "things.example.org" is invalid: spec.versions: Invalid value: []: must have exactly one version marked as storage version
    POST crds: 422 Invalid: "things.example.org" is invalid: spec.conversion.strategy: Forbidden: conversion by webhook is not modelled; None is
    "#);
}

#[test]
fn versions_show_the_same_object_each_with_its_own_schema() {
    let mut crd = definition(&spec_of(
        json!({"size": {"type": "integer", "default": 1}, "old": {"type": "string"}}),
    ));
    let newer = spec_of(
        json!({"size": {"type": "integer"}, "extra": {"type": "string", "default": "new"}}),
    );
    let newer = json!({"type": "object", "properties": {"spec": newer}});
    crd["spec"]["versions"].as_array_mut().unwrap().push(json!({
        "name": "v2", "served": true, "storage": false, "deprecated": true, "schema": {"openAPIV3Schema": newer},
    }));
    let (mut api, _) = with(&crd);
    let newer = THINGS.replace("/v1/", "/v2/");
    let said = talk(
        &mut api,
        &format!(
            r#"
        POST {THINGS} {{"metadata":{{"name":"a"}},"spec":{{"old":"x"}}}} ?? apiVersion spec
        GET {newer}/a ?? apiVersion spec
        GET {THINGS}/a ?? apiVersion spec
        GET {newer}
    "#
        ),
    );
    assert_snapshot!(said, @r#"
    POST things: 201 Thing a rv 8 apiVersion="example.org/v1" spec={"old":"x","size":1}
    GET things/a: 200 Thing a rv 8 apiVersion="example.org/v2" spec={"extra":"new","size":1}
    GET things/a: 200 Thing a rv 8 apiVersion="example.org/v1" spec={"old":"x","size":1}
    GET things: 200 ThingList [a] rv 8
    "#);
}

#[test]
fn scale_lies_where_the_definition_says_and_fields_can_be_selected_by() {
    let mut crd =
        definition(&spec_of(json!({"wanted": {"type": "integer"}, "color": {"type": "string"}})));
    let version = &mut crd["spec"]["versions"][0];
    version["subresources"]["scale"] = json!({
        "specReplicasPath": ".spec.wanted", "statusReplicasPath": ".status.have", "labelSelectorPath": ".status.pods",
    });
    version["selectableFields"] = json!([{"jsonPath": ".spec.color"}]);
    let (mut api, _) = with(&crd);
    let said = talk(
        &mut api,
        &format!(
            r#"
        POST {THINGS} {{"metadata":{{"name":"a"}},"spec":{{"wanted":2,"color":"red"}}}}
        POST {THINGS} {{"metadata":{{"name":"b"}},"spec":{{"color":"blue"}}}}
        MERGE {THINGS}/a/status {{"status":{{"have":1,"pods":"app=a"}}}}
        GET {THINGS}/a/scale ?? spec status
        MERGE {THINGS}/a/scale {{"spec":{{"replicas":5}}}} ?? spec
        GET {THINGS}/a ?? spec metadata.generation
        MERGE {THINGS}/a {{"spec":{{"wanted":-1}}}}
        GET {THINGS}?fieldSelector=spec.color=blue
        GET {THINGS}?fieldSelector=spec.wanted=5
    "#
        ),
    );
    assert_snapshot!(said, @r#"
    POST things: 201 Thing a rv 8
    POST things: 201 Thing b rv 9
    MERGE things/a/status: 200 Thing a rv 10
    GET things/a/scale: 200 Scale a rv 10 spec={"replicas":2} status={"replicas":1,"selector":"app=a"}
    MERGE things/a/scale: 200 Scale a rv 11 spec={"replicas":5}
    GET things/a: 200 Thing a rv 11 spec={"color":"red","wanted":5} metadata.generation=2
    MERGE things/a: 422 Invalid: Thing.example.org "a" is invalid: .spec.wanted: Invalid value: -1: should be a non-negative integer
    GET things?fieldSelector=spec.color=blue: 200 ThingList [b] rv 11
    GET things?fieldSelector=spec.wanted=5: 400 BadRequest: field label not supported: spec.wanted
    "#);
}

#[test]
fn a_definition_goes_after_the_last_of_its_objects() {
    let (mut api, _) = with(&definition(&spec_of(json!({}))));
    let said = talk(
        &mut api,
        &format!(
            r#"
        POST {THINGS} {{"metadata":{{"name":"a"}}}}
        POST {THINGS} {{"metadata":{{"name":"b","finalizers":["example.org/hold"]}}}}
        DELETE {CRDS}/things.example.org
        GET {THINGS}
        GET {CRDS}/things.example.org ?? metadata.finalizers
        MERGE {THINGS}/b {{"metadata":{{"finalizers":null}}}}
        GET {THINGS}
        GET {CRDS}/things.example.org
    "#
        ),
    );
    assert_snapshot!(said.replace(CRDS, "crds"), @r#"
    POST things: 201 Thing a rv 8
    POST things: 201 Thing b rv 9
    DELETE crds/things.example.org: 200 CustomResourceDefinition things.example.org rv 12
    GET things: 200 ThingList [b] rv 12
    GET crds/things.example.org: 200 CustomResourceDefinition things.example.org rv 12 metadata.finalizers=["customresourcecleanup.apiextensions.k8s.io"]
    MERGE things/b: 200 Thing b rv 13
    GET things: 404 NotFound: the server could not find the requested resource
    GET crds/things.example.org: 404 NotFound: customresourcedefinitions.apiextensions.k8s.io "things.example.org" not found
    "#);
}

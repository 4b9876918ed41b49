//! Admission: which webhooks are called, in which order, and what their word does.

use drawbridge_fakes::{Attempt, Elsewhere, KubeApi, Webhooks};
use drawbridge_sim::Time;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::talk::{server, talk, talk_with};

/// Webhooks that write down what they were asked and answer as their path says.
#[derive(Default)]
struct Scripted {
    asked: Vec<String>,
    reviews: Vec<Value>,
}

impl Webhooks for Scripted {
    fn call(&mut self, _now: Time, path: &str, review: &Value) -> Result<Value, String> {
        let request = &review["request"];
        let word = |key: &str| request[key].as_str().unwrap_or("").to_owned();
        let resource = request["resource"]["resource"].as_str().unwrap();
        let sub = word("subResource");
        self.asked.push(format!("{path} {} {resource} {sub} {}", word("operation"), word("name")));
        self.reviews.push(review.clone());
        let mut response = json!({"uid": request["uid"], "allowed": true});
        let labelled = request["object"]["metadata"]["labels"].is_object();
        match path.split('/').nth(1).unwrap() {
            "allow" => {}
            "down" => return Err("connection refused".into()),
            "deny" => {
                response["allowed"] = false.into();
                response["status"] =
                    json!({"code": 403, "reason": "Forbidden", "message": "no luck"});
            }
            "silent" => response["allowed"] = false.into(),
            "label" => {
                let patch = match labelled {
                    true => {
                        json!([{"op": "add", "path": path.replacen("/label", "/metadata/labels", 1), "value": "x"}])
                    }
                    false => {
                        json!([{"op": "add", "path": "/metadata/labels", "value": {path[7..].to_owned(): "x"}}])
                    }
                };
                response["patchType"] = "JSONPatch".into();
                response["patch"] = json!(serde_json::to_vec(&patch).unwrap());
            }
            "broken" => {
                response["patchType"] = "JSONPatch".into();
                response["patch"] = json!(br#"[{"op":"remove","path":"/nope"}]"#.to_vec());
            }
            "odd" => {
                response["patchType"] = "JSONPatch".into();
                response["patch"] = json!(br#"[{"op":"replace","path":"","value":7}]"#.to_vec());
            }
            other => panic!("no script for {other}"),
        }
        Ok(
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}),
        )
    }
}

/// A configuration with one webhook; `more` overrides its fields.
fn configure(api: &mut KubeApi, kind: &str, name: &str, path: &str, more: &Value) -> String {
    let mut hook = json!({
        "name": format!("{name}.hooks.test"),
        "clientConfig": {"service": {"namespace": "hooks", "name": "svc", "path": path}},
        "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps", "pods"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    });
    for (key, value) in more.as_object().unwrap() {
        hook[key] = value.clone();
    }
    let body = json!({"metadata": {"name": name}, "webhooks": [hook]});
    let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations");
    talk(api, &format!("POST {path} {body}"))
}

const MAP: &str =
    r#"POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"a"}} ?? metadata.labels"#;

#[test]
fn mutating_hooks_come_in_order_and_before_validating_ones() {
    let mut api = server();
    let mut hooks = Scripted::default();
    configure(&mut api, "mutating", "b", "/label/b", &json!({}));
    configure(&mut api, "mutating", "a", "/label/a", &json!({"reinvocationPolicy": "IfNeeded"}));
    configure(&mut api, "validating", "v", "/allow/v", &json!({}));
    assert_snapshot!(talk_with(&mut api, &mut hooks, MAP), @r#"POST configmaps: 201 ConfigMap a rv 10 metadata.labels={"a":"x","b":"x"}"#);
    assert_snapshot!(hooks.asked.join("\n"), @r#"
    /label/a CREATE configmaps  a
    /label/b CREATE configmaps  a
    /label/a CREATE configmaps  a
    /allow/v CREATE configmaps  a
    "#);
}

#[test]
fn a_hook_sees_the_object_as_a_real_server_shows_it() {
    let mut api = server();
    let mut hooks = Scripted::default();
    configure(&mut api, "mutating", "m", "/allow/m", &json!({}));
    configure(&mut api, "validating", "v", "/allow/v", &json!({}));
    talk_with(
        &mut api,
        &mut hooks,
        r#"
        POST /api/v1/namespaces/default/configmaps {"metadata":{"generateName":"a-"}}
    "#,
    );
    let text = |index: usize| serde_json::to_string_pretty(&hooks.reviews[index]).unwrap();
    // A name that is still to be generated isn't known while hooks mutate.
    assert_snapshot!(text(0), @r#"
    {
      "apiVersion": "admission.k8s.io/v1",
      "kind": "AdmissionReview",
      "request": {
        "dryRun": false,
        "kind": {
          "group": "",
          "kind": "ConfigMap",
          "version": "v1"
        },
        "name": "",
        "namespace": "default",
        "object": {
          "apiVersion": "v1",
          "kind": "ConfigMap",
          "metadata": {
            "generateName": "a-",
            "namespace": "default"
          }
        },
        "oldObject": null,
        "operation": "CREATE",
        "options": {
          "apiVersion": "meta.k8s.io/v1",
          "kind": "CreateOptions"
        },
        "requestKind": {
          "group": "",
          "kind": "ConfigMap",
          "version": "v1"
        },
        "requestResource": {
          "group": "",
          "resource": "configmaps",
          "version": "v1"
        },
        "resource": {
          "group": "",
          "resource": "configmaps",
          "version": "v1"
        },
        "uid": "0447ca84-6c89-41be-83c2-2b00bc4635af",
        "userInfo": {
          "groups": [
            "system:authenticated"
          ],
          "username": "alice"
        }
      }
    }
    "#);
    assert_eq!(hooks.reviews[1]["request"]["name"], "a-4dkdt");
}

#[test]
fn denials_and_failures_read_as_they_do_for_real() {
    let ignore = json!({"failurePolicy": "Ignore"});
    let table = [
        ("/deny/x", json!({})),
        ("/silent/x", json!({})),
        ("/down/x", json!({})),
        ("/down/x", ignore.clone()),
        ("/deny/x", ignore),
        ("/broken/x", json!({})),
        ("/odd/x", json!({})),
    ];
    let mut said = String::new();
    for (path, more) in table {
        let mut api = server();
        configure(&mut api, "mutating", "x", path, &more);
        said += &talk_with(&mut api, &mut Scripted::default(), MAP);
    }
    assert_snapshot!(said, @r#"
    POST configmaps: 403 Forbidden: admission webhook "x.hooks.test" denied the request: no luck metadata.labels=null
    POST configmaps: 400 : admission webhook "x.hooks.test" denied the request without explanation metadata.labels=null
    POST configmaps: 500 InternalError: Internal error occurred: failed calling webhook "x.hooks.test": failed to call webhook: Post "https://svc.hooks.svc:443/down/x?timeout=10s": connection refused metadata.labels=null
    POST configmaps: 201 ConfigMap a rv 8 metadata.labels=null
    POST configmaps: 403 Forbidden: admission webhook "x.hooks.test" denied the request: no luck metadata.labels=null
    POST configmaps: 500 InternalError: Internal error occurred: failed calling webhook "x.hooks.test": the server rejected our request due to an error in our request metadata.labels=null
    POST configmaps: 500 InternalError: Internal error occurred: failed calling webhook "x.hooks.test": the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; the body is not a JSON object metadata.labels=null
    "#);
}

#[test]
fn a_hook_is_called_for_what_its_rules_and_selectors_say() {
    let rules = |operations: &str, resources: &str| json!({"rules": [{"operations": [operations], "apiGroups": ["*"], "apiVersions": ["*"], "resources": [resources]}]});
    let named = |name: &str| json!({"matchLabels": {"kubernetes.io/metadata.name": name}});
    let condition = |text: &str| json!({"matchConditions": [{"name": "c", "expression": text}]});
    let table = [
        (rules("CREATE", "*"), "CREATE pods"),
        (rules("UPDATE", "*"), "UPDATE pods"),
        (rules("DELETE", "*"), "DELETE pods"),
        (rules("*", "pods/status"), "UPDATE pods status"),
        (
            rules("*", "pods/*"),
            "CREATE pods, UPDATE pods, UPDATE pods status, CREATE pods binding, DELETE pods",
        ),
        (rules("*", "*/binding"), "CREATE pods binding"),
        (rules("*", "configmaps"), ""),
        (json!({"namespaceSelector": named("default")}), "CREATE pods, UPDATE pods, DELETE pods"),
        (json!({"namespaceSelector": named("other")}), ""),
        (json!({"objectSelector": {"matchLabels": {"a": "b"}}}), "UPDATE pods, DELETE pods"),
        (
            condition(
                "object.spec.schedulerName == 'default-scheduler' && request.operation != 'DELETE'",
            ),
            "CREATE pods, UPDATE pods",
        ),
        (
            condition(
                "request.operation == 'DELETE' && oldObject.spec.schedulerName == 'default-scheduler'",
            ),
            "DELETE pods",
        ),
        (condition("object.spec.schedulerName == 'x'"), ""),
    ];
    for (more, expected) in table {
        let mut api = server();
        let mut hooks = Scripted::default();
        configure(&mut api, "validating", "v", "/allow", &more);
        talk_with(
            &mut api,
            &mut hooks,
            r#"
            POST /api/v1/namespaces/default/pods {"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}
            MERGE /api/v1/namespaces/default/pods/p {"metadata":{"labels":{"a":"b"}}}
            MERGE /api/v1/namespaces/default/pods/p/status {"status":{"phase":"Running"}}
            POST /api/v1/namespaces/default/pods/p/binding {"target":{"name":"n"}}
            DELETE /api/v1/namespaces/default/pods/p
        "#,
        );
        let tidy = |line: &String| line["/allow ".len()..].trim_end_matches(" p").trim().to_owned();
        let asked: Vec<String> = hooks.asked.iter().map(tidy).collect();
        assert_eq!(asked.join(", "), expected, "{more}");
    }
}

#[test]
fn a_condition_without_an_answer_fails_as_the_policy_says() {
    let mut said = String::new();
    for policy in ["Fail", "Ignore"] {
        let mut api = server();
        let more = json!({
            "failurePolicy": policy,
            "matchConditions": [{"name": "c", "expression": "object.spec.schedulerName == 'x'"}],
        });
        configure(&mut api, "validating", "v", "/allow", &more);
        said += &talk_with(&mut api, &mut Scripted::default(), MAP);
    }
    assert_snapshot!(said, @r#"
    POST configmaps: 403 Forbidden: configmaps "a" is forbidden: no such key: spec metadata.labels=null
    POST configmaps: 201 ConfigMap a rv 8 metadata.labels=null
    "#);
}

#[test]
fn configurations_that_cannot_work_are_refused() {
    let mut api = server();
    let mut said = String::new();
    for more in [
        json!({"name": "short"}),
        json!({"clientConfig": {}}),
        json!({"sideEffects": "Some"}),
        json!({"admissionReviewVersions": ["v1beta1"]}),
        json!({"failurePolicy": "Maybe"}),
        json!({"matchConditions": [{"name": "c", "expression": "object.spec.near()"}]}),
        json!({"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}),
    ] {
        said += &configure(&mut api, "validating", "v", "/allow", &more);
    }
    assert_snapshot!(said, @r#"
    POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations: 422 Invalid: ValidatingWebhookConfiguration.admissionregistration.k8s.io "v" is invalid: webhooks[0].name: Invalid value: "short": should be a domain with at least three segments separated by dots
    POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations: 422 Invalid: ValidatingWebhookConfiguration.admissionregistration.k8s.io "v" is invalid: webhooks[0].clientConfig: Required value: exactly one of url or service is required
    POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations: 422 Invalid: ValidatingWebhookConfiguration.admissionregistration.k8s.io "v" is invalid: webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"
    POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations: 422 Invalid: ValidatingWebhookConfiguration.admissionregistration.k8s.io "v" is invalid: webhooks[0].admissionReviewVersions: Invalid value: ["v1beta1"]: only v1 is modelled, and v1beta1 alone is not
    POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations: 422 Invalid: ValidatingWebhookConfiguration.admissionregistration.k8s.io "v" is invalid: webhooks[0].failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"
    POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations: 422 Invalid: ValidatingWebhookConfiguration.admissionregistration.k8s.io "v" is invalid: webhooks[0].matchConditions[0].expression: Invalid value: "object.spec.near()": compilation failed: ERROR: <input>:1:12: undeclared reference to 'near' (in container '')
     | object.spec.near()
     | ...........^
    POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations: 422 Invalid: ValidatingWebhookConfiguration.admissionregistration.k8s.io "v" is invalid: webhooks[0].namespaceSelector: Invalid value: {"matchExpressions":[{"key":"a","operator":"Near"}]}: "Near" is not a valid label selector operator
    "#);
}

#[test]
fn a_deleted_configuration_is_asked_no_more() {
    let mut api = server();
    let mut hooks = Scripted::default();
    configure(&mut api, "validating", "v", "/deny", &json!({}));
    assert_snapshot!(talk_with(&mut api, &mut hooks, r#"
        POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"a"}}
        DELETE /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/v
        POST /api/v1/namespaces/default/configmaps {"metadata":{"name":"a"}}
    "#), @r#"
    POST configmaps: 403 Forbidden: admission webhook "v.hooks.test" denied the request: no luck
    DELETE /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/v: 200 Success
    POST configmaps: 201 ConfigMap a rv 9
    "#);
}

#[test]
fn an_address_is_a_service_or_a_url() {
    let mut api = server();
    let mut hooks = Scripted::default();
    let url = json!({"clientConfig": {"url": "https://127.0.0.1:9443/allow/url"}});
    configure(&mut api, "validating", "v", "/", &url);
    talk_with(&mut api, &mut hooks, MAP);
    assert_eq!(hooks.asked, ["/allow/url CREATE configmaps  a"]);
}

/// Answers everything that an attempt waits for, as `Scripted` would.
fn answer_all(attempt: &mut Attempt, hooks: &mut Scripted) -> usize {
    let waiting: Vec<_> = attempt.waiting().map(|(n, call)| (n, call.clone())).collect();
    for (number, call) in &waiting {
        attempt.answer(*number, hooks.call(Time::ZERO, &call.path, &call.review));
    }
    waiting.len()
}

#[test]
fn a_request_that_waits_writes_nothing_until_all_have_answered() {
    let mut api = server();
    let mut hooks = Scripted::default();
    configure(&mut api, "mutating", "a", "/label/a", &json!({}));
    configure(&mut api, "mutating", "b", "/label/b", &json!({}));
    configure(&mut api, "validating", "v", "/allow/v", &json!({}));
    configure(&mut api, "validating", "w", "/allow/w", &json!({}));
    let make = r#"POST /api/v1/namespaces/default/configmaps {"metadata":{"generateName":"a-"}}"#;
    let make = crate::talk::request(make);
    let before = api.resource_version();
    let mut attempt = Attempt::default();
    let mut rounds = vec![];
    let response = loop {
        if let Some(response) = api.attempt(Time::ZERO, &make, &mut attempt, &mut Elsewhere) {
            break response;
        }
        assert_eq!(api.resource_version(), before, "something was written while it waited");
        rounds.push(answer_all(&mut attempt, &mut hooks));
        // What others do meanwhile doesn't change what the request has drawn.
        talk(
            &mut api,
            r#"POST /api/v1/namespaces/default/secrets?dryRun=All {"metadata":{"generateName":"s-"}}"#,
        );
    };
    // Mutating ones one after the other, validating ones together.
    assert_eq!(rounds, [1, 1, 2]);
    assert_eq!(response.status, 201);
    assert_eq!(response.body["metadata"]["labels"], json!({"a": "x", "b": "x"}));
    let seen: Vec<_> =
        hooks.reviews.iter().map(|it| &it["request"]["object"]["metadata"]).collect();
    assert_eq!(seen[2]["uid"], response.body["metadata"]["uid"]);
    assert_eq!(seen[3]["name"], response.body["metadata"]["name"]);
    let posts = ("alice".to_owned(), "create", "configmaps".to_owned());
    assert_eq!(api.audit().get(&posts), Some(&1), "one request is counted once");
}

#[test]
fn an_object_that_changes_meanwhile_is_shown_to_the_webhook_again() {
    let mut api = server();
    let mut hooks = Scripted::default();
    let maps = "/api/v1/namespaces/default/configmaps";
    talk(&mut api, &format!(r#"POST {maps} {{"metadata":{{"name":"a"}}}}"#));
    configure(
        &mut api,
        "validating",
        "v",
        "/allow/v",
        &json!({"objectSelector": {"matchLabels": {"x": "y"}}}),
    );
    let label = format!(r#"MERGE {maps}/a {{"metadata":{{"labels":{{"x":"y"}}}}}}"#);
    let label = crate::talk::request(&label);
    let mut attempt = Attempt::default();
    assert_eq!(api.attempt(Time::ZERO, &label, &mut attempt, &mut Elsewhere), None);
    answer_all(&mut attempt, &mut hooks);
    talk(&mut api, &format!(r#"MERGE {maps}/a {{"data":{{"k":"v"}}}}"#));
    assert_eq!(api.attempt(Time::ZERO, &label, &mut attempt, &mut Elsewhere), None);
    assert_eq!(answer_all(&mut attempt, &mut hooks), 1);
    let response = api.attempt(Time::ZERO, &label, &mut attempt, &mut Elsewhere).unwrap();
    assert_eq!(response.body["data"], json!({"k": "v"}));
    assert_eq!(hooks.reviews[1]["request"]["object"]["data"], json!({"k": "v"}));
}

#[test]
fn the_garbage_collector_waits_for_webhooks_too() {
    let mut api = server();
    let mut hooks = Scripted::default();
    let maps = "/api/v1/namespaces/default/configmaps";
    talk(&mut api, &format!(r#"POST {maps} {{"metadata":{{"name":"owner"}}}}"#));
    let uid = api.get("configmaps", "default", "owner").unwrap()["metadata"]["uid"].clone();
    let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}]);
    talk(
        &mut api,
        &format!(r#"POST {maps} {{"metadata":{{"name":"child","ownerReferences":{owner}}}}}"#),
    );
    configure(
        &mut api,
        "validating",
        "v",
        "/allow/v",
        &json!({"rules": [{"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]}),
    );
    talk_with(&mut api, &mut hooks, &format!("DELETE {maps}/owner"));
    api.collect_garbage(Time::ZERO, &mut Elsewhere);
    assert!(api.get("configmaps", "default", "child").is_some(), "it went without being asked for");
    assert!(!api.has_garbage(), "it would be looked at for ever");
    let calls = api.take_garbage_calls();
    assert_eq!(calls.len(), 1);
    for (number, call) in calls {
        api.garbage_answered(number, hooks.call(Time::ZERO, &call.path, &call.review));
    }
    assert!(api.has_garbage());
    api.collect_garbage(Time::ZERO, &mut Elsewhere);
    assert!(api.get("configmaps", "default", "child").is_none());
}

//! Admission: which webhooks are called, in which order, and what their word does.

use drawbridge_fakes::{KubeApi, Webhooks};
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
        "options": null,
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
    POST configmaps: 500 InternalError: Internal error occurred: failed calling webhook "v.hooks.test": no such key: spec metadata.labels=null
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
        json!({"matchConditions": [{"name": "c", "expression": "has(object.spec)"}]}),
        json!({"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}),
    ] {
        said += &configure(&mut api, "validating", "v", "/allow", &more);
    }
    assert_snapshot!(said, @r#"
    POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations: 422 Invalid: ValidatingWebhookConfiguration.admissionregistration.k8s.io "v" is invalid: webhooks[0].name: Invalid value: "short": should be a domain with at least three segments separated by dots
    POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations: 422 Invalid: ValidatingWebhookConfiguration.admissionregistration.k8s.io "v" is invalid: webhooks[0].clientConfig: Required value: exactly one of url or service is required
    POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations: 422 Invalid: ValidatingWebhookConfiguration.admissionregistration.k8s.io "v" is invalid: webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun
    POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations: 422 Invalid: ValidatingWebhookConfiguration.admissionregistration.k8s.io "v" is invalid: webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1
    POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations: 422 Invalid: ValidatingWebhookConfiguration.admissionregistration.k8s.io "v" is invalid: webhooks[0].failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"
    POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations: 422 Invalid: ValidatingWebhookConfiguration.admissionregistration.k8s.io "v" is invalid: webhooks[0].matchConditions[0].expression: Invalid value: "has(object.spec)": CEL is not modelled yet beyond comparisons like object.spec.schedulerName == 'x' joined by &&; `has(object.spec)` is something else
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

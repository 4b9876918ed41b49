//! How a certificate comes to be, is shared, trusted and renewed.

use std::sync::Arc;

use super::*;

fn pem(what: &str, name: &str) -> String {
    format!("-----BEGIN {what}-----\n{name}\n-----END {what}-----\n")
}

fn made(name: &str) -> Pair {
    Pair {
        certificate: pem("CERTIFICATE", &format!("leaf {name}")),
        key: pem("PRIVATE KEY", name),
        authority: pem("CERTIFICATE", &format!("ca {name}")),
    }
}

fn reply(status: u16, body: Value) -> CustodyInput {
    CustodyInput::Replied(Ok(KubeReply { status, body: Arc::new(body) }))
}

fn missing() -> CustodyInput {
    reply(404, json!({ "message": "not found" }))
}

fn hooks(bundle: Option<&str>) -> CustodyInput {
    let bundle = bundle.map(|bundle| base64::encode(bundle.as_bytes()));
    let webhook = |name: &str| match &bundle {
        Some(bundle) => json!({ "name": name, "clientConfig": { "caBundle": bundle } }),
        None => json!({ "name": name, "clientConfig": {} }),
    };
    let ours = WEBHOOKS.map(webhook);
    let foreign = json!({ "name": "other.example.com", "clientConfig": {} });
    let webhooks = [vec![foreign], ours.to_vec()].concat();
    reply(200, json!({ "metadata": { "resourceVersion": "7" }, "webhooks": webhooks }))
}

/// What was last written as a Secret, as the server would give it back.
fn stored(effects: &[CustodyEffect]) -> Value {
    let [CustodyEffect::Kube(KubeRequest { body: Some(body), .. })] = effects else {
        panic!("{effects:?} writes no Secret")
    };
    let mut secret = body.clone();
    secret["metadata"]["resourceVersion"] = json!("3");
    secret
}

fn custodian() -> Custodian {
    Custodian::self_signed(
        Epoch::DEFAULT,
        "slurm-bridge",
        vec!["drawbridge.slurm-bridge.svc".into()],
    )
}

fn line(effect: &CustodyEffect) -> String {
    match effect {
        CustodyEffect::Kube(KubeRequest { method, path, body, .. }) => {
            let ops = body.as_ref().and_then(Value::as_array).into_iter().flatten();
            let ops: Vec<_> = ops.map(|op| format!(" {} {}", op["op"], op["path"])).collect();
            format!("{method:?} {path}{}", ops.concat().replace('"', ""))
        }
        CustodyEffect::Make(names) => format!("make for {}", names.join(", ")),
        CustodyEffect::Use(pair) => format!("use {}", pair.certificate.lines().nth(1).unwrap()),
        CustodyEffect::WakeAt(at) => format!("wake at {at}"),
    }
}

fn talk(custodian: &mut Custodian, now: Time, inputs: Vec<CustodyInput>) -> String {
    let step = |input: CustodyInput| {
        let lines: Vec<_> = custodian.step(now, input).iter().map(line).collect();
        lines.join("\n")
    };
    let told: Vec<String> = inputs.into_iter().map(step).collect();
    told.join("\n") + "\n= " + custodian.trouble().unwrap_or("well")
}

/// A custodian with a Secret of its own, which is shown and trusted.
fn settled() -> (Custodian, Value) {
    let mut custodian = custodian();
    let now = Time::ZERO;
    let _ = custodian.step(now, CustodyInput::Woke);
    let _ = custodian.step(now, missing());
    let secret = stored(&custodian.step(now, CustodyInput::Made(made("one"))));
    let _ = custodian.step(now, reply(201, Value::Null));
    let _ = custodian.step(now, reply(200, secret.clone()));
    let _ = custodian.step(now, hooks(Some(&made("one").authority)));
    let _ = custodian.step(now, hooks(Some(&made("one").authority)));
    (custodian, secret)
}

#[test]
fn the_first_certificate_is_made_written_trusted_and_used() {
    let mut custodian = custodian();
    let begin = vec![CustodyInput::Woke, missing()];
    insta::assert_snapshot!(talk(&mut custodian, Time::ZERO, begin), @"
    Get /api/v1/namespaces/slurm-bridge/secrets/drawbridge-webhook-tls
    make for drawbridge.slurm-bridge.svc
    = there is no certificate yet
    ");
    let secret = stored(&custodian.step(Time::ZERO, CustodyInput::Made(made("one"))));
    let rest = vec![
        reply(201, Value::Null),
        reply(200, secret),
        hooks(None),
        reply(200, Value::Null),
        hooks(Some(&made("one").authority)),
    ];
    insta::assert_snapshot!(talk(&mut custodian, Time::ZERO, rest), @"
    Get /api/v1/namespaces/slurm-bridge/secrets/drawbridge-webhook-tls
    Get /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/slurm-bridge-admission
    JsonPatch /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/slurm-bridge-admission test /metadata/resourceVersion add /webhooks/1/clientConfig/caBundle add /webhooks/2/clientConfig/caBundle
    Get /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/slurm-bridge-admission
    use leaf one
    wake at 00:01:00.000
    = well
    ");
}

#[test]
fn of_two_replicas_that_make_one_the_faster_wins() {
    let mut custodian = custodian();
    let begin = vec![CustodyInput::Woke, missing(), CustodyInput::Made(made("slow"))];
    let _ = talk(&mut custodian, Time::ZERO, begin);
    let (_, theirs) = settled();
    let trusted = || hooks(Some(&made("one").authority));
    let rest = vec![reply(409, Value::Null), reply(200, theirs), trusted(), trusted()];
    insta::assert_snapshot!(talk(&mut custodian, Time::ZERO, rest), @"
    Get /api/v1/namespaces/slurm-bridge/secrets/drawbridge-webhook-tls
    Get /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/slurm-bridge-admission
    Get /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/slurm-bridge-admission
    use leaf one
    wake at 00:01:00.000
    = well
    ");
}

#[test]
fn a_certificate_is_renewed_in_time_and_the_old_one_stays_trusted() {
    let (mut custodian, secret) = settled();
    let early = Time::ZERO + Span::hours(365 * 16 - 1);
    let _ = custodian.step(early, CustodyInput::Woke);
    let looked = custodian.step(early, reply(200, secret.clone()));
    assert!(line(&looked[0]).starts_with("Get /apis"), "it isn't due yet: {looked:?}");
    let (mut custodian, _) = settled();
    let late = Time::ZERO + Span::hours(365 * 16);
    let _ = custodian.step(late, CustodyInput::Woke);
    let make = custodian.step(late, reply(200, secret));
    assert_eq!(line(&make[0]), "make for drawbridge.slurm-bridge.svc");
    let effects = custodian.step(late, CustodyInput::Made(made("two")));
    assert!(line(&effects[0]).starts_with("Put "), "{effects:?}");
    let renewed = stored(&effects);
    let both = pair_of(&renewed).unwrap().authority;
    assert_eq!(both, made("two").authority + &made("one").authority);
    let inputs = vec![
        reply(200, Value::Null),
        reply(200, renewed),
        hooks(Some(&made("one").authority)),
        reply(200, Value::Null),
        hooks(Some(&both)),
    ];
    let told = talk(&mut custodian, late, inputs);
    assert!(told.contains("use leaf two"), "{told}");
}

#[test]
fn what_goes_wrong_is_told_and_tried_again() {
    let mut custodian = custodian();
    let forbidden = || reply(403, json!({ "message": "secrets is forbidden" }));
    insta::assert_snapshot!(talk(&mut custodian, Time::ZERO, vec![CustodyInput::Woke, forbidden()]), @"
    Get /api/v1/namespaces/slurm-bridge/secrets/drawbridge-webhook-tls
    wake at 00:00:05.000
    = could not read the Secret: 403 secrets is forbidden
    ");
    let (mut custodian, secret) = settled();
    let lost = CustodyInput::Replied(Err(Lost { why: "connection refused".into() }));
    let inputs = vec![CustodyInput::Woke, reply(200, secret), missing(), lost];
    insta::assert_snapshot!(talk(&mut custodian, Time::ZERO, inputs), @"
    Get /api/v1/namespaces/slurm-bridge/secrets/drawbridge-webhook-tls
    Get /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/slurm-bridge-admission
    wake at 00:00:05.000

    = could not read: 404 not found (mutatingwebhookconfigurations/slurm-bridge-admission)
    ");
}

#[test]
fn somebody_elses_secret_is_used_and_never_written() {
    let mut custodian = Custodian::of_secret(Epoch::DEFAULT, "slurm-bridge", "from-cert-manager");
    let (_, mut secret) = settled();
    secret["metadata"]["annotations"] = Value::Null;
    secret["data"]["ca.crt"] = Value::Null;
    let inputs = vec![CustodyInput::Woke, missing(), CustodyInput::Woke, reply(200, secret)];
    insta::assert_snapshot!(talk(&mut custodian, Time::ZERO, inputs), @"
    Get /api/v1/namespaces/slurm-bridge/secrets/from-cert-manager
    wake at 00:00:05.000
    Get /api/v1/namespaces/slurm-bridge/secrets/from-cert-manager
    use leaf one
    wake at 00:01:00.000
    = well
    ");
}

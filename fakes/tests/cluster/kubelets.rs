//! What kubelets make of containers: order, images, probes, ends.

use std::collections::BTreeMap;

use drawbridge_fakes::{Behaviour, Crashes, ImagePull, Log, Mpi, Program, Runtime, Spread};
use drawbridge_sim::Span;
use serde_json::{Value, json};

use crate::stage::{Stage, pod, runs_for};

const PATH: &str = "/api/v1/namespaces/default/pods/p";

fn program(secs: u64, exit_code: i32) -> Program {
    runs_for(secs, exit_code).program
}

fn for_ever() -> Program {
    Program::default()
}

/// A behaviour in which single containers have programs of their own.
fn containers(all: Vec<(&str, Program)>) -> Behaviour {
    let containers: BTreeMap<String, Program> =
        all.into_iter().map(|(name, program)| (name.to_owned(), program)).collect();
    Behaviour { containers, ..Behaviour::default() }
}

fn container(name: &str, more: &Value) -> Value {
    let mut it = json!({"name": name, "image": "app"});
    it.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    it
}

fn pod_of(restart: &str, init: Value, main: Value) -> Value {
    let mut it = pod("p", 1, restart);
    it["spec"]["initContainers"] = init;
    it["spec"]["containers"] = main;
    it
}

/// Everything that its status said, change by change.
fn story_of(stage: &mut Stage, secs: u64) -> String {
    let mut lines: Vec<String> = vec![];
    for _ in 0..secs * 2 {
        stage.advance(Span::ms(500));
        let pod = stage.pod("p");
        if pod.is_null() {
            lines.push(format!("{} gone", stage.now));
            break;
        }
        let said = told(&pod);
        let told = lines.last().and_then(|line: &String| line.split_once("  ")).map(|it| it.1);
        if told != Some(said.as_str()) {
            lines.push(format!("{}  {said}", stage.now));
        }
    }
    lines.join("\n")
}

fn told(pod: &Value) -> String {
    let status = &pod["status"];
    let lists = ["initContainerStatuses", "containerStatuses"];
    let all = lists.iter().filter_map(|list| status[*list].as_array()).flatten();
    let each = all.map(|it| {
        let state = &it["state"];
        let is = match (&state["waiting"]["reason"], &state["terminated"]["exitCode"]) {
            (Value::String(reason), _) => reason.clone(),
            (_, Value::Number(code)) => {
                format!("{} {code}", state["terminated"]["reason"].as_str().unwrap())
            }
            _ if it["ready"] == true => "ready".to_owned(),
            _ if it["started"] == true => "started".to_owned(),
            _ => "running".to_owned(),
        };
        let again = it["restartCount"].as_u64().unwrap();
        let again = if again > 0 { format!(" x{again}") } else { String::new() };
        format!("{} {is}{again}", it["name"].as_str().unwrap())
    });
    let each: Vec<String> = each.collect();
    let reason = status["reason"].as_str().unwrap_or_default();
    format!("{} {reason}[{}]", status["phase"].as_str().unwrap(), each.join(", "))
}

#[test]
fn init_containers_run_one_after_the_other_and_sidecars_beside_the_main_ones() {
    let behaviour = containers(vec![
        ("fetch", program(2, 0)),
        ("unpack", program(3, 0)),
        ("main", program(4, 0)),
        ("proxy", for_ever()),
    ]);
    let mut stage = Stage::with_nodes(1, 4, vec![behaviour]);
    let none = json!({});
    let init = json!([
        container("fetch", &none),
        container("proxy", &json!({"restartPolicy": "Always"})),
        container("unpack", &none),
    ]);
    stage.apply(pod_of("Never", init, json!([container("main", &none)])));
    insta::assert_snapshot!(story_of(&mut stage, 20), @"
    00:00:00.550  Pending [fetch PodInitializing, proxy PodInitializing, unpack PodInitializing, main PodInitializing]
    00:00:01.550  Pending [fetch started, proxy PodInitializing, unpack PodInitializing, main PodInitializing]
    00:00:03.550  Pending [fetch Completed 0, proxy ready, unpack started, main PodInitializing]
    00:00:06.550  Running [fetch Completed 0, proxy ready, unpack Completed 0, main ready]
    00:00:10.550  Running [fetch Completed 0, proxy ready, unpack Completed 0, main Completed 0]
    00:00:11.550  Succeeded [fetch Completed 0, proxy Error 143, unpack Completed 0, main Completed 0]
    ");
    insta::assert_snapshot!(stage.events("p"), @"
    Normal Scheduled: Successfully assigned default/p to n1 (x1)
    Normal Started: Container started (x1)
    Normal Started: Container started (x1)
    Normal Started: Container started (x1)
    Normal Started: Container started (x1)
    Normal Killing: Stopping container proxy (x1)
    ");
}

#[test]
fn an_init_container_that_fails_is_tried_again_or_ends_the_pod() {
    for restart in ["Never", "OnFailure"] {
        let crashes = Some(Crashes { count: 1, after: Span::secs(1), exit_code: 3 });
        let fetch = Program { crashes, ..program(1, 0) };
        let behaviour = containers(vec![("fetch", fetch), ("main", program(1, 0))]);
        let mut stage = Stage::with_nodes(1, 4, vec![behaviour]);
        let init = json!([container("fetch", &json!({}))]);
        stage.apply(pod_of(restart, init, json!([container("main", &json!({}))])));
        let story = story_of(&mut stage, 10);
        match restart {
            "Never" => insta::assert_snapshot!(story, @"
            00:00:00.550  Pending [fetch PodInitializing, main PodInitializing]
            00:00:01.550  Pending [fetch started, main PodInitializing]
            00:00:02.550  Failed [fetch Error 3, main PodInitializing]
            "),
            _ => insta::assert_snapshot!(story, @"
            00:00:00.550  Pending [fetch PodInitializing, main PodInitializing]
            00:00:01.550  Pending [fetch started, main PodInitializing]
            00:00:02.550  Pending [fetch started x1, main PodInitializing]
            00:00:03.550  Running [fetch Completed 0 x1, main ready]
            00:00:04.550  Succeeded [fetch Completed 0 x1, main Completed 0]
            "),
        }
    }
}

#[test]
fn containers_end_one_by_one_and_the_pod_is_as_good_as_the_worst() {
    let behaviour = containers(vec![("a", program(2, 0)), ("b", program(5, 7))]);
    let mut stage = Stage::with_nodes(1, 4, vec![behaviour]);
    let none = json!({});
    let main = json!([container("a", &none), container("b", &none)]);
    stage.apply(pod_of("Never", json!([]), main));
    insta::assert_snapshot!(story_of(&mut stage, 10), @"
    00:00:00.550  Pending [a ContainerCreating, b ContainerCreating]
    00:00:01.550  Running [a ready, b ready]
    00:00:03.550  Running [a Completed 0, b ready]
    00:00:06.550  Failed [a Completed 0, b Error 7]
    ");
}

#[test]
fn probes_decide_when_a_container_is_ready_and_when_it_is_killed() {
    let slow = Program { ready: Span::secs(7), hang: Some(Span::secs(30)), ..for_ever() };
    let behaviour = Behaviour { program: slow, ..Behaviour::default() };
    let mut stage = Stage::with_nodes(1, 4, vec![behaviour]);
    let probe = json!({"periodSeconds": 5, "failureThreshold": 3, "httpGet": {"port": 80}});
    let probes = json!({"startupProbe": probe, "readinessProbe": probe, "livenessProbe": probe});
    stage.apply(pod_of("Always", json!([]), json!([container("main", &probes)])));
    insta::assert_snapshot!(story_of(&mut stage, 60), @"
    00:00:00.550  Pending [main ContainerCreating]
    00:00:01.550  Running [main running]
    00:00:11.550  Running [main ready]
    00:00:41.550  Running [main started]
    00:00:42.550  Running [main running x1]
    00:00:52.550  Running [main ready x1]
    ");
    insta::assert_snapshot!(stage.events("p"), @"
    Normal Scheduled: Successfully assigned default/p to n1 (x1)
    Warning Unhealthy: Liveness probe failed: no answer (x1)
    Normal Killing: Container main failed liveness probe, will be restarted (x1)
    Normal Started: Container started (x2)
    ");
}

#[test]
fn an_image_is_pulled_once_for_all_pods_of_a_node() {
    let behaviour = Behaviour {
        image_pull: Some(ImagePull::Takes(Spread::Fixed(Span::secs(30)))),
        ..Behaviour::default()
    };
    let mut stage = Stage::with_nodes(1, 4, vec![behaviour]);
    stage.apply(pod("p", 1, "Always"));
    stage.apply(pod("q", 1, "Always"));
    stage.advance(Span::secs(40));
    stage.apply(pod("r", 1, "Always"));
    stage.advance(Span::secs(10));
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.050  pod p: Pending
    00:00:00.050  pod q: Pending
    00:00:00.060  pod p: Pending on n1
    00:00:00.060  pod q: Pending on n1
    00:00:00.070  pod p: Pending on n1 ContainerCreating
    00:00:00.070  pod q: Pending on n1 ContainerCreating
    00:00:31.070  pod p: Running on n1 ready
    00:00:31.070  pod q: Running on n1 ready
    00:00:40.050  pod r: Pending
    00:00:40.060  pod r: Pending on n1
    00:00:40.070  pod r: Pending on n1 ContainerCreating
    00:00:41.070  pod r: Running on n1 ready
    ");
    insta::assert_snapshot!(stage.events("p"), @r#"
    Normal Scheduled: Successfully assigned default/p to n1 (x1)
    Normal Pulling: Pulling image "app" (x1)
    Normal Pulled: Successfully pulled image "app" (x1)
    Normal Started: Container started (x1)
    "#);
}

#[test]
fn an_image_that_cannot_be_pulled_is_tried_again_later_each_time() {
    let behaviour = Behaviour {
        image_pull: Some(ImagePull::Fails("manifest unknown".into())),
        ..Behaviour::default()
    };
    let mut stage = Stage::with_nodes(1, 4, vec![behaviour]);
    stage.apply(pod("p", 1, "Always"));
    insta::assert_snapshot!(story_of(&mut stage, 60), @"
    00:00:00.550  Pending [main ContainerCreating]
    00:00:01.550  Pending [main ErrImagePull]
    00:00:11.550  Pending [main ImagePullBackOff]
    ");
    insta::assert_snapshot!(stage.events("p"), @r#"
    Normal Scheduled: Successfully assigned default/p to n1 (x1)
    Warning Failed: Failed to pull image "app": manifest unknown (x1)
    Warning BackOff: Back-off pulling image "app" (x2)
    "#);
    stage.delete(PATH, json!({}));
    stage.advance(Span::secs(1));
    assert!(stage.pod("p").is_null());
}

#[test]
fn what_needs_too_much_memory_is_killed_and_says_so() {
    let behaviour = Behaviour {
        program: Program { out_of_memory: true, ..program(3, 0) },
        ..Behaviour::default()
    };
    let mut stage = Stage::with_nodes(1, 4, vec![behaviour]);
    stage.apply(pod("p", 1, "Never"));
    insta::assert_snapshot!(story_of(&mut stage, 6), @"
    00:00:00.550  Pending [main ContainerCreating]
    00:00:01.550  Running [main ready]
    00:00:04.550  Failed [main OOMKilled 137]
    ");
}

#[test]
fn a_program_that_crashes_at_first_recovers() {
    let crashes = Some(Crashes { count: 2, after: Span::secs(1), exit_code: 1 });
    let behaviour =
        Behaviour { program: Program { crashes, ..for_ever() }, ..Behaviour::default() };
    let mut stage = Stage::with_nodes(1, 4, vec![behaviour]);
    stage.apply(pod("p", 1, "Always"));
    insta::assert_snapshot!(story_of(&mut stage, 30), @"
    00:00:00.550  Pending [main ContainerCreating]
    00:00:01.550  Running [main ready]
    00:00:02.550  Running [main ready x1]
    00:00:03.550  Running [main CrashLoopBackOff x1]
    00:00:13.550  Running [main ready x2]
    ");
}

#[test]
fn a_hook_delays_term_and_sidecars_outlive_the_main_container() {
    let behaviour = containers(vec![
        ("main", Program { stop_exit_code: 0, stop: Span::secs(2), ..for_ever() }),
        ("proxy", Program { stop: Span::secs(3), ..for_ever() }),
    ]);
    let mut stage = Stage::with_nodes(1, 4, vec![behaviour]);
    let hook = json!({"lifecycle": {"preStop": {"sleep": {"seconds": 5}}}});
    let sidecar = json!([container("proxy", &json!({"restartPolicy": "Always"}))]);
    stage.apply(pod_of("Always", sidecar, json!([container("main", &hook)])));
    stage.advance(Span::secs(3));
    stage.delete(PATH, json!({}));
    insta::assert_snapshot!(story_of(&mut stage, 20), @"
    00:00:03.550  Running [proxy ready, main ready]
    00:00:10.550  Running [proxy ready, main Completed 0]
    00:00:13.550 gone
    ");
}

#[test]
fn a_kubelet_refuses_what_it_was_told_to_refuse() {
    let why = "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. \
               Requested: 1, Available: 0, which is unexpected";
    let behaviour = Behaviour { refused: Some(why.into()), ..Behaviour::default() };
    let mut stage = Stage::with_nodes(1, 4, vec![behaviour]);
    stage.apply(pod("p", 1, "Always"));
    insta::assert_snapshot!(story_of(&mut stage, 2), @"00:00:00.550  Failed UnexpectedAdmissionError[]");
    insta::assert_snapshot!(stage.events("p"), @"
    Normal Scheduled: Successfully assigned default/p to n1 (x1)
    Warning UnexpectedAdmissionError: Pod was rejected: Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0, which is unexpected (x1)
    ");
}

#[test]
fn a_readiness_gate_waits_for_somebody_else() {
    let mut stage = Stage::with_nodes(1, 4, vec![]);
    let mut gated = pod("p", 1, "Always");
    gated["spec"]["readinessGates"] = json!([{"conditionType": "example.com/in-use"}]);
    stage.apply(gated);
    stage.advance(Span::secs(3));
    let conditions = |stage: &Stage| {
        let pod = stage.pod("p");
        let all = pod["status"]["conditions"].as_array().unwrap().clone();
        let told = all.iter().map(|it| {
            let why = it["reason"].as_str().map(|why| format!(" {why}")).unwrap_or_default();
            format!("{}={}{why}", it["type"].as_str().unwrap(), it["status"].as_str().unwrap())
        });
        told.collect::<Vec<_>>().join(" ")
    };
    insta::assert_snapshot!(conditions(&stage), @"Initialized=True Ready=False ReadinessGatesNotReady ContainersReady=True PodScheduled=True");
    let mut all = stage.pod("p")["status"]["conditions"].as_array().unwrap().clone();
    all.push(json!({"type": "example.com/in-use", "status": "True"}));
    stage.patch(&format!("{PATH}/status"), json!({"status": {"conditions": all}}));
    stage.advance(Span::secs(1));
    insta::assert_snapshot!(conditions(&stage), @"Initialized=True Ready=True ContainersReady=True PodScheduled=True example.com/in-use=True");
}

#[test]
fn a_log_is_what_the_program_wrote() {
    let program = Program { log: "hello\n".into(), ..for_ever() };
    let behaviour = Behaviour { program, ..Behaviour::default() };
    let mut stage = Stage::with_nodes(1, 4, vec![behaviour]);
    stage.apply(pod("p", 1, "Always"));
    let log = |stage: &Stage, container: Option<&str>, previous: bool| {
        stage.cluster.log("default", "p", container, previous)
    };
    assert_eq!(log(&stage, None, false), Log::NotStarted);
    stage.advance(Span::secs(3));
    assert_eq!(log(&stage, None, false), Log::Text("hello\n".into()));
    assert_eq!(log(&stage, Some("main"), true), Log::NoPrevious);
    assert_eq!(log(&stage, Some("other"), false), Log::NoSuchContainer);
}

fn ranks(finalize: bool, abort: Option<u64>) -> Behaviour {
    let abort = abort.map(Span::secs);
    let mpi = Mpi { group_label: "app".into(), ranks: 2, abort, finalize, ..Mpi::default() };
    Behaviour { mpi: Some(mpi), ..Behaviour::default() }
}

fn two_ranks(behaviours: Vec<Behaviour>) -> Stage {
    let mut stage = Stage::with_nodes(2, 4, behaviours);
    for name in ["fast", "slow"] {
        let mut rank = pod(name, 1, "Never");
        rank["metadata"]["labels"] = json!({"app": "mpi"});
        stage.apply(rank);
    }
    stage
}

fn named(name: &str, secs: u64, exit_code: i32, behaviour: Behaviour) -> Behaviour {
    let matches = drawbridge_fakes::PodMatch { name: Some(name.into()), ..Default::default() };
    let runtime = Runtime::For(Spread::Fixed(Span::secs(secs)));
    Behaviour {
        matches,
        program: Program { runtime, exit_code, ..Program::default() },
        ..behaviour
    }
}

#[test]
fn ranks_that_finalize_end_with_the_slowest() {
    let fast = named("fast", 5, 0, ranks(true, None));
    let slow = named("slow", 9, 0, ranks(true, None));
    let mut stage = two_ranks(vec![fast, slow]);
    stage.advance(Span::secs(30));
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.050  pod fast: Pending
    00:00:00.050  pod slow: Pending
    00:00:00.060  pod fast: Pending on n1
    00:00:00.060  pod slow: Pending on n2
    00:00:00.070  pod fast: Pending on n1 ContainerCreating
    00:00:00.070  pod slow: Pending on n2 ContainerCreating
    00:00:01.070  pod fast: Running on n1 (1 of 2 ranks are here)
    00:00:01.070  pod slow: Running on n2 ready
    00:00:01.070  pod fast: Running on n1 ready
    00:00:10.070  pod slow: Succeeded on n2 exit 0
    00:00:10.070  pod fast: Succeeded on n1 exit 0
    ");
}

#[test]
fn a_rank_that_fails_takes_the_others_along() {
    let fast = named("fast", 5, 9, ranks(false, Some(2)));
    let slow = named("slow", 60, 0, ranks(false, Some(2)));
    let mut stage = two_ranks(vec![fast, slow]);
    stage.advance(Span::secs(30));
    insta::assert_snapshot!(stage.story(), @"
    00:00:00.050  pod fast: Pending
    00:00:00.050  pod slow: Pending
    00:00:00.060  pod fast: Pending on n1
    00:00:00.060  pod slow: Pending on n2
    00:00:00.070  pod fast: Pending on n1 ContainerCreating
    00:00:00.070  pod slow: Pending on n2 ContainerCreating
    00:00:01.070  pod fast: Running on n1 (1 of 2 ranks are here)
    00:00:01.070  pod slow: Running on n2 ready
    00:00:01.070  pod fast: Running on n1 ready
    00:00:06.070  pod fast: Failed on n1 exit 9
    00:00:08.070  pod slow: Failed on n2 exit 1
    ");
}

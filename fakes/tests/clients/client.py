"""The Python client lists, watches, patches and binds. KUBECONFIG says where."""
import threading
from kubernetes import client, config, watch

config.load_kube_config()
core, apps, custom = client.CoreV1Api(), client.AppsV1Api(), client.CustomObjectsApi()


def named(name):
    return client.V1ObjectMeta(name=name)


def must(what, holds):
    if not holds:
        raise SystemExit(f"not so: {what}")
    print(f"  {what}")


core.create_node(client.V1Node(metadata=named("python-node")))
container = client.V1Container(name="main", image="pause")
spec = client.V1PodSpec(containers=[container], scheduler_name="somebody")
seen = []


def look(version):
    for event in watch.Watch().stream(core.list_namespaced_pod, "default", resource_version=version, timeout_seconds=20):
        seen.append((event["type"], event["object"].metadata.name, event["object"].spec.node_name))
        if event["type"] == "DELETED":
            return


watcher = threading.Thread(target=look, daemon=True, args=(core.list_namespaced_pod("default").metadata.resource_version,))
watcher.start()
for number in range(3):
    core.create_namespaced_pod("default", client.V1Pod(metadata=named(f"python-{number}"), spec=spec))
page = core.list_namespaced_pod("default", limit=2)
rest = core.list_namespaced_pod("default", limit=2, _continue=page.metadata._continue)
must("lists in pages", len(page.items) == 2 and len(rest.items) >= 1)
patched = core.patch_namespaced_pod("python-0", "default", {"metadata": {"labels": {"tier": "gold"}}})
must("patches", patched.metadata.labels == {"tier": "gold"})
must("selects by label", [pod.metadata.name for pod in core.list_namespaced_pod("default", label_selector="tier=gold").items] == ["python-0"])
target = client.V1ObjectReference(api_version="v1", kind="Node", name="python-node")
binding = client.V1Binding(metadata=named("python-0"), target=target)
core.create_namespaced_pod_binding("python-0", "default", binding, _preload_content=False)
must("binds", core.read_namespaced_pod("python-0", "default").spec.node_name == "python-node")
try:
    core.create_namespaced_pod_binding("python-0", "default", binding, _preload_content=False)
    raise SystemExit("a pod was bound twice")
except client.ApiException as error:
    must("is refused a second binding", error.status == 409)
custom.create_namespaced_custom_object("slinky.slurm.net", "v1alpha1", "default", "nodesets", {
    "apiVersion": "slinky.slurm.net/v1alpha1", "kind": "NodeSet", "metadata": {"name": "python"},
    "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}})
custom.patch_namespaced_custom_object_scale("slinky.slurm.net", "v1alpha1", "default", "nodesets", "python", {"spec": {"replicas": 7}})
must("scales a custom object", custom.get_namespaced_custom_object("slinky.slurm.net", "v1alpha1", "default", "nodesets", "python")["spec"]["replicas"] == 7)
core.delete_namespaced_pod("python-2", "default", grace_period_seconds=0)
watcher.join(30)
must("watches", {("ADDED", "python-0", None), ("MODIFIED", "python-0", "python-node"), ("DELETED", "python-2", None)} <= set(seen))

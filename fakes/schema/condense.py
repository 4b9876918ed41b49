#!/usr/bin/env python3
"""Condenses Kubernetes' OpenAPI and protobuf definitions to what is served.

Usage: condense.py KUBERNETES_CLONE [OUT_FOLDER]
"""
import json
import os
import re
import subprocess
import sys

REPO = sys.argv[1]
OUT = sys.argv[2] if len(sys.argv) > 2 else os.path.dirname(os.path.abspath(__file__))
RELEASE = "v1.36.4"
# Versions that come with the next release; the bridge knows both.
NEXT = "v1.37.0-rc.1"

GROUP_VERSIONS = {
    "api__v1": RELEASE,
    "apis__admissionregistration.k8s.io__v1": RELEASE,
    "apis__apiextensions.k8s.io__v1": RELEASE,
    "apis__apiregistration.k8s.io__v1": RELEASE,
    "apis__apps__v1": RELEASE,
    "apis__authentication.k8s.io__v1": RELEASE,
    "apis__authorization.k8s.io__v1": RELEASE,
    "apis__autoscaling__v1": RELEASE,
    "apis__autoscaling__v2": RELEASE,
    "apis__batch__v1": RELEASE,
    "apis__certificates.k8s.io__v1": RELEASE,
    "apis__coordination.k8s.io__v1": RELEASE,
    "apis__discovery.k8s.io__v1": RELEASE,
    "apis__events.k8s.io__v1": RELEASE,
    "apis__flowcontrol.apiserver.k8s.io__v1": RELEASE,
    "apis__networking.k8s.io__v1": RELEASE,
    "apis__node.k8s.io__v1": RELEASE,
    "apis__policy__v1": RELEASE,
    "apis__rbac.authorization.k8s.io__v1": RELEASE,
    "apis__resource.k8s.io__v1": RELEASE,
    "apis__scheduling.k8s.io__v1": RELEASE,
    "apis__scheduling.k8s.io__v1alpha2": RELEASE,
    "apis__scheduling.k8s.io__v1alpha3": NEXT,
    "apis__scheduling.k8s.io__v1beta1": NEXT,
    "apis__storage.k8s.io__v1": RELEASE,
}
# Kinds that are in these groups and not served.
LEFT_OUT = {"CompositePodGroup"}
# Where the groups' protobuf definitions lie.
API = "staging/src/k8s.io/api"
MACHINERY = "staging/src/k8s.io/apimachinery/pkg"
PROTO = {
    f"k8s.io.api.{group}.{version}": f"{API}/{group}/{version}"
    for group, version in [
        ("admissionregistration", "v1"), ("apps", "v1"), ("authentication", "v1"), ("authorization", "v1"),
        ("autoscaling", "v1"), ("autoscaling", "v2"), ("batch", "v1"), ("certificates", "v1"),
        ("coordination", "v1"), ("core", "v1"), ("discovery", "v1"), ("events", "v1"), ("networking", "v1"),
        ("node", "v1"), ("policy", "v1"), ("rbac", "v1"), ("resource", "v1"), ("scheduling", "v1"),
        ("scheduling", "v1alpha2"), ("storage", "v1"),
    ]
} | {
    "k8s.io.apimachinery.pkg.apis.meta.v1": f"{MACHINERY}/apis/meta/v1",
    "k8s.io.apimachinery.pkg.runtime": f"{MACHINERY}/runtime",
    "k8s.io.apimachinery.pkg.util.intstr": f"{MACHINERY}/util/intstr",
    "k8s.io.apimachinery.pkg.api.resource": f"{MACHINERY}/api/resource",
}
SCALARS = ("string", "bytes", "bool", "int32", "int64", "uint32", "uint64", "double", "float", "fixed64")


def show(ref, path):
    done = subprocess.run(["git", "-C", REPO, "show", f"{ref}:{path}"], capture_output=True, text=True, check=True)
    return done.stdout


def references(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "$ref" and isinstance(inner, str):
                yield inner.split("/")[-1]
            else:
                yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def reachable(roots, inner):
    kept, todo = set(), list(roots)
    while todo:
        name = todo.pop()
        if name not in kept:
            kept.add(name)
            todo += inner(name)
    return sorted(kept)


def tidy(value):
    if isinstance(value, dict):
        value = {key: tidy(inner) for key, inner in value.items()}
        if value.get("default") == {}:
            del value["default"]
        return value
    return [tidy(inner) for inner in value] if isinstance(value, list) else value


def schemas():
    """The schemas of all kinds, with what they refer to."""
    all_schemas = {}
    for group_version, ref in GROUP_VERSIONS.items():
        document = json.loads(show(ref, f"api/openapi-spec/v3/{group_version}_openapi.json"))
        for name, schema in document["components"]["schemas"].items():
            all_schemas.setdefault(name, schema)

    def is_root(name, schema):
        short = name.split(".")[-1]
        kinds = [it["kind"] for it in schema.get("x-kubernetes-group-version-kind", [])]
        kinds = [kind for kind in kinds if not kind.endswith("List") and kind not in LEFT_OUT]
        return short in ("DeleteOptions", "Status") or (kinds and not short.endswith("List"))

    roots = [name for name, schema in all_schemas.items() if is_root(name, schema)]
    kept = reachable(roots, lambda name: list(references(all_schemas[name])))
    out = {name: all_schemas[name] for name in kept}
    for schema in out.values():
        # DeleteOptions and friends list every group that they appear in: one will do.
        kinds = schema.get("x-kubernetes-group-version-kind", [])
        if len(kinds) > 3:
            schema["x-kubernetes-group-version-kind"] = [it for it in kinds if it["group"] == ""]
    return tidy(out)


def pointers():
    """Fields that are pointers or lie in the enclosing object, from the Go types."""
    flags = {}
    for package, path in PROTO.items():
        try:
            source = show(RELEASE, path + "/types.go")
        except subprocess.CalledProcessError:
            continue
        for struct in re.finditer(r"^type (\w+) struct \{\n(.*?)^\}", source, re.S | re.M):
            line = r"^\t(?:(\w+)\s+)?(\*?)([\w.\[\]*]+)\s+`json:\"([^\"]*)\"(?: protobuf:\"([^\"]*)\")?"
            for field in re.finditer(line, struct.group(2), re.M):
                _, pointer, _, name, proto = field.groups()
                named = re.search(r"name=(\w+)", proto or "")
                if named:
                    flag = "^" if name.startswith(",inline") else "*" if pointer else ""
                    flags[(f"{package}.{struct.group(1)}", named.group(1))] = flag
    return flags


def messages():
    flags, found = pointers(), {}
    for package, path in PROTO.items():
        text = re.sub(r"//[^\n]*", "", show(RELEASE, path + "/generated.proto"))

        def full(name):
            name = name.lstrip(".")
            return name if name in SCALARS or "." in name else f"{package}.{name}"

        for message in re.finditer(r"message (\w+) \{([^}]*)\}", text):
            owner, fields = f"{package}.{message.group(1)}", []
            line = r"(optional|repeated|required)?\s*(map<\s*string\s*,\s*([.\w]+)\s*>|[.\w]+)\s+(\w+)\s*=\s*(\d+)\s*(\[[^\]]*\])?;"
            for field in re.finditer(line, message.group(2)):
                rule, kind, of_map, name, number = field.groups()[:5]
                mark = "{}" if of_map else "[]" if rule == "repeated" else ""
                kind = full(of_map or kind)
                flag = flags.get((owner, name), "")
                if flag == "*" and not (kind in ("string", "bool", "int32", "int64") and not mark):
                    flag = ""
                fields.append((int(number), name, flag + mark, kind))
            found[owner] = fields
    return found


def short(name):
    name = name.replace("k8s.io.apimachinery.pkg.apis.meta.v1.", "meta.")
    return name.replace("k8s.io.apimachinery.pkg.", "").replace("k8s.io.api.", "")


def columns(all_schemas):
    """The columns of tables, one a line: kind, name, type, format, priority, description (or where it lies)."""
    source = show(RELEASE, "pkg/printers/internalversion/printers.go")
    imports = dict(re.findall(r'^\s+(\w+) "k8s\.io/(api/[\w./]+|apimachinery/pkg/apis/meta/v1)"$', source, re.M))
    defined, lines = {}, []
    table = r"(\w+) (?::?= |= append\(\w+, )\[\]metav1\.TableColumnDefinition\{\n(.*?)^\t\}"
    for name, body in re.findall(table, source, re.S | re.M):
        rows = defined.setdefault(name, [])
        for line in re.findall(r"^\t\t\{(.*)\},$", body, re.M):
            word = lambda key: (re.search(rf'{key}: "((?:[^"\\]|\\.)*)"', line) or [None, ""])[1]
            priority = (re.search(r"Priority: (\d)", line) or [None, "0"])[1]
            text = word("Description").replace('\\"', '"')
            lies = re.search(r'(\w+)\.(\w+)\{\}\.SwaggerDoc\(\)\["(\w*)"\]', line)
            if lies:
                package = "io.k8s." + imports[lies[1]].replace("/", ".")
                text = f"@{package}.{lies[2]} {lies[3]}"
            rows.append((word("Name"), word("Type"), word("Format"), priority, text))
    served = {
        it["kind"] for schema in all_schemas.values() for it in schema.get("x-kubernetes-group-version-kind", [])
    }
    for name, kind in re.findall(r"TableHandler\((\w+), print(\w+)\)", source):
        kind += "Configuration" if kind.endswith("Webhook") else ""
        if kind in served:
            lines += ["|".join((kind, *row)) for row in defined[name]]
    return lines


def roles():
    """The roles and bindings that every cluster starts with, but for the controllers' own."""
    import yaml  # Only needed here.

    folder, found = "plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata", []
    for name in ("cluster-roles", "cluster-role-bindings", "namespace-roles", "namespace-role-bindings"):
        for item in yaml.safe_load(show(RELEASE, f"{folder}/{name}.yaml"))["items"]:
            item["metadata"].pop("creationTimestamp", None)
            if item.get("rules") is None:
                item.pop("rules", None)
            found.append(item)
    return found


def main():
    all_schemas = schemas()
    lines = [
        json.dumps(name) + ":" + json.dumps(schema, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        for name, schema in all_schemas.items()
    ]
    with open(os.path.join(OUT, "schemas.json"), "w") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
    kinds = {
        it["kind"] for schema in all_schemas.values() for it in schema.get("x-kubernetes-group-version-kind", [])
    } | {"ObjectMeta"}
    all_messages = messages()
    roots = [name for name in all_messages if name.split(".")[-1] in kinds]

    def inner(name):
        return [kind for _, _, _, kind in all_messages.get(name, []) if "." in kind]

    kept = [name for name in reachable(roots, inner) if name in all_messages]
    with open(os.path.join(OUT, "protobuf.txt"), "w") as file:
        for name in kept:
            fields = sorted(all_messages[name])
            words = [f"{number}:{field}:{mark}{short(kind)}" for number, field, mark, kind in fields]
            file.write(" ".join([short(name), *words]) + "\n")
    with open(os.path.join(OUT, "roles.json"), "w") as file:
        rows = [json.dumps(role, separators=(",", ":"), sort_keys=True) for role in roles()]
        file.write("[\n" + ",\n".join(rows) + "\n]\n")
    lines = columns(all_schemas)
    with open(os.path.join(OUT, "columns.txt"), "w") as file:
        file.write("\n".join(lines) + "\n")
    print(f"{len(all_schemas)} schemas, {len(kept)} messages, {len(lines)} columns")


if __name__ == "__main__":
    main()

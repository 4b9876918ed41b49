#!/usr/bin/env python3
"""Condenses recorded exchanges with the real slurmrestd and its OpenAPI documents for the tests.

    condense.py ../shared/fixtures/slurmrestd

Writes recorded-RELEASE-VERSION.jsonl.gz and openapi-VERSION.json.gz beside itself. Of long lists in
replies the first three entries are kept, except in two lists of jobs that are kept whole; of the
documents everything but the sentences.
"""
import gzip
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
WHOLE = {"jobs", "jobs_after_cancel", "jobs_state"}


def write(name, text):
    # Without a time, so that the same input is the same file.
    (HERE / name).write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def dump(value):
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def shorter(name, body):
    if not isinstance(body, dict):
        return body
    body = dict(body, meta={"slurm": body.get("meta", {}).get("slurm", {})})
    for key, value in body.items():
        if isinstance(value, list) and name not in WHOLE:
            body[key] = value[:3]
    for job in body.get("jobs") or []:
        nodes = (job.get("job_resources") or {}).get("nodes")
        for node in nodes["allocation"] if isinstance(nodes, dict) else []:
            node["sockets"] = node["sockets"][:1]
    return body


def exchange(path):
    name = path.name.removesuffix(".resp.json")
    reply = json.loads(path.read_text())
    request = json.loads(path.with_name(f"{name}.req.json").read_text())
    line = {key: request[key] for key in ("method", "path")}
    return dump(dict(line, name=name, status=reply["status"], body=shorter(name, reply["body"])))


def without_sentences(value):
    if isinstance(value, dict):
        drop = lambda key, part: key in ("description", "summary") and isinstance(part, str)
        return {k: without_sentences(v) for k, v in value.items() if not drop(k, v)}
    if isinstance(value, list):
        return [without_sentences(part) for part in value]
    return value


def openapi(folder):
    version = folder.name
    body = json.loads((folder / "openapi_v3.resp.json").read_text())["body"]
    paths = {path: value for path, value in body["paths"].items() if f"/{version}/" in path}
    schemas = body["components"]["schemas"]
    schemas = {name: value for name, value in schemas.items() if name.startswith(version)}
    document = {"paths": paths, "components": {"schemas": schemas}}
    write(f"openapi-{version}.json.gz", dump(without_sentences(document)))


def main(root):
    # Of two releases that serve a version, the newer one's document is kept.
    for folder in sorted(pathlib.Path(root).glob("*/v*")):
        replies = sorted(folder.glob("*.resp.json"))
        lines = [exchange(path) for path in replies if not path.name.startswith("openapi")]
        write(f"recorded-{folder.parent.name}-{folder.name}.jsonl.gz", "\n".join(lines) + "\n")
        openapi(folder)


main(sys.argv[1])

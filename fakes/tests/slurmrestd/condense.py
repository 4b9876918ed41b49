#!/usr/bin/env python3
"""Condenses recorded exchanges with slurmrestd into what the replay compares.

    condense.py FOLDER > recorded.jsonl

FOLDER has RELEASE/VERSION/NAME.req.json and NAME.resp.json, and RELEASE/INDEX.VERSION.txt with the
order in which they were made. Kept are the requests, the statuses, the numbers of errors, plain
texts, and of every body its shape: paths and types, written as one tree. Equal shapes are kept once.
"""

import json
import os
import re
import sys

LETTERS = {type(None): "z", bool: "b", int: "i", float: "n", str: "s"}


def merge(values):
    """The shape of all these values together."""
    kinds, lists, dicts = set(), [], {}
    has_list = has_dict = False
    for value in values:
        if isinstance(value, list):
            has_list = True
            lists += value
        elif isinstance(value, dict):
            has_dict = True
            for key, inner in value.items():
                dicts.setdefault(key, []).append(inner)
        else:
            kinds.add(LETTERS[type(value)])
    parts = sorted(kinds)
    if has_list:
        parts.append("[" + (merge(lists) if lists else "") + "]")
    if has_dict:
        parts.append("{" + ",".join(f"{k}:{merge(v)}" for k, v in sorted(dicts.items())) + "}")
    return "|".join(parts)


def main():
    root, shapes = sys.argv[1], {}
    for release in sorted(os.listdir(root)):
        for index in sorted(f for f in os.listdir(f"{root}/{release}") if f.startswith("INDEX.")):
            version = re.sub(r"INDEX\.(.*)\.txt", r"\1", index)
            for line in open(f"{root}/{release}/{index}", encoding="utf8"):
                exchange(root, release, version, line.split()[1], shapes)


def exchange(root, release, version, name, shapes):
    base = f"{root}/{release}/{version}/{name}"
    if not os.path.exists(base + ".req.json"):
        return
    asked = json.load(open(base + ".req.json", encoding="utf8"))
    reply = json.load(open(base + ".resp.json", encoding="utf8"))
    body = reply["body"]
    line = {"release": release, "version": version, "name": name, **asked, "status": reply["status"]}
    if line.get("body") is None:
        line.pop("body", None)
    line["type"] = reply["headers"].get("Content-Type", "")
    if not isinstance(body, dict):
        line["text"] = body
    elif name != "openapi_v3":
        line["errors"] = [error["error_number"] for error in body.get("errors", [])]
        line["warnings"] = len(body.get("warnings", []))
        shape = merge([body])
        if shape not in shapes:
            shapes[shape] = len(shapes)
            print(json.dumps({"shape": shape}))
        line["shape"] = shapes[shape]
    print(json.dumps(line, separators=(",", ":")))


main()

#!/usr/bin/env python3
"""Condenses slurmrestd's OpenAPI document into a table of names and types.

    condense.py DOCUMENT > 24.11.txt

DOCUMENT is what `GET /openapi/v3` answers, with both plugins loaded. What is left is what a client
must know: paths, operation ids, parameters, fields, types, formats, enumerations. Sentences are
left out.
"""

import json
import sys


def kind(schema):
    """A schema as one expression."""
    mark = "~" if schema.get("deprecated") else ""
    if "$ref" in schema:
        return "@" + schema["$ref"].rsplit("/", 1)[1] + mark
    what = schema.get("type")
    if what is None:
        return "any" + mark
    if "enum" in schema:
        return "<" + "|".join(schema["enum"]) + ">" + mark
    if what == "array":
        return "[" + kind(schema["items"]) + "]" + mark
    if what == "object" and "properties" in schema:
        required = schema.get("required")
        fields = [
            name + ("!" if name in (required or []) else "") + ":" + kind(field)
            for name, field in schema["properties"].items()
        ]
        # An empty list of required fields is written out by some versions, and one with paths by others.
        odd = required is not None and not set(required) <= set(schema["properties"])
        empty = "!" if required is not None and not required else ""
        listed = "!(" + ",".join(required) + ")" if odd else empty
        return "{" + ",".join(fields) + "}" + listed + mark
    default = "=" + json.dumps(schema["default"]) if "default" in schema else ""
    return what + (":" + schema["format"] if "format" in schema else "") + default + mark


def body(operation):
    """The one schema of a content, whatever its media types."""
    kinds = {kind(media["schema"]) for media in operation["content"].values()}
    assert len(kinds) == 1, kinds
    return kinds.pop()


def operation(method, path, it):
    mark = " ~" if it.get("deprecated") else ""
    print(f"{method.upper()} {path} {it['operationId']}{mark}")
    for each in it.get("parameters", []):
        marks = [("required", "!"), ("allowEmptyValue", "?"), ("deprecated", "~")]
        marks = "".join(mark for key, mark in marks if each.get(key))
        print(f"  {each['in']} {each['name']}{marks}\t{kind(each['schema'])}")
    if "requestBody" in it:
        print(f"  body {body(it['requestBody'])}")
    answers = {body(answer) for answer in it["responses"].values()}
    assert len(answers) == 1, (path, answers)
    print(f"  answer {answers.pop()}")


def main():
    document = json.load(open(sys.argv[1], encoding="utf8"))
    document = document.get("body", document)
    print(f"# slurmrestd of {document['info']['version'].split('&')[0]}: made by condense.py")
    for path, operations in document["paths"].items():
        for method, it in operations.items():
            operation(method, path, it)
    for name, schema in document["components"]["schemas"].items():
        print(f"{name} {kind(schema)}")


main()

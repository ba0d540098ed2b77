"""The README's table of values, made from the comments in values.yaml and the types in values.schema.json.

    python values_table.py           writes it into the README
    python values_table.py --check   exits 1 when the README has another one
"""

import json
import re
import sys
from pathlib import Path

import yaml

CHART = Path(__file__).resolve().parents[2] / "helm-tenant-chart"
BEGIN, END = "<!-- values: begin (make chart-docs) -->", "<!-- values: end -->"


def rows() -> list[tuple[str, str, object, str]]:
    """(path, type, default, description) of every value, in the order of values.yaml."""
    text = (CHART / "values.yaml").read_text()
    schema = json.loads((CHART / "values.schema.json").read_text())
    return list(_walk(yaml.compose(text), text.splitlines(), (), schema))


def _walk(mapping, lines, path, schema):
    """A key with a comment is a value, whatever is below it; a map without one is a section of values."""
    for key, value in mapping.value:
        here = (*path, key.value)
        comment = _comment_above(key.start_mark.line, key.start_mark.column, lines)
        if not comment and isinstance(value, yaml.MappingNode):
            yield from _walk(value, lines, here, schema)
        elif not comment:
            raise SystemExit(f"values.yaml: {'.'.join(here)} has no comment above it")
        else:
            default = yaml.safe_load(yaml.serialize(value))
            yield ".".join(here), _type(here, schema), default, comment


def _comment_above(line: int, column: int, lines: list[str]) -> str:
    found = []
    for text in reversed(lines[:line]):
        if not re.match(rf" {{{column}}}# ", text):
            break
        found.insert(0, text.strip()[2:])
    return " ".join(found)


def _type(path, schema) -> str:
    node = schema
    for key in path:
        node = _properties(node, schema).get(key)
        if node is None:
            raise SystemExit(f"values.schema.json does not know {'.'.join(path)}")
    node = _resolve(node, schema)
    if "enum" in node:
        return " \\| ".join(str(value) for value in node["enum"] if value is not None)
    types = node["type"] if isinstance(node["type"], list) else [node["type"]]
    return " or ".join(t for t in types if t != "null")


def _resolve(node, schema):
    while "$ref" in node:
        node = schema["definitions"][node["$ref"].rsplit("/", 1)[1]]
    return node


def _properties(node, schema):
    node = _resolve(node, schema)
    merged = dict(node.get("properties", {}))
    for part in node.get("allOf", []):
        for key, value in _properties(part, schema).items():
            merged.setdefault(key, value)
    return merged


def table() -> str:
    lines = ["| Value | Type | Default | Meaning |", "|---|---|---|---|"]
    for path, kind, default, meaning in rows():
        shown = json.dumps(default, ensure_ascii=False).replace("|", "\\|")
        lines.append(f"| `{path}` | {kind} | `{shown}` | {meaning.replace('|', chr(92) + '|')} |")
    return "\n".join(lines)


def with_table(readme: str) -> str:
    head, rest = readme.split(BEGIN)
    _, tail = rest.split(END)
    return f"{head}{BEGIN}\n\n{table()}\n\n{END}{tail}"


def main() -> None:
    path = CHART / "README.md"
    old = path.read_text()
    new = with_table(old)
    if "--check" in sys.argv:
        if old != new:
            raise SystemExit("helm-tenant-chart/README.md: the table of values is not that of values.yaml: run `make chart-docs`")
        return
    path.write_text(new)


if __name__ == "__main__":
    main()

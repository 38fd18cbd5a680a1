"""An HTTP application's OpenAPI document as a page: self-contained, without scripts and without a network."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

Schema = Mapping[str, Any]
_METHODS: Final = ("get", "post", "put", "patch", "delete")
_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
details { border: 1px solid #8886; border-radius: 6px; margin: .5rem 0; padding: .4rem .8rem; }
summary { cursor: pointer; }
summary b { display: inline-block; min-width: 4.5rem; font: 600 13px monospace; }
summary code { font-weight: 600; margin-right: 1rem; }
table { border-collapse: collapse; margin: .5rem 0; }
td, th { text-align: left; vertical-align: top; padding: .15rem 1.2rem .15rem 0; }
pre { background: #8882; padding: .6rem; border-radius: 6px; overflow-x: auto; }
"""
STYLE_HASH: Final = f"sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}"
"""The style, for a Content-Security-Policy that allows no other."""


def page(document: Schema, prefix: str = "") -> str:
    """The page of an OpenAPI document. `prefix` is put before its paths, so that readers can copy them."""
    info = document["info"]
    title = escape(info["title"])
    schemas = document.get("components", {}).get("schemas", {})
    groups: dict[str, list[str]] = {}
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item:
                tag = next(iter(item[method].get("tags", ())), "")
                groups.setdefault(tag, []).append(_operation(method, prefix + path, item[method], schemas))
    parts = [f"<h2>{escape(tag)}</h2>{''.join(found)}" for tag, found in groups.items()]
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f"<h1>{title} {escape(info['version'])}</h1>{_paragraphs(info.get('description', ''))}"
        f'<p>For programs: <a href="openapi.json">openapi.json</a></p>{"".join(parts)}</body></html>'
    )


def _operation(method: str, path: str, operation: Schema, schemas: Schema) -> str:
    parameters = operation.get("parameters", ())
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    blocks = [_paragraphs(operation.get("description", ""))]
    if parameters:
        rows = [
            (each["name"], _type(each["schema"], schemas), each["in"], each.get("description", ""))
            for each in parameters
        ]
        blocks.append(_table(("parameter", "type", "in", ""), rows))
    example: Any = None
    if body is not None:
        fields = _resolved(body, schemas)
        rows = [
            (name, _type(field, schemas), "required" if name in fields.get("required", ()) else "",
             field.get("description", ""))
            for name, field in fields.get("properties", {}).items()
        ]  # fmt: skip
        if rows:
            blocks.append(_table(("field", "type", "", ""), rows))
        example = _example(body, schemas)
    blocks.append(f"<pre>{escape(_curl(method, path, parameters, example))}</pre>")
    answers = "".join(
        f"<tr><td><code>{escape(status)}</code></td><td>{escape(answer.get('description', ''))}</td></tr>"
        for status, answer in operation.get("responses", {}).items()
    )
    return (
        f"<details><summary><b>{method.upper()}</b><code>{escape(path)}</code>{escape(operation.get('summary', ''))}"
        f"</summary>{''.join(blocks)}<table>{answers}</table></details>"
    )


def _curl(method: str, path: str, parameters: Any, example: Any) -> str:
    queries = [each["name"] for each in parameters if each["in"] == "query" and each.get("required")]
    query = "?" + "&".join(f"{name}=…" for name in queries) if queries else ""
    words = ["curl", *([] if method == "get" else ["-X", method.upper()]), f"'http://HOST:PORT{path}{query}'"]
    if example is not None:
        text = json.dumps(example, ensure_ascii=False).replace("'", "'\\''")
        words += ["-H", "'Content-Type: application/json'", "-d", f"'{text}'"]
    return " ".join(words)


def _resolved(schema: Schema, schemas: Schema) -> Schema:
    name = schema.get("$ref", "").rpartition("/")[2]
    found: Schema = schemas.get(name, {}) if name else schema
    return found


def _type(schema: Schema, schemas: Schema) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(each, schemas) for each in schema["anyOf"])
    if "$ref" in schema:
        resolved = _resolved(schema, schemas)
        return " | ".join(map(str, resolved["enum"])) if "enum" in resolved else str(resolved.get("type", "object"))
    kind = str(schema.get("type", "any"))
    return f"array of {_type(schema['items'], schemas)}" if kind == "array" and "items" in schema else kind


def _example(schema: Schema, schemas: Schema, depth: int = 5) -> Any:
    """The example of a schema, or a value that fits it."""
    schema = _resolved(schema, schemas)
    if schema.get("examples"):
        return schema["examples"][0]
    if "default" in schema:
        return schema["default"]
    if "anyOf" in schema:
        return _example(schema["anyOf"][0], schemas, depth)
    if "enum" in schema:
        return schema["enum"][0]
    if not depth:
        return None
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {})
            required = schema.get("required") or list(fields)[:1]
            return {name: _example(fields[name], schemas, depth - 1) for name in required if name in fields}
        case "array":
            return [_example(schema.get("items", {}), schemas, depth - 1)]
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case _:
            return "…"


def _table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    return f"<table>{''.join(_rows('th', [headings]))}{''.join(_rows('td', rows))}</table>"


def _rows(cell: str, rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    for row in rows:
        yield f"<tr>{''.join(f'<{cell}>{escape(text)}</{cell}>' for text in row)}</tr>"


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(part)}</p>" for part in text.split("\n\n") if part.strip())

"""docs/rest.md: its table and openapi.json are the code's; tests/docs sends its examples to a broker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.rest.conftest import Rest
from tools.doc_tables import admin_api_table, with_table
from tools.openapi import FILE, document

pytestmark = pytest.mark.feature("K-18", "P-19")

PAGE = Path(__file__).parents[2] / "docs" / "rest.md"


def test_every_operation_has_a_row() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == with_table(text, "admin api", admin_api_table()), "run .venv/bin/python tools/doc_tables.py"


def test_the_file_is_what_a_node_serves(rest: Rest) -> None:
    served = json.dumps(rest.ok("GET", "/openapi.json"), indent=1, ensure_ascii=False) + "\n"
    assert FILE.read_text(encoding="utf-8") == served, "run .venv/bin/python tools/openapi.py"


def test_the_tool_writes_what_a_node_serves() -> None:
    assert FILE.read_text(encoding="utf-8") == document()


def test_examples_in_the_file_fit_their_schemas() -> None:
    import jsonschema_rs

    file = json.loads(FILE.read_text(encoding="utf-8"))
    for name, schema in file["components"]["schemas"].items():
        for example in schema.get("examples", ()):
            whole = {**schema, "components": file["components"]}
            assert jsonschema_rs.is_valid(whole, example), (name, example)
    bodies = [
        operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        for path in file["paths"].values()
        for operation in path.values()
        if "requestBody" in operation
    ]
    assert [name for name in bodies if not file["components"]["schemas"][name].get("examples")] == []

"""docs/rest.md: its examples, sent in order to a fresh broker, are answered as it says; its table is the code's."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.rest.conftest import Rest
from tests.support.group_client import wait_for_coordinator
from tests.support.http_json import ask
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tools.doc_tables import admin_api_table, with_table
from tools.openapi import FILE, document

pytestmark = pytest.mark.feature("K-18", "P-19")

PAGE = Path(__file__).parents[2] / "docs" / "rest.md"
EXAMPLE = re.compile(r"^```http\n([A-Z]+) (\S+)\n(.*?)\n(\d{3})\n(.*?)```", re.MULTILINE | re.DOTALL)
ANYTHING = "…"


def agrees(shown: Any, answered: Any) -> bool:
    """… stands for any value, for further fields and for further items."""
    if shown == ANYTHING:
        return True
    if isinstance(shown, dict) and isinstance(answered, dict):
        complete = ANYTHING in shown or len(shown) == len(answered)
        return complete and all(
            name in answered and agrees(value, answered[name]) for name, value in shown.items() if name != ANYTHING
        )
    if isinstance(shown, list) and isinstance(answered, list):
        items = [item for item in shown if item != ANYTHING]
        complete = len(items) < len(shown) or len(shown) == len(answered)
        return complete and len(items) <= len(answered) and all(map(agrees, items, answered))
    return bool(shown == answered and type(shown) is type(answered))


def test_the_examples_are_true(tmp_path: Path) -> None:
    process = PenstockProcess(tmp_path)
    process.start()
    try:
        with RawClient(process.host, process.port) as client:
            wait_for_coordinator(client)
        examples = EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))
        assert len(examples) > 20
        for method, path, body, status, shown in examples:
            question = json.loads(body) if body.strip() else None
            answer = ask(process.http_port, path, method, question, timeout_s=60)
            assert answer.status == int(status), (method, path, answer)
            if shown.strip():
                assert agrees(json.loads(shown), answer.body), (method, path, answer.body)
    finally:
        process.stop()


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

"""Every handler opens in one form: API, versions, behaviour, differences from Kafka, version notes."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import penstock.broker.handlers
from penstock.protocol.kafka.apis import APIS, Api

HANDLERS = Path(penstock.broker.handlers.__file__).parent
SECTIONS = ("Behaviour", "Differs from Kafka", "Version notes")


def problem_with(api: Api, source: str) -> str | None:
    """The problem with the form of a handler, or None."""
    tree = ast.parse(source)
    text = ast.get_docstring(tree, clean=False) or ""
    versions = f"v{api.oldest}" if api.oldest == api.newest else f"v{api.oldest}–{api.newest}"
    if not text.startswith(f"{api.name} (key {api.key}, {versions}): "):
        return f"the docstring must begin with '{api.name} (key {api.key}, {versions}): '"
    found = re.findall(rf"^({'|'.join(SECTIONS)}):", text, re.MULTILINE)
    if tuple(found) != SECTIONS:
        return f"sections are {found}, not {list(SECTIONS)}"
    empty = re.search(rf"^({'|'.join(SECTIONS)}):\n(?!- )", text, re.MULTILINE)
    if empty is not None:
        return f"{empty[1]} says nothing; write 'none.' or a list"
    for version in re.findall(r"\bv(\d+)", text.partition("\nVersion notes:")[2]):
        if int(version) > api.newest:
            return f"version notes speak of v{version}, which is not served"
    handle = [node for node in tree.body if getattr(node, "name", "") == "handle"]
    if len(handle) != 1 or not isinstance(handle[0], ast.FunctionDef | ast.AsyncFunctionDef):
        return "there must be one function handle"
    if [argument.arg for argument in handle[0].args.args] != ["broker", "request"]:
        return "handle takes (broker, request)"
    return None


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_handlers_have_one_form(api: Api) -> None:
    source = (HANDLERS / f"{api.handler.replace('.', '/')}.py").read_text()
    assert problem_with(api, source) is None


def test_there_is_no_handler_outside_the_table() -> None:
    listed = {api.handler.replace(".", "/") for api in APIS.values()}
    files = {str(path.relative_to(HANDLERS).with_suffix("")) for path in HANDLERS.rglob("[!_]*.py")}
    assert files == listed


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("v0–9", "v0–8"), "must begin"),
        (("Behaviour:", "Behavior:"), "sections"),
        (("Version notes:", "Notes:"), "sections"),
        (("v9 may tell", "v10 may tell"), "not served"),
        (("def handle(broker: Broker, request", "def handle(broker: Broker, call"), r"\(broker, request\)"),
    ],
)
def test_the_check_finds_what_it_must_find(change: tuple[str, str], told: str) -> None:
    api = APIS[11]
    source = (HANDLERS / "groups/join_group.py").read_text()
    assert change[0] in source
    found = problem_with(api, source.replace(*change))
    assert found is not None
    assert re.search(told, found)

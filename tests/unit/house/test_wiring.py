"""Parts are given what they use: the whole `Broker` is for Kafka handlers and for the node, which builds it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[3] / "src" / "penstock"
MODULE = "penstock.broker.broker"
KAFKA = ("penstock.broker.handlers", "penstock.broker.dispatcher", "penstock.broker.produce", "penstock.broker.fetch")
"""Handlers, and the parts that only they use."""
COMPOSITION = (
    "penstock.node.node",
    "penstock.node.pipe",
    "penstock.node.push_door",
    "penstock.node.rest.application",
    "penstock.node.rest.part",
)
"""Modules of the node that build the broker, or that hand its parts out to a door."""


def imports_broker(source: str, module: str) -> list[int]:
    """The lines of a module that import the broker."""
    package = module.split(".")[:-1]
    return [node.lineno for node, name in _imported(ast.parse(source), package) if name == MODULE]


def _imported(tree: ast.AST, package: list[str]) -> Iterator[tuple[ast.stmt, str]]:
    """Every module that may be meant: `from a import b` is a, and a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield node, each.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            yield node, start
            for each in node.names:
                yield node, f"{start}.{each.name}"


def modules() -> dict[str, str]:
    return {
        ".".join(["penstock", *path.relative_to(SOURCES).with_suffix("").parts]): path.read_text()
        for path in sorted(SOURCES.rglob("*.py"))
    }


def test_only_kafka_handlers_and_the_node_know_the_whole_broker() -> None:
    found = {name for name, source in modules().items() if imports_broker(source, name)}
    assert len(found) > 40, "the sources are not where they were"
    outside = {name for name in found if not any(name == each or name.startswith(f"{each}.") for each in KAFKA)}
    assert outside == set(COMPOSITION)


@pytest.mark.parametrize(
    "planted",
    [
        "from penstock.broker.broker import Broker",
        "import penstock.broker.broker",
        "import penstock.broker.broker as parts",
        "from penstock.broker import broker",
        "from ..broker import Broker",
        "from .. import broker",
        "if TYPE_CHECKING:\n    from penstock.broker.broker import Broker",
        "def build():\n    from penstock.broker.broker import Broker",
    ],
)
def test_the_guard_sees_an_import(planted: str) -> None:
    assert imports_broker(planted, "penstock.broker.delivery.subscriptions") != []


def test_the_guard_passes_other_imports() -> None:
    harmless = "from penstock.broker.push import server\nfrom penstock.broker.request import AnyRequest\nimport broker"
    assert imports_broker(harmless, "penstock.broker.delivery.subscriptions") == []

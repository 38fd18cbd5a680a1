"""The wall: no code outside `penstock.cluster` touches a log.

`cluster` holds logs behind partitions, `storage` makes them, `edge` has a log engine of its own, and `cli` looks into
files of a broker that is not running. All other code asks a `Partition`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.house.tree import parsed

SOURCES = Path(__file__).resolve().parents[3] / "src" / "penstock"
INSIDE = ("cluster", "storage", "edge", "cli", "testing")
"""Packages that may hold a log."""
OPEN = ("penstock.storage.interface", "penstock.storage.observer", "penstock.storage.metadata")
"""The parts of storage that all packages may import: the contract, and the node's metadata."""
COMPOSITION = ("penstock.storage.data_directory", "penstock.storage.lock", "penstock.storage.engine")
"""Besides that: the composition root, and the registry, which has a data directory of its own."""
LOG_GETTERS = ("open_logs",)
LOGS = ("log", "_log", "logs", "_logs", *LOG_GETTERS)


def breaches(source: str, package: str) -> list[str]:
    """Violations of the wall in a file outside of it, each with its line."""
    tree = parsed(source)
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import))
    modules = {name.asname or name.name for node in imports for name in node.names}
    found = [*_reaches(tree, modules), *_imports(tree, package)]
    return [f"line {line}: {what}" for line, what in sorted(found)]


def _reaches(tree: ast.AST, modules: set[str]) -> Iterator[tuple[int, str]]:
    """Any attribute called `log`, also by `getattr`, and any table of logs that belongs to another object.

    A logger is a name of its module, so it is none; `math.log` is one of a module.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _gets_log(node):
            yield node.lineno, f"reaches for a log: {ast.unparse(node)}"
        if not isinstance(node, ast.Attribute) or (isinstance(node.value, ast.Name) and node.value.id in modules):
            continue
        is_own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        if node.attr in LOGS and not (is_own and node.attr in ("logs", "_logs")):
            yield node.lineno, f"reaches for a log: {ast.unparse(node)}"


def _gets_log(call: ast.Call) -> bool:
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if function not in ("getattr", "attrgetter", "__getattribute__"):
        return False
    names = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return any(part in LOGS for name in names for part in name.split("."))


def _imports(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    allowed = OPEN + (COMPOSITION if package in ("node", "topology") else ())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "penstock.storage":
            names = [f"{node.module}.{each.name}" for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        else:
            continue
        for name in names:
            is_open = any(name == each or name.startswith(f"{each}.") for each in allowed)
            if name.startswith("penstock.storage") and not is_open:
                yield node.lineno, f"imports {name}"


def outside() -> list[Path]:
    return [path for path in sorted(SOURCES.rglob("*.py")) if path.relative_to(SOURCES).parts[0] not in INSIDE]


def test_nobody_outside_the_cluster_touches_a_log() -> None:
    paths = outside()
    assert len(paths) > 300, "the sources are not where they were"
    found = {
        str(path.relative_to(SOURCES)): wrong
        for path in paths
        if (wrong := breaches(path.read_text(), path.relative_to(SOURCES).parts[0]))
    }
    assert found == {}


@pytest.mark.parametrize(
    "planted",
    [
        "end = partition.log.flushed",
        "end = partition._log.log_end",
        "log = broker.partitions.get(topic, 0).log",
        "def read(target):\n    return [each.partition.log for each in target]",
        "getattr(partition.log, 'flushed')",
        'getattr(partition, "_log").append(batch)',
        'operator.attrgetter("partition._log")(target)',
        'partition.__getattribute__("_log")',
        "engine._logs[partition_id].append(batch)",
        "ends = [log.end for log in self._engine._logs.values()]",
        "first = next(iter(broker.engine.logs))",
        "for log in broker.engine.open_logs():\n    pass",
        "from penstock.storage.log.log import DiskLog",
        "import penstock.storage.log.log",
        "from penstock.storage.segment.segment import Segment",
        "from penstock.storage import log",
        "from penstock.storage.engine.disk_engine import DiskEngine",
    ],
)
def test_the_guard_sees(planted: str) -> None:
    assert breaches(planted, "broker") != []


@pytest.mark.parametrize(
    "harmless",
    [
        "import logging\nlog = logging.getLogger(__name__)\nlog.info('x')",
        "_log = logging.getLogger(__name__)\n_log.warning('x')",
        "import math\nmath.log(2)",
        "self._logs = summaries",
        "getattr(partition, 'log_start')",
        "end = partition.log_start + partition.high_watermark",
        "from penstock.storage.interface import Log, LogState",
        "from penstock.storage.metadata.store import MetadataStore",
    ],
)
def test_the_guard_passes(harmless: str) -> None:
    assert breaches(harmless, "broker") == []

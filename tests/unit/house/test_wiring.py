"""Parts are given what they use, when they are made.

The whole `Broker` is for Kafka handlers and for the node, which builds it. And a function that a part is to call is
an argument of its constructor, or joins a list with `subscribe`: an attribute that another object assigns has room for
one function, so that a second user would replace the first without a word.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.unit.house.tree import parsed

SOURCES = Path(__file__).resolve().parents[3] / "src" / "penstock"
MODULE = "penstock.broker.broker"
KAFKA = ("penstock.broker.handlers", "penstock.broker.dispatcher", "penstock.broker.produce", "penstock.broker.fetch")
"""Handlers, and the parts that only they use."""
COMPOSITION = (
    "penstock.node.broker",
    "penstock.node.kafka_door",
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
    return [node.lineno for node, name in _imported(parsed(source), package) if name == MODULE]


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


# --- functions are not assigned to attributes of other objects -----------------------------------------------------

PER_REQUEST = frozenset(("listener", "on_abandon"))
"""Attributes of `net.reply.Reply`, a promise between one handler and one connection, which nothing else holds. A method
to set them would cost every request a call."""
CONTAINERS = ("list", "dict", "set", "deque", "Sequence", "Iterable", "Mapping", "Collection")


def function_attributes(trees: list[ast.Module]) -> set[str]:
    """Names of attributes that hold a function wherever they occur, by their annotations and first values."""
    functions, others = _split(each for tree in trees for each in _types(tree))
    aliases = functions - others
    functions, others = _split(each for tree in trees for each in _attributes(tree, aliases))
    return functions - others - PER_REQUEST


def _split(found: Iterable[tuple[str, bool]]) -> tuple[set[str], set[str]]:
    named = list(found)
    return {name for name, is_function in named if is_function}, {
        name for name, is_function in named if not is_function
    }


def _types(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Names of types, and whether they are functions: `Alias = Callable[...]`, and protocols with `__call__`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, _is_function(node.value, set())
        elif isinstance(node, ast.ClassDef):
            yield node.name, any(getattr(each, "name", "") == "__call__" for each in node.body)


def _is_function(annotation: ast.expr | None, aliases: set[str]) -> bool:
    """Whether a type has room for one function; a container has room for many."""
    if isinstance(annotation, ast.BinOp):
        return _is_function(annotation.left, aliases) or _is_function(annotation.right, aliases)
    if isinstance(annotation, ast.Subscript):
        name = getattr(annotation.value, "id", "")
        inside = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        return name == "Callable" or (name not in CONTAINERS and any(_is_function(each, aliases) for each in inside))
    return isinstance(annotation, ast.Name) and (annotation.id in aliases or annotation.id == "Callable")


def _attributes(tree: ast.Module, aliases: set[str]) -> Iterator[tuple[str, bool]]:
    """Names of attributes, and whether they hold a function: from annotations, arguments and constants."""
    for owner in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        for node in owner.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                yield node.target.id, _is_function(node.annotation, aliases)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _assigned(node, aliases)


def _assigned(method: ast.FunctionDef | ast.AsyncFunctionDef, aliases: set[str]) -> Iterator[tuple[str, bool]]:
    arguments = [*method.args.posonlyargs, *method.args.args, *method.args.kwonlyargs]
    functions = {each.arg: _is_function(each.annotation, aliases) for each in arguments}
    for node in ast.walk(method):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute):
            yield node.target.attr, _is_function(node.annotation, aliases)
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if not isinstance(target, ast.Attribute) or not isinstance(node, ast.Assign):
                continue
            if isinstance(node.value, ast.Name) and node.value.id in functions:
                yield target.attr, functions[node.value.id]
            elif isinstance(node.value, ast.Constant) and node.value.value is not None:
                yield target.attr, False


def late_wiring(tree: ast.Module, attributes: set[str]) -> list[str]:
    """Assignments of such an attribute by code that is not a method of the object."""
    found = []
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in [each for part in targets for each in getattr(part, "elts", [part])]:
            if isinstance(target, ast.Attribute) and target.attr in attributes and not _is_self(target.value):
                found.append(f"line {target.lineno}: {ast.unparse(target)}")
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setattr" and len(node.args) == 3:
            name = node.args[1]
            if isinstance(name, ast.Constant) and name.value in attributes and not _is_self(node.args[0]):
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


def _is_self(owner: ast.expr) -> bool:
    return isinstance(owner, ast.Name) and owner.id in ("self", "cls")


def test_functions_are_given_to_constructors() -> None:
    trees = {name: parsed(source) for name, source in modules().items()}
    attributes = function_attributes(list(trees.values()))
    assert {"_on_offsets_ended", "_connect", "on_open"} <= attributes, "the rule does not see what it is about"
    found = {name: late for name, tree in trees.items() if (late := late_wiring(tree, attributes))}
    assert found == {}


OWNER = """
Hook = Callable[[], None] | None
class Table:
    others: tuple[Callable[[], None], int] | None = None
    def __init__(self, clock: Callable[[], float]) -> None:
        self.on_opened: Callable[[int], None] | None = None
        self.hook: Hook = None
        self.clock = clock
        self.waiting: list[Callable[[], None]] = []
        self.count: int = 0
"""


@pytest.mark.parametrize(
    "planted",
    [
        "table.on_opened = self.abort_in",
        "self._table.on_opened = self.abort_in",
        "node.tables[0].hook = print",
        "table.clock, count = time.monotonic, 0",
        "table.others = (print, 1)",
        "table.hook: Hook = print",
        "setattr(table, 'hook', print)",
    ],
)
def test_the_guard_sees_an_assigned_function(planted: str) -> None:
    assert late_wiring(ast.parse(planted), function_attributes([ast.parse(OWNER)])) != []


@pytest.mark.parametrize(
    "harmless",
    ["self.on_opened = None", "table.count = 1", "table.waiting = []", "reply.listener = connection.completed"],
)
def test_the_guard_passes_other_assignments(harmless: str) -> None:
    assert late_wiring(ast.parse(harmless), function_attributes([ast.parse(OWNER)])) == []

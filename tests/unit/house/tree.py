"""Rules of the tree that no linter knows: files per folder, constructor arguments, cut classes, names of loggers.

Each rule is a function from a source root to its violations, a mapping from the name of a place to what is wrong there,
so that a test can show it a tree that breaks the rule.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

FILES_PER_FOLDER_MAX = 20
CONSTRUCTOR_ARGUMENTS_MAX = 8
LOGGER = "logger"

# A base class whose attributes are set by its subclass is one large class cut into files, not several parts.
CUT_CLASS = re.compile(r"\bfields\s+(?:all\s+)?belong\s+to\b", re.IGNORECASE)


def crowded_folders(root: Path) -> dict[str, str]:
    """Folders with too many modules, `__init__.py` not counted."""
    found = {}
    for folder in [root, *(path for path in root.rglob("*") if path.is_dir())]:
        count = sum(1 for path in folder.glob("*.py") if path.name != "__init__.py")
        if count > FILES_PER_FOLDER_MAX:
            found[folder.relative_to(root).as_posix()] = f"{count} files"
    return found


def wide_constructors(root: Path) -> dict[str, str]:
    """Classes whose own `__init__` takes too many arguments, `self` not counted.

    The fields of a dataclass are not arguments in this sense: a value has as many as it has.
    """
    found = {}
    for place, tree in _modules(root):
        for name, constructor in _constructors(tree):
            count = _argument_count(constructor)
            if count > CONSTRUCTOR_ARGUMENTS_MAX:
                found[f"{place}:{name}"] = f"{count} arguments"
    return found


def cut_classes(root: Path) -> dict[str, str]:
    """Modules that say that the fields they use belong to another class."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        if match := CUT_CLASS.search(path.read_text()):
            found[path.relative_to(root).as_posix()] = " ".join(match[0].split())
    return found


def odd_loggers(root: Path) -> dict[str, str]:
    """Loggers of modules that are not called `logger`; a `log` is what a partition has."""
    found = {}
    for place, tree in _modules(root):
        for statement in tree.body:
            if not isinstance(statement, ast.Assign | ast.AnnAssign) or not _makes_logger(statement.value):
                continue
            names = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for name in names:
                if ast.unparse(name) != LOGGER:
                    found[place] = ast.unparse(name)
    return found


def _makes_logger(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1] == "getLogger"


def _modules(root: Path) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(root.rglob("*.py")):
        yield path.relative_to(root).as_posix(), ast.parse(path.read_text())


def _constructors(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and member.name == "__init__":
                    yield node.name, member


def _argument_count(function: ast.FunctionDef) -> int:
    arguments = function.args
    named = len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs)
    collected = (arguments.vararg is not None) + (arguments.kwarg is not None)
    return named + collected - 1

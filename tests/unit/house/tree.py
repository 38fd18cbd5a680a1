"""Rules of the tree that no linter knows: files per folder, constructor arguments, cut classes, names of loggers.

Each rule is a function from a source root to its violations, a mapping from the name of a place to what is wrong there,
so that a test can show it a tree that breaks the rule.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

FILES_PER_FOLDER_MAX = 20
CONSTRUCTOR_ARGUMENTS_MAX = 8
METHODS_OF_A_VALUE_MAX = 2
"""A dataclass with more methods is a part with behaviour, and its fields are constructor arguments."""
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
    """Classes whose constructor takes too many arguments, `self` not counted.

    The fields of a dataclass are arguments only if it has behaviour: a value has as many as it has.
    """
    found = {}
    for place, tree in _modules(root):
        for name, constructor in _constructors(tree):
            count = _argument_count(constructor)
            if count > CONSTRUCTOR_ARGUMENTS_MAX:
                found[f"{place}:{name}"] = f"{count} arguments"
        for each in _classes(tree):
            has_behaviour = _is_dataclass(each) and _method_count(each) > METHODS_OF_A_VALUE_MAX
            if has_behaviour and (count := len(_init_fields(each))) > CONSTRUCTOR_ARGUMENTS_MAX:
                found[f"{place}:{each.name}"] = f"{count} arguments"
    return found


def cut_classes(root: Path) -> dict[str, str]:
    """Modules that say that the fields they use belong to another class."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        if match := CUT_CLASS.search(path.read_text()):
            found[path.relative_to(root).as_posix()] = " ".join(match[0].split())
    return found


def cut_by_inheritance(root: Path) -> dict[str, str]:
    """Classes that only work together with a subclass: a method that raises NotImplementedError, or a field that the
    class declares and reads, and only a subclass assigns.

    An abstract method or a class constant of the subclass is a contract, and no violation.
    """
    classes = [(place, each) for place, tree in _modules(root) for each in _classes(tree)]
    by_base: dict[str, list[ast.ClassDef]] = {}
    for _, each in classes:
        for base in each.bases:
            by_base.setdefault(_name(base), []).append(each)
    found = {}
    for place, each in classes:
        if missing := _unwritten_methods(each):
            found[f"{place}:{each.name}"] = f"not implemented: {', '.join(missing)}"
        elif lent := _lent_fields(each, by_base):
            found[f"{place}:{each.name}"] = f"assigned by a subclass: {', '.join(lent)}"
    return found


def _unwritten_methods(owner: ast.ClassDef) -> list[str]:
    return [
        method.name
        for method in _methods(owner)
        for node in ast.walk(method)
        if isinstance(node, ast.Raise) and node.exc is not None and _name(node.exc) == "NotImplementedError"
    ]


def _lent_fields(owner: ast.ClassDef, by_base: dict[str, list[ast.ClassDef]]) -> list[str]:
    if owner.name not in by_base:
        return []
    declared = {
        node.target.id
        for node in owner.body
        if isinstance(node, ast.AnnAssign) and node.value is None and isinstance(node.target, ast.Name)
    }
    if _is_dataclass(owner) or not declared:
        return []
    lent = declared & _own_attributes(owner, ast.Load) - _own_attributes(owner, ast.Store)
    below, seen = list(by_base[owner.name]), set()
    assigned: set[str] = set()
    while below and lent:
        each = below.pop()
        if each.name not in seen:
            seen.add(each.name)
            assigned |= _own_attributes(each, ast.Store)
            below += by_base.get(each.name, [])
    return sorted(lent & assigned)


def _own_attributes(owner: ast.ClassDef, context: type[ast.expr_context]) -> set[str]:
    """Attributes of `self` that the methods of a class read or assign."""
    return {
        node.attr
        for method in _methods(owner)
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, context) and _name(node.value) == "self"
    }


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
        yield path.relative_to(root).as_posix(), parsed(path.read_text())


@cache
def parsed(source: str) -> ast.Module:
    """The syntax tree of a module, for all rules together. None of them changes it."""
    return ast.parse(source)


def _classes(tree: ast.Module) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def _methods(owner: ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in owner.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _name(node: ast.expr) -> str:
    """The last name of an expression: `a.b[c](d)` is b."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _is_dataclass(owner: ast.ClassDef) -> bool:
    return any(_name(decorator) == "dataclass" for decorator in owner.decorator_list)


def _method_count(owner: ast.ClassDef) -> int:
    """Methods of an object, without properties and the language's own."""
    return sum(not each.name.startswith("__") and not _is_special(each) for each in _methods(owner))


def _is_special(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    special = ("property", "cached_property", "classmethod", "staticmethod")
    return any(_name(decorator) in special for decorator in method.decorator_list)


def _init_fields(owner: ast.ClassDef) -> list[str]:
    """Fields of a dataclass that its constructor takes."""
    return [
        ast.unparse(node.target)
        for node in owner.body
        if isinstance(node, ast.AnnAssign) and _name(node.annotation) != "ClassVar" and not _is_made_later(node.value)
    ]


def _is_made_later(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and any(
        each.arg == "init" and ast.unparse(each.value) == "False" for each in value.keywords
    )


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

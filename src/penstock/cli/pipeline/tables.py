"""The tables that a project defines, read from its definitions without starting Spark.

SQL names its tables in the statements that create them, Python in decorators and calls of `pyspark.pipelines`:

    CREATE STREAMING TABLE orders ...          @dp.table
    CREATE MATERIALIZED VIEW totals AS ...     @dp.materialized_view(name="totals")
                                               dp.create_streaming_table("orders")

A name that Python computes, or defines in a module that it imports, cannot be read this way. Such a project is not
`complete`: only Spark, which runs the definitions, knows all of its tables.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from penstock.cli.pipeline.project import Project
from penstock.cli.terminal.errors import CommandError, not_found

SQL_TABLE = re.compile(
    r"\bCREATE\s+(?:OR\s+REFRESH\s+)?(?:STREAMING\s+TABLE|MATERIALIZED\s+VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?([\w.`]+)",
    re.IGNORECASE,
)
_DECORATORS = ("table", "materialized_view")
_CREATE = "create_streaming_table"


@dataclass(slots=True)
class DefinedTables:
    names: set[str] = field(default_factory=set)
    complete: bool = True
    """Whether there can be no others."""

    def check(self, option: str, wanted: tuple[str, ...]) -> None:
        """Refuse a name that no table has. A qualified name may be that of a table outside the project."""
        if not self.complete:
            return
        for name in wanted:
            if "." not in name and name.casefold() not in {known.casefold() for known in self.names}:
                raise unknown_table(option, name, sorted(self.names))


def unknown_table(option: str, name: str, known: list[str]) -> CommandError:
    tables = f"the tables are {', '.join(known)}" if known else "the project defines no tables"
    error = not_found(f"{option} {name}: table", name, known, tables)
    return error if not known or tables in str(error) else CommandError(f"{error} ({tables})", error.code)


def defined_tables(project: Project) -> DefinedTables:
    found = DefinedTables()
    for path in project.definitions():
        try:
            text = path.read_text()
        except (OSError, UnicodeDecodeError):
            found.complete = False
            continue
        if path.suffix == ".sql":
            found.names.update(name.replace("`", "") for name in SQL_TABLE.findall(text))
        elif path.suffix == ".py":
            _read_python(text, path.parent, project.directory, found)
    return found


def _read_python(text: str, beside: Path, project: Path, found: DefinedTables) -> None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        found.complete = False  # Spark reports the mistake, with its place
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names = [_decorated(node, decorator) for decorator in node.decorator_list if _called(decorator)]
        elif isinstance(node, ast.Call):
            names = _created(node)
        else:
            found.complete &= not any(_is_own(module, beside, project) for module in _imported(node))
            continue
        found.names.update(name for name in names if name)
        found.complete &= None not in names


def _called(node: ast.expr) -> bool:
    function = node.func if isinstance(node, ast.Call) else node
    return _word(function) in _DECORATORS


def _word(function: ast.expr) -> str:
    """Return the last word of `dp.table` or `table`."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _decorated(function: ast.FunctionDef, decorator: ast.expr) -> str | None:
    """Return the name of a decorated table; None if it is computed."""
    for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
        if keyword.arg in ("name", None):
            return _constant(keyword.value)
    return function.name


def _created(call: ast.Call) -> list[str | None]:
    """Return the names that a call defines. `dp.table(...)(query)` is not read: it counts as one unknown name."""
    if isinstance(call.func, ast.Call) and _called(call.func):
        return [None]
    if _word(call.func) != _CREATE:
        return []
    named = [keyword.value for keyword in call.keywords if keyword.arg == "name"]
    return [_constant(value) for value in [*call.args[:1], *named][:1]] or [None]


def _constant(value: ast.expr) -> str | None:
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield node.module or "."


def _is_own(module: str, beside: Path, project: Path) -> bool:
    """Return whether a module is one of the project, which may define tables, too."""
    first = module.partition(".")[0]
    if not first:
        return True
    return any((place / first).is_dir() or (place / f"{first}.py").is_file() for place in (beside, project))

"""The consumers of a module, which is named as Python imports it or by the path of its file."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from penstock.consumers.definition import Definition, define, is_consumer
from penstock.consumers.errors import ConsumerError


def discover(names: Iterable[str]) -> list[Definition]:
    """The consumers of all modules. Raises ConsumerError for a module without any, or with one that cannot be run."""
    found: list[Definition] = []
    for name in names:
        definitions = [define(value) for value in _marked(load_module(name))]
        if not definitions:
            raise ConsumerError(
                f"module {name} has no consumers; mark a class or a function with @consumer(topic=…, group=…)"
            )
        found += definitions
    _check_groups(found)
    return found


def load_module(name: str) -> ModuleType:
    """Import a module. Its own imports are searched in the directory of its file, or in the working directory."""
    path = Path(name)
    if path.suffix == ".py" or "/" in name:
        return _load_file(path)
    _search(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise ConsumerError(
                f"there is no module {name}; run it where it can be imported, or name its file"
            ) from error
        raise ConsumerError(f"module {name} cannot be imported: {error}") from error
    except Exception as error:
        raise ConsumerError(f"module {name} cannot be imported: {type(error).__name__}: {error}") from error


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConsumerError(f"there is no file {path}")
    _search(path.resolve().parent)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ConsumerError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # annotations are resolved by looking it up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[path.stem]
        raise ConsumerError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    return module


def _search(directory: Path) -> None:
    if str(directory) not in sys.path:
        sys.path.insert(0, str(directory))


def _marked(module: ModuleType) -> list[object]:
    """The marked objects in the order of the file, without those that were imported from other modules."""
    return [
        value
        for value in vars(module).values()
        if is_consumer(value) and getattr(value, "__module__", None) == module.__name__
    ]


def _check_groups(definitions: Iterable[Definition]) -> None:
    """Refuse two consumers of one group: they would share its messages, so each handler would miss some of them."""
    seen: dict[str, str] = {}
    for definition in definitions:
        other = seen.setdefault(definition.mark.group, definition.name)
        if other != definition.name:
            raise ConsumerError(
                f"{other} and {definition.name} are both of group {definition.mark.group}: give each a group of its own"
            )

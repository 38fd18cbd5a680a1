"""Stubs of Kafka's requests and replies for mypy, made from kio's classes.

kio has a class per API and version; a handler serves all versions of its API. The stub of an API therefore has one
class per entity, with the fields of all versions. Replies also have a `...Builders` class, whose methods make their
entities from plain values (`penstock.protocol.kafka.messages.Messages`); requests have a `...Values` dictionary for
each entity, from which a client builds it (`penstock.client.entities.build`). Four things are written, the first three
below src/penstock/protocol/kafka:

    requests/API.pyi, replies/API.pyi   classes that only exist for mypy
    versioned.pyi                       `field(entity, name)`, for names that not every version has
    field_names.py                      every field that some version has, by class: other names are refused at run time
    src/penstock/client/calls.pyi       `call(api_key, version, ...)`, with the values and the reply of each API

    python -m tools.wire_types           write them
    python -m tools.wire_types --check   fail if one of them is out of date
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import enum
import re
import sys
import types
import typing
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

import kio.index
from kio.schema.index import api_key_map, schema_name_map
from kio.static.constants import EntityType

from penstock.protocol.kafka.apis import APIS

SOURCE = Path(__file__).resolve().parent.parent / "src/penstock"
ROOT = SOURCE / "protocol/kafka"
MADE = "Made by `python -m tools.wire_types`; do not edit."
DIRECTIONS: tuple[tuple[str, typing.Literal[EntityType.request, EntityType.response]], ...] = (
    ("requests", EntityType.request),
    ("replies", EntityType.response),
)
WIDE = 120


@dataclasses.dataclass(slots=True)
class Field:
    """A field of an entity, over all versions that have it."""

    reads: list[str]
    takes: list[str]
    versions: set[int]
    required: set[int]
    """Versions without a default; a builder requires only fields that all versions require."""


@dataclasses.dataclass(slots=True)
class Entity:
    """A class of a message, over all versions that have it."""

    fields: dict[str, Field]
    versions: set[int]


def entities(api_key: int, direction: typing.Literal[EntityType.request, EntityType.response]) -> dict[str, Entity]:
    """The classes of an API's requests or replies, nested ones before those that hold them."""
    found: dict[str, Entity] = {}
    for version in schema_name_map[api_key_map[api_key]]:
        module = kio.index.load_payload_module(api_key, version, direction)
        for name, value in vars(module).items():
            if dataclasses.is_dataclass(value) and isinstance(value, type) and value.__module__ == module.__name__:
                entity = found.setdefault(name, Entity({}, set()))
                entity.versions.add(version)
                _note_fields(entity, value, version)
    return found


def _note_fields(entity: Entity, entity_class: type, version: int) -> None:
    for item in dataclasses.fields(entity_class):
        field = entity.fields.setdefault(item.name, Field([], [], set(), set()))
        reads, takes = _types(item.type)
        if reads not in field.reads:
            field.reads.append(reads)
        if takes not in field.takes:
            field.takes.append(takes)
        field.versions.add(version)
        if item.default is dataclasses.MISSING and item.name != "throttle_time":
            field.required.add(version)


def _types(annotation: object) -> tuple[str, str]:
    """The type of a field, and the type that a builder takes for it."""
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        (inner,) = (each for each in typing.get_args(annotation) if each is not types.NoneType)
        reads, takes = _types(inner)
        return f"{reads} | None", takes if takes.endswith("None") else f"{takes} | None"
    if typing.get_origin(annotation) is tuple:
        reads, takes = _types(typing.get_args(annotation)[0])
        return f"tuple[{reads}, ...]", f"Sequence[{takes}]"
    return _plain(annotation)


def _plain(annotation: object) -> tuple[str, str]:
    base = annotation
    while hasattr(base, "__supertype__"):
        base = base.__supertype__
    assert isinstance(base, type), annotation
    if dataclasses.is_dataclass(base):
        return base.__name__, base.__name__
    if issubclass(base, enum.Enum):
        return "ErrorCode", "ErrorCode | int"
    if issubclass(base, datetime.timedelta):
        return "timedelta", "timedelta | int"
    if issubclass(base, datetime.datetime):
        return "datetime", "datetime | int | None"
    if issubclass(base, uuid.UUID):
        return "UUID", "UUID"
    for plain in (bool, int, float, str, bytes):
        if issubclass(base, plain):
            return plain.__name__, plain.__name__
    if issubclass(base, tuple):  # kio's Records: views of batches
        return "bytes", "bytes"
    raise TypeError(f"no stub for {annotation}")


def _union(parts: Iterable[str]) -> str:
    """`A | B`, each once, None last."""
    names: list[str] = []
    for part in parts:
        for name in _split(part):
            if name not in names:
                names.append(name)
    names.sort(key=lambda name: name == "None")
    return " | ".join(names)


def _split(annotation: str) -> Iterator[str]:
    depth, start = 0, 0
    for position, char in enumerate(annotation):
        depth += (char == "[") - (char == "]")
        if char == "|" and depth == 0:
            yield annotation[start:position].strip()
            start = position + 1
    yield annotation[start:].strip()


# --- the stubs -----------------------------------------------------------------------------------------------------


def class_stub(name: str, entity: Entity) -> list[str]:
    lines = [f"class {name}:"]
    for field_name, field in entity.fields.items():
        note = _note(field, entity)
        lines.append(f"    {field_name}: {_union(field.reads)}{note}")
    return lines if entity.fields else [f"class {name}: ..."]


def _note(field: Field, entity: Entity) -> str:
    """A comment with the versions of a field that is not in all of them."""
    if field.versions == entity.versions:
        return ""
    oldest, newest = min(field.versions), max(field.versions)
    upper = "+" if newest == max(entity.versions) else f" to v{newest}"
    return f"  # v{oldest}{upper}"


def builders_stub(name: str, found: dict[str, Entity]) -> list[str]:
    names = ", ".join(f'"{each}"' for each in found)
    # Inside the class the names are those of its methods.
    lines = [f"_{each} = {each}" for each in found]
    lines += ["", f"class {name}Builders:", "    version: int"]
    lines += _wrapped(f"    def has(self, name: Literal[{names}]) -> bool: ...")
    for entity_name, entity in found.items():
        if not entity.fields:
            lines.append(f"    def {entity_name}(self) -> _{entity_name}: ...")
            continue
        lines += [f"    def {entity_name}(", "        self,", "        *,"]
        for field_name, field in entity.fields.items():
            default = "" if field.required == entity.versions else " = ..."
            takes = _renamed(_union(field.takes), {each: f"_{each}" for each in found})
            lines.append(f"        {field_name}: {takes}{default},")
        lines.append(f"    ) -> _{entity_name}: ...")
    return lines


def values_stub(name: str, entity: Entity, nested: Iterable[str]) -> list[str]:
    """The dictionary from which a client builds an entity; it may leave out any field."""
    if not entity.fields:
        return [f"class {name}Values(TypedDict): ..."]
    lines = [f"class {name}Values(TypedDict, total=False):"]
    for field_name, field in entity.fields.items():
        takes = _renamed(_union(field.takes), {each: f"{each}Values" for each in nested})
        lines.append(f"    {field_name}: {takes}{_note(field, entity)}")
    return lines


def _wrapped(line: str) -> list[str]:
    if len(line) <= WIDE:
        return [line]
    head, _, names = line.partition("Literal[")
    names, _, tail = names.partition("]")
    indent = " " * 8
    return [
        f"{head.replace('(self, name: ', '(')}",
        f"{indent}self,",
        f"{indent}name: Literal[",
        *(f"{indent}    {each}," for each in names.split(", ")),
        f"{indent}],",
        f"    ){tail.removeprefix(')')}",
    ]


def _imports(body: str, extra: Iterable[str] = ()) -> list[str]:
    def used(name: str) -> bool:
        return any(f"{before}{name}" in body for before in (" ", "[", "("))

    standard = ["from collections.abc import Sequence"] * used("Sequence[")
    times = [name for name in ("datetime", "timedelta") if used(name)]
    standard += [f"from datetime import {', '.join(times)}"] if times else []
    typed = [name for name, use in (("Literal", "Literal["), ("TypedDict", "TypedDict")) if used(use)]
    standard += [f"from typing import {', '.join(typed)}"] if typed else []
    standard += ["from uuid import UUID"] * used("UUID")
    foreign = ["from kio.schema.errors import ErrorCode"] * used("ErrorCode")
    parts = [part for part in (standard, foreign, list(extra)) if part]
    return [line for number, part in enumerate(parts) for line in ([""] * bool(number) + part)]


def stub(api_key: int, name: str, folder: str, direction: typing.Any) -> str:
    found = entities(api_key, direction)
    blocks = [class_stub(each, entity) for each, entity in found.items()]
    if folder == "replies":
        blocks.append(builders_stub(name, found))
    else:
        blocks += [values_stub(each, entity, found) for each, entity in found.items()]
    body = "\n\n".join("\n".join(block) for block in blocks)
    imports = _imports(body)
    return "\n".join([f'"""{name}, {folder}. {MADE}"""', "", *imports, *([""] if imports else []), body, ""])


def versioned_stub() -> str:
    """`field`, with an overload for each class and type of fields that some versions lack."""
    overloads: list[str] = []
    imports: list[str] = []
    for api in APIS.values():
        for folder, direction in DIRECTIONS:
            module = api_key_map[api.key]
            for name, entity in entities(api.key, direction).items():
                lines = _overloads(f"{module}_{folder}.{name}", entity)
                if lines:
                    line = f"from penstock.protocol.kafka.{folder} import {module} as {module}_{folder}"
                    imports += [line] * (line not in imports)
                    overloads += lines
    body = "\n".join(overloads)
    head = f'"""Fields that not every version of an entity has. {MADE}"""'
    typing_names = "from typing import Literal, TypeVar, overload"
    parts = [line for line in _imports(body.replace("Literal[", ""), sorted(imports)) if line]
    own = [line for line in parts if line.startswith("from penstock")]
    kio_lines = [line for line in parts if line.startswith("from kio")]
    standard = sorted([line for line in parts if line not in own and line not in kio_lines] + [typing_names])
    standard.sort(key=lambda line: line.split()[1])
    return "\n".join([head, "", *standard, "", *kio_lines, "", *own, "", 'D = TypeVar("D")', "", body, ""])


def calls_stub() -> str:
    """`Calls.call`, with an overload for each API."""
    imports: list[str] = []
    overloads: list[str] = []
    for api in APIS.values():
        module = api_key_map[api.key]
        imports += [
            f"from penstock.protocol.kafka.requests.{module} import {api.name}RequestValues",
            f"from penstock.protocol.kafka.replies.{module} import {api.name}Response",
        ]
        takes = f"self, api_key: Literal[{api.key}], version: int, **values: Unpack[{api.name}RequestValues]"
        line = f"    def call({takes}) -> {api.name}Response: ..."
        lines = (
            [line] if len(line) <= WIDE else ["    def call(", f"        {takes}", f"    ) -> {api.name}Response: ..."]
        )
        overloads += ["    @overload", *lines]
    head = [f'"""Calls with the values of requests and the fields of replies. {MADE}"""', ""]
    standard = ["from abc import ABC, abstractmethod", "from typing import Literal, Unpack, overload", ""]
    exchange = [
        "class Calls(ABC):",
        "    @abstractmethod",
        "    def exchange(self, api_key: int, version: int, body: bytes, *, flexible: bool) -> memoryview: ...",
    ]
    return "\n".join([*head, *standard, *sorted(imports), "", *exchange, *overloads, ""])


def _overloads(class_name: str, entity: Entity) -> list[str]:
    by_type: dict[str, list[str]] = {}
    for name, field in entity.fields.items():
        if field.versions != entity.versions:
            by_type.setdefault(_union(_qualified(each, class_name) for each in field.reads), []).append(name)
    lines: list[str] = []
    for annotation, names in by_type.items():
        literal = ", ".join(f'"{name}"' for name in names)
        for default, result in (("", _union([annotation, "None"])), (", default: D", _union([annotation, "D"]))):
            lines += [
                "@overload",
                "def field(",
                f"    entity: {class_name},",
                f"    name: Literal[{literal}],",
                *([f"    {default.removeprefix(', ')},"] if default else []),
                f") -> {result}: ...",
            ]
    return lines


def _qualified(annotation: str, class_name: str) -> str:
    """Nested classes by the module of their stub."""
    known = {"int", "str", "bool", "float", "bytes", "None", "UUID", "ErrorCode", "timedelta", "datetime", "tuple"}
    module = class_name.partition(".")[0]
    words = set(re.findall(r"\w+", annotation)) - known
    return _renamed(annotation, {word: f"{module}.{word}" for word in words})


def _renamed(annotation: str, names: dict[str, str]) -> str:
    return re.sub(r"\w+", lambda word: names.get(word.group(), word.group()), annotation)


def field_names() -> str:
    """The table of names for the check at run time."""
    table: dict[str, set[str]] = {}
    for api in APIS.values():
        for _, direction in DIRECTIONS:
            for name, entity in entities(api.key, direction).items():
                table.setdefault(f"{api_key_map[api.key]}.{name}", set()).update(entity.fields)
    lines = [
        f'"""Fields of all versions of an entity, by API and class. {MADE}"""',
        "",
        "from __future__ import annotations",
        "",
        "FIELD_NAMES: dict[str, str] = {",
        *_table_lines(table),
        "}",
        "",
    ]
    return "\n".join(lines)


def _table_lines(table: dict[str, set[str]]) -> Iterator[str]:
    for name, fields in sorted(table.items()):
        line = f'    "{name}": "{" ".join(sorted(fields))}",'
        if len(line) <= WIDE:
            yield line
            continue
        yield f'    "{name}": ('
        row = ""
        for field in sorted(fields):
            if len(row) + len(field) > WIDE - 14:
                yield f'        "{row}"'
                row = ""
            row += f"{field} "
        yield f'        "{row.rstrip()}"'
        yield "    ),"


def made() -> dict[Path, str]:
    """The texts of all files, by path."""
    files = {
        ROOT / "versioned.pyi": versioned_stub(),
        ROOT / "field_names.py": field_names(),
        SOURCE / "client/calls.pyi": calls_stub(),
    }
    for api in APIS.values():
        for folder, direction in DIRECTIONS:
            files[ROOT / folder / f"{api_key_map[api.key]}.pyi"] = stub(api.key, api.name, folder, direction)
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the stubs of Kafka's requests and replies.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is out of date")
    check = parser.parse_args().check
    stale = [path for path, text in made().items() if not path.exists() or path.read_text() != text]
    if check:
        for path in stale:
            print(f"{path.relative_to(SOURCE)} is out of date: run python -m tools.wire_types")
        return 1 if stale else 0
    texts = made()
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(texts[path])
    print(f"{len(stale)} of {len(texts)} files written")
    return 0


if __name__ == "__main__":
    sys.exit(main())

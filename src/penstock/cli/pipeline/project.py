"""A pipeline project: a directory with a spec file, as Spark Declarative Pipelines want it, and all of its state.

    NAME/
      spark-pipeline.yml      what it is called, where its definitions are, its configuration
      transformations/        definitions in Python and SQL
      state/                  made by runs, never edited
        _checkpoints/         how far each flow has read
        warehouse/  catalog/  the tables, and what is known of them
        logs/                 one file a run
        run.json              the last run
        lock                  held while one runs

Spark wants `storage` to be an absolute address; here it may also be relative to the project.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.cli.terminal.errors import CommandError, ExitCode

SPEC_NAMES = ("spark-pipeline.yml", "spark-pipeline.yaml")
BOOTSTRAP = "penstock.bootstrap.servers"
"""The configuration by which a project's definitions find their broker."""
LOGS_KEPT = 10
_FIELDS = {"name", "storage", "catalog", "database", "schema", "configuration", "libraries"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    spec: Path
    name: str
    storage: str
    """Absolute, with a scheme."""
    configuration: dict[str, str]

    @property
    def directory(self) -> Path:
        return self.spec.parent

    @property
    def state(self) -> Path:
        return self.directory / "state"

    @property
    def record(self) -> Path:
        return self.state / "run.json"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """One run at a time: two would write the same checkpoints."""
        self.state.mkdir(exist_ok=True)
        with (self.state / "lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise CommandError(f"{self.name} is running already, as process {file.read().strip()}") from None
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
            yield

    @property
    def is_locked(self) -> bool:
        try:
            with (self.state / "lock").open() as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def new_log(self, label: str) -> Path:
        """A new file; the oldest ones make room for it."""
        logs = self.state / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        for old in sorted(logs.glob("*.log"))[: -LOGS_KEPT + 1]:
            old.unlink()
        return logs / f"{label}.log"


def open_project(path: Path) -> Project:
    """By its directory or its spec file. CommandError if it is none."""
    spec = _spec_in(path) if path.is_dir() else path
    if not spec.is_file():
        raise CommandError(f"{path} does not exist", ExitCode.NOT_FOUND)
    fields = _read(spec)
    storage = str(fields["storage"])
    if ":" not in storage.partition("/")[0]:
        storage = (spec.parent.absolute() / storage).as_uri()
    return Project(
        spec=spec.absolute(),
        name=str(fields["name"]),
        storage=storage,
        configuration={str(key): _text(spec, key, value) for key, value in (fields.get("configuration") or {}).items()},
    )


def find_projects(below: Path, *, depth: int = 4) -> Iterator[Path]:
    """Spec files, in order; hidden directories and the state of projects are passed over."""
    for name in SPEC_NAMES:
        if (below / name).is_file():
            yield below / name
            return
    if depth == 0:
        return
    with contextlib.suppress(PermissionError):
        for inner in sorted(below.iterdir()):
            if inner.is_dir() and not inner.is_symlink() and not inner.name.startswith((".", "__", "node_modules")):
                yield from find_projects(inner, depth=depth - 1)


def _spec_in(directory: Path) -> Path:
    found = [directory / name for name in SPEC_NAMES if (directory / name).is_file()]
    if len(found) == 1:
        return found[0]
    if found:
        raise CommandError(f"{directory} has two spec files: {' and '.join(SPEC_NAMES)}", ExitCode.USAGE)
    hint = "name a project, or make one with `penstock pipeline init NAME`"
    raise CommandError(f"{directory} is no pipeline project, it has no {SPEC_NAMES[0]}", ExitCode.NOT_FOUND, hint=hint)


def _read(spec: Path) -> dict[str, Any]:
    import yaml

    try:
        fields = yaml.safe_load(spec.read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CommandError(f"{spec} cannot be read: {' '.join(str(error).split())}", ExitCode.USAGE) from None
    if not isinstance(fields, dict):
        raise CommandError(f"{spec} is no spec: it needs name and storage", ExitCode.USAGE)
    if unknown := sorted(set(map(str, fields)) - _FIELDS):
        known = ", ".join(sorted(_FIELDS))
        raise CommandError(f"{spec}: {', '.join(unknown)} is not known; there are {known}", ExitCode.USAGE)
    if missing := [name for name in ("name", "storage", "libraries") if not fields.get(name)]:
        raise CommandError(f"{spec}: {', '.join(missing)} is missing", ExitCode.USAGE)
    if not isinstance(fields.get("configuration") or {}, dict):
        raise CommandError(f"{spec}: configuration is a list of names and values", ExitCode.USAGE)
    return fields


def _text(spec: Path, key: object, value: object) -> str:
    if not isinstance(value, str):
        hint = f'write "{value}" with quotation marks'
        raise CommandError(f"{spec}: configuration {key} is no text", ExitCode.USAGE, hint=hint)
    return value

"""A pipeline project: a directory with a spec file, as Spark Declarative Pipelines expect it, and all of its state.

    NAME/
      spark-pipeline.yml      its name, the places of its definitions, its configuration
      transformations/        definitions in Python and SQL
      state/                  written by runs, never edited
        _checkpoints/         how far each flow has read
        warehouse/  catalog/  the tables and their catalog
        logs/                 one file per run
        run.json              the last run
        lock                  held during a run

Spark requires `storage` to be an absolute URI; here it may also be a path relative to the project.
"""

from __future__ import annotations

import contextlib
import difflib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.runtime.private_files import DIRECTORY_MODE

SPEC_NAMES = ("spark-pipeline.yml", "spark-pipeline.yaml")
BOOTSTRAP = "penstock.bootstrap.servers"
"""The configuration by which a project's definitions find their broker."""
COMMAND_CONFIG = "penstock.command.config"
"""The configuration by which they find the file with the properties of clients, in which secrets are."""
LOGS_KEPT = 10
SHOWN_MAX = 5
_FIELDS = {"name", "storage", "catalog", "database", "schema", "configuration", "libraries"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    spec: Path
    name: str
    storage: str
    """Absolute, with a scheme."""
    configuration: dict[str, str]
    libraries: tuple[str, ...] = ()
    """Where the definitions are: files, or directories with /** behind them."""

    @property
    def directory(self) -> Path:
        return self.spec.parent

    @property
    def command_config(self) -> Path | None:
        """The file that the spec names, relative to the project."""
        named = self.configuration.get(COMMAND_CONFIG)
        return self.directory / Path(named).expanduser() if named else None

    @property
    def state(self) -> Path:
        return self.directory / "state"

    @property
    def record(self) -> Path:
        return self.state / "run.json"

    def definitions(self) -> Iterator[Path]:
        """Yield the files with definitions, as Spark finds them."""
        for pattern in self.libraries:
            below = f"{pattern}/*" if pattern.endswith("/**") else pattern
            for path in sorted(self.directory.glob(below)):
                if path.is_file() and "__pycache__" not in path.parts:
                    yield path

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the project: two runs at a time would write the same checkpoints."""
        self.state.mkdir(DIRECTORY_MODE, exist_ok=True)  # logs and records of runs
        with (self.state / "lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise CommandError(f"{self.name} is already running, as process {file.read().strip()}") from None
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
        """Name a new log file and delete the oldest ones."""
        logs = self.state / "logs"
        self.state.mkdir(DIRECTORY_MODE, exist_ok=True)
        logs.mkdir(DIRECTORY_MODE, exist_ok=True)
        for old in sorted(logs.glob("*.log"))[: -LOGS_KEPT + 1]:
            old.unlink()
        return logs / f"{label}.log"


def open_project(path: Path) -> Project:
    """Open a project by its directory or its spec file."""
    spec = _spec_in(path) if path.is_dir() else path
    if not spec.is_file():
        raise CommandError(f"{path} does not exist", ExitCode.NOT_FOUND, hint=_elsewhere(path))
    fields = _read(spec)
    storage = str(fields["storage"])
    if ":" not in storage.partition("/")[0]:
        storage = (spec.parent.absolute() / storage).as_uri()
    return Project(
        spec=spec.absolute(),
        name=str(fields["name"]),
        storage=storage,
        configuration={str(key): _text(spec, key, value) for key, value in (fields.get("configuration") or {}).items()},
        libraries=_libraries(spec, fields["libraries"]),
    )


def find_projects(below: Path, *, depth: int = 4) -> Iterator[Path]:
    """Yield spec files in order, without those in hidden directories and in the state of projects."""
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
    problem = f"{directory} is not a pipeline project: it has no {SPEC_NAMES[0]}"
    raise CommandError(problem, ExitCode.NOT_FOUND, hint=_elsewhere(directory))


def _elsewhere(path: Path) -> str:
    """Return a hint: the projects that there are, with the most similar name first, or how to make one."""
    below = path if path.is_dir() else path.parent if path.parent.is_dir() else Path()
    found = [str(spec.parent) for spec in find_projects(below, depth=2) if spec.parent != path]
    names = {Path(name).name: name for name in found}
    if close := difflib.get_close_matches(path.name, names, n=1):
        return f"did you mean {names[close[0]]}?"
    make = "make one with `penstock pipeline init NAME`"
    if not found:
        return f"name the directory of a project, or {make}"
    more = f" and {len(found) - SHOWN_MAX} more (`penstock pipeline list`)" if len(found) > SHOWN_MAX else ""
    return f"there are projects in {', '.join(found[:SHOWN_MAX])}{more}; or {make}"


def _read(spec: Path) -> dict[str, Any]:
    import yaml

    try:
        fields = yaml.safe_load(spec.read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CommandError(f"{spec} cannot be read: {' '.join(str(error).split())}", ExitCode.USAGE) from None
    if not isinstance(fields, dict):
        raise CommandError(f"{spec} is not a spec: it needs name, storage and libraries", ExitCode.USAGE)
    if unknown := sorted(set(map(str, fields)) - _FIELDS):
        known = ", ".join(sorted(_FIELDS))
        raise CommandError(f"{spec}: unknown field {', '.join(unknown)}; the fields are {known}", ExitCode.USAGE)
    if missing := [name for name in ("name", "storage", "libraries") if not fields.get(name)]:
        raise CommandError(f"{spec}: missing {', '.join(missing)}", ExitCode.USAGE)
    if not isinstance(fields.get("configuration") or {}, dict):
        raise CommandError(f"{spec}: configuration must be a mapping of names to values", ExitCode.USAGE)
    return fields


def _libraries(spec: Path, entries: object) -> tuple[str, ...]:
    try:
        return tuple(str(entry["glob"]["include"]) for entry in entries)  # type: ignore[attr-defined]
    except (TypeError, KeyError):
        hint = "write a list with entries such as `- glob: {include: transformations/**}`"
        raise CommandError(f"{spec}: libraries must be a list of globs", ExitCode.USAGE, hint=hint) from None


def _text(spec: Path, key: object, value: object) -> str:
    if not isinstance(value, str):
        hint = f'write "{value}" with quotation marks'
        raise CommandError(f"{spec}: configuration {key} is not a string", ExitCode.USAGE, hint=hint)
    check_no_secret(str(spec), str(key), value)
    return value


def check_no_secret(where: str, name: str, value: str) -> None:
    """Refuse a secret of the client in a text that Spark, the system and everybody with the project shows."""
    from penstock.client.security.properties import SECRETS

    if any(name.endswith(secret) for secret in SECRETS) and not value.startswith(("file:", "env:")):
        hint = f"put it into a file with properties and name that: --command-config, or {COMMAND_CONFIG}"
        raise CommandError(f"{where}: {name} is a secret and would be shown", ExitCode.USAGE, hint=hint)

"""`state/run.json`: the last run of a project, written when it starts and again when it ends.

A run that was killed leaves "running" behind. Since it no longer holds the project's lock, it reads as "interrupted".
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from penstock.cli.pipeline.project import Project

VERSION = 1


@dataclass(slots=True, kw_only=True)
class RunRecord:
    kind: str
    """incremental or full refresh."""
    master: str
    started: float
    log: str
    state: str = "running"
    seconds: float = 0.0
    updates: int = 0
    """There are several with --watch; the other figures are those of the last one."""
    error: str = ""
    bootstrap: str = ""
    flows: list[dict[str, Any]] = field(default_factory=list)
    tables: dict[str, int] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Write the record atomically."""
        new = path.with_suffix(".new")
        new.write_text(json.dumps({"version": VERSION, **asdict(self)}, indent=2) + "\n")
        new.replace(path)


def last_run(project: Project) -> RunRecord | None:
    try:
        fields = json.loads(project.record.read_text())
        if fields.pop("version") != VERSION:
            return None
        record = RunRecord(**fields)
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if record.state == "running" and not project.is_locked:
        record.state = "interrupted"
    return record

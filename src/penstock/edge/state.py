"""Which generation of the data is read, and which refresh is under way: one small file, replaced as a whole.

    edge.json   {"edge": 1, "topic": …, "active": {"number": n, "id": hex}, "refresh": null or
                 {"id": n, "generation": {…}, "ends": {"partition": offset}}, "completed": refresh id or null}

It is written beside, synced, renamed, and its directory synced (`Files.write_durably`), so that a switch of generations
has happened or has not, whenever the power fails.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.model.ids import PartitionId
from penstock.runtime.files import Files
from penstock.storage.data_directory import DataDirectoryError

FORMAT = 1
FILE_NAME = "edge.json"


@dataclass(frozen=True, slots=True)
class GenerationId:
    """The log of a generation is partition 0 of a topic of its own."""

    number: int
    id: uuid.UUID

    @property
    def topic(self) -> str:
        return f"generation-{self.number}"

    @property
    def partition(self) -> PartitionId:
        return PartitionId(self.id, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    """A refresh under way: `generation` is being filled until it is at or past `ends`."""

    id: int
    generation: GenerationId
    ends: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    topic: str
    active: GenerationId
    refresh: Refresh | None = None
    completed: int | None = None
    """The last refresh that was completed: when it is asked for again, READY is the answer."""

    @property
    def generations(self) -> tuple[GenerationId, ...]:
        return (self.active,) if self.refresh is None else (self.active, self.refresh.generation)

    def new_generation(self) -> GenerationId:
        return GenerationId(1 + max(each.number for each in self.generations), uuid.uuid4())


def is_generation(topic: str) -> bool:
    """Whether the log of a generation may have this name; those of a broker have others."""
    return re.fullmatch(r"generation-\d+", topic) is not None


def first_generation() -> GenerationId:
    return GenerationId(1, uuid.uuid4())


def load_state(files: Files, root: Path) -> State | None:
    """Load the state; None if there is none yet. DataDirectoryError if it cannot be read."""
    path = root / FILE_NAME
    if not files.exists(path):
        return None
    try:
        document = json.loads(files.read_bytes(path))
        if document["edge"] != FORMAT:
            raise DataDirectoryError(
                f"{path} was written by a newer Penstock (format {document['edge']}); start that version or a newer one"
            )
        return _state(document)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataDirectoryError(
            f"{path} cannot be read ({error!r}); restore it from a backup, or start with an empty directory, which is"
            " filled by the broker again"
        ) from error


def save_state(files: Files, root: Path, state: State) -> None:
    """Replace the stored state. Waits for the disk. Any thread."""
    files.write_durably(root / FILE_NAME, json.dumps(_document(state), indent=1).encode() + b"\n")


def _state(document: Mapping[str, Any]) -> State:
    refresh = document["refresh"]
    return State(
        topic=str(document["topic"]),
        active=_generation(document["active"]),
        refresh=None
        if refresh is None
        else Refresh(
            id=int(refresh["id"]),
            generation=_generation(refresh["generation"]),
            ends={int(partition): int(end) for partition, end in refresh["ends"].items()},
        ),
        completed=None if document["completed"] is None else int(document["completed"]),
    )


def _generation(document: Mapping[str, Any]) -> GenerationId:
    return GenerationId(int(document["number"]), uuid.UUID(document["id"]))


def _document(state: State) -> dict[str, Any]:
    refresh = state.refresh
    return {
        "edge": FORMAT,
        "topic": state.topic,
        "active": _named(state.active),
        "refresh": None
        if refresh is None
        else {
            "id": refresh.id,
            "generation": _named(refresh.generation),
            "ends": {str(partition): end for partition, end in refresh.ends.items()},
        },
        "completed": state.completed,
    }


def _named(generation: GenerationId) -> dict[str, Any]:
    return {"number": generation.number, "id": generation.id.hex}

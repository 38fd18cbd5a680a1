"""A node's identity, and where it keeps its data."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from penstock.config.settings.values import INT32_MAX, Section


class NodeSettings(Section):
    id: Annotated[int, Field(ge=0, le=INT32_MAX)] = 1
    """Number of this node, which clients see. A name such as local-001 is taken too: it becomes node.name,
    and the number is its trailing digits, or else a hash of the name."""
    name: str | None = None
    """The node's name in the log; without one, its number."""
    data_dir: Path = Path("data")
    """Directory of everything that this node stores."""
    rack: str | None = None
    """Rack of this node, for clients that prefer near replicas."""

    @model_validator(mode="before")
    @classmethod
    def _split_name(cls, values: Any) -> Any:
        if not isinstance(values, dict) or not isinstance(values.get("id"), str):
            return values
        text = values["id"].strip()
        if not text or re.fullmatch(r"-?\d+", text):
            return values
        return {"name": text, **values, "id": node_number(text)}

    @property
    def label(self) -> str:
        return self.name or str(self.id)


def node_number(name: str) -> int:
    """The number of a node that was given a name: local-001 is 1; a name without digits is hashed."""
    digits = re.search(r"(\d+)$", name)
    return int(digits[1]) & INT32_MAX if digits else zlib.crc32(name.encode()) & INT32_MAX

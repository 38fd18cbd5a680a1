"""The types of settings: sizes, ports, times, levels, and how their texts are read.

Text comes from the environment and from the command line, so every type accepts the notations that people use there.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from penstock.model.text.http_url import check_http_url

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
_UNITS = {"": 1, "b": 1, "kib": KIB, "mib": MIB, "gib": GIB, "kb": 1000, "mb": 1000**2, "gb": 1000**3}
_SIZE = re.compile(r"(\d+)\s*([a-z]*)", re.IGNORECASE)
INT32_MAX = (1 << 31) - 1


def parse_bytes(value: object) -> object:
    """Parse '16 MiB' as well as 16777216. The type check refuses anything else."""
    if isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        unit = _UNITS.get(match[2].lower())
        if unit is not None:
            return int(match[1]) * unit
    return value


def parse_pairs(value: object) -> object:
    """Parse 'a=1,b=2' as well as a mapping, so that the environment can set a mapping."""
    if not isinstance(value, str):
        return value
    pairs = [item.partition("=") for item in value.split(",") if item.strip()]
    if any(not name.strip() or not equals for name, equals, _ in pairs):
        raise ValueError("expected name=value pairs separated by commas")
    return {name.strip(): text.strip() for name, _, text in pairs}


def _texts(value: object) -> object:
    """Config values as text: Kafka's are strings, but YAML turns some of them into numbers and booleans."""
    value = parse_pairs(value)
    if not isinstance(value, dict):
        return value
    return {str(k): str(v).lower() if isinstance(v, bool) else str(v) for k, v in value.items()}


Bytes = Annotated[int, BeforeValidator(parse_bytes), Field(ge=0)]
Port = Annotated[int, Field(ge=0, le=65535)]
Host = Annotated[str, Field(min_length=1)]
HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$", max_length=253)]
"""A name alone: without scheme, port or wildcard."""
Millis = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
Texts = Annotated[dict[str, str], BeforeValidator(_texts)]


class Section(BaseModel):
    """A branch of the tree: immutable after loading, without unknown names."""

    # Inputs are not repeated in errors: they may be secrets. `config.loading` repeats the others.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


def upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


def no_slash(value: object) -> object:
    return value.strip().rstrip("/") or None if isinstance(value, str) else value


Url = Annotated[str, AfterValidator(check_http_url)]


def split_list(value: object) -> object:
    """Split 'a,b' as well as a list, so that the environment can set a list."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

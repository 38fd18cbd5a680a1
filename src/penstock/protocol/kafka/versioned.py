"""Fields that not every version of an entity has.

The stub beside this file, made by `python -m tools.wire_types`, has an overload for each of them: mypy knows their
types and refuses a name that no version has, and one that every version has, which needs no default.
"""

from __future__ import annotations

from typing import Any


def field(entity: Any, name: str, default: Any = None) -> Any:
    """The value of a field, or the default in a version that lacks the field."""
    return getattr(entity, name, default)

"""The verdict in an answer: its error codes, the names that it shows, and the operations that it says are authorized.

Everything else, offsets and sizes and the like, is the business of other tests.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Any, Final

NAMES: Final = frozenset(
    {
        "name", "topic", "topic_name", "group_id", "transactional_id", "resource_name", "key", "coordinator_key",
        "resource", "user", "feature",
    }
)  # fmt: skip
SKIPPED: Final = frozenset({"nodes", "brokers", "configs", "log_dir", "config_synonyms", "aborted_transactions"})
"""Lists whose names are those of brokers and configs."""

Verdict = dict[str, Any]


def verdict(answer: Any) -> Verdict:
    found: Verdict = {}
    for field in dataclasses.fields(answer):
        value = getattr(answer, field.name)
        if field.name.endswith("error_code"):
            found[field.name] = int(value)
        elif field.name.endswith("authorized_operations"):
            found[field.name] = _operations(value)
        elif field.name == "topic_id":
            found["has_id"] = value is not None
        elif field.name in NAMES:
            found[field.name] = value
        elif field.name == "records":
            found["records"] = bool(value)
        elif field.name == "configs":
            found["has_configs"] = bool(value)
        elif isinstance(value, tuple) and field.name not in SKIPPED:
            found |= {field.name: rows} if (rows := _rows(value)) else {}
    return found


def _rows(values: Iterable[Any]) -> list[Verdict]:
    """Verdicts of nested entities, each once and sorted: lists have no order in Kafka."""
    rows = {json.dumps(found, sort_keys=True) for each in values if (found := _nested(each))}
    return [json.loads(row) for row in sorted(rows)]


def _nested(value: Any) -> Verdict:
    return verdict(value) if dataclasses.is_dataclass(value) else {}


def _operations(bits: int) -> str:
    """The numbers of the operations, or that they were not asked for."""
    if bits == -(1 << 31):
        return "not asked for"
    return " ".join(str(number) for number in range(32) if bits >> number & 1)

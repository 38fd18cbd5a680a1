"""The verdict in an answer: its error codes, the names that it shows, and the operations that it says are authorized.

Everything else, offsets and sizes and the like, is the business of other tests.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from penstock.model.errors import ErrorCode
from tests.differential.normal import UNORDERED

NAMES: Final = frozenset(
    {
        "name", "topic", "topic_name", "group_id", "transactional_id", "resource_name", "key", "coordinator_key",
        "resource", "user", "feature",
    }
)  # fmt: skip
SKIPPED: Final = frozenset({"nodes", "brokers", "configs", "log_dir", "config_synonyms"})
"""Lists whose names are those of brokers and configs."""

_REFUSED_IN_A_SET: Final = ("describe_topic_partitions", "topics")
"""The list whose refused rows have their places, but among each other the order of a hash set."""
_REFUSED: Final = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)

Verdict = dict[str, Any]


class Reading:
    """Reads answers of an API. `ids` are the names of topic ids, which each cluster has chosen for itself."""

    def __init__(self, api: str, ids: Mapping[object, str]) -> None:
        self._api = api
        self._ids = ids

    def verdict(self, answer: Any) -> Verdict:
        found: Verdict = {}
        for field in dataclasses.fields(answer):
            value = getattr(answer, field.name)
            if field.name.endswith("error_code"):
                found[field.name] = int(value)
            elif field.name.endswith("authorized_operations"):
                found[field.name] = _operations(value)
            elif field.name == "topic_id":
                found["topic_id"] = None if value is None else self._ids.get(value, "another")
            elif field.name in NAMES:
                found[field.name] = value
            elif field.name == "records":
                found["records"] = bool(value)
            elif field.name == "aborted_transactions":
                found["has_aborted"] = value is not None
            elif field.name == "configs":
                found["has_configs"] = bool(value)
            elif isinstance(value, tuple) and field.name not in SKIPPED:
                found |= {field.name: rows} if (rows := self._rows(field.name, value)) else {}
        return found

    def _rows(self, name: str, values: Iterable[Any]) -> list[Verdict]:
        """Verdicts of nested entities, in their order where Kafka has one."""
        rows = [found for each in values if dataclasses.is_dataclass(each) and (found := self.verdict(each))]
        if (self._api, name) in UNORDERED:
            rows.sort(key=_text)
        elif (self._api, name) == _REFUSED_IN_A_SET:
            refused = iter(sorted((row for row in rows if row["error_code"] == _REFUSED), key=_text))
            return [next(refused) if row["error_code"] == _REFUSED else row for row in rows]
        return rows


def _text(row: Verdict) -> str:
    return json.dumps(row, sort_keys=True)


def _operations(bits: int) -> str:
    """The numbers of the operations, or that they were not asked for."""
    if bits == -(1 << 31):
        return "not asked for"
    return " ".join(str(number) for number in range(32) if bits >> number & 1)

"""What is deliberately not the same, and why: the only differences that the comparison lets pass.

Every row names the line of docs/compatibility.md that tells users about it (`row` is text of that line), and a row
that no longer happens must go. APIs that Penstock does not have are a table of their own, which ApiVersions shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    script: str  # patterns, as of a shell
    step: str
    path: str
    row: str
    kafka: Any = ...  # any value, unless one is given
    penstock: Any = ...


NOT_THERE: Mapping[int, str] = {  # API key: the line of docs/compatibility.md that says why
}


class Holding:
    """Stands for any mapping that has this key."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict) and self._key in other

    def __hash__(self) -> int:
        return hash(self._key)


UNKNOWN_CODEC = "an unknown codec is UNKNOWN_SERVER_ERROR"
WHOLE_BATCHES = "an answer may end with a part of a batch"
MIN_INSYNC = "`min.insync.replicas` is shown with the source"
UNKNOWN_BROKER_CONFIG = "a broker takes configs that nobody knows"

SCENARIOS: tuple[Known, ...] = (
    Known(
        script="*",
        step="produce v*",
        path="responses*.error_message",
        kafka=None,
        penstock="<text>",
        row="most refused batches come without a text",
    ),
    Known(
        script="topic-config-timestamps",
        step="produce v*",
        path="responses*.record_errors[*]",
        penstock="<absent>",
        row="a timestamp that is not allowed names its record",
    ),
    Known(
        script="record-codecs",
        step="produce v*: codec [57]",
        path="responses*.error_code",
        kafka=-1,
        penstock=2,
        row=UNKNOWN_CODEC,
    ),
    Known(
        script="record-codecs",
        step="produce v*: codec [57]",
        path="responses*.log_start_offset",
        kafka=0,
        penstock=-1,
        row=UNKNOWN_CODEC,
    ),
    Known(
        script="record-bad-batches",
        step="produce v*: stamped by the client",
        path="responses*",
        row="a client may set the timestamp type LogAppendTime",
    ),
    Known(script="*", step="fetch v*", path="responses*.records[*]", kafka=Holding("cut_off_bytes"), row=WHOLE_BATCHES),
    Known(
        script="record-parts",
        step="fetch v*: 1000 bytes of three",
        path="responses*.records[0]",
        kafka="<absent>",
        row=WHOLE_BATCHES,
    ),
    Known(
        script="record-isolation",
        step="fetch v*: isolation 2",
        path="*",
        row="an isolation level that does not exist",
    ),
    Known(script="*", step="describe_configs v*", path="results*.configs[name=min.insync.replicas].*", row=MIN_INSYNC),
    Known(script="broker-config-defaults", step="alter_configs v*", path="responses*", row=MIN_INSYNC),
    Known(script="topic-config-*", step="*NaN", path="*", row="`NaN` is a ratio"),
    Known(
        script="broker-config-mistakes",
        step="incremental_alter_configs v*no.such.config=1",
        path="responses*",
        row=UNKNOWN_BROKER_CONFIG,
    ),
    Known(
        script="broker-config-mistakes",
        step="incremental_alter_configs v*log.retention.ms=-2",
        path="responses*",
        row=UNKNOWN_BROKER_CONFIG,
    ),
    Known(
        script="broker-config-mistakes",
        step="describe_configs v*",
        path="results*.configs[name=no.such.config]",
        penstock="<absent>",
        row=UNKNOWN_BROKER_CONFIG,
    ),
    Known(
        script="group-first-join",
        step="join_group v*: a handed-out id with an instance",
        path="*",
        row="a join with a group instance and the id of a dynamic member",
    ),
)

DELIBERATE: tuple[Known, ...] = ()

KNOWN: tuple[Known, ...] = (
    *SCENARIOS,
    *DELIBERATE,
    *(
        Known(script="api-versions-*", step="*", path=f"api_keys[api_key={key}]", row=row, penstock="<absent>")
        for key, row in NOT_THERE.items()
    ),
)

"""docs/reference-names.md: every name elsewhere has an equivalent, and every equivalent exists."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from penstock.protocol.push.frames import FrameType

PAGE = Path(__file__).parents[3] / "docs" / "reference-names.md"
NAMED_ELSEWHERE = {
    "StorageEngine", "NetworkServer", "NetworkClient", "PipeConnector", "EventType", "MessageRecord",
    "ConsumerRecord", "BrokerMessage", "TopologyResponse", "HealthStatus", "@Consumer", "MessageHandler",
    "ErrorHandler", "RetryPolicy",
}  # fmt: skip
EVENT_TYPES = {
    "DATA": 0x01, "ACK": 0x02, "SUBSCRIBE": 0x03, "COMMIT_OFFSET": 0x04, "RESET": 0x05, "READY": 0x06,
    "DISCONNECT": 0x07, "HEARTBEAT": 0x08,
}  # fmt: skip


def rows() -> list[list[str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]


def found(dotted: str) -> Any:
    module, _, name = dotted.rpartition(".")
    return getattr(import_module(module), name)


@pytest.mark.feature("P-29")
def test_every_name_elsewhere_has_an_equivalent_that_exists() -> None:
    table = {row[0]: re.findall(r"`([\w.]+)`", row[1]) for row in rows() if len(row) == 3 and row[0] != "there"}
    assert table.keys() >= NAMED_ELSEWHERE
    for name, equivalents in table.items():
        assert equivalents, f"{name} has no equivalent"
        for dotted in equivalents:
            assert found(dotted) is not None


@pytest.mark.feature("P-29")
def test_event_types_have_the_names_and_numbers_they_have_elsewhere() -> None:
    table = {row[0]: row[1].strip("`") for row in rows() if len(row) == 2 and row[0] != "EventType"}
    assert table.keys() == EVENT_TYPES.keys()
    for name, number in EVENT_TYPES.items():
        assert FrameType[table[name]] == number

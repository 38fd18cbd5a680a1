"""The stubs of Kafka's messages: up to date, and misspelt fields are found, by mypy and at run time.

Both sides are shown: the broker's handlers, and the calls of a client.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.protocol.kafka.messages import Messages
from tools.wire_types import made

JOIN_GROUP = 11
ANSWER = {"error_code": 0, "generation_id": 1, "protocol_name": "range", "leader": "a", "member_id": "a", "members": ()}

SNIPPET = """
from penstock.protocol.kafka.replies.join_group import JoinGroupBuilders
from penstock.protocol.kafka.requests.join_group import JoinGroupRequest
from penstock.protocol.kafka.versioned import field


def answer(request: JoinGroupRequest, reply: JoinGroupBuilders) -> None:
    print(request.{group_id}, field(request, "{rebalance_timeout}"))
    reply.JoinGroupResponse(
        error_code=0, {generation_id}=1, protocol_name=None, leader="", member_id="", members=[]
    )
"""
FIELDS = ("group_id", "rebalance_timeout", "generation_id")

CLIENT_SNIPPET = """
from penstock.client.calls import Calls
from penstock.protocol.kafka.apis import LIST_OFFSETS


def latest(connection: Calls) -> int:
    answer = connection.call(
        LIST_OFFSETS,
        7,
        {isolation_level}=0,
        topics=[{{"name": "a", "partitions": [{{"partition_index": 0, "{timestamp}": -1}}]}}],
    )
    (found,) = answer.{topics}[0].partitions
    return found.{offset}
"""
CLIENT_FIELDS = ("isolation_level", "timestamp", "topics", "offset")


def test_the_stubs_say_what_kio_says() -> None:
    stale = [path.name for path, text in made().items() if not path.exists() or path.read_text() != text]
    assert stale == [], "run python -m tools.wire_types"


def test_mypy_finds_misspelt_fields_of_requests_replies_and_calls(tmp_path: Path) -> None:
    programs: dict[str, str | None] = {}
    for side, snippet, fields in (("broker", SNIPPET, FIELDS), ("client", CLIENT_SNIPPET, CLIENT_FIELDS)):
        for misspelt in (None, *fields):
            program = tmp_path / f"{side}_{misspelt}.py"
            program.write_text(snippet.format(**{name: spelt(name, misspelt) for name in fields}))
            programs[str(program)] = misspelt
    arguments = ("--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache"), *programs)
    found = subprocess.run([sys.executable, "-m", "mypy", *arguments], capture_output=True, text=True, check=False)
    wrong = {line.partition(":")[0] for line in found.stdout.splitlines() if ": error: " in line}
    assert wrong == {program for program, misspelt in programs.items() if misspelt}, found.stdout


def spelt(name: str, misspelt: str | None) -> str:
    return f"{name}x" if name == misspelt else name


def test_a_reply_leaves_out_fields_of_other_versions() -> None:
    reply = Messages(JOIN_GROUP, 0)
    answer = reply.JoinGroupResponse(**ANSWER, protocol_type="consumer", skip_assignment=True)
    assert not hasattr(answer, "skip_assignment")


def test_a_reply_refuses_a_field_that_no_version_has() -> None:
    for version in (0, 9):
        with pytest.raises(TypeError, match="no version of JoinGroupResponse has a field generation"):
            Messages(JOIN_GROUP, version).JoinGroupResponse(**ANSWER, generation=1)


def test_a_reply_has_no_throttle_time_unless_it_is_given_one() -> None:
    assert Messages(JOIN_GROUP, 9).JoinGroupResponse(**ANSWER).throttle_time.total_seconds() == 0

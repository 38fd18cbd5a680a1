"""`penstock topic` against a running broker."""

import re
import struct
import uuid

import pytest
from confluent_kafka import Uuid

from penstock.cli.kafka.topic import _id_text
from tests.cli.conftest import CommandLine


@pytest.mark.feature("K-13")
def test_a_topic_is_created_described_altered_and_deleted(penstock: CommandLine, name: str) -> None:
    penstock("topic", "create", name, "--partitions", 3, "--config", "retention.ms=60000")
    (before,) = penstock("topic", "describe", name, "--output", "json").json
    assert (before["topic"], len(before["partitions"])) == (name, 3)
    assert {config["name"]: config["value"] for config in before["configs"]} == {"retention.ms": "60000"}
    penstock(
        "topic",
        "alter",
        name,
        "--partitions",
        5,
        "--config",
        "retention.bytes=1000000",
        "--delete-config",
        "retention.ms",
    )
    (after,) = penstock("topic", "describe", name, "--output", "json").json
    assert after["id"] == before["id"]
    assert [partition["partition"] for partition in after["partitions"]] == [0, 1, 2, 3, 4]
    assert {config["name"]: config["value"] for config in after["configs"]} == {"retention.bytes": "1000000"}
    assert name in penstock("topic", "list").out
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", before["id"])
    penstock("topic", "delete", name)
    assert name not in [topic["topic"] for topic in penstock("topic", "list", "--output", "json").json]


def test_changes_speak_json(penstock: CommandLine, name: str) -> None:
    as_json = ["--output", "json"]
    assert penstock("topic", "create", name, *as_json).json == {"topic": name, "created": True}
    again = penstock("topic", "create", name, "--if-not-exists", *as_json)
    assert again.json == {"topic": name, "created": False}
    altered = penstock(
        "topic", "alter", name, "-p", 2, "-c", "retention.ms=5", "--delete-config", "segment.ms", *as_json
    )
    expected = {"topic": name, "set": {"retention.ms": "5"}, "deleted": ["segment.ms"], "partitions": 2}
    assert altered.json == expected
    deleted = penstock("topic", "delete", name, name, *as_json)
    assert deleted.json == [{"topic": name, "deleted": True, "error": None}]


def test_ids_are_written_as_kafka_writes_them() -> None:
    topic_id = uuid.UUID("fbffbfff-0000-4000-8000-0000000000ff")
    high, low = struct.unpack(">qq", topic_id.bytes)
    assert _id_text(Uuid(high, low)) == "-_-__wAAQACAAAAAAAAA_w"


def test_a_hint_is_one_that_helps(penstock: CommandLine, name: str) -> None:
    missing = penstock("topic", "delete", name, code=4).err
    assert "topic list" in missing
    assert "topic create" not in missing
    penstock("topic", "create", name)
    for command in (["create", f"{name}-2"], ["alter", name]):
        assert "did you mean retention.ms?" in penstock("topic", *command, "-c", "retention.mss=1", code=1).err
    penstock("produce", name, stdin="x\n")
    penstock("consume", name, "--group", name)
    assert "the broker needs it" in penstock("topic", "delete", "__consumer_offsets", code=1).err


def test_the_table_shows_offsets(penstock: CommandLine, name: str) -> None:
    penstock("topic", "create", name)
    penstock("produce", name, stdin="a\nb\n")
    row = [line.split() for line in penstock("topic", "describe", name).lines if line.split()[:1] == ["0"]]
    assert row == [["0", "1", "[1]", "[1]", "0", "2", "2"]]


def test_an_existing_topic_is_an_error_unless_accepted(penstock: CommandLine, name: str) -> None:
    penstock("topic", "create", name)
    assert "--if-not-exists" in penstock("topic", "create", name, code=1).err
    assert "already exists" in penstock("topic", "create", name, "--if-not-exists").err


def test_an_unknown_topic_is_not_found_and_the_nearest_is_suggested(penstock: CommandLine, name: str) -> None:
    penstock("topic", "create", name)
    for command in (["topic", "describe"], ["topic", "delete"], ["topic", "alter", "--partitions", "2"], ["consume"]):
        assert f"did you mean {name}?" in penstock(*command, name + "x", code=4).err


@pytest.mark.parametrize(
    "flags",
    [
        ["--config", "no.such.config=1"],
        ["--config", "retention.ms=soon"],
        ["--config", "segment.bytes=1"],
    ],
)
def test_the_broker_s_refusal_is_shown(penstock: CommandLine, name: str, flags: list[str]) -> None:
    assert name in penstock("topic", "create", name, *flags, code=1).err
    assert name not in penstock("topic", "list").out


@pytest.mark.parametrize("bad", ["..", "a/b", "x" * 250])
def test_bad_names_are_refused(penstock: CommandLine, bad: str) -> None:
    assert penstock("topic", "create", bad, code=1).err.startswith("penstock: topic")


def test_wrong_usage_has_its_own_exit_code(penstock: CommandLine, name: str) -> None:
    penstock("topic", "create", name, "--config", "nonsense", code=2)
    penstock("topic", "create", code=2)
    penstock("topic", "alter", name, code=2)
    penstock("topic", "create", name, "--partitions", "0", code=2)
    penstock("topic", "create", name, "--partitions", "99999999999", code=2)
    assert "Did you mean" in penstock("topic", "creat", code=2).err


def test_a_broker_that_is_not_there_is_named_with_the_remedy(alone: CommandLine) -> None:
    refused = alone("topic", "list", "--bootstrap-server", "127.0.0.1:1", code=3)
    assert "127.0.0.1:1" in refused.err
    assert "penstock serve" in refused.err
    assert "host:port" in alone("topic", "list", "--bootstrap-server", "nonsense", code=2).err
    assert (
        "the host name host.invalid is unknown"
        in alone("group", "list", "--bootstrap-server", "host.invalid:9092", code=3).err
    )

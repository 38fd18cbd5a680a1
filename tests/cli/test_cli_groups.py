"""`penstock group` against a running broker."""

from collections.abc import Iterator

import pytest
from kio.schema.errors import ErrorCode

from tests.cli.conftest import CommandLine
from tests.support import group_client
from tests.support.batches import Record, batch
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient

READ = 4
RESETS = (
    (["--to-earliest"], 0),
    (["--to-latest"], 10),
    (["--to-offset", "7"], 7),
    (["--to-offset", "700"], 10),
    (["--shift-by", "-3"], 1),
    (["--shift-by", "2"], 6),
    (["--to-datetime", "2023-11-14T22:13:25Z"], 5),
    (["--to-datetime", "@1700000006500"], 7),
)


@pytest.fixture
def client(node: PenstockProcess) -> Iterator[RawClient]:
    with RawClient(node.host, node.port) as connection:
        yield connection


@pytest.fixture
def group(client: RawClient, name: str) -> str:
    """A group of the same name as its topic: 10 records, 4 of them read."""
    client.create_topic(name, configs={"retention.ms": "-1"})  # its records are of the year 2023
    records = [Record(value=b"%d" % n, timestamp_ms=1_700_000_000_000 + n * 1000) for n in range(10)]
    client.appended(name, batch(records))
    member = group_client.joined_alone(client, name)
    assert member.commit(name, READ) == ErrorCode.none
    assert member.leave() == ErrorCode.none
    return name


def committed(client: RawClient, group: str) -> int:
    return int(group_client.committed(client, group, group).committed_offset)


def test_lag_is_shown(penstock: CommandLine, group: str) -> None:
    assert group in penstock("group", "list").out
    assert {"group": group, "state": "empty", "simple": False} in penstock("group", "list", "--output", "json").json
    assert "empty, 0 members, lag 6" in penstock("group", "describe", group).out
    (found,) = penstock("group", "describe", group, "--output", "json").json
    (partition,) = found["partitions"]
    assert (partition["committed"], partition["end"], partition["lag"], found["lag"]) == (4, 10, 6, 6)


@pytest.mark.feature("K-08")
def test_offsets_are_reset_only_when_told(penstock: CommandLine, client: RawClient, group: str) -> None:
    for option, expected in RESETS:
        plan = penstock("group", "reset-offsets", group, *option, "--output", "json")
        assert plan.json["offsets"] == [{"topic": group, "partition": 0, "from": READ, "to": expected}]
        assert "--execute" in plan.err
        assert ("has no offset 700, only 0 to 10: using its end" in plan.err) == ("700" in option)
        assert committed(client, group) == READ
        penstock("group", "reset-offsets", group, *option, "--execute")
        assert committed(client, group) == expected
        assert group_client.commit(client, group, group, READ) == ErrorCode.none


def test_a_new_group_can_be_placed(penstock: CommandLine, group: str) -> None:
    other = f"{group}-other"
    penstock("group", "reset-offsets", other, "--topic", f"{group}:0", "--to-offset", 8, "--execute")
    assert penstock("consume", group, "--group", other).lines == ["8", "9"]


def test_a_group_is_deleted(penstock: CommandLine, group: str) -> None:
    penstock("group", "delete", group)
    assert group not in penstock("group", "list").out
    penstock("group", "delete", group, code=4)


def test_deleting_speaks_json(penstock: CommandLine, group: str) -> None:
    found = penstock("group", "delete", group, group, "--output", "json").json
    assert found == [{"group": group, "deleted": True, "error": None}]


def test_a_group_with_members_is_left_alone(penstock: CommandLine, group: str) -> None:
    with penstock.started("consume", group, "--follow", "--group", group) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"4\n"
        (found,) = penstock("group", "describe", group, "--output", "json").json
        assert (found["state"], [member["client"] for member in found["members"]]) == ("stable", ["penstock-cli"])
        assert found["partitions"][0]["member"] == "penstock-cli"
        refused = penstock("group", "reset-offsets", group, "--to-earliest", "--execute", code=1)
        assert "stop its consumers first" in refused.err
        assert "stop its consumers first" in penstock("group", "delete", group, code=1).err
        process.terminate()
        assert process.wait(30) == 0


def test_mistakes_are_explained(penstock: CommandLine, group: str) -> None:
    assert f"did you mean {group}?" in penstock("group", "describe", group + "x", code=4).err
    assert "exactly one of" in penstock("group", "reset-offsets", group, code=2).err
    assert "exactly one of" in penstock("group", "reset-offsets", group, "--to-latest", "--to-earliest", code=2).err
    assert "only 0 to 0" in penstock("group", "reset-offsets", group, "--to-latest", "-t", f"{group}:4", code=4).err
    assert "PARTITION" in penstock("group", "reset-offsets", group, "--to-latest", "-t", f"{group}:x", code=2).err
    for moment in ("soon", "@99999999999999999999", "0001-01-01T00:00:00+14:00"):
        assert "date and time" in penstock("group", "reset-offsets", group, "--to-datetime", moment, code=2).err

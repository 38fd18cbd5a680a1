"""`penstock produce` and `penstock consume` against a running broker."""

import itertools
import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.cli.conftest import CommandLine
from tests.support.penstock_process import PenstockProcess
from tests.support.variants import variants
from tests.support.waiting import wait_until


def test_lines_go_in_and_come_out(penstock: CommandLine, name: str) -> None:
    sent = penstock("produce", name, stdin="eins\nzwei\r\n\ndrei ohne Umbruch")
    assert "the broker created it" in sent.err
    assert "4 messages" in sent.err
    assert penstock("consume", name).lines == ["eins", "zwei", "", "drei ohne Umbruch"]


def test_json_round_trips_with_keys_headers_times_and_bytes(penstock: CommandLine, name: str) -> None:
    messages = [
        {"key": "k", "value": "text", "headers": [["a", "1"], ["a", "2"]], "partition": 1, "timestamp": 1700000000000},
        {"key": None, "value": None, "partition": 0},
        {"value": {"nested": [1, 2]}, "partition": 0},
        {"value_base64": "/w8=", "key_base64": "gA==", "partition": 0},
    ]
    penstock("topic", "create", name, "--partitions", 2, "--config", "retention.ms=-1")
    lines = "".join(json.dumps(message) + "\n" for message in messages)
    summary = penstock("produce", name, "--format", "json", "--output", "json", stdin=lines).json
    assert (summary["delivered"], summary["partitions"]) == (4, {"0": 3, "1": 1})
    first = penstock("consume", name, "--output", "json")
    read = sorted(first.json_lines, key=lambda message: (message["partition"], message["offset"]))
    assert [m.get("value") for m in read] == [None, '{"nested": [1, 2]}', None, "text"]
    assert (read[2]["value_base64"], read[2]["key_base64"]) == ("/w8=", "gA==")
    assert read[3] | messages[0] == read[3]
    penstock("produce", f"{name}-copy", "--format", "json", stdin="".join(json.dumps(m) + "\n" for m in read[:3]))
    copy = penstock("consume", f"{name}-copy", "--output", "json").json_lines
    keep = ("key", "value", "value_base64", "key_base64", "timestamp")
    assert [{k: m.get(k) for k in keep} for m in copy] == [{k: m.get(k) for k in keep} for m in read[:3]]


@variants(
    "codec",
    [("none",), ("gzip",), ("snappy",), ("lz4",), ("zstd",)],
    quick=[("none",), ("gzip",)],  # with one of the two ways to wait each
)
def test_files_keys_headers_and_codecs(penstock: CommandLine, name: str, codec: str, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"key{number}:value {number}\n" for number in range(100)))
    acks = "1" if codec == "gzip" else "all"
    penstock("produce", name, path, "--key-separator", ":", "--header", "h=x", "-z", codec, "--acks", acks)
    read = penstock("consume", name, "--output", "json").json_lines
    assert [(m["key"], m["value"]) for m in read] == [(f"key{n}", f"value {n}") for n in range(100)]
    assert read[0]["headers"] == [["h", "x"]]


@pytest.mark.feature("K-08")
def test_reading_starts_where_it_is_told(penstock: CommandLine, name: str) -> None:
    penstock("topic", "create", name, "--config", "retention.ms=-1")  # its records are of the year 2023
    messages = [{"value": str(number), "timestamp": 1700000000000 + number * 1000} for number in range(10)]
    penstock("produce", name, "--format", "json", stdin="".join(json.dumps(m) + "\n" for m in messages))
    assert penstock("consume", name, "--from", "7").lines == ["7", "8", "9"]
    assert penstock("consume", name, "--from", "latest").lines == []
    assert penstock("consume", name, "--from", "earliest", "--count", 2).lines == ["0", "1"]
    assert penstock("consume", name, "--from", "2023-11-14T22:13:28Z").lines == ["8", "9"]
    assert penstock("consume", name, "--from", "@1700000009000").lines == ["9"]
    assert penstock("consume", name, "--from", "@1800000000000").lines == []
    beyond = penstock("consume", name, "--from", "99999")
    assert beyond.lines == []
    assert f"{name}-0 has no offset 99999, only 0 to 10" in beyond.err
    assert penstock("consume", name, name, "--partition", 0, "--partition", 0, "--from", "9").lines == ["9"]


@pytest.mark.feature("K-08")
def test_a_group_goes_on_after_what_was_printed(penstock: CommandLine, name: str) -> None:
    penstock("produce", name, stdin="1\n2\n3\n4\n5\n")
    assert penstock("consume", name, "--group", name, "--count", 2).lines == ["1", "2"]
    assert penstock("consume", name, "--group", name).lines == ["3", "4", "5"]
    assert penstock("consume", name, "--group", name).lines == []


@variants("end", [(signal.SIGINT,), (signal.SIGTERM,)], quick=[(signal.SIGINT,)])
def test_following_shows_new_messages_and_ends_cleanly(penstock: CommandLine, name: str, end: signal.Signals) -> None:
    penstock("produce", name, stdin="old\n")
    with penstock.started("consume", name, "--follow", "--group", name) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"old\n"
        penstock("produce", name, stdin="new\n")
        assert process.stdout.readline() == b"new\n"
        os.kill(process.pid, end)
        assert process.wait(30) == 0
    (group,) = penstock("group", "describe", name, "--output", "json").json
    assert group["lag"] == 0


def test_details_are_shown_when_asked_for(penstock: CommandLine, name: str) -> None:
    penstock("produce", name, "--format", "json", stdin='{"key":"k","value":"v","timestamp":5,"headers":{"h":"1"}}\n')
    assert penstock("consume", name, "--verbose").lines == [f"{name}-0@0 time=5 key=k headers=h=1 value=v"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "is not JSON"),
        ("3", "is not an object"),
        ('{"vale": 1}', "unknown members vale"),
        ('{"partition": -1}', "partition"),
        ('{"headers": 3}', "headers"),
        ('{"headers": [["a"]]}', "header"),
        ('{"value": "x", "partition": 7}', "partition 7"),
        ('{"value": "x", "partition": 4294967296}', "partition"),
        ('{"value": "x", "timestamp": 9223372036854775808}', "timestamp"),
        ('{"value": "x", "value_base64": "eA=="}', "both value and value_base64"),
        ('{"value_base64": "?"}', "not base64"),
        ('{"value_base64": 3}', "not base64"),
        ('{"value": "\\ud800"}', "not Unicode"),
    ],
)
def test_a_bad_line_is_named(penstock: CommandLine, name: str, line: str, reason: str) -> None:
    penstock("topic", "create", name)
    flags = ["produce", name, "--format", "json"]
    failed = penstock(*flags, stdin=f'{{"value":"ok"}}\n{line}\n{{"value":"after"}}\n', code=1)
    assert "1 message delivered, stopped at line 2 of stdin: " in failed.err
    assert reason in failed.err
    assert penstock("consume", name).lines == ["ok"]


def test_a_bad_line_of_a_file_is_in_the_json_and_earlier_lines_are_counted(
    penstock: CommandLine, name: str, tmp_path: Path
) -> None:
    path = tmp_path / "messages.json"
    path.write_text('{"value": 1}\n' * 1000 + "nonsense\n")
    penstock("topic", "create", name)
    found = penstock("produce", name, path, "--format", "json", "--output", "json", code=1).json
    assert (found["delivered"], found["failed"]) == (1000, 0)
    assert (found["failed_line"]["file"], found["failed_line"]["line"]) == (str(path), 1001)
    assert "is not JSON" in found["failed_line"]["reason"]
    assert len(penstock("consume", name).lines) == 1000


def test_a_line_that_the_client_does_not_send_is_named(penstock: CommandLine, name: str) -> None:
    penstock("topic", "create", name)
    failed = penstock("produce", name, stdin="small\n" + "x" * 2_000_000, code=1)
    assert "1 message delivered, stopped at line 2 of stdin: " in failed.err
    assert "message.max.bytes" in failed.err


def test_a_file_that_cannot_be_read_is_named(penstock: CommandLine, name: str, tmp_path: Path) -> None:
    good = tmp_path / "good.txt"
    good.write_text("a\nb\n")
    failed = penstock("produce", name, good, "/proc/self/mem", code=1)  # reading address 0 is an error for everybody
    assert "2 messages delivered, stopped at line 1 of /proc/self/mem: cannot be read" in failed.err


def test_the_broker_s_own_topic_takes_no_messages(penstock: CommandLine, name: str) -> None:
    penstock("produce", name, stdin="x\n")
    penstock("consume", name, "--group", name)
    assert "name another topic" in penstock("produce", "__consumer_offsets", stdin="x\n", code=1).err


def test_a_header_may_come_twice(penstock: CommandLine, name: str) -> None:
    penstock("produce", name, "-H", "a=b", "-H", "a=c=d", stdin="x\n")
    assert penstock("consume", name, "--output", "json").json_lines[0]["headers"] == [["a", "b"], ["a", "c=d"]]


def test_a_keyless_message_to_a_compacted_topic_is_refused_with_the_remedy(penstock: CommandLine, name: str) -> None:
    penstock("topic", "create", name, "--config", "cleanup.policy=compact")
    assert "--key-separator" in penstock("produce", name, stdin="x\n", code=1).err


@variants(
    "command,bad",
    itertools.product(
        (["topic", "list"], ["topic", "create", "x"], ["consume", "x"], ["produce", "x"], ["group", "list"], ["bench"]),
        ("bogus=1", "socket.timeout.ms=soon"),
    ),
    quick=[
        (["topic", "list"], "bogus=1"),
        (["topic", "create", "x"], "socket.timeout.ms=soon"),
        (["consume", "x"], "bogus=1"),
        (["produce", "x"], "socket.timeout.ms=soon"),
        (["group", "list"], "bogus=1"),
        (["bench"], "socket.timeout.ms=soon"),
    ],
)
def test_an_unknown_client_property_is_wrong_usage(penstock: CommandLine, command: list[str], bad: str) -> None:
    failed = penstock(*command, "-X", bad, code=2)
    assert bad.partition("=")[0] in failed.err
    assert "--property" in failed.err
    assert len(failed.err.splitlines()) == 1


def test_what_does_not_exist_is_not_found(penstock: CommandLine, name: str, tmp_path: Path) -> None:
    penstock("topic", "create", name)
    assert "only 0 to 0" in penstock("produce", name, "--partition", 3, stdin="x\n", code=4).err
    assert "only 0 to 0" in penstock("consume", name, "--partition", 3, code=4).err
    assert "does not exist" in penstock("produce", name, tmp_path / "absent", code=4).err
    assert "is a directory" in penstock("produce", name, tmp_path, code=2).err
    assert "separator" in penstock("produce", name, "--key-separator", ":", stdin="x\n", code=1).err
    assert "earliest, latest" in penstock("consume", name, "--from", "yesterday", code=2).err
    assert "reset-offsets" in penstock("consume", name, "--group", "g", "--from", "5", code=2).err


def test_a_message_that_is_too_large_is_reported(penstock: CommandLine, name: str) -> None:
    penstock("topic", "create", name, "--config", "max.message.bytes=1000")
    assert "1 of 1 message was not delivered" in penstock("produce", name, stdin="x" * 5000, code=1).err
    assert penstock("consume", name).lines == []


def test_a_reader_that_leaves_early_is_no_error(penstock: CommandLine, node: PenstockProcess, name: str) -> None:
    penstock("produce", name, stdin="line\n" * 20000)
    command = f"{sys.executable} -m penstock consume {name} -b {node.bootstrap} | head -n 2"
    done = subprocess.run(command, shell=True, capture_output=True, env=penstock.environ, timeout=60, check=False)
    assert done.stdout == b"line\nline\n"
    assert b"Traceback" not in done.stderr


@pytest.mark.feature("P-16", "F-08")
def test_the_broker_counts_what_passes(penstock: CommandLine, node: PenstockProcess, name: str) -> None:
    penstock("produce", name, stdin="1\n2\n3\n")
    penstock("consume", name, "--group", name, "--count", 1)

    lag = f'penstock_consumer_lag{{group="{name}",topic="{name}",partition="0"}} 2'

    def page() -> str:
        """The page, once it shows the lag."""
        with urllib.request.urlopen(f"http://127.0.0.1:{node.http_port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        return text if lag in text else ""

    text = wait_until(page, what="the lag on the metrics page")
    assert f'penstock_log_high_watermark{{topic="{name}",partition="0"}} 3' in text
    assert 'penstock_requests_total{api="Produce"}' in text

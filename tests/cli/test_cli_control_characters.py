"""Names and messages of strangers on an administrator's terminal, and bad connections in the log."""

from __future__ import annotations

import os
import pty
import socket
import subprocess
import sys

from tests.cli.conftest import CommandLine
from tests.support import batches
from tests.support.group_client import commit, wait_for_coordinator
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202egnp.exe\u2028x\r"


def unsafe_in(text: str) -> str:
    return "".join(c for c in text if c in HOSTILE and not c.isprintable())


def on_terminal(node: PenstockProcess, *arguments: str) -> str:
    """What a command writes to its terminal, without the carriage returns of the terminal itself."""
    ours, theirs = pty.openpty()
    environ = os.environ | {"TERM": "dumb", "COLUMNS": "300", "PENSTOCK_BOOTSTRAP_SERVER": node.bootstrap}
    with subprocess.Popen(
        [sys.executable, "-m", "penstock", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env=environ,
    ):
        os.close(theirs)
        told = b""
        while True:
            try:
                piece = os.read(ours, 65_536)
            except OSError:  # the end, on Linux
                break
            told += piece
            if not piece:
                break
    os.close(ours)
    return told.decode().replace("\r\n", "\n")


def test_a_group_with_a_hostile_name(node: PenstockProcess, penstock: CommandLine, name: str) -> None:
    group = name + HOSTILE
    with RawClient(node.host, node.port) as client:
        client.create_topic(name)
        client.appended(name, batches.values(b"1"))
        wait_for_coordinator(client)
        commit(client, group, name, 1)
    for arguments in (("group", "list"), ("group", "list", "-o", "json"), ("group", "describe", group)):
        told = on_terminal(node, *arguments)
        assert name in told
        assert unsafe_in(told) == "", told
    listed = penstock("group", "list", "-o", "json").json
    assert group in [each["group"] for each in listed]  # programs get it as it is
    told = on_terminal(node, "group", "describe", group + "-unknown")
    assert "does not exist" in told
    assert unsafe_in(told) == ""


def test_messages_are_escaped_on_a_terminal_and_nowhere_else(
    node: PenstockProcess, penstock: CommandLine, name: str
) -> None:
    with RawClient(node.host, node.port) as client:
        client.create_topic(name)
        client.appended(name, batches.values(f"a\tb{HOSTILE}".encode()))
    arguments = ("consume", name, "--from", "earliest", "--count", "1")
    told = on_terminal(node, *arguments)
    assert unsafe_in(told) == ""
    assert "\\x1b[2J" in told
    assert penstock(*arguments).out == f"a\tb{HOSTILE}\n"
    assert unsafe_in(on_terminal(node, *arguments, "--output", "json")) == ""
    assert penstock(*arguments, "--output", "json").json_lines[0]["value"] == f"a\tb{HOSTILE}"


def test_bad_connections_fill_no_log(node: PenstockProcess) -> None:
    def lines() -> int:
        return node.log_file.read_text().count("closed the connection from")

    def send_garbage() -> None:
        with socket.create_connection((node.host, node.port), 10) as bad:
            bad.sendall(b"\x7f\xff\xff\xff garbage")
            assert bad.recv(100) == b""

    for _ in range(300):
        send_garbage()
    wait_until(lambda: "further ones are counted" in node.log_file.read_text(), what="the end of the lines")
    assert lines() == 100

"""`penstock serve` and `penstock config show`: settings, start-up errors, signals."""

import contextlib
import json
import os
import signal
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import BrokerClient
from tests.cli.conftest import CommandLine
from tests.support.broker_process import free_port
from tests.support.penstock_process import PenstockProcess
from tests.support.registry_process import all_running


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def serve_flags(directory: Path) -> list[object]:
    return ["serve", "--data-dir", directory, "--kafka-port", 0, "--http-port", 0, "--push-port", 0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.feature("F-06")
def test_a_signal_stops_a_broker_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    process = PenstockProcess(tmp_path)
    process.start()
    with urllib.request.urlopen(f"http://127.0.0.1:{process.http_port}/health/ready", timeout=10) as answer:
        assert json.load(answer)["status"] == "ready"
    os.kill(process.pid, number)
    process.stop()
    assert "Traceback" not in process.log_file.read_text()
    assert process.log_file.read_text().splitlines()[-1].endswith("stopped")


@pytest.mark.feature("F-06")
def test_requests_that_a_stop_cuts_off_are_one_line_of_the_log(tmp_path: Path) -> None:
    """Each of them was a traceback of several kilobytes; a client may have as many as it may have connections."""
    process = PenstockProcess(tmp_path)
    head = b"POST /api/v1/topics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"
    with all_running(process), contextlib.ExitStack() as stack:
        for _ in range(5):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", process.http_port), 30))
            client.sendall(head)
            assert client.recv(100).startswith(b"HTTP/1.1 100")  # the request waits for its body from now on
            client.sendall(b"{")
        process.stop()
    log = process.log_file.read_text()
    assert "Traceback" not in log
    assert "ERROR" not in log
    assert log.count("the stop has cut off HTTP requests that were under way: 5") == 1
    assert log.splitlines()[-1].endswith("stopped")


def test_a_wrong_protocol_on_the_http_port_is_one_line_of_the_log(node: PenstockProcess) -> None:
    """A Kafka client with the wrong port connects again and again; each time was a line."""
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", node.http_port), 10) as client:
            client.sendall(b"\0\0\0\x18\0\x12\0\0\0\0\0\1\0\7rdkafka")
            assert client.recv(100).startswith(b"HTTP/1.1 400")
    said = [line for line in node.log_file.read_text().splitlines() if "HTTP" in line and "WARNING" in line]
    assert len(said) == 1
    assert "kafka.port" in said[0]


def test_a_kafka_port_in_use_is_named_with_the_remedy(alone: CommandLine, tmp_path: Path, taken_port: int) -> None:
    ports = ("--kafka-port", taken_port, "--http-port", 0, "--push-port", 0)
    failed = alone("serve", "--data-dir", tmp_path / "d", *ports, code=1)
    assert str(taken_port) in failed.err
    assert "--kafka-port" in failed.err.splitlines()[-1]


def test_an_http_port_in_use_is_named_with_the_remedy(alone: CommandLine, tmp_path: Path, taken_port: int) -> None:
    ports = ("--kafka-port", 0, "--http-port", taken_port, "--push-port", 0)
    failed = alone("serve", "--data-dir", tmp_path / "d", *ports, code=1)
    assert "--http-port" in failed.err.splitlines()[-1]


def test_the_registry_names_its_own_options(alone: CommandLine, tmp_path: Path, taken_port: int) -> None:
    """It has --port and --host, and not --http-port or the setting http.host."""
    command = ("registry", "serve", "--data-dir", tmp_path / "r")
    taken = alone(*command, "--port", taken_port, code=1).err.splitlines()[-1]
    assert taken.endswith("choose another port with --port")
    unknown = alone(*command, "--insecure", "--host", "no-such-host.invalid", code=1).err.splitlines()[-1]
    assert unknown.endswith("change --host")


def test_settings_without_changes_are_a_sentence(alone: CommandLine, tmp_path: Path) -> None:
    shown = alone("config", "show", "--changed")
    assert (shown.out, shown.err) == ("", "every setting has its default\n")
    assert alone("config", "show", "--changed", "-o", "json").json == []


def test_a_push_port_in_use_is_named_with_the_remedy(alone: CommandLine, tmp_path: Path, taken_port: int) -> None:
    ports = ("--kafka-port", 0, "--http-port", 0, "--push-port", taken_port)
    failed = alone("serve", "--data-dir", tmp_path / "d", *ports, code=1)
    last = failed.err.splitlines()[-1]
    assert "--push-port" in last
    assert "push.enabled" in last


def test_a_directory_that_is_not_ours_is_left_alone(alone: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    failed = alone(*serve_flags(tmp_path), code=1)
    assert "--data-dir" in failed.err.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_directory_from_a_newer_version_is_refused(alone: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "format.json").write_text('{"penstock": 99}')
    assert "newer" in alone(*serve_flags(tmp_path), code=1).err.splitlines()[-1]


def test_a_file_instead_of_a_directory_is_refused(alone: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "--data-dir" in alone(*serve_flags(tmp_path / "file"), code=1).err.splitlines()[-1]


def test_a_directory_that_cannot_be_written_is_refused(alone: CommandLine) -> None:
    # /proc takes no new directories from anybody, root included.
    assert "--data-dir" in alone(*serve_flags(Path("/proc/penstock")), code=1).err.splitlines()[-1]


def test_a_locked_directory_is_refused_and_its_owner_undisturbed(penstock: CommandLine, node: PenstockProcess) -> None:
    failed = penstock(*serve_flags(node.data_directory), code=1)
    assert str(node.pid) in failed.err.splitlines()[-1]
    assert penstock("topic", "list", "--output", "json").json is not None


def test_wrong_settings_are_all_told_at_once(alone: CommandLine, tmp_path: Path) -> None:
    config = tmp_path / "penstock.yaml"
    config.write_text("storage: {flsh: os}\nkafka: {port: 70000}\n")
    failed = alone(*serve_flags(tmp_path / "d"), "--config", config, code=2, PENSTOCK_TOPICS__AUTO_CREATE="perhaps")
    assert "did you mean storage.flush?" in failed.err
    assert "topics.auto_create" in failed.err
    assert not (tmp_path / "d").exists()


def test_a_settings_file_that_others_can_write_decides_nothing(alone: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "penstock.yml"
    path.write_text("acl: {enabled: true, super_users: User:admin}\n")
    path.chmod(0o666)
    told = f"the settings file {path}: other users of this machine can write it (its mode is 0666); run: chmod go-w"
    assert told in alone("serve", "--config", path, "--data-dir", tmp_path / "data", code=2).err
    assert told in alone("registry", "serve", "--config", path, "--data-dir", tmp_path / "data", code=2).err
    assert not (tmp_path / "data").exists()


def test_a_wrong_log_level_or_module_is_refused(alone: CommandLine, tmp_path: Path) -> None:
    assert "'LOUD'" in alone(*serve_flags(tmp_path), "--log-level", "LOUD", code=2).err
    assert "did you mean storage?" in alone(*serve_flags(tmp_path), "--log-level", "storge=INFO", code=2).err
    assert "did you mean storage?" in alone("config", "show", "--log-level", "storge=INFO", code=2).err


@pytest.mark.feature("F-08")
def test_levels_by_module_hold_in_a_running_broker(tmp_path: Path) -> None:
    process = PenstockProcess(tmp_path, "logging:\n  level: WARNING\n  modules: {node: INFO}\n")
    process.prepare()
    process.start()
    process.stop()
    lines = process.log_file.read_text().splitlines()
    assert lines
    assert {line.split()[2].split(".")[0] for line in lines} == {"node"}


@pytest.mark.feature("P-25")
def test_config_show_tells_where_everything_came_from(alone: CommandLine, tmp_path: Path) -> None:
    config = tmp_path / "penstock.yaml"
    config.write_text("storage:\n  flush: interval\n")
    flags = ["config", "show", "--config", config, "--kafka-port", 1234, "--set", "topics.defaults.retention.ms=5"]
    shown = alone(*flags, "--output", "json", NODE_ID="pos-7", PENSTOCK_HTTP__PORT="8888").json
    rows = {row["setting"]: (row["value"], row["origin"]) for row in shown}
    assert rows["kafka.port"] == (1234, "command line, --kafka-port")
    assert rows["node.id"] == (7, "environment variable NODE_ID")
    assert rows["http.port"] == (8888, "environment variable PENSTOCK_HTTP__PORT")
    assert rows["storage.flush"] == ("interval", str(config))
    assert rows["topics.defaults"] == ({"retention.ms": "5"}, "command line, --set")
    assert rows["limits.connections_max"][1] == "default"
    changed = alone(*flags, "--changed", "--explain", NODE_ID="pos-7").out
    assert "PENSTOCK_KAFKA__PORT" in changed
    assert [line.split()[1] for line in changed.splitlines() if line.split()[:1] == ["node.name"]] == ["pos-7"]
    assert "limits.connections_max" not in changed


def test_help_is_quick_because_it_loads_little(alone: CommandLine) -> None:
    shown = alone("--help", PYTHONPROFILEIMPORTTIME="1")
    for heavy in ("confluent_kafka", "pydantic", "uvicorn", "kio", "prometheus_client", "multiprocessing"):
        assert f" {heavy}\n" not in shown.err
    for command in ("serve", "demo", "topic", "produce", "consume", "group", "log", "bench", "config"):
        assert command in shown.out


def test_completion_knows_the_commands(alone: CommandLine) -> None:
    shown = alone(_PENSTOCK_COMPLETE="complete_bash", COMP_WORDS="penstock to", COMP_CWORD="1")
    assert shown.out.split() == ["topic"]


class MessageBrokerSetUp(PenstockProcess):
    """Set up by the message broker's file and variables alone."""

    push_port = free_port()

    def command(self) -> list[str]:
        return [sys.executable, "-m", "penstock", "serve", "--config", str(self._config_file)]

    def environment(self) -> dict[str, str]:
        ours = {"BROKER_PORT": str(self.port), "HTTP_PORT": str(self.http_port)}
        theirs = {"QB_SERVER_PORT": str(self.push_port), "QB_DATA_DIR": str(self.data_directory)}
        return dict(os.environ) | ours | theirs | {"QB_LOG_LEVEL": "warning"}


@pytest.mark.feature("Q-06", "Q-08")
def test_a_broker_set_up_by_the_message_brokers_names(tmp_path: Path) -> None:
    file = "server: {host: 127.0.0.1, port: 9999}\nstorage: {data_dir: ./elsewhere, fsync_on_write: true}\n"
    process = MessageBrokerSetUp(tmp_path, file)
    process.prepare()
    process.start()
    try:
        with BrokerClient(port=process.push_port) as client:
            client.create_topic("events")
            client.publish_text("events", "Hello, World!")
    finally:
        process.stop()
    assert (process.data_directory / "meta.db").exists()
    assert not (tmp_path / "elsewhere").exists()
    log = process.log_file.read_text()
    assert " INFO " not in log
    assert f"push.port is {process.push_port} by environment variable QB_SERVER_PORT; " in log
    assert "server.port says 9999, which does not count" in log


@pytest.mark.feature("P-25")
def test_config_show_names_two_that_disagree(alone: CommandLine) -> None:
    shown = alone("config", "show", "--changed", "-o", "json", BROKER_PORT="1", PENSTOCK_KAFKA__PORT="2")
    assert shown.json[0]["value"] == 2
    assert shown.err == (
        "penstock: kafka.port is 2 by environment variable PENSTOCK_KAFKA__PORT;"
        " environment variable BROKER_PORT says 1, which does not count\n"
    )

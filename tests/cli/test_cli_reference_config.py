"""Files and flags of other systems, as their users have them: `penstock serve`, `config show`, `produce`, `consume`."""

import socket
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import CommandLine
from tests.support import batches
from tests.support.broker_process import free_port
from tests.support.fixtures import running
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

FILES = Path(__file__).parents[1] / "unit" / "config" / "fixtures"
CLUSTER = FILES / "cluster.yaml"


class SetUpByFlags(PenstockProcess):
    """`penstock serve` with the flags of another broker, and nothing of ours but the push port."""

    def __init__(self, directory: Path, *flags: object) -> None:
        super().__init__(directory)
        self._flags = flags

    def command(self) -> list[str]:
        ports = ["--port", self.port, "--metrics-port", self.http_port, "--push-port", self.push_port]
        flags = ["--host", self.host, *ports, "--data-dir", self.data_directory, *self._flags]
        return [sys.executable, "-m", "penstock", "serve", *map(str, flags)]


@contextmanager
def started(directory: Path, *flags: object) -> Iterator[SetUpByFlags]:
    process = SetUpByFlags(directory, *flags)
    for _ in running(process):
        yield process


def seen_in(process: PenstockProcess) -> set[tuple[str, str]]:
    """Level and module of the lines of the log."""
    return {(level, module) for level, module, _ in lines_of(process)}


def lines_of(process: PenstockProcess) -> list[tuple[str, str, str]]:
    """Level, module and message of every line of the log."""
    lines = process.log_file.read_text().splitlines()
    return [(level, module, message) for _, level, module, message in (line.split(maxsplit=3) for line in lines)]


def shown(alone: CommandLine, *flags: object, broker_port: str = "") -> dict[str, Any]:
    rows = alone("config", "show", "--changed", "--explain", "-o", "json", *flags, BROKER_PORT=broker_port).json
    return {row["setting"]: row for row in rows}


# --------------------------------------------------------------------------------------------------------------- files


@pytest.mark.feature("P-25")
def test_config_show_explains_an_application_yml(alone: CommandLine) -> None:
    path = FILES / "application.yml"
    rows = shown(alone, "--config", path, broker_port="9093")
    values = {name: (row["value"], row["origin"]) for name, row in rows.items()}
    assert values == {
        "node.id": (1, f"{path}, broker.node.id"),
        "node.name": ("local-001", f"{path}, broker.node.id"),
        "node.data_dir": ("data", f"{path}, broker.storage.data-dir"),
        "kafka.port": (9093, "environment variable BROKER_PORT"),
        "network.type": ("tcp", f"{path}, broker.network.type"),
        "storage.engine": ("disk", f"{path}, broker.storage.type"),
        "topics.defaults": ({"segment.bytes": "1073741824"}, f"{path}, broker.storage.segment-size"),
        "registry.url": ("http://localhost:8080", f"{path}, broker.registry.url"),
        "registry.poll_interval_ms": (30_000, f"{path}, broker.registry.poll-interval"),
        "pipe.poll_interval_ms": (1_000, f"{path}, broker.pipe.poll-interval"),
        "pipe.batch_size": (100, f"{path}, broker.pipe.batch-size"),
        "broker.network.threads.boss": (2, f"{path}, broker.network.threads.boss: no effect"),
        "broker.network.threads.worker": (16, f"{path}, broker.network.threads.worker: no effect"),
    }
    assert all(row["meaning"] for row in rows.values())


@pytest.mark.parametrize("name", ["message-broker.yml", "message-broker.conf"])
@pytest.mark.feature("Q-08")
def test_config_show_explains_a_message_brokers_settings(alone: CommandLine, name: str) -> None:
    path = FILES / name
    rows = shown(alone, "--config", path)
    assert {setting: (row["value"], row["origin"]) for setting, row in rows.items()} == {
        "push.host": ("127.0.0.1", f"{path}, server.host"),
        "push.port": (9999, f"{path}, server.port"),
        "push.heartbeat_interval_ms": (30_000, f"{path}, server.heartbeat_interval"),
        "node.data_dir": ("storage/data", f"{path}, storage.data_dir"),
        "storage.flush": ("always", f"{path}, storage.fsync_on_write"),
        "client.request_timeout_ms": (30_000, f"{path}, client.request_timeout"),
        "client.heartbeat_interval_ms": (30_000, f"{path}, client.heartbeat_interval"),
    }


@pytest.mark.feature("K-18")
def test_config_show_explains_a_clusters_file(alone: CommandLine) -> None:
    outcome = alone("config", "show", "--changed", "--explain", "-o", "json", "--config", CLUSTER)
    rows = {row["setting"]: row for row in outcome.json}
    assert len(rows) == 17
    used = {name: row["value"] for name, row in rows.items() if not row["origin"].endswith(": no effect")}
    assert used == {
        "node.data_dir": "data",
        "kafka.port": 9092,
        "storage.engine": "memory",
        "topics.default_partitions": 10,
        "producer.batch_size": 16_384,
        "producer.linger_ms": 100,
        "consumer.session_timeout_ms": 10_000,
        "consumer.heartbeat_interval_ms": 3_000,
    }
    assert rows["coordinator.broker_count"]["value"] == 5
    assert rows["coordinator.broker_count"]["meaning"].startswith("No effect: there is no coordinator yet;")
    warnings = outcome.err.splitlines()
    assert len(warnings) == len(rows) - len(used) == 9
    assert all(warning.startswith(f"penstock: {CLUSTER}, ") and " has no effect: " in warning for warning in warnings)
    table = alone("config", "show", "--changed", "--config", CLUSTER).out
    assert "topics.replication_factor" in table


@pytest.mark.feature("K-18")
def test_a_clusters_file_starts_a_broker(tmp_path: Path) -> None:
    with started(tmp_path, "--config", CLUSTER) as process:
        with RawClient(process.host, process.port) as client:
            made = unique_name("auto")
            wait_until(lambda: len(client.metadata(made, create=True).topics[0].partitions) == 10, what="10 partitions")
            assert client.appended(made, batches.values("in memory")) == 0
        assert not list(process.data_directory.rglob("*.log"))
    log = lines_of(process)
    warnings = [message for level, _, message in log if level == "WARNING"]
    assert len([message for message in warnings if " has no effect: " in message]) == 9
    assert f"{CLUSTER}, topics.replication_factor: 2 has no effect: there is no replication yet;" in " ".join(warnings)
    losers = [message for message in warnings if "does not count" in message]
    assert len(losers) == 2  # the port and the directory, which the test gives by flags
    assert any(f"by command line, --port; {CLUSTER}, broker.base_port says 9092," in message for message in losers)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("coordinator: {prot: 1}", "unknown setting coordinator.prot; did you mean coordinator.port?"),
        ("coordinator: {port: never}", "coordinator.port is 'never', but should be a port, 0 to 65535"),
        (
            "broker: {base_port: 99999}",
            "broker.base_port: kafka.port is 99999, but should be less than or equal to 65535",
        ),
        ("broker: [1, 2", "not valid YAML"),
        ("enable_tls: perhaps", "enable_tls: security.protocol is 'PERHAPS', but should be 'PLAINTEXT', 'SSL'"),
    ],
)
def test_a_mistake_in_such_a_file_ends_the_command(alone: CommandLine, tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    failed = alone("serve", "--data-dir", tmp_path / "data", "--config", path, code=2)
    assert told in failed.err
    assert failed.err.startswith(f"penstock: {path}")
    assert len(failed.err.splitlines()) == 1
    assert not (tmp_path / "data").exists()


# --------------------------------------------------------------------------------------------------------------- flags


@pytest.mark.feature("F-11", "F-08")
def test_a_broker_set_up_by_another_brokers_flags(tmp_path: Path) -> None:
    """Levels hold for a module and what is below it, unless that has its own; all else has the level for everything."""
    levels = "warn,node=trace,node.node=error"
    with started(tmp_path, "--enable-consumer-groups", "--log-level", levels) as process:
        with urllib.request.urlopen(f"http://127.0.0.1:{process.http_port}/metrics", timeout=10) as answer:
            assert b"penstock_" in answer.read()
        wait_until(lambda: ("DEBUG", "node.preload") in seen_in(process), what="a line of a module below node")
    modules = {module for _, module in seen_in(process)}
    assert {module.split(".")[0] for module in modules} == {"node"}
    assert "node.node" not in modules  # which tells at INFO that it is ready


@pytest.mark.feature("F-11")
def test_config_show_takes_and_names_the_flags(alone: CommandLine) -> None:
    flags = ("--host", "0.0.0.0", "--port", 1, "--metrics-port", 2, "--enable-consumer-groups")
    rows = shown(alone, *flags, "--log-level", "error,net=trace", "--data-dir", "d", broker_port="3")
    assert {name: (row["value"], row["origin"]) for name, row in rows.items()} == {
        "kafka.host": ("0.0.0.0", "command line, --host"),
        "http.host": ("0.0.0.0", "command line, --host"),
        "kafka.port": (1, "command line, --port"),
        "http.port": (2, "command line, --metrics-port"),
        "node.data_dir": ("d", "command line, --data-dir"),
        "logging.level": ("ERROR", "command line, --log-level"),
        "logging.modules": ({"net": "DEBUG"}, "command line, --log-level"),
        "enable_consumer_groups": (True, "command line, --enable-consumer-groups: no effect"),
    }


@pytest.mark.feature("F-11")
def test_a_flag_that_wins_names_who_lost(alone: CommandLine) -> None:
    outcome = alone("config", "show", "--port", 1, "--metrics-port", 2, BROKER_PORT="3", PENSTOCK_HTTP__PORT="4")
    assert outcome.err.splitlines() == [
        "penstock: kafka.port is 1 by command line, --port; environment variable BROKER_PORT says 3,"
        " which does not count",
        "penstock: http.port is 2 by command line, --metrics-port; environment variable PENSTOCK_HTTP__PORT says 4,"
        " which does not count",
    ]


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--enable-tls",), "is encrypted and has no certificate; set tls.certificate_file and tls.key_file"),
        (("--tls-cert", "cert.pem"), "tls.certificate_file is set, but no listener has TLS; set security.protocol"),
        (
            ("--enable-tls", "--tls-cert", "no.pem", "--tls-key", "key.pem"),
            "the private key key.pem cannot be read (No such file",
        ),
    ],
)
@pytest.mark.feature("F-11")
def test_protection_that_cannot_be_is_no_reason_to_start_without(
    alone: CommandLine, tmp_path: Path, flags: Sequence[str], told: str
) -> None:
    port = free_port()
    doors = ("--port", port, "--metrics-port", 0, "--push-port", 0)
    failed = alone("serve", "--data-dir", tmp_path / "d", *doors, *flags, code=2)
    assert told in failed.err
    assert not (tmp_path / "d").exists()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (
            ("--port", 1, "--kafka-port", 2),
            "kafka.port is 2 by command line, --kafka-port, but 1 by command line, --port",
        ),
        (("--metrics-port", 1, "--http-port", 2), "http.port is 2 by command line, --http-port, but 1 by"),
        (("--port", 1, "--set", "kafka.port=2"), "but 2 by command line, --set; give one of them"),
        (("--set", "kafka.port=1", "--set", "kafka.port=2"), "give one of them"),
        (("--log-level", "net=INFO", "--set", "logging.modules.net=DEBUG"), "give one of them"),
        (("--port", 70000), "'--port': Input should be less than or equal to 65535"),
        (("--port", "many"), "'--port': "),
        (("--metrics-port", -1), "'--metrics-port': Input should be greater than or equal to 0"),
        (("--log-level", "LOUD"), "'LOUD' is not a level; levels are DEBUG, INFO, WARNING, ERROR, CRITICAL"),
        (("--log-level", "net=LOUD"), "'LOUD' is not a level"),
        (("--log-level", "INFO,DEBUG"), "two levels for everything"),
        (("--log-level", "nett=INFO"), "unknown module nett in the log levels; did you mean net?"),
        (("--log-level", "=INFO"), "names no module"),
        (("--set", "logging.modules.net=LOUD"), "logging.modules.net is 'LOUD'"),
        (("--set", "logging.modules.=INFO"), "module without a name"),
        (("--set", "kafka.port"), "is not NAME=VALUE"),
        (("--metric-port", 1), "--metrics-port"),
    ],
)
@pytest.mark.feature("F-11")
def test_a_wrong_flag_is_told_with_the_remedy(
    alone: CommandLine, tmp_path: Path, flags: Sequence[object], told: str
) -> None:
    failed = alone("serve", "--data-dir", tmp_path / "d", *flags, code=2)
    assert told in failed.err
    assert not (tmp_path / "d").exists()


def test_one_door_may_have_another_address_than_the_rest(alone: CommandLine) -> None:
    rows = shown(alone, "--host", "0.0.0.0", "--set", "http.host=127.0.0.2")
    assert (rows["kafka.host"]["value"], rows["http.host"]["value"]) == ("0.0.0.0", "127.0.0.2")


# ------------------------------------------------------------------------------------------------------------- clients


@pytest.mark.feature("K-18")
def test_produce_and_consume_take_the_clusters_file(penstock: CommandLine, name: str) -> None:
    penstock("topic", "create", name)
    penstock("produce", name, stdin="a\nb\n", PENSTOCK_CONFIG=str(CLUSTER))
    assert penstock("consume", name, "--group", name, PENSTOCK_CONFIG=str(CLUSTER)).lines == ["a", "b"]


@pytest.mark.feature("K-18")
def test_what_the_file_says_to_clients_counts(
    penstock: CommandLine, node: PenstockProcess, name: str, tmp_path: Path
) -> None:
    """Batches that have no room for a second message; a session shorter than the broker allows."""
    penstock("topic", "create", name)
    path = tmp_path / "config.yaml"
    path.write_text("producer: {batch_size: 1}\nconsumer: {session_timeout_ms: 1000, heartbeat_interval_ms: 300}\n")
    penstock("produce", name, stdin="a\n" * 20, PENSTOCK_CONFIG=str(path))
    dumped = penstock("log", "dump", node.data_directory, "--topic", name, "-o", "json").json_lines
    assert len([entry for entry in dumped if entry["kind"] == "batch"]) == 20
    failed = penstock("consume", name, "--group", name, code=1, PENSTOCK_CONFIG=str(path))
    assert "session timeout" in failed.err.lower()


def test_a_wrong_setting_of_clients_is_told(penstock: CommandLine, name: str) -> None:
    penstock("topic", "create", name)
    failed = penstock("produce", name, stdin="a\n", code=2, PENSTOCK_PRODUCER__BATCH_SIZE="none")
    assert "producer.batch_size is 'none'" in failed.err
    failed = penstock("consume", name, "--group", "g", code=2, PENSTOCK_CONSUMER__SESSION_TIMEOUT_MS="0")
    assert "consumer.session_timeout_ms is '0'" in failed.err

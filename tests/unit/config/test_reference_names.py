"""The settings files and variables of other systems, as they are; and what is said when two sources disagree."""

from pathlib import Path

import pytest

from penstock.config.loading import ConfigError, load, load_settings

FILES = Path(__file__).parent / "fixtures"
APPLICATION = FILES / "application.yml"
MESSAGE_BROKER = FILES / "message-broker.yml"
DOTTED = FILES / "message-broker-dotted.yml"


@pytest.mark.feature("P-25")
def test_the_providers_file_with_its_defaults_and_with_its_variables() -> None:
    plain = load_settings(APPLICATION, {})
    assert (plain.node.label, plain.node.id, plain.node.data_dir) == ("local-001", 1, Path("data"))
    assert (plain.storage.engine, plain.topics.defaults) == ("disk", {"segment.bytes": "1073741824"})
    assert (plain.kafka.port, plain.registry.url, plain.registry.poll_interval_ms) == (
        9092,
        "http://localhost:8080",
        30_000,
    )
    environ = {
        "NODE_ID": "broker-001",
        "REGISTRY_URL": "http://registry.example.com",
        "DATA_DIR": "/var/lib/broker",
        "BROKER_PORT": "9093",
        "HTTP_PORT": "8081",
    }
    filled = load(APPLICATION, environ)
    settings = filled.settings
    assert (settings.node.label, settings.node.data_dir) == ("broker-001", Path("/var/lib/broker"))
    assert (settings.kafka.port, settings.http.port) == (9093, 8081)
    assert settings.registry.url == "http://registry.example.com"
    assert filled.warnings == ()  # the file takes what the variables say


@pytest.mark.feature("Q-08")
def test_the_message_brokers_file_and_its_defaults() -> None:
    settings = load_settings(MESSAGE_BROKER, {})
    assert (settings.push.host, settings.push.port, settings.push.heartbeat_interval_ms) == ("127.0.0.1", 9999, 30_000)
    assert (settings.node.data_dir, settings.storage.flush) == (Path("storage/data"), "always")
    assert (settings.client.request_timeout_ms, settings.client.heartbeat_interval_ms) == (30_000, 30_000)
    ours = load_settings(None, {})
    assert (ours.push.port, ours.push.heartbeat_interval_ms) == (9999, 30_000)
    assert (ours.storage.flush, ours.client) == ("always", settings.client)


@pytest.mark.feature("Q-08")
def test_its_keys_with_their_dots() -> None:
    loaded = load(DOTTED, {})
    settings = loaded.settings
    assert (settings.push.port, settings.push.heartbeat_interval_ms) == (9998, 2_500)
    assert (settings.storage.flush, settings.node.data_dir) == ("os", Path("storage/data"))
    assert (settings.client.request_timeout_ms, settings.client.heartbeat_interval_ms) == (5_000, 10_000)
    assert loaded.origins["storage.flush"] == f"{DOTTED}, storage.fsync_on_write"


@pytest.mark.feature("Q-06")
def test_its_variables() -> None:
    environ = {
        "QB_SERVER_HOST": "0.0.0.0",
        "QB_SERVER_PORT": "19999",
        "QB_DATA_DIR": "/srv/qb",
        "QB_LOG_LEVEL": "debug",
    }
    loaded = load(MESSAGE_BROKER, environ)
    settings = loaded.settings
    assert (settings.push.host, settings.push.port) == ("0.0.0.0", 19999)
    assert (settings.node.data_dir, settings.logging.level) == (Path("/srv/qb"), "DEBUG")
    assert loaded.origins["push.port"] == "environment variable QB_SERVER_PORT"
    assert len(loaded.warnings) == 3  # host, port and directory are in the file, too


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("server: {prot: 1}", "unknown setting server.prot; did you mean server.port?"),
        ("server: {heartbeat_interval: soon}", "server.heartbeat_interval: push.heartbeat_interval_ms is 'soon'"),
        ("storage: {fsync_on_write: maybe}", "storage.fsync_on_write: storage.flush is 'maybe'"),
        ("server.port: 70000", "server.port: push.port is 70000"),
        ("server: 3", "server is a section"),
        ("client: {request_timeout: .inf}", "client.request_timeout"),
    ],
)
@pytest.mark.feature("Q-08")
def test_a_mistake_is_told_under_the_name_that_was_used(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "file.yml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(path, {})
    assert told in str(caught.value)


@pytest.mark.feature("P-25", "Q-06")
def test_two_that_disagree_are_named_with_the_winner(tmp_path: Path) -> None:
    path = tmp_path / "penstock.yml"
    path.write_text("kafka: {port: 1}\nnode: {data_dir: /file}\nstorage: {min_free_bytes: 1 GiB}\n")
    environ = {
        "BROKER_PORT": "2",
        "PENSTOCK_KAFKA__PORT": "3",
        "DATA_DIR": "/reference",
        "QB_DATA_DIR": "/qb",
        "PENSTOCK_STORAGE__MIN_FREE_BYTES": "1073741824",  # the same, written differently
        "NODE_ID": "local-001",
        "PENSTOCK_NODE__ID": "pos-1",  # the same number, but another name
    }
    loaded = load(path, environ, {"kafka.port": 4})
    assert loaded.settings.kafka.port == 4
    assert loaded.settings.node.data_dir == Path("/reference")
    assert sorted(loaded.warnings) == [
        f"kafka.port is 4 by command line; {path} says 1, which does not count",
        "kafka.port is 4 by command line; environment variable BROKER_PORT says 2, which does not count",
        "kafka.port is 4 by command line; environment variable PENSTOCK_KAFKA__PORT says 3, which does not count",
        f"node.data_dir is /reference by environment variable DATA_DIR; {path} says /file, which does not count",
        "node.data_dir is /reference by environment variable DATA_DIR;"
        " environment variable QB_DATA_DIR says /qb, which does not count",
        "node.id is pos-1 by environment variable PENSTOCK_NODE__ID;"
        " environment variable NODE_ID says local-001, which does not count",
    ]


@pytest.mark.feature("P-25")
def test_two_that_agree_are_not_worth_a_word(tmp_path: Path) -> None:
    path = tmp_path / "penstock.yml"
    path.write_text("kafka: {port: 9093}\nnode: {data_dir: ./data}\ntopics: {defaults: {retention.ms: 5}}\n")
    environ = {"BROKER_PORT": "9093", "DATA_DIR": "data", "PENSTOCK_TOPICS__DEFAULTS": "segment.bytes=2097152"}
    assert load(path, environ).warnings == ()

"""Where settings come from, who wins, and what a mistake is told."""

from pathlib import Path

import pytest

from penstock.config.given_value import GivenValue
from penstock.config.loading import ConfigError, load, load_settings


def write(directory: Path, text: str) -> Path:
    path = directory / "penstock.yaml"
    path.write_text(text)
    return path


def problem(*args: object) -> str:
    with pytest.raises(ConfigError) as caught:
        load(*args)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.feature("P-25")
def test_flags_beat_variables_beat_reference_names_beat_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, "kafka: {port: 1}\n")
    environ: dict[str, str] = {}
    flags: list[GivenValue] = []
    seen = [load_settings(None, environ, flags).kafka.port, load_settings(path, environ, flags).kafka.port]
    environ["BROKER_PORT"] = "2"
    seen.append(load_settings(path, environ, flags).kafka.port)
    environ["PENSTOCK_KAFKA__PORT"] = "3"
    seen.append(load_settings(path, environ, flags).kafka.port)
    flags.append(GivenValue("kafka.port", 4, "--kafka-port"))
    seen.append(load_settings(path, environ, flags).kafka.port)
    assert seen == [9092, 1, 2, 3, 4]


@pytest.mark.feature("P-25")
def test_the_references_variables_are_understood() -> None:
    environ = {"NODE_ID": "broker-003", "DATA_DIR": "/srv/x", "BROKER_PORT": "1092", "HTTP_PORT": "8081"}
    environ["REGISTRY_URL"] = "http://registry.example/"
    settings = load_settings(None, environ)
    assert settings.registry.url == "http://registry.example"
    assert (settings.node.id, settings.node.name, settings.node.data_dir) == (3, "broker-003", Path("/srv/x"))
    assert (settings.kafka.port, settings.http.port) == (1092, 8081)


def test_every_value_knows_its_origin(tmp_path: Path) -> None:
    path = write(tmp_path, "storage:\n  flush: os\ntopics:\n  defaults:\n    retention.ms: 5\n")
    environ = {"PENSTOCK_TOPICS__DEFAULTS": "segment.bytes=2097152", "PENSTOCK_LOGGING__MODULES": "net=debug"}
    loaded = load(path, environ, [GivenValue("kafka.port", 7, "command line, --kafka-port")])
    assert loaded.origins["kafka.port"] == "command line, --kafka-port"
    assert loaded.origins["storage.flush"] == str(path)
    assert loaded.origins["node.id"] == "default"
    assert loaded.settings.topics.defaults == {"retention.ms": "5", "segment.bytes": "2097152"}
    assert loaded.origins["topics.defaults"] == f"{path}; environment variable PENSTOCK_TOPICS__DEFAULTS"
    assert loaded.settings.logging.modules == {"net": "DEBUG"}


def test_the_file_may_be_named_by_the_environment(tmp_path: Path) -> None:
    path = write(tmp_path, "node: {rack: r1}\n")
    assert load_settings(None, {"PENSTOCK_CONFIG": str(path)}).node.rack == "r1"


def test_an_empty_file_is_all_defaults(tmp_path: Path) -> None:
    assert load_settings(write(tmp_path, ""), {}).kafka.port == 9092


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("storage: {flsh: os}", "unknown setting storage.flsh; did you mean storage.flush?"),
        ("storge: {flush: os}", "unknown setting storge; did you mean storage?"),
        ("kafka: {port: 70000}", "kafka.port is 70000, but should be less than or equal to 65535"),
        ("storage: {flush: never}", "storage.flush is 'never', but should be 'always', 'interval' or 'os'"),
        ("kafka: [1]", "kafka is a section"),
        ("- a\n- b", "expected sections"),
        ("kafka: {port: 1\n", "not valid YAML"),
        ("kafka: {port: 1, port: 2}", "port is given twice"),
        ("kafka: {port: '${MISSING}'}", "${MISSING} has no default"),
        ("broker: {storage: {dta-dir: x}}", "did you mean broker.storage.data-dir?"),
        ("kafka.prot: 1", "unknown setting kafka.prot; did you mean kafka.port?"),
        ("zebra: 1", "unknown setting zebra; `penstock config show` lists every setting"),
        ("kafka.port = 1\nkafka.port = 2", "kafka.port is given twice"),
        ("kafka.port = [1", "not valid YAML"),
        ("logging.level = loud", "logging.level is 'LOUD'"),
        ("logging: {level: loud}", "logging.level is 'LOUD'"),
        ("topics: {defaults: {retntion.ms: 3}}", "unknown setting retntion.ms; did you mean retention.ms?"),
        ("topics: {defaults: {retention.ms: soon}}", "invalid value soon for configuration retention.ms"),
        ("topics: {defaults: 3}", "topics.defaults maps names to values"),
    ],
)
def test_a_mistake_in_the_file_is_named_with_its_remedy(tmp_path: Path, text: str, expected: str) -> None:
    path = write(tmp_path, text)
    message = problem(path, {})
    assert expected in message
    assert str(path) in message


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, "storage: {flsh: os}\nkafka: {port: -1}\n")
    environ = {"PENSTOCK_STORAG__FLUSH": "os", "PENSTOCK_TOPICS__DEFAULTS": "nonsense"}
    with pytest.raises(ConfigError) as caught:
        load(path, environ)
    assert len(caught.value.problems) == 4


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    assert "no such file" in problem(tmp_path / "absent.yaml", {})


def test_one_underscore_is_a_mistake_but_not_what_kubernetes_sets() -> None:
    assert "PENSTOCK_KAFKA__PORT" in problem(None, {"PENSTOCK_KAFKA_PORT": "9093"})
    assert "did you mean PENSTOCK_STORAGE__FLUSH?" in problem(None, {"PENSTOCK_STORAGE_FLSUH": "os"})
    assert "did you mean PENSTOCK_STORAGE__FLUSH?" in problem(None, {"PENSTOCK_STORAGE__FLSUH": "os"})
    assert "penstock config show" in problem(None, {"PENSTOCK_FOO": "1"})
    assert "PENSTOCK_PORT" in problem(None, {"PENSTOCK_PORT": "9092"})
    assert "PENSTOCK_CONFIGS" in problem(None, {"PENSTOCK_CONFIGS": "x"})
    harmless = {
        "PENSTOCK_KAFKA_PORT": "tcp://10.0.0.1:9092",
        "PENSTOCK_PORT": "tcp://10.0.0.1:9092",
        "PENSTOCK_PORT_9092_TCP": "tcp://10.0.0.1:9092",
        "PENSTOCK_PORT_9092_TCP_ADDR": "10.0.0.1",
        "PENSTOCK_PORT_9092_TCP_PORT": "9092",
        "PENSTOCK_PORT_9092_TCP_PROTO": "tcp",
        "PENSTOCK_SERVICE_HOST": "10.0.0.1",
        "PENSTOCK_SERVICE_PORT": "9092",
        "PENSTOCK_SERVICE_PORT_KAFKA": "9092",
        "PENSTOCK_HEADLESS_SERVICE_HOST": "10.0.0.2",
        "PENSTOCK_BOOTSTRAP_SERVER": "10.0.0.1:9092",
        "PENSTOCK_KAFKA_JARS": "/jars",
        "PENSTOCK_TEST_ENGINE": "memory",
    }
    assert load_settings(None, harmless).kafka.port == 9092


def test_a_name_given_as_the_id_has_its_origin() -> None:
    origins = load(None, {"NODE_ID": "pos-7"}).origins
    assert origins["node.name"] == origins["node.id"] == "environment variable NODE_ID"
    assert load(None, {"NODE_ID": "7"}).origins["node.name"] == "default"
    both = load(None, {"NODE_ID": "pos-7", "PENSTOCK_NODE__NAME": "till"})
    assert both.settings.node.name == "till"
    assert both.origins["node.name"] == "environment variable PENSTOCK_NODE__NAME"


def test_a_name_needs_no_id() -> None:
    loaded = load(None, {"PENSTOCK_NODE__NAME": "till"})
    assert (loaded.settings.node.name, loaded.origins["node.id"]) == ("till", "default")


def test_an_empty_variable_counts_as_not_set() -> None:
    assert load_settings(None, {"NODE_ID": "", "PENSTOCK_KAFKA__PORT": ""}).node.id == 1


@pytest.mark.parametrize(
    "text",
    [
        "kafka: {port: 9093}\ntopics: {defaults: {retention.ms: 5}}\nlogging: {modules: {broker.groups: debug}}\n",
        "kafka.port: 9093\ntopics.defaults.retention.ms: 5\nlogging.modules: broker.groups=debug\n",
        "topics: {defaults: retention.ms=5}\nkafka: {}\nkafka.port: 9093\nlogging.modules.broker: {groups: DEBUG}\n",
        "# a comment\nkafka.port = 9093\n\ntopics.defaults.retention.ms=5\nlogging.modules = 'broker.groups=debug'\n",
    ],
)
def test_a_file_may_be_written_in_several_ways(tmp_path: Path, text: str) -> None:
    settings = load_settings(write(tmp_path, text), {})
    assert (settings.kafka.port, settings.topics.defaults) == (9093, {"retention.ms": "5"})
    assert settings.logging.modules == {"broker.groups": "DEBUG"}


def test_two_flags_that_disagree_are_an_error() -> None:
    flags = [
        GivenValue("kafka.port", 1, "--kafka-port"),
        GivenValue("port", "2", "--port"),
        GivenValue("kafka.port", 1, "--set"),
    ]
    flags += [
        GivenValue("logging.modules", {"net": "DEBUG"}, "--log-level"),
        GivenValue("logging.modules.net", "info", "--set"),
    ]
    with pytest.raises(ConfigError) as caught:
        load(None, {}, flags)
    assert caught.value.problems == (
        "kafka.port is 1 by --kafka-port, but 2 by --port; give one of them",
        "logging.modules.net is DEBUG by --log-level, but info by --set; give one of them",
    )


def test_two_flags_that_agree_are_no_error() -> None:
    flags = [GivenValue("kafka.port", 1, "--kafka-port"), GivenValue("port", "1", "--port")]
    flags += [
        GivenValue("logging.modules.net", "DEBUG", "--log-level"),
        GivenValue("logging.modules.net", "debug", "--set"),
    ]
    loaded = load(None, {}, flags)
    assert (loaded.settings.kafka.port, loaded.warnings) == (1, ())


def test_items_of_a_mapping_disagree_one_by_one(tmp_path: Path) -> None:
    path = write(tmp_path, "topics: {defaults: {retention.ms: 5, segment.bytes: 2097152}}\n")
    loaded = load(path, {"PENSTOCK_TOPICS__DEFAULTS": "retention.ms=6,segment.bytes=2097152"})
    assert loaded.settings.topics.defaults == {"retention.ms": "6", "segment.bytes": "2097152"}
    assert loaded.warnings == (
        "topics.defaults.retention.ms is 6 by environment variable PENSTOCK_TOPICS__DEFAULTS;"
        f" {path} says 5, which does not count",
    )


def test_settings_that_do_not_go_together_are_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, "consumer: {session_timeout_ms: 3000, heartbeat_interval_ms: 3000}\n")
    assert "consumer.heartbeat_interval_ms is not below consumer.session_timeout_ms" in problem(path, {})


@pytest.mark.parametrize(
    "text",
    [
        "acl: {super_users: User:admin}\n",
        "super.users: User:admin\n",
        "security.protocol = SASL_SSL\n",
        "consumers: {modules: app}\n",
        "registry: {token: env:WORD}\n",
        "listener.name.external.ssl.client.auth=none\n",
    ],
)
def test_a_file_that_decides_who_gets_in_is_for_nobody_else_to_write(tmp_path: Path, text: str) -> None:
    directory = tmp_path / "settings"
    directory.mkdir(mode=0o755)
    path = write(directory, text)
    path.chmod(0o600)
    environ = {"WORD": "word"}
    assert load(path, environ).mistrust is None
    path.chmod(0o664)
    told = f"the settings file {path}: other users of this machine can write it (its mode is 0664)"
    assert load(path, environ).mistrust == f"{told}; run: chmod go-w {path}"
    path.chmod(0o600)
    directory.chmod(0o777)
    assert f"can replace it in {directory}" in (load(path, environ).mistrust or "")


def test_any_other_file_that_others_can_write_is_warned_of(tmp_path: Path) -> None:
    path = write(tmp_path, "kafka: {port: 1}\n")
    path.chmod(0o666)
    loaded = load(path, {"PENSTOCK_ACL__ENABLED": "true"}, [GivenValue("tls.oldest_version", "1.3", "command line")])
    assert loaded.mistrust is None
    (warning,) = loaded.warnings
    assert f"chmod go-w {path}" in warning

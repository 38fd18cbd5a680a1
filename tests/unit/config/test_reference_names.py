"""The settings files and variables of other systems, as they are; and what is said when two sources disagree."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from penstock.config.given_value import GivenValue
from penstock.config.loading import ConfigError, Loaded, load, load_settings
from penstock.config.references import ENTRIES, TABLES
from penstock.config.references.entry import Becomes, NoEffect
from penstock.config.settings import MAPPINGS, keys
from penstock.config.settings.security import named_addresses

FILES = Path(__file__).parent / "fixtures"
APPLICATION = FILES / "application.yml"
MESSAGE_BROKER = FILES / "message-broker.yml"
DOTTED = FILES / "message-broker-dotted.yml"
ASSIGNED = FILES / "message-broker.conf"
CLUSTER = FILES / "cluster.yaml"
SERVER = FILES / "server.yml"


def problems_of(path: Path, text: str) -> tuple[str, ...]:
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(path, {})
    return caught.value.problems


def names_in(path: Path) -> Iterator[str]:
    """Every name in a file, read without our own code."""

    def below(prefix: str, tree: dict[str, object]) -> Iterator[str]:
        for name, value in tree.items():
            if isinstance(value, dict):
                yield from below(f"{prefix}{name}.", value)
            else:
                yield prefix + name

    if path == ASSIGNED:
        yield from (line.split(" = ")[0] for line in path.read_text().splitlines() if " = " in line)
    else:
        yield from below("", yaml.safe_load(path.read_text()))


def explained_names(loaded: Loaded, path: Path) -> set[str]:
    """The names of the file that are the origin of a setting, that are one, or that are said to have no effect."""
    origins = "; ".join(loaded.origins.values()).split("; ")
    named = {origin.removeprefix(f"{path}, ") for origin in origins if origin.startswith(f"{path}, ")}
    same = {setting for setting, origin in loaded.origins.items() if origin == str(path)}
    return named | same | {each.name for each in loaded.ignored}


@pytest.mark.feature("P-25", "Q-08", "F-11")
@pytest.mark.parametrize("path", [APPLICATION, MESSAGE_BROKER, DOTTED, ASSIGNED, CLUSTER], ids=lambda path: path.name)
def test_every_name_of_a_file_is_explained(path: Path) -> None:
    assert explained_names(load(path, {}), path) == set(names_in(path))


def test_what_a_name_becomes_is_a_setting() -> None:
    for name, entry in ENTRIES.items():
        for setting in entry.settings if isinstance(entry, Becomes) else ():
            assert setting in keys() or any(setting.startswith(f"{each}.") for each in MAPPINGS), name


def test_no_name_means_two_things() -> None:
    assert len(ENTRIES) == sum(len(table) for table in TABLES.values())
    assert all(name not in ENTRIES or ENTRIES[name] == Becomes((name,), ENTRIES[name].value) for name in keys())  # type: ignore[union-attr]


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
    assert filled.warnings == (  # and no word about the variables, since the file takes what they say
        f"{APPLICATION}, broker.network.threads.boss: 2 has no effect:"
        " one loop serves all connections, without threads",
        f"{APPLICATION}, broker.network.threads.worker: 16 has no effect:"
        " one loop serves all connections, without threads",
    )


@pytest.mark.feature("Q-08")
@pytest.mark.parametrize("path", [MESSAGE_BROKER, ASSIGNED], ids=lambda path: path.name)
def test_the_message_brokers_file_and_its_defaults(path: Path) -> None:
    loaded = load(path, {})
    settings = loaded.settings
    assert loaded.warnings == ()
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
        ("server.prot = 1", "unknown setting server.prot; did you mean server.port?"),
        ("broker: {base_prt: 1}", "unknown setting broker.base_prt; did you mean broker.base_port?"),
        ("broker: {base_port: 70000}", "broker.base_port: kafka.port is 70000"),
        ("broker: {storage: 3}", "broker.storage: storage.engine is 3"),
        ("broker: {storage: {typ: disk}}", "did you mean broker.storage.type?"),
        ("broker: {network: {threads: {boss: none}}}", "broker.network.threads.boss is 'none', but should be a number"),
        ("coordinator: {prt: 8080}", "unknown setting coordinator.prt; did you mean coordinator.port?"),
        ("coordinater: {port: 8080}", "unknown setting coordinater; did you mean coordinator?"),
        ("coordinator: {port: banana}", "coordinator.port is 'banana', but should be a port, 0 to 65535"),
        ("coordinator: {port: 65536}", "coordinator.port is 65536, but should be a port, 0 to 65535"),
        ("coordinator: {broker_count: 0}", "coordinator.broker_count is 0, but should be a number, 1 or more"),
        ("coordinator: {broker_count: true}", "coordinator.broker_count is True, but should be a number, 1 or more"),
        ("coordinator: {broker_executable: [a]}", "coordinator.broker_executable is ['a'], but should be text"),
        ("coordinator: 8080", "coordinator is a section, write its settings below it"),
        ("topics: {replication_factor: two}", "topics.replication_factor is 'two', but should be a number"),
        ("topics: {replicaton_factor: 2}", "did you mean topics.replication_factor?"),
        ("producer: {batch_size: 0}", "producer.batch_size is 0"),
        ("producer: {batchsize: 1}", "did you mean producer.batch_size?"),
        ("consumer: {session_timeout: 1}", "did you mean consumer.session_timeout_ms?"),
        ("nodejs_writer: {producer_url: here}", "nodejs_writer.producer_url is 'here', but should be host:port"),
        (
            "nodejs_writer: {producer_url: 'a:99999'}",
            "nodejs_writer.producer_url is 'a:99999', but should be host:port",
        ),
        ("nodejs_reader: {prot: 1}", "did you mean nodejs_reader.port?"),
        ("metricsport: 1", "unknown setting metricsport; did you mean metrics_port?"),
        ("metrics_port: soon", "metrics_port: http.port is 'soon'"),
        ("log_level: loud", "log_level: logging.level is 'LOUD'"),
        ("enable_consumer_groups: perhaps", "enable_consumer_groups is 'perhaps', but should be true or false"),
        ("enable_tls: perhaps", "enable_tls: security.protocol is 'PERHAPS', but should be"),
    ],
)
@pytest.mark.feature("Q-08", "P-25", "F-11")
def test_a_mistake_is_told_under_the_name_that_was_used(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "file.yml"
    (problem,) = problems_of(path, text)
    assert told in problem
    assert str(path) in problem


@pytest.mark.feature("K-18")
def test_a_clusters_file_is_the_settings_of_its_first_broker() -> None:
    settings = load_settings(CLUSTER, {})
    assert (settings.kafka.port, settings.node.data_dir, settings.storage.engine) == (9092, Path("data"), "memory")
    assert settings.topics.default_partitions == 10
    assert (settings.producer.batch_size, settings.producer.linger_ms) == (16_384, 100)
    assert (settings.consumer.session_timeout_ms, settings.consumer.heartbeat_interval_ms) == (10_000, 3_000)


@pytest.mark.feature("K-18")
def test_what_a_node_does_not_have_yet_is_one_warning_each() -> None:
    loaded = load(CLUSTER, {})
    unbuilt = [name for name, entry in TABLES["cluster"].items() if isinstance(entry, NoEffect)]
    assert [warning.split(": ")[0].removeprefix(f"{CLUSTER}, ") for warning in loaded.warnings] == unbuilt
    assert f"{CLUSTER}, topics.replication_factor: 2 has no effect: there is no replication yet; " in str(
        loaded.warnings
    )


def test_who_asks_for_what_is_the_case_anyway_is_not_warned(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("coordinator: {broker_count: 1}\ntopics: {replication_factor: 1}\nenable_consumer_groups: yes\n")
    loaded = load(path, {})
    assert loaded.warnings == ()
    assert [each.name for each in loaded.ignored] == [
        "coordinator.broker_count", "topics.replication_factor", "enable_consumer_groups",
    ]  # fmt: skip
    path.write_text("enable_consumer_groups: false\n")
    (warning,) = load(path, {}).warnings
    assert warning == f"{path}, enable_consumer_groups: False has no effect: consumer groups cannot be switched off"


@pytest.mark.feature("F-11")
def test_a_server_that_is_to_be_protected_is() -> None:
    settings = load(SERVER, {}).settings
    assert settings.security.protocol == "SSL"
    assert (settings.tls.certificate_file, settings.tls.key_file) == (Path("cert.pem"), Path("key.pem"))
    assert (settings.acl.enabled, settings.acl.policy_file) == (True, Path("acl.json"))


@pytest.mark.feature("F-11")
def test_rules_of_a_server_are_those_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "server.yml"
    path.write_text("enable_acl: true\nacl_config: acl.json\n")
    acl = load(path, {}).settings.acl
    assert (acl.enabled, acl.policy_file) == (True, Path("acl.json"))
    (problem,) = problems_of(path, "acl_config: acl.json\n")
    assert problem == "acl.policy_file has no effect while acl.enabled is false; set acl.enabled: true"


@pytest.mark.parametrize(
    "text",
    [
        """authorizer.class.name: org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users: User:admin;User:CN=ops,O=Shop
allow.everyone.if.no.acl.found: true
""",
        """authorizer.class.name = org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users = User:admin; User:CN=ops,O=Shop;
allow.everyone.if.no.acl.found = true
""",
        """acl:
  enabled: true
  super_users: [User:admin, "User:CN=ops,O=Shop"]
  allow_everyone_if_no_acl_found: true
""",
    ],
)
def test_kafkas_names_for_rules(tmp_path: Path, text: str) -> None:
    path = tmp_path / "server.properties"
    path.write_text(text)
    acl = load(path, {}).settings.acl
    assert (acl.enabled, acl.allow_everyone_if_no_acl_found) == (True, True)
    assert acl.super_users == ("User:admin", "User:CN=ops,O=Shop")


def test_kafkas_names_for_logins(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(
        "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512,PLAIN\n"
        "connection.failed.authentication.delay.ms=250\n"
        "connections.max.reauth.ms=3600000\n"
    )
    sasl = load(path, {}).settings.sasl
    assert sasl.enabled_mechanisms == ("PLAIN", "SCRAM-SHA-512")
    assert (sasl.failed_authentication_delay_ms, sasl.reauthentication_ms_max) == (250, 3_600_000)
    (problem,) = problems_of(path, "sasl.enabled.mechanisms: GSSAPI\n")
    assert "GSSAPI" in problem
    assert "SCRAM-SHA-256" in problem
    (problem,) = problems_of(path, "sasl:\n  scram_iterations: 4095\n")
    assert "4096" in problem


def test_an_authorizer_that_is_not_there_is_no_reason_to_start_without(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    (problem,) = problems_of(path, "authorizer.class.name: com.example.Authorizer\n")
    assert "authorizer.class.name: acl.enabled is 'com.example.Authorizer', but should be a valid boolean" in problem
    path.write_text("authorizer.class.name: ''\n")
    assert not load(path, {}).settings.acl.enabled
    (problem,) = problems_of(path, "super.users: admin\n")
    assert "'admin' is no principal; write it with its type, such as User:admin" in problem
    (problem,) = problems_of(path, "super.users: 'User:'\n")
    assert "'User:' is no principal; write it with its type, such as User:alice" in problem
    (problem,) = problems_of(path, "super.users: user:admin\n")
    assert "'user:admin' fits nobody, because types are compared letter by letter; write User:admin" in problem
    (problem,) = problems_of(path, "super.users: User:a, User:b\n")
    assert "'User:a, User:b' is one principal; separate several with semicolons" in problem
    path.write_text("super.users: User:a;User:CN=b,OU=c\n")
    assert load(path, {}).settings.acl.super_users == ("User:a", "User:CN=b,OU=c")


def test_names_about_connections_between_brokers_are_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    names = ("inter.broker.listener.name", "security.inter.broker.protocol", "sasl.mechanism.inter.broker.protocol")
    path.write_text("listeners=PLAINTEXT://127.0.0.1:9092\n" + "".join(f"{name}=PLAIN\n" for name in names))
    ignored = load(path, {}).ignored
    assert [each.name for each in ignored] == list(names)
    assert {each.reason for each in ignored} == {"this node is the only broker, and opens no connections to others"}


@pytest.mark.feature("F-11")
def test_a_server_that_is_not_to_be_protected_does(tmp_path: Path) -> None:
    path = tmp_path / "server.yml"
    text = SERVER.read_text().replace("enable_tls: true", "enable_tls: false").replace("acl: true", "acl: no")
    path.write_text("".join(line for line in text.splitlines(True) if "pem" not in line and "json" not in line))
    loaded = load(path, {})
    settings = loaded.settings
    assert (settings.kafka.host, settings.http.host, settings.kafka.port) == ("0.0.0.0", "0.0.0.0", 9092)
    assert (settings.http.port, settings.node.data_dir, settings.logging.level) == (8080, Path("data"), "INFO")
    assert loaded.warnings == ()
    assert explained_names(loaded, path) == set(names_in(path))


KAFKA_LISTENERS = """listeners=INTERNAL://127.0.0.1:9092,EXTERNAL://:9094,HTTP://127.0.0.1:8080
advertised.listeners=EXTERNAL://broker.example:9094
listener.security.protocol.map=INTERNAL:PLAINTEXT,EXTERNAL:SASL_SSL
listener.name.external.ssl.client.auth=required
ssl.keystore.type=PEM
ssl.keystore.location=/etc/penstock/server.pem
ssl.truststore.location=/etc/penstock/ca.pem
ssl.enabled.protocols=TLSv1.3,TLSv1.2
ssl.principal.mapping.rules=DEFAULT
"""


def test_kafkas_names_for_listeners(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(KAFKA_LISTENERS)
    loaded = load(path, {})
    assert loaded.warnings == ()
    listeners, tls = loaded.settings.listeners, loaded.settings.tls
    assert listeners.addresses == "INTERNAL://127.0.0.1:9092,EXTERNAL://:9094,HTTP://127.0.0.1:8080"
    assert listeners.advertised == "EXTERNAL://broker.example:9094"
    assert listeners.protocols == "INTERNAL:PLAINTEXT,EXTERNAL:SASL_SSL"
    assert listeners.overrides == {"external.ssl.client.auth": "required"}
    assert (tls.certificate_file, tls.client_ca_file) == (
        Path("/etc/penstock/server.pem"),
        Path("/etc/penstock/ca.pem"),
    )
    assert tls.oldest_version == "1.2"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("listeners: PLAINTEXT", "expected NAME://host:port"),
        ("listeners: 'A://:1,A://:2'", "each listener has a name of its own, but A is there twice"),
        ("listeners: 'A://:1,B://:1'", "each listener has a port of its own, but 1 is there twice"),
        ("listeners: 'A://127.0.0.1:1,B://localhost:1'", "each listener has a port of its own, but 1 is there twice"),
        ("listeners: 'A://[::1]:1,B://[::]:1'", "each listener has a port of its own, but 1 is there twice"),
        ("listeners: 'A://::1:9092'", "write an IPv6 address in brackets: A://[::1]:9092"),
        ("listener.security.protocol.map: 'A:TLS'", "expected NAME:PROTOCOL with one of PLAINTEXT, SSL"),
        ("ssl.keystore.type: JKS", "ssl.keystore.type is 'JKS', but should be PEM"),
        ("ssl.enabled.protocols: TLSv1.1,TLSv1.2", "tls.oldest_version is '1.1', but should be '1.2' or '1.3'"),
        ("ssl.client.auth: maybe", "tls.client_auth is 'maybe', but should be 'none', 'requested' or 'required'"),
    ],
)
def test_mistakes_in_listeners(tmp_path: Path, text: str, told: str) -> None:
    (problem,) = problems_of(tmp_path / "server.yml", f"{text}\n")
    assert told in problem


@pytest.mark.feature("F-11", "P-25")
def test_names_of_other_systems_stand_where_their_source_does(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    environ: dict[str, str] = {}
    flags: list[GivenValue] = []
    seen = []

    def look() -> None:
        loaded = load(path, environ, flags)
        seen.append((loaded.settings.kafka.port, len(loaded.warnings)))

    path.write_text("broker: {base_port: 1}\n")
    look()
    path.write_text("kafka: {port: 2}\nbroker: {base_port: 1}\n")
    look()
    environ["BROKER_PORT"] = "3"
    look()
    environ["PENSTOCK_KAFKA__PORT"] = "4"
    look()
    flags.append(GivenValue("port", 5, "command line, --port"))
    look()
    assert seen == [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4)]
    assert load(path, environ, flags).warnings == (
        f"kafka.port is 5 by command line, --port; {path}, broker.base_port says 1, which does not count",
        f"kafka.port is 5 by command line, --port; {path} says 2, which does not count",
        "kafka.port is 5 by command line, --port; environment variable BROKER_PORT says 3, which does not count",
        "kafka.port is 5 by command line, --port; environment variable PENSTOCK_KAFKA__PORT says 4,"
        " which does not count",
    )


def test_in_a_file_our_own_names_win_whatever_their_order(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "topics: {defaults: {segment.bytes: 2097152}, default_partitions: 3}\nstorage: {engine: disk}\n"
        "broker: {storage: {segment-size: 1048576, type: memory}}\n"
    )
    settings = load_settings(path, {})
    assert settings.topics.defaults == {"segment.bytes": "2097152"}
    assert (settings.storage.engine, settings.topics.default_partitions) == ("disk", 3)


@pytest.mark.feature("P-25")
def test_two_other_names_for_the_same_disagree_aloud(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("broker: {base_port: 1, network: {port: 2}}\nport: 2\n")
    loaded = load(path, {})
    assert loaded.settings.kafka.port == 2
    assert loaded.warnings == (
        f"kafka.port is 2 by {path}, port; {path}, broker.base_port says 1, which does not count",
    )


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
    loaded = load(path, environ, [GivenValue("kafka.port", 4, "command line")])
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


def test_addresses_of_ipv4_and_ipv6_may_share_a_port() -> None:
    found = named_addresses("A://127.0.0.1:9092,B://[::1]:9092")
    assert found == [("A", "127.0.0.1", 9092), ("B", "::1", 9092)]

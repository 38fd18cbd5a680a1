"""A client that is not let in, or does not trust the broker, says so at once, with the fix, and shows no secret."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode as KafkaCode

from penstock import Admin, Consumer, Producer
from penstock.client.address import parse_addresses
from penstock.client.cluster import Cluster
from penstock.client.security.properties import ClientSecurity
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.errors import ErrorCode, KafkaError
from penstock.sdk import NotAllowed, Unreachable
from tests.own_clients.conftest import Commands
from tests.support.command_line import CommandLine
from tests.support.raw_client import unique_name
from tests.support.secured_broker import OPEN, SecuredBroker
from tests.support.user_client import SHA_256, alter, deletion
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-03", "F-04")

WRONG = "not-the-word"
AT_ONCE_S = 20.0
HELD_OFF_S = 90.0
"""For logins that take turns with those of the library, which tries its own again and again."""
"""Less than the timeouts of a request (30 s) and of a message (120 s), and enough on a busy machine."""
CASES = [
    ("BOTH", "SCRAM-SHA-256", ("invalid credentials", "check sasl.username and sasl.password")),
    ("LOGIN", "PLAIN", ("Invalid username or password", "check sasl.username and sasl.password")),
    ("STRANGER", None, ("is not trusted", "name the file of its authority with ssl.ca.location")),
    ("MISNAMED", None, ("is not trusted: IP address mismatch", "connect by a name that its certificate has")),
]


def properties(broker: SecuredBroker, listener: str, mechanism: str | None) -> dict[str, str]:
    """The user has a wrong password; failed logins of a name of its own hold nobody else off."""
    found = broker.properties(listener, mechanism)
    return found | {"sasl.username": unique_name("user"), "sasl.password": WRONG} if mechanism else found


def _list(where: str, config: dict[str, str]) -> None:
    with Admin(where, config=config) as admin:
        admin.list_topics()


def _send(where: str, config: dict[str, str]) -> None:
    with Producer(where, config=config) as producer:
        producer.send(f"{OPEN}any", b"").result(60)


def _poll(where: str, config: dict[str, str]) -> None:
    with Consumer(where, f"{OPEN}any", group=f"{OPEN}any", config=config) as consumer:
        consumer.poll(60)


@pytest.mark.parametrize(("listener", "mechanism", "told"), CASES)
@pytest.mark.parametrize("act", [_list, *(pytest.param(act, marks=pytest.mark.full) for act in (_send, _poll))])
def test_the_sdk(
    broker: SecuredBroker,
    listener: str,
    mechanism: str | None,
    told: tuple[str, ...],
    act: Callable[[str, dict[str, str]], None],
) -> None:
    began = time.monotonic()
    with pytest.raises(NotAllowed) as refused:
        act(broker.address(listener), properties(broker, listener, mechanism))
    assert time.monotonic() - began < AT_ONCE_S
    assert all(part in str(refused.value) for part in told), str(refused.value)
    assert WRONG not in str(refused.value)


MISFITS = [
    ("BOTH", "PLAINTEXT", "speaks TLS; set security.protocol to SSL, or to SASL_SSL if it wants a login"),
    ("LOGIN", "PLAINTEXT", "wants a login; set security.protocol to SASL_PLAINTEXT, and sasl.mechanism to PLAIN or "),
    ("BOTH", "SSL", "wants a login; set security.protocol to SASL_SSL, and sasl.mechanism to PLAIN or "),
]
"""What a client without these settings is told, instead of that nobody answers."""


def misfit(broker: SecuredBroker, listener: str, protocol: str) -> dict[str, str]:
    found = broker.properties(listener, None) | {"security.protocol": protocol}
    return found if protocol == "SSL" else {"security.protocol": protocol}


@pytest.mark.parametrize(("listener", "protocol", "told"), MISFITS)
def test_a_protocol_that_does_not_fit_the_port(
    broker: SecuredBroker, penstock: Commands, listener: str, protocol: str, told: str
) -> None:
    properties = misfit(broker, listener, protocol)
    said = penstock(properties, listener, "topic", "list", code=1).err
    assert f"penstock: {broker.address(listener)} {told}" in said
    with pytest.raises(Unreachable) as refused:
        _list(broker.address(listener), properties)
    assert told in str(refused.value)


@pytest.mark.parametrize(("listener", "mechanism", "told"), CASES)
def test_the_client_of_spark_and_bulk_jobs(
    broker: SecuredBroker, listener: str, mechanism: str | None, told: tuple[str, ...]
) -> None:
    """It persists where a broker is away, for a minute here, and not where it is refused."""
    security = ClientSecurity.of(properties(broker, listener, mechanism))
    began = time.monotonic()
    addresses = parse_addresses(broker.address(listener))
    with Cluster(addresses, security=security) as cluster, pytest.raises(KafkaError) as refused:
        cluster.patiently(lambda: cluster.topics(None))
    assert time.monotonic() - began < AT_ONCE_S
    assert refused.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert all(part in str(refused.value) for part in told), str(refused.value)


COMMANDS = [
    ("topic", "list"),
    ("consume", f"{OPEN}any"),
    ("group", "list"),
    ("transaction", "list"),
    ("security", "user", "list"),
    ("archive", f"{OPEN}any", "/nowhere"),
]


@pytest.mark.parametrize("command", [pytest.param(each, marks=pytest.mark.full) for each in COMMANDS])
@pytest.mark.parametrize(("listener", "mechanism", "told"), CASES[1:])
def test_commands(
    broker: SecuredBroker,
    penstock: Commands,
    listener: str,
    mechanism: str | None,
    told: tuple[str, ...],
    command: tuple[str, ...],
) -> None:
    began = time.monotonic()
    failed = penstock(properties(broker, listener, mechanism), listener, *command, code=1)
    assert time.monotonic() - began < AT_ONCE_S
    assert len(failed.err.splitlines()) == 1
    assert all(part in failed.err for part in told), failed.err
    assert WRONG not in failed.err + failed.out


HTTP_COMMANDS = [
    ("security", "token", "list", "--url"),
    ("security", "connections", "--url"),
    ("pipe", "status", "--url"),
    ("push", "list", "--url"),
    ("registry", "list", "--registry"),
]


@pytest.mark.parametrize("command", HTTP_COMMANDS)
def test_commands_at_an_http_port_that_is_not_trusted(broker: SecuredBroker, command: tuple[str, ...]) -> None:
    """A listener of Kafka's protocol serves: the handshake is before all protocols."""
    run = CommandLine(None)
    where = f"https://{broker.address('STRANGER')}"
    (told,) = run(*command, where, code=1).err.splitlines()
    assert told.startswith(f"penstock: {where} is not trusted: ")
    assert "name the file of its authority with ssl.ca.location" in told
    assert told.endswith("properties are in the file of --command-config")


def test_push_commands_at_a_port_that_is_not_trusted(broker: SecuredBroker, tmp_path: Path) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text("security.protocol=SSL\n")
    host, _, port = broker.address("STRANGER").rpartition(":")
    where = ("--host", host, "--port", port, "--command-config", properties)
    told = CommandLine(None)("push", "publish", "t", "text", *where, code=1).err
    assert "name the file of its authority with ssl.ca.location" in told


def test_a_client_without_the_certificate_that_the_broker_wants(broker: SecuredBroker, penstock: Commands) -> None:
    """Apache Kafka says so; Penstock closes the connection."""
    config = broker.properties("TLS")
    refused = penstock(config, "MUTUAL", "topic", "list", code=3 if broker.kind == "penstock" else 1)
    assert "certificate" in refused.err
    assert "ssl.certificate.location" in refused.err


def test_a_port_of_another_protocol(broker: SecuredBroker, penstock: Commands) -> None:
    refused = penstock({**broker.properties("TLS"), "ssl.ca.location": ""}, "LOGIN", "topic", "list", code=3)
    assert "set security.protocol" in refused.err
    login = broker.properties("BOTH", "PLAIN")
    assert "asks for no login there: set security.protocol" in penstock(login, "TLS", "topic", "list", code=1).err


def test_files_are_read_once_for_all_connections_of_a_cluster(broker: SecuredBroker, tmp_path: Path) -> None:
    """Until something fails: then they are read again, so that a certificate that was renewed is found."""
    authorities = tmp_path / "ca.pem"
    authorities.write_bytes(broker.authority.file.read_bytes())
    security = ClientSecurity.of({**broker.properties("TLS"), "ssl.ca.location": str(authorities)})
    addresses = parse_addresses(broker.address("TLS"))
    with Cluster(addresses, security=security) as cluster:
        cluster.topics(None)
        authorities.unlink()
        cluster.close()
        cluster.topics(None)
        cluster.forget()
        with pytest.raises(KafkaError, match=r"ca\.pem has no certificates .* No such file"):
            cluster.topics(None)


def test_a_consumer_whose_user_is_removed_is_told(broker: SecuredBroker) -> None:
    """librdkafka itself would try the login for ever, and say nothing. Sessions of this listener are short."""
    topic, user = broker.new_topic(), broker.new_user()
    config = broker.properties("SHORT", "SCRAM-SHA-256", user)
    with Consumer(broker.address("SHORT"), topic, group=unique_name(OPEN), config=config) as consumer:
        wait_until(lambda: consumer.poll(0.2) is None and bool(consumer.assignment()), what="the consumer reads")
        with broker.as_admin() as admin:
            assert alter(admin, deletion(user, SHA_256)) == {user: KafkaCode.none}
        with pytest.raises(NotAllowed, match=r"check sasl\.username and sasl\.password"):
            consumer.poll(HELD_OFF_S)


@pytest.mark.full
def test_a_command_whose_user_is_removed_ends(
    broker: SecuredBroker, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    topic, user = broker.new_topic(), broker.new_user()
    path = tmp_path / "client.properties"
    path.touch(0o600)
    config = broker.properties("SHORT", "SCRAM-SHA-256", user)
    path.write_text("".join(f"{name}={value}\n" for name, value in config.items()))
    run = CommandLine(broker.address("SHORT"))
    with run.started("consume", topic, "--follow", "--command-config", path) as process:
        with broker.as_admin() as admin:
            admin.produce(topic, bytes(build_batch([NewRecord(None, b"read")], timestamp=time.time_ns() // 1_000_000)))
            assert process.stdout is not None
            assert process.stdout.readline() == b"read\n"  # no group is named, and none is needed
            assert alter(admin, deletion(user, SHA_256)) == {user: KafkaCode.none}
        assert process.wait(timeout=HELD_OFF_S) == 1
    assert "check sasl.username and sasl.password" in capfd.readouterr().err

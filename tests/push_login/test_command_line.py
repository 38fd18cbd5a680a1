"""`penstock push` and `penstock consumers run` against a broker with TLS and SASL: `--command-config`."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from penstock import BrokerClient
from tests.support.acl_client import GROUP, TOPIC, AclClient, matching, rule
from tests.support.command_line import CommandLine
from tests.support.edge_process import EdgeProcess
from tests.support.http_json import ask
from tests.support.push_login import USERS, PushLoginProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.user_client import alter, deletion, upsertion
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-04", "Q-03")

CONSUMER = """
from penstock import consumer, message_handler

@consumer(topic="{topic}", group="{topic}-readers")
class Reader:
    @message_handler
    def handle(self, message):
        with open("{file}", "ab") as file:
            file.write(message.body + b"\\n")
"""


@pytest.fixture
def config(broker: PushLoginProcess, tmp_path: Path) -> Path:
    return write_config(broker, tmp_path / "alice.properties", USERS["alice"])


def write_config(broker: PushLoginProcess, path: Path, password: str) -> Path:
    path.write_text(
        "# of alice\n"
        "bootstrap.servers=elsewhere:9092\n"
        "security.protocol=SASL_SSL\n"
        f"ssl.ca.location={broker.authority.file}\n"
        "sasl.mechanism=SCRAM-SHA-512\n"
        "sasl.username=alice\n"
        f"sasl.password={password}\n"
    )
    path.chmod(0o600)
    return path


def test_the_commands_log_in(broker: PushLoginProcess, config: Path, tmp_path: Path) -> None:
    penstock, topic = CommandLine(None), unique_name()
    place = ("--host", broker.host, "--port", broker.push_port, "--command-config", config)
    penstock("push", "create-topic", topic, *place)
    penstock("push", "publish", topic, "hello", *place)
    assert penstock("push", "subscribe", topic, "--count", 1, *place).lines == ["hello"]
    wrong = write_config(broker, tmp_path / "wrong.properties", "not-the-word")
    told = penstock("push", "publish", topic, "x", *place[:-1], wrong, code=1)
    assert "check sasl.username and sasl.password" in told.err
    assert "not-the-word" not in told.err


@pytest.mark.parametrize(
    ("listener", "protocol", "told"),
    [
        ("PUSH", None, "speaks TLS; set security.protocol to SSL, or to SASL_SSL if it wants a login"),
        ("PUSH", "SASL_PLAINTEXT", "speaks TLS; set security.protocol to SSL, or to SASL_SSL if it wants a login"),
        ("PUSH", "SSL", "wants a login there; set sasl.mechanism"),
        ("MUTUAL", None, "speaks TLS; set security.protocol to SSL"),
        ("MUTUAL", "SSL", "if it wants a certificate of the client, set ssl.certificate.location"),
        ("BARE", None, "wants a login there; set sasl.mechanism"),
        ("BARE", "SSL", "does not shake hands"),
        ("OPEN", "SSL", "if it has no TLS there, set security.protocol to PLAINTEXT"),
        ("OPEN", "SASL_PLAINTEXT", "asks for no login; set security.protocol to PLAINTEXT"),
    ],
)
def test_a_port_of_another_protocol_is_one_line_with_the_fix(
    broker: PushLoginProcess, config: Path, listener: str, protocol: str | None, told: str
) -> None:
    place: tuple[object, ...] = ("--host", broker.host, "--port", broker.ports[listener])
    if protocol is not None:
        config.write_text(config.read_text().replace("SASL_SSL", protocol))
        place += ("--command-config", config)
    code = 3 if told.startswith(("does not shake", "if it")) else 1  # those that may pass
    environ = {"PENSTOCK_CLIENT__REQUEST_TIMEOUT_MS": "3000"} if told.startswith("if it wants a cert") else {}
    lines = CommandLine(None)("push", "subscribe", "t", *place, code=code, **environ).err.splitlines()
    assert told in lines[-1]
    assert "--command-config" in lines[-1]
    if not environ:  # only the wait for an answer has lines of its attempts
        assert len(lines) == 1, lines


@pytest.mark.parametrize("kind", [TOPIC, GROUP])
@pytest.mark.parametrize("command", ["subscribe", "join-subscription"])
def test_a_right_that_is_taken_away_is_told(broker: PushLoginProcess, tmp_path: Path, command: str, kind: int) -> None:
    topic = unique_name()
    name = f"{topic}-bob" if command == "subscribe" else f"{topic}-readers"
    config = tmp_path / "bob.properties"
    config.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=bob\nsasl.password={USERS['bob']}"
    )
    place = ("--host", broker.host, "--port", broker.ports["BARE"], "--client-id", "bob", "--command-config", config)
    with RawClient(broker.host, broker.port) as admin, ThreadPoolExecutor(1) as pool:
        admin.create_topic(topic)
        acls = AclClient(admin)
        acls.created(rule(TOPIC, topic, principal="User:bob"), rule(GROUP, name, principal="User:bob"))
        with BrokerClient(broker.host, broker.port) as client:
            client.create_subscription(name, topic)
        listening = pool.submit(
            CommandLine(None), "push", command, topic if command == "subscribe" else name, *place, code=1
        )
        wait_until(lambda: _members(broker, name) == 1, what="bob listens")
        acls.delete(matching(kind=kind, name=topic if kind == TOPIC else name))
        told = listening.result(60).err.splitlines()[-1]
    right = f"topic {topic!r}" if kind == TOPIC else f"group {name!r}"
    reason = f"the right to read {right} was taken away: subscription {name!r} needs it"
    assert told == f"penstock: subscription {name} is lost: {reason}"


def _members(broker: PushLoginProcess, name: str) -> int:
    rows = ask(broker.http_port, "/push/subscriptions").body["subscriptions"]
    return int(next(row["members"] for row in rows if row["name"] == name))


def test_consumers_log_in(broker: PushLoginProcess, config: Path, tmp_path: Path) -> None:
    topic, module, found = unique_name(), tmp_path / "reader.py", tmp_path / "found"
    module.write_text(CONSUMER.format(topic=topic, file=found))
    penstock = CommandLine(None)
    place = ("--host", broker.host, "--port", broker.push_port, "--command-config", config)
    penstock("push", "create-topic", topic, *place)
    penstock("push", "publish", topic, "hello", *place)
    address = f"{broker.host}:{broker.push_port}"
    with penstock.started("consumers", "run", module, "--broker", address, "--command-config", config) as process:
        wait_until(found.exists, what="the consumer has handled a message")
        wait_until(lambda: found.read_bytes() == b"hello\n", what="the message is written")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_the_consumer_application_logs_in(broker: PushLoginProcess, config: Path, tmp_path: Path) -> None:
    topic, penstock = unique_name(), CommandLine(None)
    place = ("--host", broker.host, "--port", broker.push_port, "--command-config", config)
    penstock("push", "create-topic", topic, *place)
    penstock("push", "publish", topic, "hello", *place)
    edge = EdgeProcess(
        tmp_path / "edge",
        broker.push_port,
        CONSUMER_TYPE="plain",
        CONSUMER_TOPIC=topic,
        CONSUMER_GROUP=f"{topic}-edge",
        PENSTOCK_COMMAND_CONFIG=str(config),
    )
    edge.start()
    try:
        edge.wait_for_messages(1)
    finally:
        edge.stop()
    assert USERS["alice"] not in edge.log_file.read_text()


def test_the_consumer_application_says_that_it_lacks_a_right_or_a_login(
    broker: PushLoginProcess, tmp_path: Path
) -> None:
    topic, config = unique_name(), tmp_path / "bob.properties"
    group = f"{topic}-edge"
    needed = ((TOPIC, topic), (GROUP, group))
    with RawClient(broker.host, broker.port) as admin:
        admin.create_topic(topic)
    login = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username={}\nsasl.password={}\n"
    config.write_text(login.format(unique_name("nobody"), "not-the-word"))
    variables = {"CONSUMER_TYPE": "plain", "CONSUMER_TOPIC": topic, "CONSUMER_GROUP": group}
    port, told = broker.ports["BARE"], f"this principal may not read topic {topic} as group {group}; an administrator"
    edge = EdgeProcess(tmp_path / "edge", port, **variables, PENSTOCK_COMMAND_CONFIG=str(config))
    edge.start()
    try:
        wait_until(lambda: "check sasl.username and sasl.password" in str(problems(edge)), what="no login is a problem")
        edge.stop()
        config.write_text(login.format("bob", USERS["bob"]))
        edge.start()
        wait_until(lambda: told in str(problems(edge)), what="no right is a problem")
        (line,) = [line for line in edge.log_file.read_text().splitlines() if told in line]
        assert " ERROR " in line
        assert f"--operation Read --topic {topic} --group {group}" in line
        with RawClient(broker.host, broker.port) as admin:
            AclClient(admin).created(*(rule(kind, name, principal="User:bob") for kind, name in needed))
        wait_until(lambda: problems(edge) == [], what="the right is there")
        edge.wait_for("feed", "subscribed")
    finally:
        edge.kill9()


def test_the_consumer_application_says_that_its_login_is_refused_while_it_runs(
    broker: PushLoginProcess, tmp_path: Path
) -> None:
    """Its user is removed: it is refused when its session ends, and with each attempt to connect again."""
    topic, user, config = unique_name(), unique_name("carol"), tmp_path / "carol.properties"
    login = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\nsasl.username={}\nsasl.password=secret\n"
    config.write_text(login.format(user))
    group, told = f"{topic}-edge", "the broker does not let this client in"
    variables = {"CONSUMER_TYPE": "plain", "CONSUMER_TOPIC": topic, "CONSUMER_GROUP": group}
    port = broker.ports["SHORT"]
    edge = EdgeProcess(tmp_path / "edge", port, **variables, PENSTOCK_COMMAND_CONFIG=str(config))
    with RawClient(broker.host, broker.port) as admin:
        admin.create_topic(topic)
        alter(admin, upsertion(user))
        needed = ((TOPIC, topic), (GROUP, group))
        AclClient(admin).created(*(rule(kind, name, principal=f"User:{user}") for kind, name in needed))
        edge.start()
        try:
            edge.wait_for("feed", "subscribed")
            alter(admin, deletion(user))
            wait_until(lambda: told in str(problems(edge)), what="the refusal is a problem")
            health = edge.get("/health").body
            assert health["ready"]
            assert health["problems"] == [health["feed"]]
            assert "check sasl.username and sasl.password" in health["feed"]
            alter(admin, upsertion(user))
            wait_until(lambda: problems(edge) == [], what="it is let in")
            edge.wait_for("feed", "subscribed")
            assert problems(edge) == []
        finally:
            edge.kill9()


def problems(edge: EdgeProcess) -> list[str]:
    found: list[str] = edge.get("/health").body["problems"]
    return found


def test_properties_that_do_not_fit_together_end_the_command(tmp_path: Path) -> None:
    path = tmp_path / "half.properties"
    path.write_text("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.password=not-the-word\n")
    for command in (("edge",), ("push", "publish", "t", "x")):
        told = CommandLine(None)(*command, "--command-config", path, code=2)
        assert "sasl.username" in told.err
        assert "not-the-word" not in told.err

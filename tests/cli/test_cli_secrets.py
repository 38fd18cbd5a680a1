"""A word that nobody may see, in every place where a command takes an address or a setting: it is in no output."""

import socket
from pathlib import Path

import pytest

from penstock.config.shown_value import secret_keys
from tests.cli.conftest import CommandLine
from tests.support.http_client import ask
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.secret_settings import ELSEWHERE, PASSWORDS, WORDS, given, lines_away

WORD = "w8d805ab8e2c41"
URL = f"http://user:{WORD}@127.0.0.1:1"


@pytest.mark.parametrize(
    ("command", "environ"),
    [
        (("serve", "--set", f"registry.url={URL}"), {}),
        (("serve", "--set", f"registry.advertised_url={URL}"), {}),
        (("serve", "--set", f"pipe.parent_url={URL}"), {}),
        (("serve", "--set", "pipe.type=kafka", "--set", f"pipe.parent_url=user:{WORD}@127.0.0.1:1"), {}),
        (("serve", "--set", f"kafka.advertised=user:{WORD}@127.0.0.1:1"), {}),
        (("serve", "--set", WORD), {}),
        (("serve",), {"REGISTRY_URL": URL}),
        (("serve",), {"PENSTOCK_PIPE__PARENT_URL": URL}),
        (("config", "show"), {"REGISTRY_URL": URL}),
        (("config", "show", "-o", "json", "--explain"), {"PENSTOCK_PIPE__PARENT_URL": URL}),
        (("edge",), {"BROKER_HOST": f"user:{WORD}@127.0.0.1"}),
        (("registry", "list", "--registry", URL), {}),
        (("registry", "list"), {"REGISTRY_URL": URL}),
        (("pipe", "status", "--url", URL), {}),
        (("topic", "list", "--bootstrap-server", f"user:{WORD}@127.0.0.1:1"), {}),
        (("client-metrics", "list", "--bootstrap-server", f"ok:1,user:{WORD}@127.0.0.1:1"), {}),
    ],
    ids=lambda value: " ".join(value)[:40].replace(WORD, "…") if isinstance(value, tuple) else " ".join(value),
)
def test_an_address_with_a_password_is_refused_and_not_repeated(
    alone: CommandLine, command: tuple[str, ...], environ: dict[str, str]
) -> None:
    outcome = alone(*command, code=2, **environ)
    assert WORD not in outcome.out + outcome.err
    assert "credentials are settings of their own" in outcome.err or WORD in command


def test_every_secret_is_hidden_in_config_show(alone: CommandLine) -> None:
    """And so is a setting of any type whose value looks like one."""
    for key in secret_keys():
        for output in ("table", "json"):
            shown = alone("config", "show", "--changed", "-o", output, code=0, **given(WORD, key))
            assert WORD not in shown.out + shown.err
            assert "***" in shown.out


@pytest.mark.parametrize("output", ["table", "json"])
def test_secrets_of_single_listeners_are_hidden_in_config_show(alone: CommandLine, output: str) -> None:
    """The start refuses them; this is what one looks at next."""
    overrides = ",".join(f"a.{name}={WORD}" for name in ("ssl.key.password", "tls.key_password", "sasl.jaas.config"))
    shown = alone("config", "show", "-o", output, code=0, PENSTOCK_LISTENERS__OVERRIDES=overrides)
    assert WORD not in shown.out + shown.err
    assert "a.sasl.jaas.config" in shown.out


def test_each_secret_of_a_running_node_is_tried_below() -> None:
    assert secret_keys() == {*PASSWORDS, *WORDS, *ELSEWHERE}


@pytest.mark.parametrize(
    "secrets", [PASSWORDS, pytest.param(WORDS, marks=pytest.mark.full)], ids=["passwords", "words"]
)
def test_a_running_node_shows_no_secret(tmp_path: Path, secrets: tuple[str, ...]) -> None:
    """Every page, answer and line of a node that was given a secret in each setting that takes one."""

    class NodeWithSecrets(PenstockProcess):
        def environment(self) -> dict[str, str]:
            return super().environment() | given(WORD, *secrets) | lines_away(*secrets)

    node = NodeWithSecrets(tmp_path, "logging: {level: DEBUG}\n")
    node.prepare()
    node.start()
    try:
        paths = ("/health/ready", "/metrics", "/pipe/status", "/api/v1/brokers")
        pages = [ask(f"http://127.0.0.1:{node.http_port}{path}", "GET") for path in paths]
        assert [page.status for page in pages] == [200] * len(paths)
        shown = [page.body.decode() for page in pages]
        with RawClient(node.host, node.port) as client:
            resource = {"resource_type": 4, "resource_name": "1", "configuration_keys": None}
            answer = client.call(
                "describe_configs", 4, resources=[resource], include_synonyms=True, include_documentation=True
            )
            shown.append(repr(answer))
        with socket.create_connection((node.host, node.port), 10) as bad:
            bad.sendall(b"\x7f\xff\xff\xff garbage")
            assert bad.recv(100) == b""
    finally:
        node.stop()
    shown.append(node.log_file.read_text())
    assert all(shown)
    assert not [text for text in shown if WORD in text]


SASL = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=a\nsasl.password={}\n"
JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required username=a password={};"
COMMANDS = [
    ("topic", "list", "--bootstrap-server", "127.0.0.1:1"),
    ("push", "publish", "t", "x", "--port", "1"),
    ("security", "token", "list", "--url", "http://127.0.0.1:1"),
    ("pipe", "status", "--url", "http://127.0.0.1:1"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_file_with_a_password_that_others_can_read_is_warned_of(
    alone: CommandLine, tmp_path: Path, command: tuple[str, ...]
) -> None:
    path = tmp_path / "client.properties"
    path.write_text(SASL.format(WORD))
    for mode, is_told in ((0o644, True), (0o640, True), (0o600, False), (0o400, False)):
        path.chmod(mode)
        told = alone(*command, "--command-config", path, code=3).err
        assert told.count(f"open to other users of this machine ({mode:04o}); run: chmod 600 {path}\n") == is_told
        assert ("chmod" in told) == is_told
        assert WORD not in told


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        (SASL.replace("sasl.username=a\nsasl.password={}", f"sasl.jaas.config={JAAS}"), True),
        ("security.protocol=PLAINTEXT\nssl.key.password={}\n", True),
        ("security.protocol=PLAINTEXT\nssl.keystore.key={}\n", True),
        ("security.protocol=PLAINTEXT\nssl.key.pem={}\n", True),
        ("security.protocol=PLAINTEXT\nssl.ca.location=/{}\nsasl.password=\n", False),
    ],
)
def test_which_properties_are_secrets(alone: CommandLine, tmp_path: Path, text: str, is_told: bool) -> None:
    path = tmp_path / "client.properties"
    path.write_text(text.format(WORD))
    path.chmod(0o644)
    told = alone(*COMMANDS[0], "--command-config", path, code=3).err
    assert ("chmod 600" in told) == is_told


@pytest.mark.parametrize(
    ("command", "is_told"),
    [
        (("topic", "list", *(part for line in SASL.format(WORD).split() for part in ("-X", line))), True),
        (("group", "list", "--property", f"ssl.keystore.password={WORD}"), True),
        (("security", "user", "list", "-X", f"sasl.oauthbearer.client.secret={WORD}"), True),
        (("topic", "list", "-X", "sasl.password=", "-X", "client.id=a"), False),
    ],
    ids=["password", "store", "OAuth", "empty"],
)
def test_a_secret_among_the_arguments_of_a_command_is_warned_of(
    alone: CommandLine, command: tuple[str, ...], is_told: bool
) -> None:
    told = alone(*command, "--bootstrap-server", "127.0.0.1:1", code=3).err
    advice = "is on the command line, which every user of this machine can read; put it into a file with mode 600"
    assert told.count(advice) == is_told
    assert WORD not in told


def test_an_address_in_a_text_of_another_kind_is_hidden(alone: CommandLine) -> None:
    for output in ("table", "json"):
        shown = alone("config", "show", "--changed", "-o", output, PENSTOCK_NODE__RACK=URL, PENSTOCK_NODE__NAME=URL)
        assert WORD not in shown.out + shown.err
        assert shown.out.count("***") == 2

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


def test_an_address_in_a_text_of_another_kind_is_hidden(alone: CommandLine) -> None:
    for output in ("table", "json"):
        shown = alone("config", "show", "--changed", "-o", output, PENSTOCK_NODE__RACK=URL, PENSTOCK_NODE__NAME=URL)
        assert WORD not in shown.out + shown.err
        assert shown.out.count("***") == 2

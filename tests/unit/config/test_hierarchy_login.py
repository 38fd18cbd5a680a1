"""The login of a node at its registry and its parent: combinations that cannot be meant are refused, secrets hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock.config.loading import ConfigError, load
from penstock.config.shown_value import shown

WORD = "w0rd-nobody-sees"
HTTPS = "https://registry.example:8080"


def loaded(tmp_path: Path, settings: dict[str, Any], mode: int = 0o600) -> Any:
    path = tmp_path / "penstock.yml"
    path.write_text(yaml.safe_dump(settings))
    path.chmod(mode)
    return load(path, {"WORD": WORD})


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"registry": {"url": HTTPS, "username": "a"}}, "registry: username and password go together"),
        ({"registry": {"url": HTTPS, "password": WORD}}, "registry: username and password go together"),
        ({"pipe": {"username": "a", "password": WORD, "token": WORD}}, "pipe: a token stands for user and password"),
        ({"pipe": {"key_file": "k"}}, "pipe: key_file and key_password are those of a certificate"),
        ({"pipe": {"username": "a:b", "password": WORD}}, "pipe.username"),
        ({"registry": {"url": "http://r.example", "token": WORD}}, "would be sent in plain text"),
        ({"pipe": {"parent_url": "http://10.0.0.7:8080", "token": WORD}}, "would be sent in plain text"),
        ({"registry": {"url": "http://127.0.0.1:8080", "ca_file": "ca.pem"}}, "the URL has no https"),
        ({"pipe": {"parent_url": "http://p.example", "certificate_file": "c.pem"}}, "the URL has no https"),
        ({"pipe": {"type": "kafka", "parent_url": "k:1", "username": "a", "password": WORD}}, "client_properties"),
        ({"pipe": {"client_properties": {"sasl.password": WORD}}}, "pipe.client_properties are for type: kafka"),
        ({"consumers": {"principal": "till"}}, "such as User:till"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        loaded(tmp_path, settings)
    assert told in str(refused.value)
    assert WORD not in str(refused.value)


def test_secrets_come_from_variables_and_are_hidden(tmp_path: Path) -> None:
    found = loaded(
        tmp_path,
        {
            "registry": {"url": "http://localhost:8080", "username": "shop-7", "password": "env:WORD"},
            "pipe": {
                "type": "kafka",
                "parent_url": "k.example:9093",
                "client_properties": {"sasl.password": "env:WORD", "ssl.keystore.key": "env:WORD"},
            },
        },
    )
    assert found.settings.registry.password.reveal() == WORD
    assert found.settings.pipe.client_properties["sasl.password"].reveal() == WORD
    assert WORD not in repr(found.settings)
    assert WORD not in found.settings.model_dump_json()
    assert shown("pipe.client_properties", {"sasl.password": WORD}) == "***"
    assert shown("pipe.client_properties.ssl.keystore.key", WORD) == "***"
    assert not found.warnings


def test_a_secret_in_a_file_that_others_can_read_is_warned_of(tmp_path: Path) -> None:
    pipe = {"type": "kafka", "parent_url": "k:1", "client_properties": {"security.protocol": "SSL"}}
    assert not loaded(tmp_path, {"pipe": pipe}, 0o644).warnings
    pipe["client_properties"] = {"sasl.password": WORD}
    (warning,) = loaded(tmp_path, {"pipe": pipe}, 0o644).warnings
    assert "chmod 600" in warning
    assert WORD not in warning


def test_the_variable_of_the_client_commands_is_no_setting() -> None:
    assert not load(None, {"PENSTOCK_COMMAND_CONFIG": "client.properties"}).warnings

"""DescribeConfigs of a secured node: the listeners, TLS, logins and rights that it has, and no secret."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.config.broker_configs import describe_broker
from penstock.config.config_key import ConfigSource, ConfigType
from penstock.config.config_layers import ConfigLayers, DescribedConfig
from penstock.config.settings import Settings

WORD = "correct horse"
MAP = "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"


def described(**sections: dict[str, Any]) -> dict[str, DescribedConfig]:
    return {config.name: config for config in describe_broker(Settings.model_validate(sections), ConfigLayers({}))}


@pytest.mark.parametrize(
    ("sections", "listeners", "advertised"),
    [
        ({}, "PLAINTEXT://127.0.0.1:9092", None),
        ({"security": {"protocol": "SASL_SSL"}, "kafka": {"host": "::"}}, "SASL_SSL://[::]:9092", None),
        (
            {"security": {"protocol": "SSL"}, "kafka": {"host": "0.0.0.0", "port": 1, "advertised": "b.example"}},
            "SSL://0.0.0.0:1",
            "SSL://b.example:1",
        ),
        ({"kafka": {"advertised": "[::1]:7"}}, "PLAINTEXT://127.0.0.1:9092", "PLAINTEXT://[::1]:7"),
        (
            {"listeners": {"addresses": "IN://:1,OUT://:2", "advertised": "OUT://b.example:2"}},
            "IN://:1,OUT://:2",
            "OUT://b.example:2",
        ),
        # A listener by name is not advertised at the address of another section.
        ({"listeners": {"addresses": "IN://:1"}, "kafka": {"advertised": "b.example:7"}}, "IN://:1", None),
    ],
)
def test_listeners_are_shown_as_they_are(
    sections: dict[str, dict[str, Any]], listeners: str, advertised: str | None
) -> None:
    configs = described(**sections)
    assert (configs["listeners"].value, configs["advertised.listeners"].value) == (listeners, advertised)


def test_a_node_without_security_shows_that_it_has_none() -> None:
    configs = described()
    assert {name: configs[name].value for name in ("authorizer.class.name", "super.users", "ssl.client.auth")} == {
        "authorizer.class.name": "",
        "super.users": None,
        "ssl.client.auth": "none",
    }
    assert configs["listener.security.protocol.map"].value == MAP
    assert (configs["ssl.key.password"].value, configs["ssl.key.password"].sensitive) == (None, True)
    assert configs["ssl.key.password"].source is ConfigSource.DEFAULT


def test_what_protects_a_node_is_shown_and_no_secret() -> None:
    configs = described(
        listeners={
            "addresses": "IN://:1,OUT://:2",
            "protocols": "IN:SSL,OUT:SASL_SSL",
            "overrides": {"IN.ssl.client.auth": "required"},
        },
        tls={
            "certificate_file": "/etc/server.pem",
            "key_password": WORD,
            "client_auth": "requested",
            "client_ca_file": "/etc/ca.pem",
            "oldest_version": "1.3",
        },
        sasl={"enabled_mechanisms": "PLAIN,SCRAM-SHA-512", "reauthentication_ms_max": 5_000},
        acl={"enabled": True, "super_users": "User:CN=a,O=b;User:admin"},
    )
    expected = {
        "allow.everyone.if.no.acl.found": "false",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "connection.failed.authentication.delay.ms": "100",
        "connections.max.reauth.ms": "5000",
        "listener.name.in.ssl.client.auth": "required",
        "listener.security.protocol.map": "IN:SSL,OUT:SASL_SSL",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "ssl.client.auth": "requested",
        "ssl.enabled.protocols": "TLSv1.3",
        "ssl.keystore.location": "/etc/server.pem",
        "ssl.keystore.type": "PEM",
        "ssl.principal.mapping.rules": "DEFAULT",
        "ssl.truststore.location": "/etc/ca.pem",
        "ssl.truststore.type": "PEM",
        "super.users": "User:CN=a,O=b;User:admin",
    }
    assert {name: configs[name].value for name in expected} == expected
    assert all(configs[name].read_only for name in expected)
    password = configs["ssl.key.password"]
    assert (password.value, password.sensitive, password.type) == (None, True, ConfigType.PASSWORD)
    assert password.source is ConfigSource.STATIC_BROKER
    assert WORD not in repr(configs)


def test_an_authorizer_of_another_package_has_its_name() -> None:
    configs = described(acl={"enabled": True, "authorizer": "company", "authorizer_options": {"key": WORD}})
    assert configs["authorizer.class.name"].value == "company"
    assert WORD not in repr(configs)

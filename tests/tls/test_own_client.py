"""Our Kafka client against listeners with TLS and SASL: it gets in with a right, and tells why it does not."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock.client.connection import Connection
from penstock.client.security.properties import ClientSecurity, SecurityProblem
from penstock.model.errors import ErrorCode, KafkaError
from tests.support.certificates import Authority
from tests.tls.conftest import PASSWORD, SecuredProcess
from tests.tls.test_clients import tapped

JAAS = 'org.apache.kafka.common.security.{}LoginModule required username="alice" password="{}";'


def properties_of(broker: SecuredProcess, protocol: str, **more: str) -> dict[str, str]:
    return {
        "security.protocol": protocol,
        "ssl.truststore.location": str(broker.authority.file),
        "ssl.truststore.type": "PEM",
        **{name.replace("__", "."): value for name, value in more.items()},
    }


def names_at(broker: SecuredProcess, listener: str, properties: dict[str, str], **more: Any) -> set[str]:
    """The topics that the client sees there."""
    address = Address("127.0.0.1", broker.ports[listener])
    with Cluster([address], security=ClientSecurity.of(properties), timeout_s=10, **more) as cluster:
        return set(cluster.topics(None))


@pytest.mark.parametrize(
    ("listener", "login"),
    [
        ("TLS", {}),
        ("LOGIN", {"sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": PASSWORD}),
        ("LOGIN", {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "alice", "sasl.password": PASSWORD}),
        ("LOGIN", {"sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": JAAS.format("scram.Scram", PASSWORD)}),
        ("LOGIN", {"sasl.mechanism": "PLAIN", "sasl.jaas.config": JAAS.format("plain.Plain", PASSWORD)}),
    ],
)
def test_it_gets_in(broker: SecuredProcess, listener: str, login: dict[str, str]) -> None:
    protocol = "SSL" if listener == "TLS" else "SASL_SSL"
    names_at(broker, listener, {**properties_of(broker, protocol), **login})


@pytest.mark.parametrize("inline", [False, True])
def test_it_shows_its_certificate(broker: SecuredProcess, inline: bool) -> None:
    issued = broker.authority.issue("alice", file_name="own-client")
    own = {"ssl.keystore.location": str(issued.certificate_file), "ssl.key.location": str(issued.key_file)}
    if inline:
        own = {
            "ssl.keystore.certificate.chain": issued.certificate_file.read_text(),
            "ssl.keystore.key": issued.key_file.read_text(),
        }
    names_at(broker, "MUTUAL", {**properties_of(broker, "SSL"), **own})
    with pytest.raises((KafkaError, OSError)):
        names_at(broker, "MUTUAL", properties_of(broker, "SSL"))


@pytest.mark.parametrize(
    ("login", "told"),
    [
        ({"sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": "wrong"}, "Invalid username or pass"),
        ({"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "nobody", "sasl.password": "x"}, "invalid credentials"),
        ({"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "alice", "sasl.password": "x"}, "does not offer SCRAM"),
    ],
)  # fmt: skip
def test_a_login_that_fails_is_told_at_once(broker: SecuredProcess, login: dict[str, str], told: str) -> None:
    began = time.monotonic()
    with pytest.raises(KafkaError) as caught:
        names_at(broker, "LOGIN", {**properties_of(broker, "SASL_SSL"), **login})
    assert told in str(caught.value)
    assert caught.value.code in (ErrorCode.SASL_AUTHENTICATION_FAILED, ErrorCode.UNSUPPORTED_SASL_MECHANISM)
    assert time.monotonic() - began < 8, "it is not tried again"


def test_a_broker_that_is_not_trusted(broker: SecuredProcess, tmp_path: Path) -> None:
    stranger = Authority(tmp_path / "stranger")
    for properties in (
        {**properties_of(broker, "SSL"), "ssl.truststore.location": str(stranger.file)},
        {"security.protocol": "SSL"},
    ):
        with pytest.raises(KafkaError, match="is not trusted") as caught:
            names_at(broker, "TLS", properties)
        assert caught.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED
        names_at(broker, "TLS", {**properties, "enable.ssl.certificate.verification": "false"})


def test_a_name_that_is_not_in_the_certificate(broker: SecuredProcess) -> None:
    """The broker under another address: a proxy at 127.0.0.2, which is not in the certificate."""
    properties = properties_of(broker, "SSL")
    mismatch = pytest.raises(KafkaError, match="is not trusted: IP address mismatch")
    with tapped(broker.ports["TLS"], "127.0.0.2") as (port, _), mismatch:
        Connection(Address("127.0.0.2", port), client_id="x", timeout_s=5, security=ClientSecurity.of(properties))
    careless = ClientSecurity.of({**properties, "ssl.endpoint.identification.algorithm": ""})
    with tapped(broker.ports["TLS"], "127.0.0.2") as (port, _):
        Connection(Address("127.0.0.2", port), client_id="x", timeout_s=5, security=careless).close()


@pytest.mark.parametrize(
    ("properties", "told"),
    [
        ({"security.protocol": "TLS"}, "security.protocol is one of"),
        ({"security.protocol": "SASL_SSL"}, "sasl.mechanism is one of"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI"}, "sasl.mechanism is one of"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "a"}, "sasl.password"),
        ({"ssl.truststore.type": "JKS"}, "only PEM can be read"),
        ({"ssl.ca.location": "a", "ssl.truststore.location": "b"}, "mean the same and have different values"),
        ({"sasl.mechanism": "PLAIN", "sasl.jaas.config": JAAS.format("scram.Scram", "geheim")}, "is for SCRAM"),
        ({"sasl.mechanism": "PLAIN", "sasl.jaas.config": "geheim"}, "is not that of a PlainLoginModule"),
        ({"enable.ssl.certificate.verification": "maybe"}, "is true or false"),
    ],
)
def test_properties_that_do_not_fit(properties: dict[str, str], told: str) -> None:
    with pytest.raises(SecurityProblem) as caught:
        ClientSecurity.of(properties)
    assert told in str(caught.value)
    assert "geheim" not in str(caught.value)


def test_secrets_are_not_in_its_text() -> None:
    security = ClientSecurity.of(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": r"""org.apache.kafka.common.security.plain.PlainLoginModule required
                username='al ice' password="ge\"he\\im;" ;""",
            "ssl.key.password": "verborgen",
        }
    )
    assert (security.username, security.password) == ("al ice", 'ge"he\\im;')
    assert "he" + "\\" not in repr(security)
    assert "verborgen" not in repr(security)

"""Penstock and Apache Kafka with three listeners for Kafka clients: plain text, TLS, and TLS with logins.

Both have the same certificate and the same user. Everything else is as in `bench.rivals`: Penstock with its defaults,
Kafka with those of its own `config/server.properties`.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final

from bench.rivals import HOST, Kafka, Penstock, free_port
from bench.security.tls_wire import tls_connect
from bench.wire import Address, Connect, answers
from penstock.cluster.users import add_user
from penstock.node.security.offline import offline_metadata
from penstock.security.tls.authority import Authority
from penstock.security.users.credential import ScramMechanism

USER: Final = "bench"
PASSWORD: Final = "bench-of-security"
ITERATIONS: Final = 4096
MECHANISM: Final = ScramMechanism.SCRAM_SHA_256
_JAAS: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


class Stores:
    """A certificate of the curve P-256 and its authority, as files for both brokers."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        authority = Authority.create("bench")
        pair = authority.issue_server([HOST])
        self.authority = directory / "ca.pem"
        self.certificate = directory / "server.pem"
        self.key = directory / "server.key"
        self.both = directory / "server-with-key.pem"
        self.authority.write_bytes(authority.pair.certificate)
        self.certificate.write_bytes(pair.certificate)
        for path, content in ((self.key, pair.key), (self.both, pair.key + pair.certificate)):
            path.touch(0o600)
            path.write_bytes(content)

    def client_context(self) -> ssl.SSLContext:
        """A client that trusts the authority."""
        return ssl.create_default_context(cafile=str(self.authority))


class SecuredPenstock(Penstock):
    """`address` is the listener for plain text."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        stores = Stores(directory / "stores")
        self.connect = tls_connect(stores.client_context())
        self.context = stores.client_context()
        self.tls_address: Address = (HOST, free_port())
        self.sasl_address: Address = (HOST, free_port())
        listeners = {"PLAINTEXT": self.address, "SSL": self.tls_address, "SASL_SSL": self.sasl_address}
        self._settings = {
            "listeners.addresses": ",".join(f"{name}://{HOST}:{port}" for name, (_, port) in listeners.items()),
            **_tls_settings(stores),
        }
        _make_user(directory)


class ClosedPenstock(Penstock):
    """TLS, logins and rules at every door; `policy` is a file with rules."""

    def __init__(self, directory: Path, policy: Path | None = None) -> None:
        super().__init__(directory)
        stores = Stores(directory / "stores")
        self._connect: Connect = tls_connect(stores.client_context())
        self._settings = {
            "security.protocol": "SASL_SSL",
            "acl.enabled": "true",
            "acl.super_users": f"User:{USER}",
            **_tls_settings(stores),
        }
        if policy is not None:
            self._settings["acl.policy_file"] = str(policy)
        _make_user(directory)

    def answers(self) -> bool:
        return answers(self.address, self._connect)


def _tls_settings(stores: Stores) -> dict[str, str]:
    return {"tls.certificate_file": str(stores.certificate), "tls.key_file": str(stores.key)}


def _make_user(directory: Path) -> None:
    with offline_metadata(directory / "data") as store:
        add_user(store, USER, PASSWORD, [MECHANISM], ITERATIONS)


class SecuredKafka(Kafka):
    """`address` is the listener for plain text. Its stores are PEM files, its user is made with its directory."""

    format_options = (
        "--add-scram",
        f"{MECHANISM.title}=[name={USER},iterations={ITERATIONS},password={PASSWORD}]",
    )

    def __init__(self, directory: Path) -> None:
        stores = Stores(directory / "stores")
        self.connect = tls_connect(stores.client_context())
        self.context = stores.client_context()
        self._stores = stores
        self.tls_address: Address = (HOST, free_port())
        self.sasl_address: Address = (HOST, free_port())
        super().__init__(directory)

    def _all_settings(self) -> dict[str, str]:
        ports = {"PLAINTEXT": self.address[1], "SSL": self.tls_address[1], "SASL_SSL": self.sasl_address[1]}
        clients = ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())
        return {
            **super()._all_settings(),
            "listeners": f"{clients},CONTROLLER://{HOST}:{self._controller_port}",
            "advertised.listeners": clients,
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._stores.both),
            "sasl.enabled.mechanisms": MECHANISM.title,
            f"listener.name.sasl_ssl.{MECHANISM.title.lower()}.sasl.jaas.config": _JAAS,
        }

    def answers(self) -> bool:
        """Whether all three listeners serve: they begin one after the other."""
        return super().answers() and all(answers(each, self.connect) for each in (self.tls_address, self.sasl_address))


Secured = SecuredPenstock | SecuredKafka

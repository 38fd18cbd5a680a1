"""Penstock and Apache Kafka behind the same three doors, for clients that must work with either.

`port` is a plain listener of this machine, whose clients may do everything: tests make topics and rules there.
LOGIN is SASL_SSL with SCRAM and PLAIN, MUTUAL is SSL with a certificate of the client. There everybody has the password
and the rights that a test gives, and no others: `secured_broker` has them ready.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from kio.schema.errors import ErrorCode

from penstock.cluster.users import add_user
from penstock.node.security.offline import offline_metadata
from penstock.security.users.credential import ScramMechanism
from tests.support.broker_process import HOST, free_port
from tests.support.certificates import Authority, Issued
from tests.support.kafka_process import KafkaProcess
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.sasl_kafka import MODULE
from tests.support.secured_broker import both_in_one
from tests.support.user_client import SHA_256, SHA_512, alter, upsertion

PLAIN_MODULE, SCRAM_MODULE = f"{MODULE}.plain.PlainLoginModule", f"{MODULE}.scram.ScramLoginModule"


@dataclass(frozen=True)
class Doors:
    """Authority, certificates and ports of a secured broker."""

    authority: Authority
    server: Issued
    client: Issued
    """Its principal is `User:CN=client`."""
    login: int
    mutual: int
    users: Mapping[str, str]

    @classmethod
    def of(cls, directory: Path, users: Mapping[str, str]) -> Doors:
        authority = Authority(directory / "tls")
        server = authority.issue("server", hosts=(HOST,))  # not for localhost, which is a wrong name here
        client = authority.issue("client")
        return cls(authority, server, client, free_port(), free_port(), users)

    @property
    def trust(self) -> dict[str, str]:
        return {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.authority.file)}

    def login_properties(self, user: str, password: str | None = None, *, plain: bool = False) -> dict[str, str]:
        """Of a client at LOGIN, as Java's clients have them."""
        module, mechanism = (PLAIN_MODULE, "PLAIN") if plain else (SCRAM_MODULE, "SCRAM-SHA-512")
        words = f'username="{user}" password="{password or self.users[user]}"'
        return {
            "bootstrap.servers": f"{HOST}:{self.login}",
            "security.protocol": "SASL_SSL",
            **self.trust,
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f"{module} required {words};",
        }

    def mutual_properties(self, *, inline: bool = False) -> dict[str, str]:
        """Of a client at MUTUAL; PEM in the properties themselves, or in files."""
        own = {"bootstrap.servers": f"{HOST}:{self.mutual}", "security.protocol": "SSL", "ssl.keystore.type": "PEM"}
        if inline:
            return {
                **own,
                "ssl.truststore.type": "PEM",
                "ssl.truststore.certificates": self.authority.file.read_text(),
                "ssl.keystore.certificate.chain": self.client.certificate_file.read_text(),
                "ssl.keystore.key": self.client.key_file.read_text(),
            }
        return {**own, **self.trust, "ssl.keystore.location": str(both_in_one(self.client))}


class SecuredPenstock(PenstockProcess):
    def __init__(self, directory: Path, users: Mapping[str, str]) -> None:
        super().__init__(directory)
        self.doors = Doors.of(directory, users)

    def prepare(self) -> None:
        doors = self.doors
        with offline_metadata(self.data_directory) as store:
            for name, password in doors.users.items():
                add_user(store, name, password, ScramMechanism, 4096)
        ports = {"INSIDE": self.port, "LOGIN": doors.login, "MUTUAL": doors.mutual}
        settings = {
            "listeners": {
                "addresses": ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items()),
                "protocols": "INSIDE:PLAINTEXT,LOGIN:SASL_SSL,MUTUAL:SSL",
                "overrides": {
                    "mutual.ssl.client.auth": "required",
                    "login.sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN",
                },
            },
            "tls": {
                "certificate_file": str(doors.server.certificate_file),
                "key_file": str(doors.server.key_file),
                "client_ca_file": str(doors.authority.file),
            },
            "acl": {"enabled": True, "super_users": "User:ANONYMOUS"},
            "groups": {"initial_rebalance_delay_ms": 0},
        }
        self._config = yaml.safe_dump(settings)
        super().prepare()


class SecuredKafka(KafkaProcess):
    def __init__(self, directory: Path, users: Mapping[str, str]) -> None:
        super().__init__(directory)
        self.doors = doors = Doors.of(directory, users)
        words = " ".join(f'user_{name}="{password}"' for name, password in users.items())
        clients = f"INSIDE://{HOST}:{self.port},LOGIN://{HOST}:{doors.login},MUTUAL://{HOST}:{doors.mutual}"
        login = "listener.name.login"
        self._settings = {
            "listeners": f"{clients},CONTROLLER://{HOST}:{self._controller_port}",
            "advertised.listeners": clients,
            "listener.security.protocol.map": "INSIDE:PLAINTEXT,LOGIN:SASL_SSL,MUTUAL:SSL,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "INSIDE",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(both_in_one(doors.server)),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(doors.authority.file),
            "listener.name.mutual.ssl.client.auth": "required",
            "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN",
            f"{login}.plain.sasl.jaas.config": f"{PLAIN_MODULE} required {words};",
            f"{login}.scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
            f"{login}.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
        }

    def start(self) -> None:
        super().start()
        with RawClient(HOST, self.port) as client:
            for name, password in self.doors.users.items():
                for mechanism in (SHA_256, SHA_512):
                    assert alter(client, upsertion(name, mechanism, password=password)) == {name: ErrorCode.none}


SecuredBroker = SecuredPenstock | SecuredKafka


def make_secured_broker(kind: str, directory: Path, users: Mapping[str, str]) -> SecuredBroker:
    return SecuredKafka(directory, users) if kind == "kafka" else SecuredPenstock(directory, users)

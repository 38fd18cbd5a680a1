"""Logins of the plain push client of tests, step by step, and a broker whose push clients have to log in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from scramp import ScramClient

from penstock.cluster.users import add_user
from penstock.node.security.offline import offline_metadata
from penstock.protocol.push.messages import Authenticate, AuthenticateAck
from penstock.security.users.credential import ScramMechanism
from tests.support.broker_process import free_port
from tests.support.certificates import Authority
from tests.support.penstock_process import PenstockProcess
from tests.support.push_client import PushClient

USERS = {"alice": "alice-secret", "bob": "bob,=secret é"}
SCRAM_256, SCRAM_512, PLAIN = MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN")
SHORT_SESSION_MS = 3_000


class PushLoginProcess(PenstockProcess):
    """Its push port has TLS and SASL. `ports` are those of Kafka's listeners by name; alice may do everything."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.authority = Authority(directory / "tls")
        self._certificate = self.authority.issue("server")
        names = ("LOGIN", "BARE", "SHORT", "MUTUAL")
        self.ports = {"OPEN": self.port, "PUSH": self.push_port, **{name: free_port() for name in names}}

    def prepare(self) -> None:
        with offline_metadata(self.data_directory) as store:
            for name, password in USERS.items():
                add_user(store, name, password, ScramMechanism, 4096)
        kafka = {name: port for name, port in self.ports.items() if name != "PUSH"}
        listeners = {
            "addresses": ",".join(f"{name}://{self.host}:{port}" for name, port in kafka.items()),
            "protocols": (
                "OPEN:PLAINTEXT,LOGIN:SASL_SSL,BARE:SASL_PLAINTEXT,SHORT:SASL_PLAINTEXT,MUTUAL:SSL,PUSH:SASL_SSL"
            ),
            "overrides": {
                "mutual.ssl.client.auth": "required",
                "short.connections.max.reauth.ms": str(SHORT_SESSION_MS),
            },
        }  # fmt: skip
        tls = {
            "certificate_file": str(self._certificate.certificate_file),
            "key_file": str(self._certificate.key_file),
            "client_ca_file": str(self.authority.file),
        }
        settings = {
            "listeners": listeners,
            "tls": tls,
            "sasl": {"enabled_mechanisms": list(MECHANISMS)},
            "acl": {"enabled": True, "super_users": "User:ANONYMOUS;User:alice;User:CN=alice"},
            "logging": {"format": "json"},
        }
        self._config = yaml.safe_dump(settings)
        super().prepare()

    def client(self, listener: str = "PUSH", certificate: str | None = None, source: str = "") -> PushClient:
        """A connection that has not logged in; with a certificate of its own where one is named."""
        if listener not in ("PUSH", "LOGIN", "MUTUAL"):
            return PushClient(self.ports[listener], source=source)
        issued = None if certificate is None else self.authority.issue(certificate)
        return PushClient(self.ports[listener], source=source, context=self.authority.client_context(issued))


def log_in(client: PushClient, user: str, mechanism: str = SCRAM_256, password: str | None = None) -> AuthenticateAck:
    """Log in; the last answer. PushRefused if the login has failed."""
    secret = USERS[user] if password is None else password
    if mechanism == PLAIN:
        return step(client, PLAIN, f"\0{user}\0{secret}".encode())
    scram = ScramClient([mechanism], user, secret)
    answer = step(client, mechanism, scram.get_client_first().encode())
    scram.set_server_first(answer.message.decode())
    answer = step(client, mechanism, scram.get_client_final().encode())
    scram.set_server_final(answer.message.decode())
    return answer


def step(client: PushClient, mechanism: str, message: bytes) -> AuthenticateAck:
    answer: Any = client.ask(Authenticate(mechanism, message))
    assert isinstance(answer, AuthenticateAck)
    return answer

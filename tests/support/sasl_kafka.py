"""Apache Kafka whose clients have to log in, and with listeners under TLS: the control of the tests of security.

SCRAM users are made over a listener without SASL, those of PLAIN are in the settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kio.schema.errors import ErrorCode

from tests.support.broker_process import HOST, free_port
from tests.support.kafka_process import KafkaProcess
from tests.support.raw_client import RawClient
from tests.support.secured_broker import ADMIN, PROTOCOLS, SESSION_MS, USERS, SecuredBroker, both_in_one
from tests.support.user_client import SHA_256, SHA_512, alter, upsertion

MODULE = "org.apache.kafka.common.security"
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class SaslKafka(KafkaProcess):
    def __init__(self, directory: Path, users: Mapping[str, str], *, reauthentication_ms_max: int = 0) -> None:
        self._users = users
        self._inside = free_port()
        super().__init__(directory)
        self._settings = {
            **self._listeners({"CLIENTS": self.port}, {"CLIENTS": "SASL_PLAINTEXT"}),
            "connections.max.reauth.ms": str(reauthentication_ms_max),
        }

    def _listeners(self, ports: Mapping[str, int], protocols: Mapping[str, str]) -> dict[str, str]:
        """The settings of listeners for clients, beside that of the broker itself and of its controller."""
        words = " ".join(f'user_{name}="{password}"' for name, password in self._users.items())
        plain = _escaped(f"{MODULE}.plain.PlainLoginModule required {words};")
        theirs = ",".join(f"{name}://{HOST}:{port}" for name, port in {"INSIDE": self._inside, **ports}.items())
        found = {
            "listeners": f"{theirs},CONTROLLER://{HOST}:{self._controller_port}",
            "advertised.listeners": theirs,
            "listener.security.protocol.map": ",".join(
                f"{name}:{protocol}"
                for name, protocol in {"INSIDE": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", **protocols}.items()
            ),
            "inter.broker.listener.name": "INSIDE",
            "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN",
        }
        for name in (name.lower() for name, protocol in protocols.items() if protocol.startswith("SASL")):
            found[f"listener.name.{name}.plain.sasl.jaas.config"] = plain
            for bits in (256, 512):
                module = f"{MODULE}.scram.ScramLoginModule required;"
                found[f"listener.name.{name}.scram-sha-{bits}.sasl.jaas.config"] = module
        return found

    def start(self) -> None:
        super().start()
        with RawClient(HOST, self._inside) as client:
            for name, password in self._users.items():
                for mechanism in (SHA_256, SHA_512):
                    done = alter(client, upsertion(name, mechanism, password=password))
                    assert done == {name: ErrorCode.none}


class SecuredKafka(SaslKafka):
    """Apache Kafka with the listeners of `secured_broker`, and Kafka's own authorizer.

    What no rule is about is open, since the broker talks to its controller as User:ANONYMOUS.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, USERS)
        self.secured = SecuredBroker(self)
        certificates = self.secured.certificates
        self._settings = {
            **self._listeners(self.secured.ports, PROTOCOLS),
            "ssl.keystore.type": "PEM",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.secured.authority.file),
            "ssl.keystore.location": str(both_in_one(certificates[""])),
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.short.connections.max.reauth.ms": str(SESSION_MS),
            "authorizer.class.name": AUTHORIZER,
            "super.users": f"User:{ADMIN}",
            "allow.everyone.if.no.acl.found": "true",
            **{
                f"listener.name.{name.lower()}.ssl.keystore.location": str(both_in_one(certificates[name]))
                for name in ("STRANGER", "MISNAMED")
            },
        }

    def start(self) -> None:
        super().start()
        self.secured.open_to_all()


def _escaped(text: str) -> str:
    """As a file of properties has it: Latin-1 with escapes."""
    return "".join(each if each.isascii() else f"\\u{ord(each):04x}" for each in text)

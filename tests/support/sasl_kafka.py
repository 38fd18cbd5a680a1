"""Apache Kafka whose clients have to log in: the control of the tests of logins.

SCRAM users are made over a listener without SASL, those of PLAIN are in the settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kio.schema.errors import ErrorCode

from tests.support.broker_process import HOST, free_port
from tests.support.kafka_process import KafkaProcess
from tests.support.raw_client import RawClient
from tests.support.user_client import SHA_256, SHA_512, alter, upsertion

MODULE = "org.apache.kafka.common.security"


class SaslKafka(KafkaProcess):
    def __init__(self, directory: Path, users: Mapping[str, str], *, reauthentication_ms_max: int = 0) -> None:
        self._users = users
        self._inside = free_port()
        super().__init__(directory)
        words = " ".join(f'user_{name}="{password}"' for name, password in users.items())
        plain = _escaped(f"{MODULE}.plain.PlainLoginModule required {words};")
        self._settings = {
            "listeners": f"INSIDE://{HOST}:{self._inside},CLIENTS://{HOST}:{self.port},"
            f"CONTROLLER://{HOST}:{self._controller_port}",
            "advertised.listeners": f"INSIDE://{HOST}:{self._inside},CLIENTS://{HOST}:{self.port}",
            "listener.security.protocol.map": "INSIDE:PLAINTEXT,CLIENTS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "INSIDE",
            "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN",
            "connections.max.reauth.ms": str(reauthentication_ms_max),
            "listener.name.clients.plain.sasl.jaas.config": plain,
            **{
                f"listener.name.clients.scram-sha-{bits}.sasl.jaas.config": f"{MODULE}.scram.ScramLoginModule required;"
                for bits in (256, 512)
            },
        }

    def start(self) -> None:
        super().start()
        with RawClient(HOST, self._inside) as client:
            for name, password in self._users.items():
                for mechanism in (SHA_256, SHA_512):
                    done = alter(client, upsertion(name, mechanism, password=password))
                    assert done == {name: ErrorCode.none}


def _escaped(text: str) -> str:
    """As a file of properties has it: Latin-1 with escapes."""
    return "".join(each if each.isascii() else f"\\u{ord(each):04x}" for each in text)

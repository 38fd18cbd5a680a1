"""Apache Kafka with StandardAuthorizer, and a login with PLAIN for each principal of the table."""

from __future__ import annotations

from pathlib import Path

from tests.acls.world import ADDRESSES
from tests.support.broker_process import HOST
from tests.support.kafka_process import KafkaProcess
from tests.support.raw_client import RawClient

_USERS = " ".join(f'user_{name}="{name}"' for name in ADDRESSES)
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SETTINGS = {
    "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{_LOGIN} username="admin" password="admin" {_USERS};',
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin;User:ANONYMOUS",  # the controller's listener asks for no login
}


class SaslKafka(KafkaProcess):
    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        door = f"{HOST}:{self.port}"
        controller = f"CONTROLLER://{HOST}:{self._controller_port}"
        self._settings = {
            **SETTINGS,
            "listeners": f"SASL_PLAINTEXT://{door},{controller}",
            "advertised.listeners": f"SASL_PLAINTEXT://{door}",
        }

    def connect(self, principal: str) -> RawClient:
        client = RawClient(self.host, self.port, source=ADDRESSES[principal])
        assert int(client.call("sasl_handshake", 1, mechanism="PLAIN").error_code) == 0
        token = f"\0{principal}\0{principal}".encode()
        assert int(client.call("sasl_authenticate", 2, auth_bytes=token).error_code) == 0
        return client

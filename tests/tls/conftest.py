"""One secured broker for the whole run: a plain listener, one with TLS, one with mutual TLS, one with TLS and SASL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from penstock.cluster.users import add_user
from penstock.node.security.offline import offline_metadata
from penstock.security.users.credential import ScramMechanism
from tests.support.broker_process import free_port
from tests.support.certificates import Authority
from tests.support.penstock_process import PenstockProcess

PASSWORD = "correct horse"


class SecuredProcess(PenstockProcess):
    """`authority` has issued its certificate, `ports` are those of its listeners by name."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.authority = Authority(directory / "tls")
        self.certificate = self.authority.issue("server")
        self.client_authorities = directory / "clients.pem"
        self.client_authorities.write_bytes(self.authority.file.read_bytes())
        self.ports = {"PLAIN": self.port, **{name: free_port() for name in ("TLS", "MUTUAL", "LOGIN")}}

    def address(self, listener: str) -> str:
        return f"{self.host}:{self.ports[listener]}"

    def prepare(self) -> None:
        with offline_metadata(self.data_directory) as store:
            add_user(store, "alice", PASSWORD, ScramMechanism, 4096)
        settings = {
            "listeners": {
                "addresses": ",".join(f"{name}://{self.host}:{port}" for name, port in self.ports.items()),
                "advertised": f"TLS://localhost:{self.ports['TLS']}",
                "protocols": "PLAIN:PLAINTEXT,TLS:SSL,MUTUAL:SSL,LOGIN:SASL_SSL,PUSH:SSL,HTTP:SSL",
                "overrides": {
                    "mutual.ssl.client.auth": "required",
                    "push.ssl.client.auth": "requested",
                    "http.ssl.client.auth": "requested",
                    "login.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
                },
            },
            "tls": {
                "certificate_file": str(self.certificate.certificate_file),
                "key_file": str(self.certificate.key_file),
                "client_ca_file": str(self.client_authorities),
                "principal_mapping_rules": "RULE:^CN=([a-z]+)$/$1/U,DEFAULT",
                "reload_interval_ms": 100,
            },
            "acl": {"enabled": True, "super_users": "User:ANONYMOUS;User:ALICE"},
            "groups": {"initial_rebalance_delay_ms": 0},
            "logging": {"format": "json"},
        }  # fmt: skip
        self._config = yaml.safe_dump(settings)
        super().prepare()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredProcess]:
    process = SecuredProcess(tmp_path_factory.mktemp("secured"))
    process.prepare()
    process.start()
    yield process
    process.stop()

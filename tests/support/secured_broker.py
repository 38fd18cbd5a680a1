"""A secured broker with a listener of each kind, Penstock or Apache Kafka: what its clients need to know of it.

    LOGIN     SASL_PLAINTEXT                 STRANGER  SSL, with a certificate of another authority
    BOTH      SASL_SSL                       MISNAMED  SSL, with a certificate for another host
    TLS       SSL                            SHORT     SASL_PLAINTEXT, sessions of five seconds
    MUTUAL    SSL, with a certificate of the client

`ADMIN` may do everything. Others may use what begins with `OPEN`, and see nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import yaml
from kio.schema.errors import ErrorCode

from penstock.cluster.users import add_user
from penstock.node.security.offline import offline_metadata
from penstock.security.users.credential import ScramMechanism
from tests.support.acl_client import ALL, GROUP, PREFIXED, TOPIC, TRANSACTIONAL_ID, AclClient, rule
from tests.support.broker_process import BrokerProcess, free_port
from tests.support.certificates import Authority, Issued
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import unique_name
from tests.support.sasl_client import SaslClient
from tests.support.user_client import SHA_256, SHA_512, alter, upsertion

ADMIN, USER = "admin", "bob"
USERS: Final = {ADMIN: "admin-secret", USER: "bob,=secret é"}
OPEN: Final = "open-"
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
SESSION_MS: Final = 5_000
PROTOCOLS: Final = {
    "LOGIN": "SASL_PLAINTEXT",
    "BOTH": "SASL_SSL",
    "TLS": "SSL",
    "MUTUAL": "SSL",
    "STRANGER": "SSL",
    "MISNAMED": "SSL",
    "SHORT": "SASL_PLAINTEXT",
}


class SecuredBroker:
    """The part that both kinds share: certificates, ports, topics. LOGIN is at the process's own port."""

    def __init__(self, process: BrokerProcess) -> None:
        self.process = process
        self.host = process.host
        self.authority = Authority(process.directory / "tls")
        self.stranger = Authority(process.directory / "stranger", "stranger")
        self.certificates = {
            "": self.authority.issue("server"),
            "STRANGER": self.stranger.issue("server"),
            "MISNAMED": self.authority.issue("misnamed", hosts=("other.example",)),
        }
        self.passwords = dict(USERS)
        self.client = self.authority.issue("client")
        """The certificate of a client, User:CN=client."""
        self.ports = {"LOGIN": process.port, **{name: free_port() for name in PROTOCOLS if name != "LOGIN"}}

    @property
    def kind(self) -> str:
        return self.process.kind

    def address(self, listener: str) -> str:
        return f"{self.host}:{self.ports[listener]}"

    @contextmanager
    def as_admin(self) -> Iterator[SaslClient]:
        with SaslClient(self.host, self.process.port) as client:
            client.scram(ADMIN, USERS[ADMIN])
            yield client

    def open_to_all(self) -> None:
        """The rights of everybody."""
        with self.as_admin() as client:
            AclClient(client).created(
                *(rule(kind, OPEN, PREFIXED, "User:*", operation=ALL) for kind in (TOPIC, GROUP, TRANSACTIONAL_ID))
            )

    def new_topic(self, *, is_open: bool = True) -> str:
        """A topic that everybody may use, or nobody but the administrator."""
        with self.as_admin() as client:
            topic = client.create_topic(unique_name(OPEN if is_open else "closed"))
            if not is_open:  # so that Apache Kafka has a rule for it, without which it would be open
                AclClient(client).created(rule(TOPIC, topic, principal="User:nobody", operation=ALL))
            return topic

    def new_user(self) -> str:
        """A user of its own, for tests that count its logins."""
        name = unique_name("user")
        self.passwords[name] = "a-secret"
        with self.as_admin() as client:
            for mechanism in (SHA_256, SHA_512):
                done = alter(client, upsertion(name, mechanism, password=self.passwords[name]))
                assert done == {name: ErrorCode.none}
        return name

    def properties(self, listener: str, mechanism: str | None = None, user: str = USER, **more: str) -> dict[str, str]:
        """The client's properties under librdkafka's names."""
        found = {"security.protocol": PROTOCOLS[listener]}
        if listener not in ("LOGIN", "SHORT"):
            found["ssl.ca.location"] = str(self.authority.file)
        if listener == "MUTUAL":
            found["ssl.certificate.location"] = str(self.client.certificate_file)
            found["ssl.key.location"] = str(self.client.key_file)
        if mechanism is not None:
            found |= {"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": self.passwords[user]}
        return found | {name.replace("_", "."): value for name, value in more.items()}

    def java_properties(self, listener: str, mechanism: str | None = None, user: str = USER) -> dict[str, str]:
        """The same under the names of Java's client."""
        given = self.properties(listener, mechanism, user)
        found = {"security.protocol": given["security.protocol"]}
        if "ssl.ca.location" in given:
            found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": given["ssl.ca.location"]}
        if listener == "MUTUAL":
            found |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(both_in_one(self.client))}
        if mechanism is not None:
            module = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
            login = f'username="{user}" password="{self.passwords[user]}"'
            found["sasl.mechanism"] = mechanism
            found["sasl.jaas.config"] = (
                f"org.apache.kafka.common.security.{module}LoginModule required {login};"  # in UTF-8
            )
        return found


def both_in_one(issued: Issued) -> Path:
    """A file with key and certificate, as a store of the type PEM has them."""
    path = issued.key_file.with_suffix(".store")
    path.write_bytes(issued.key_file.read_bytes() + issued.certificate_file.read_bytes())
    path.chmod(0o600)
    return path


class SecuredPenstock(PenstockProcess):
    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.secured = SecuredBroker(self)

    def prepare(self) -> None:
        with offline_metadata(self.data_directory) as store:
            for name, password in USERS.items():
                add_user(store, name, password, ScramMechanism, 4096)
        ports, certificates = self.secured.ports, self.secured.certificates
        overrides = {"mutual.ssl.client.auth": "required", "short.connections.max.reauth.ms": str(SESSION_MS)}
        for name in ("STRANGER", "MISNAMED"):
            overrides[f"{name.lower()}.tls.certificate_file"] = str(certificates[name].certificate_file)
            overrides[f"{name.lower()}.tls.key_file"] = str(certificates[name].key_file)
        settings = {
            "listeners": {
                "addresses": ",".join(f"{name}://{self.host}:{port}" for name, port in ports.items()),
                "protocols": ",".join(f"{name}:{protocol}" for name, protocol in PROTOCOLS.items()),
                "overrides": overrides,
            },
            "tls": {
                "certificate_file": str(certificates[""].certificate_file),
                "key_file": str(certificates[""].key_file),
                "client_ca_file": str(self.secured.authority.file),
            },
            "sasl": {"enabled_mechanisms": list(MECHANISMS)},
            "acl": {"enabled": True, "super_users": f"User:{ADMIN}"},
            "groups": {"initial_rebalance_delay_ms": 0},
            "logging": {"format": "json"},
        }
        self._config = yaml.safe_dump(settings)
        super().prepare()

    def start(self) -> None:
        super().start()
        self.secured.open_to_all()

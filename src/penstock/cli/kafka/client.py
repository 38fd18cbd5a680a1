"""Connections of commands to any Kafka broker, through confluent-kafka.

`connect` first tries the address itself: a refused connection or an unknown host name is reported within seconds, where
the library alone would retry until its timeout. `translated` turns later errors of the library into `CommandError`.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.kafka.command_config import named_properties, warn_of_arguments
from penstock.cli.terminal.errors import CommandError, ExitCode, not_found
from penstock.cli.terminal.rights import REFUSALS, Resource, may_not_see
from penstock.model.text.http_url import check_no_credentials

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient, ClusterMetadata

    from penstock.client.security.properties import ClientSecurity

CONNECT_TIMEOUT_S = 5.0
_GIVE_PROPERTIES = "give a file of properties with --command-config"
REQUEST_TIMEOUT_S = 15.0

BootstrapServer = Annotated[
    str,
    typer.Option(
        "--bootstrap-server",
        "-b",
        metavar="ADDR",
        envvar="PENSTOCK_BOOTSTRAP_SERVER",
        help="Broker to talk to, host:port (several with commas).",
    ),
]
ClientProperties = Annotated[
    list[str] | None,
    typer.Option("--property", "-X", metavar="NAME=VALUE", help="librdkafka property, such as security.protocol=SSL."),
]
QUIET = {"log.connection.close": False, "enable.metrics.push": False}
"""Metrics are off: a command ends before they would be useful."""
DEFAULT_SERVER = "127.0.0.1:9092"
SEE_TOPICS = "`penstock topic list` shows all topics"


def parse_pairs(items: Sequence[str] | None, option: str) -> dict[str, str]:
    """Parse the values of an option NAME=VALUE that may be repeated."""
    return dict(parse_repeated(items, option))


def parse_repeated(items: Sequence[str] | None, option: str) -> list[tuple[str, str]]:
    """Parse such values where a name may occur twice, as that of a header may; return all of them, in order."""
    pairs = []
    for item in items or ():
        name, equals, value = item.partition("=")
        if not name or not equals:
            raise CommandError(f"{option} {item!r} is not NAME=VALUE", ExitCode.USAGE)
        pairs.append((name, value))
    return pairs


@dataclass(slots=True)
class KafkaClients:
    """confluent-kafka clients of a cluster, at an address that accepted a connection."""

    bootstrap: str
    properties: dict[str, str] = field(default_factory=dict)
    _refusal: CommandError | None = field(init=False, default=None)

    def config(self, **more: object) -> dict[str, Any]:
        own = {"bootstrap.servers": self.bootstrap, "client.id": "penstock-cli"}
        return {**own, **QUIET, **more, **self.properties}

    def admin(self) -> AdminClient:
        from confluent_kafka.admin import AdminClient

        with translated():
            return AdminClient(self.config(), logger=_silent())

    def producer(self, **config: object) -> Producer:
        from confluent_kafka import Producer

        with translated():
            return Producer(self.config(**config), logger=_silent())

    def consumer(self, **config: object) -> Consumer:
        from confluent_kafka import Consumer

        with translated():
            return Consumer(self.config(**config, error_cb=self.is_let_in_again), logger=_silent())

    def is_let_in_again(self, error: Any) -> bool:
        """Whether this error of a consumer is a refused login that is accepted by now; CommandError if it is not.

        The library would try it for ever. It says so by `error_cb`, or in place of a message if it was about to ask for
        the coordinator. A broker that holds off the attempts of this user, of which the library makes many, may not
        answer ours in time: then what it has told the library counts.
        """
        from confluent_kafka import KafkaError

        if error.code() not in (KafkaError._AUTHENTICATION, KafkaError._SSL):
            return False
        if self._refusal is None:  # the library reports all that it has before it heeds the first exception
            self._refusal = self._asked_again(error.str(), is_login=error.code() == KafkaError._AUTHENTICATION)
        if self._refusal is not None:
            raise self._refusal
        return True

    def _asked_again(self, told: str, *, is_login: bool) -> CommandError | None:
        from penstock.client.connection import CREDENTIALS

        try:
            silence = _try_login(self.bootstrap.partition(",")[0].strip(), self.properties)
        except CommandError as refusal:
            return refusal
        return CommandError(f"{told}; {CREDENTIALS}") if silence is not None and is_login else None

    def misfit(self) -> str | None:
        """Why the first broker hangs up on clients with these properties, if they do not fit its port."""
        from penstock.client.address import parse_addresses
        from penstock.client.security.port_hint import port_hint
        from penstock.client.security.properties import ClientSecurity, SecurityProblem

        try:
            security = ClientSecurity.of(self.properties)
        except SecurityProblem:
            return None  # a login that only the library has
        return port_hint(parse_addresses(self.bootstrap)[0], security, CONNECT_TIMEOUT_S)

    def metadata(self, admin: AdminClient | None = None) -> ClusterMetadata:
        """Return the metadata of all topics. Asking for all, unlike asking for one, creates none."""
        admin = admin or self.admin()
        with translated():
            return admin.list_topics(timeout=REQUEST_TIMEOUT_S)

    def check_topics(
        self,
        names: Sequence[str],
        admin: AdminClient | None = None,
        *,
        creatable: bool = True,
        needs: Sequence[str] = ("Describe",),
    ) -> ClusterMetadata:
        """Return the metadata if these topics exist; `creatable` says whether the error suggests creating one.

        `needs` are the operations that the command needs, for those who may not describe a topic.
        """
        admin = admin or self.admin()
        metadata = self.metadata(admin)
        for name in names:
            if name not in metadata.topics:
                if _is_hidden(admin, name):
                    raise may_not_see(Resource.TOPIC, name, *needs)
                otherwise = f"create it with `penstock topic create {name}`" if creatable else SEE_TOPICS
                raise not_found("topic", name, metadata.topics, otherwise)
        return metadata


_connected: KafkaClients | None = None
"""The clients of this command, for the explanation of their errors."""


def _is_hidden(admin: AdminClient, topic: str) -> bool:
    """Whether a topic that is not among all topics is missing there because we may not describe it."""
    from confluent_kafka import KafkaError, KafkaException, TopicCollection

    try:
        admin.describe_topics(TopicCollection([topic]), request_timeout=REQUEST_TIMEOUT_S)[topic].result()
    except KafkaException as error:
        return bool(error.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED)
    except ValueError:  # a name that the library does not send
        pass
    return False


def connect(bootstrap: str, properties: Sequence[str] | None = None) -> KafkaClients:
    """Check that something listens at one of the addresses, and lets us in where it asks for that."""
    problems = []
    try:
        check_no_credentials(bootstrap)
    except ValueError as error:
        raise CommandError(f"--bootstrap-server: {error}", ExitCode.USAGE) from None
    found = client_properties(properties)
    for address in bootstrap.split(","):
        problem = _probe(address.strip()) or _try_login(address.strip(), found)
        if problem is None:
            global _connected
            _connected = KafkaClients(bootstrap, found)
            return _connected
        problems.append(problem)
    raise CommandError(
        "; ".join(problems),
        ExitCode.UNREACHABLE,
        hint="start one with `penstock serve`, or name the right address with --bootstrap-server",
    )


def client_properties(given: Sequence[str] | None = None) -> dict[str, str]:
    """The properties of --command-config and --property, of which the latter win, under librdkafka's names."""
    from penstock.client.security.properties import SecurityProblem, for_librdkafka

    arguments = parse_pairs(given, "--property")
    warn_of_arguments(arguments)
    properties = {**parse_pairs(named_properties(), "--command-config"), **arguments}
    try:
        return for_librdkafka(properties)
    except SecurityProblem as problem:
        raise CommandError(str(problem), ExitCode.USAGE, hint="see --command-config and --property") from None


def client_security(properties: Mapping[str, str] | None = None) -> ClientSecurity:
    """The same for connections of our own client."""
    from penstock.client.security.properties import ClientSecurity, SecurityProblem

    found = client_properties() if properties is None else properties
    try:
        return ClientSecurity.of(found)
    except SecurityProblem as problem:
        raise CommandError(f"this command cannot use these properties: {problem}", ExitCode.USAGE) from None


def _try_login(address: str, properties: Mapping[str, str]) -> str | None:
    """Connect as the library will, because it does not tell why a broker refuses it; the reason if it does not answer.

    CommandError if the broker does not let us in, or is not trusted.
    """
    from penstock.client.security.properties import is_ours

    if not is_ours(properties):
        return None
    from penstock.client.address import parse_addresses
    from penstock.client.connection import BrokerUnavailable
    from penstock.client.security.first_login import try_login
    from penstock.model.errors import KafkaError

    (where,) = parse_addresses(address)
    try:
        try_login(where, client_security(properties), client_id="penstock-cli", timeout_s=REQUEST_TIMEOUT_S)
    except BrokerUnavailable as error:
        misfit = KafkaClients(address, dict(properties)).misfit()
        if misfit is not None:
            raise CommandError(misfit, hint=_GIVE_PROPERTIES) from error
        return str(error)
    except KafkaError as error:
        raise CommandError(str(error)) from error
    return None


def _probe(address: str) -> str | None:
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise CommandError(f"--bootstrap-server {address!r} is not host:port", ExitCode.USAGE)
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_TIMEOUT_S).close()
    except TimeoutError:
        return f"no answer from {address} within {CONNECT_TIMEOUT_S:.0f} s"
    except socket.gaierror:
        return f"the host name {host} is unknown"
    except OSError as error:
        return f"no broker at {address} ({(error.strerror or str(error)).lower()})"
    return None


@contextlib.contextmanager
def translated(what: str = "") -> Iterator[None]:
    """Turn the library's exceptions into messages and exit codes."""
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        raise explain(error.args[0], what) from error


def explain_misfit(prefix: str = "") -> CommandError | None:
    """Explain why the broker of this command hangs up, if the properties do not fit its port."""
    misfit = None if _connected is None else _connected.misfit()
    return None if misfit is None else CommandError(f"{prefix}{misfit}", hint=_GIVE_PROPERTIES)


def explain_stray(error: Exception) -> CommandError | None:
    """Explain an exception that no command expected, if it is one of the library."""
    library = sys.modules.get("confluent_kafka")  # not loaded: not the library's
    if library is None or not isinstance(error, library.KafkaException):
        return None
    found = error.args[0] if error.args else None
    return explain(found) if isinstance(found, library.KafkaError) else CommandError(str(error))


def explain(error: Any, what: str = "") -> CommandError:
    """Turn a KafkaError of the library into a CommandError. `what` names the action that failed."""
    from confluent_kafka import KafkaError

    code = error.code()
    text = error.str() or error.name()
    prefix = f"{what}: " if what else ""
    if code in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE):
        misfit = explain_misfit(prefix)
        if misfit is not None:
            return misfit
        hint = "check that it is a Kafka port, and that the address it advertises can be reached from here"
        return CommandError(f"{prefix}the broker does not answer ({text})", ExitCode.UNREACHABLE, hint=hint)
    if code in (KafkaError._TIMED_OUT, KafkaError.REQUEST_TIMED_OUT, KafkaError._TIMED_OUT_QUEUE):
        hint = "check that this is a Kafka port and that the broker is ready"
        return CommandError(f"{prefix}no answer in time ({text})", ExitCode.UNREACHABLE, hint=hint)
    if code in (
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.GROUP_ID_NOT_FOUND,
    ):
        hint = "`penstock topic describe` and `penstock group describe` show what there is"
        return CommandError(f"{prefix}{text}", ExitCode.NOT_FOUND, hint=hint)
    if code in (KafkaError._INVALID_ARG, KafkaError._CONFLICT):
        hint = "correct --property; librdkafka's CONFIGURATION.md lists names and values"
        return CommandError(f"{prefix}{text}", ExitCode.USAGE, hint=hint)
    if code in REFUSALS:
        return CommandError(f"{prefix}{text}", hint="an administrator allows it with `penstock security acl add`")
    return CommandError(f"{prefix}{text}")


def _silent() -> logging.Logger:
    """A logger that discards everything: without one librdkafka writes to stderr itself."""
    logger = logging.getLogger("penstock.cli.librdkafka")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger

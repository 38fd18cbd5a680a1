"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, 7677), by scramp.

scramp is stricter than Kafka: it reads names by SASLprep, an authorization id must be empty, and `tokenauth` (a
delegation token) is not known. Salts of any length are taken, as clients of Kafka may make them. Channel binding (`p=`)
is refused; `y` and `n` are taken. A name that is no user's goes through the same steps with a decoy, and fails at the
proof.

SASLprep looks each character of a name up in a dozen tables, on the event loop, after its normal form has made up to
eighteen characters of one. So a name that no user can have, because it is too long, is refused before that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unicodedata import ucd_3_2_0 as unicode_of_saslprep

from scramp import ScramException
from scramp import ScramMechanism as ScramProtocol
from scramp.core import IterationCount, Salt, ScramServer

from penstock.model.limits import SCRAM_MESSAGE_BYTES_MAX, USER_NAME_BYTES_MAX
from penstock.security.sasl.machine import Challenge, Done, Failed

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.security.sasl.machine import Step
    from penstock.security.users.credential import ScramCredential, ScramMechanism
    from penstock.security.users.table import UserTable

_PROTOCOLS = {title: ScramProtocol(title) for title in ("SCRAM-SHA-256", "SCRAM-SHA-512")}


class _AnySalt(Salt):  # type: ignore[misc]
    """A salt as short as the client that made the user has chosen it; scramp wants 12 bytes."""

    MIN_LENGTH = 1


class ScramMachine:
    """One login: two messages of the client, the second of which is the attempt."""

    def __init__(self, mechanism: ScramMechanism, users: UserTable) -> None:
        self._mechanism = mechanism
        self._users = users
        self._user = ""
        self._found: ScramCredential | None = None
        self._messages = 0
        self._nonce = ""
        self._server: Any = ScramServer(_PROTOCOLS[mechanism.title], self._credential)

    def step(self, message: bytes, now: float) -> Step:
        self._messages += 1
        if len(message) > SCRAM_MESSAGE_BYTES_MAX:
            return Failed("a message that is too long")
        try:
            text = message.decode()
        except UnicodeDecodeError:
            return Failed("a message that is not text")
        if self._messages == 1:
            return self._first(text)
        if self._messages == 2:
            return _Proof(self._server, self._user, text, self._nonce, self._is_current)
        return Failed("a message too many")

    def _first(self, text: str) -> Challenge | Failed:
        if _is_too_long(_name_in(text)):
            return Failed("a user name that is too long")
        try:
            self._server.set_client_first(text)
            answer: str = self._server.get_server_first()
        except ScramException as error:
            return Failed(_reason(error))
        self._nonce = answer.partition(",")[0]
        return Challenge(answer.encode())

    def _credential(self, user: object) -> tuple[Any, bytes, bytes, Any]:
        """The credential in scramp's order. Called by it when it has read the name."""
        self._user = str(user)
        found = self._found = self._users.credential(self._user, self._mechanism)
        return _AnySalt(found.salt), found.stored_key, found.server_key, IterationCount(found.iterations)

    def _is_current(self) -> bool:
        return self._users.stored(self._user).get(self._mechanism) is self._found


class _Proof:
    """The second message. Its check is a few hashes, whatever the iterations: the client has done the work."""

    is_slow = False

    def __init__(self, server: Any, user: str, text: str, nonce: str, is_current: Callable[[], bool]) -> None:
        self.user = user
        self.is_current = is_current
        self._server = server
        self._text = text
        self._nonce = nonce

    def remembered(self, now: float) -> None:
        """Nothing: no two proofs are the same."""

    def check(self, now: float) -> Done | Failed:
        try:
            self._server.set_client_final(self._text)
            answer: str = self._server.get_server_final()
        except ScramException as error:
            if self._nonce not in self._text.split(","):
                return Failed("another nonce than that of this login, as librdkafka before 2.6.1 sends it")
            return Failed(_reason(error))
        return Done(self.user, answer.encode())


def _name_in(text: str) -> str:
    """The name in a first message, as scramp gives it to SASLprep: that of any other message it refuses before."""
    fields = text.split(",", 3)  # what comes before the name has two commas
    name = fields[2] if len(fields) > 2 else ""
    return name.removeprefix("n=").replace("=2C", ",").replace("=3D", "=")


def _is_too_long(name: str) -> bool:
    """Whether no user can have the name. Only one that is short is normalized."""
    if len(name.encode()) > USER_NAME_BYTES_MAX:
        return True
    return not name.isascii() and len(unicode_of_saslprep.normalize("NFKC", name).encode()) > USER_NAME_BYTES_MAX


def _reason(error: Any) -> str:
    """The RFC's word for the failure. The text of the exception may hold what the client sent."""
    return error.server_error.value if error.server_error is not None else "a message out of turn"

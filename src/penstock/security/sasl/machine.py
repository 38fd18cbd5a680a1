"""The contract of SASL machines: messages of a client in, steps out.

    Challenge   a message for the client, which answers it
    Attempt     the client has sent its proof: check it, when it is the attempt's turn
    Failed      the client does not follow the mechanism

The outcome of an attempt is Done, if the client is the user that it says it is, or Failed. No message leads to Done
but by an attempt, however little its check costs: who guesses would learn from it at any rate.

The proof is checked apart from the message that brings it, because attempts of a client that guesses are held off, and
because the check of a password takes milliseconds. A machine serves one login and one thread at a time.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from penstock.security.principal import Principal


class Challenge(NamedTuple):
    message: bytes


class Done(NamedTuple):
    """`principal` is set where an authenticator has named another one than the user of that name."""

    user: str
    message: bytes = b""
    principal: Principal | None = None

    @property
    def who(self) -> Principal:
        return self.principal or Principal("User", self.user)


class Failed(NamedTuple):
    """`reason` is for the log; `told` for the client, if it may know more than that its credentials are wrong."""

    reason: str
    told: str | None = None


class Attempt(Protocol):
    """A proof that is ready to be checked."""

    @property
    def user(self) -> str:
        """The name that the client gives, whether or not there is such a user."""
        ...

    @property
    def is_slow(self) -> bool:
        """Whether the check takes milliseconds, and is for a thread."""
        ...

    def remembered(self, now: float) -> Done | None:
        """The outcome, if the same proof was found right a moment ago. It tells as much as a check: mind the turn."""
        ...

    def check(self, now: float) -> Done | Failed: ...

    def is_current(self) -> bool:
        """Whether it was checked against what counts now: an attempt may wait while its user is changed or removed."""
        ...


Step = Challenge | Attempt | Failed


class Machine(Protocol):
    def step(self, message: bytes, now: float) -> Step:
        """Take the next message of the client; never raises, whatever the client sends. `now` is monotonic."""
        ...

"""Sessions of browsers: a random word in a cookie that stands for a login, for a while.

In memory: a restart ends them all. A session ends when it is not used for a while, after its longest time, or when the
password or token with which it was begun is worth nothing any more.
"""

from __future__ import annotations

import secrets
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from penstock.security.tokens.token import digest_of

if TYPE_CHECKING:
    from penstock.net.http.login.cookie import SessionCookie
    from penstock.net.http.login.proof import Proof
    from penstock.security.principal import Principal

SESSIONS_MAX: Final = 10_000
SESSIONS_OF_PRINCIPAL_MAX: Final = 100
"""Of one principal; the one that was used longest ago gives way, so that nobody ends the sessions of others."""
WORD_BYTES: Final = 32


class WebSession:
    """Implements Proof: for the requests with its cookie."""

    __slots__ = ("begun_at", "has_ended", "principal", "proof", "used_at")

    def __init__(self, principal: Principal, proof: Proof, now: float) -> None:
        self.principal = principal
        self.proof = proof
        self.begun_at = self.used_at = now
        self.has_ended = False

    @property
    def is_token(self) -> bool:
        return self.proof.is_token

    def holds(self) -> bool:
        return not self.has_ended and self.proof.holds()


class WebSessions:
    """One for a port. `clock` is monotonic, in seconds."""

    def __init__(
        self, cookie: SessionCookie, *, idle_seconds: float, longest_seconds: float, clock: Callable[[], float]
    ) -> None:
        self.cookie = cookie
        self.longest_seconds = longest_seconds
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._by_digest: OrderedDict[bytes, WebSession] = OrderedDict()  # the last used at the end
        self._counts: Counter[Principal] = Counter()

    def __len__(self) -> int:
        return len(self._by_digest)

    def begin(self, principal: Principal, proof: Proof) -> str:
        """A new session; returns the word for the cookie."""
        now = self._clock()
        if self._counts[principal] >= SESSIONS_OF_PRINCIPAL_MAX:
            self._remove(self._of(principal)[0])
        elif len(self._by_digest) >= SESSIONS_MAX:
            self._remove(next(iter(self._by_digest)))
        word = secrets.token_urlsafe(WORD_BYTES)
        self._by_digest[digest_of(word.encode())] = WebSession(principal, proof, now)
        self._counts[principal] += 1
        return word

    def find(self, word: bytes) -> WebSession | None:
        """The session of a word, which counts as used now. None if there is none, or it has ended."""
        digest, now = digest_of(word), self._clock()
        found = self._by_digest.get(digest)
        if found is None:
            return None
        is_late = now - found.used_at >= self._idle_seconds or now - found.begun_at >= self.longest_seconds
        if is_late or not found.proof.holds():
            self._remove(digest)
            return None
        found.used_at = now
        self._by_digest.move_to_end(digest)
        return found

    def end(self, word: bytes) -> None:
        digest = digest_of(word)
        if digest in self._by_digest:
            self._remove(digest)

    def end_all(self, principal: Principal) -> int:
        """End the sessions of a principal; returns how many there were."""
        own = self._of(principal)
        for digest in own:
            self._remove(digest)
        return len(own)

    def _of(self, principal: Principal) -> list[bytes]:
        """The sessions of a principal, the one that was used longest ago first."""
        return [digest for digest, each in self._by_digest.items() if each.principal == principal]

    def _remove(self, digest: bytes) -> None:
        removed = self._by_digest.pop(digest)
        removed.has_ended = True
        principal = removed.principal
        self._counts[principal] -= 1
        if not self._counts[principal]:
            del self._counts[principal]

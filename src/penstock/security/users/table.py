"""The users of a node and their credentials, in memory. Whoever changes it has made the change durable before.

A name without a credential has a decoy: a credential that no password fits, so that a login with it takes the same
messages and the same work as one with a wrong password, and nobody learns which users there are.

What SCRAM shows of a decoy is decided by the name, the secret and the settings alone: a salt as long as those of the
users that Penstock makes, and their iterations. It does not follow the users that there are. If it did, all decoys
would change when another form became that of most users, and names whose answers stayed the same would be known to be
users.

A password, of PLAIN or HTTP, shows nothing but the time of its check. There the decoy takes the work of most users:
users that are all of another mechanism than the settings' would otherwise be told by their time at any moment.
"""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from penstock.model.limits import SCRAM_ITERATIONS_MIN
from penstock.security.users.credential import SALT_BYTES, ScramCredential, ScramMechanism

PREFERRED: Final = (ScramMechanism.SCRAM_SHA_512, ScramMechanism.SCRAM_SHA_256)
"""The order in which a password is checked against the credentials of a user: against the first that there is."""


class _Work(NamedTuple):
    """What the time of a password's check depends on."""

    mechanism: ScramMechanism
    iterations: int


class UserTable:
    """Credentials by user and mechanism.

    `secret` and `iterations` decide the decoys; the secret outlives the process.
    """

    def __init__(self, secret: bytes, iterations: int = SCRAM_ITERATIONS_MIN) -> None:
        self._secret = secret
        self._iterations = iterations
        self._users: dict[str, dict[ScramMechanism, ScramCredential]] = {}
        self._works: Counter[_Work] = Counter()

    def __len__(self) -> int:
        return len(self._users)

    def __iter__(self) -> Iterator[str]:
        return iter(self._users)

    def __contains__(self, name: str) -> bool:
        return name in self._users

    def stored(self, name: str) -> dict[ScramMechanism, ScramCredential]:
        """The credentials that a user has; none for a name that is not a user's."""
        return self._users.get(name, {})

    def put(self, name: str, mechanism: ScramMechanism, credential: ScramCredential) -> None:
        credentials = self._users.setdefault(name, {})
        self._count(credentials, -1)
        credentials[mechanism] = credential
        self._count(credentials, 1)

    def credential(self, name: str, mechanism: ScramMechanism) -> ScramCredential:
        """The credential of a user for a mechanism, or the decoy of the name."""
        decoy = self._decoy(name, _Work(mechanism, self._iterations))  # made for users, too: it must take the same time
        return self.stored(name).get(mechanism, decoy)

    def credential_of_password(self, name: str) -> tuple[ScramMechanism, ScramCredential]:
        """The credential that a password of the user is checked against, or the decoy of the name."""
        usual = self._usual()
        decoy = self._decoy(name, usual)  # made for users, too: it must take the same time
        return _preferred(self.stored(name)) or (usual.mechanism, decoy)

    def _usual(self) -> _Work:
        """The work of most users; of several that as many have, the preferred mechanism's."""
        works = self._works
        return max(
            works,
            key=lambda work: (works[work], -PREFERRED.index(work.mechanism), work.iterations),
            default=_Work(PREFERRED[0], self._iterations),
        )

    def _decoy(self, name: str, work: _Work) -> ScramCredential:
        def derived(purpose: bytes, size: int) -> bytes:
            text = b"\0".join((purpose, work.mechanism.title.encode(), name.encode("utf-8", "surrogatepass")))
            stretched = b"".join(
                hmac.digest(self._secret, bytes([number]) + text, "sha512") for number in range(size // 64 + 1)
            )
            return stretched[:size]

        size = work.mechanism.digest_bytes
        return ScramCredential(
            iterations=work.iterations,
            salt=derived(b"salt", SALT_BYTES),
            stored_key=derived(b"stored key", size),
            server_key=derived(b"server key", size),
        )

    def remove(self, name: str, mechanism: ScramMechanism) -> None:
        credentials = self._users.get(name, {})
        if mechanism not in credentials:
            return
        self._count(credentials, -1)
        del credentials[mechanism]
        self._count(credentials, 1)
        if not credentials:
            del self._users[name]

    def _count(self, credentials: dict[ScramMechanism, ScramCredential], by: int) -> None:
        """Count the work of a user's password."""
        found = _preferred(credentials)
        if found is None:
            return
        mechanism, credential = found
        work = _Work(mechanism, credential.iterations)
        self._works[work] += by
        if not self._works[work]:
            del self._works[work]


def _preferred(credentials: dict[ScramMechanism, ScramCredential]) -> tuple[ScramMechanism, ScramCredential] | None:
    """The credential that a password is checked against."""
    return next(((each, credentials[each]) for each in PREFERRED if each in credentials), None)

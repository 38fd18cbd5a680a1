"""The users of a node and their credentials, in memory. Whoever changes it has made the change durable before.

A name without a credential has a decoy: a credential that no password fits, with a salt that is the same whenever the
name is asked for, and of the form that most users have. A login with it takes the same messages and the same work as
one with a wrong password, so that nobody learns which users there are.
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


class _Form(NamedTuple):
    """The parts of a credential that a client sees or can time."""

    mechanism: ScramMechanism
    iterations: int
    salt_bytes: int


class UserTable:
    """Credentials by user and mechanism.

    `secret` decides the decoys; it outlives the process. `iterations` are theirs while there are no users.
    """

    def __init__(self, secret: bytes, iterations: int = SCRAM_ITERATIONS_MIN) -> None:
        self._secret = secret
        self._iterations = iterations
        self._users: dict[str, dict[ScramMechanism, ScramCredential]] = {}
        self._forms: dict[ScramMechanism, Counter[_Form]] = {mechanism: Counter() for mechanism in ScramMechanism}

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
        self.remove(name, mechanism)
        self._users.setdefault(name, {})[mechanism] = credential
        self._forms[mechanism][_form(mechanism, credential)] += 1

    def credential(self, name: str, mechanism: ScramMechanism) -> ScramCredential:
        """The credential of a user for a mechanism, or the decoy of the name."""
        decoy = self._decoy(name, self._usual(mechanism))  # made for users, too: it must take the same time
        return self.stored(name).get(mechanism, decoy)

    def credential_of_password(self, name: str) -> tuple[ScramMechanism, ScramCredential]:
        """The credential that a password of the user is checked against, or the decoy of the name."""
        credentials = self.stored(name)
        usual = max((self._usual(each) for each in PREFERRED), key=lambda form: self._forms[form.mechanism][form])
        decoy = self._decoy(name, usual)  # made for users, too: it must take the same time
        for mechanism in PREFERRED:
            if mechanism in credentials:
                return mechanism, credentials[mechanism]
        return usual.mechanism, decoy

    def _usual(self, mechanism: ScramMechanism) -> _Form:
        """The form that most credentials of the mechanism have."""
        forms = self._forms[mechanism]
        return max(forms, key=lambda form: forms[form], default=_Form(mechanism, self._iterations, SALT_BYTES))

    def _decoy(self, name: str, form: _Form) -> ScramCredential:
        def derived(purpose: bytes, size: int) -> bytes:
            text = b"\0".join((purpose, form.mechanism.title.encode(), name.encode("utf-8", "surrogatepass")))
            stretched = b"".join(
                hmac.digest(self._secret, bytes([number]) + text, "sha512") for number in range(size // 64 + 1)
            )
            return stretched[:size]

        size = form.mechanism.digest_bytes
        return ScramCredential(
            iterations=form.iterations,
            salt=derived(b"salt", form.salt_bytes),
            stored_key=derived(b"stored key", size),
            server_key=derived(b"server key", size),
        )

    def remove(self, name: str, mechanism: ScramMechanism) -> None:
        credentials = self._users.get(name, {})
        old = credentials.pop(mechanism, None)
        if old is None:
            return
        if not credentials:
            del self._users[name]
        forms, form = self._forms[mechanism], _form(mechanism, old)
        forms[form] -= 1
        if not forms[form]:
            del forms[form]


def _form(mechanism: ScramMechanism, credential: ScramCredential) -> _Form:
    return _Form(mechanism, credential.iterations, len(credential.salt))

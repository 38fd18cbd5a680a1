"""An authenticator that reads its users from a file, and an authorizer that goes by the names of resources."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from penstock.security.principal import Principal
from penstock.security.resources import Operation, ResourceType
from penstock.security.session import Session


class FileAuthenticator:
    """Users of `file`: a name, a password and a principal in each line. It is read each time, so changes count at once.

    A password may be a word instead: `raise` fails, `hang` does not answer, `wrong-type` answers nonsense.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._file = Path(options["file"])
        if options.get("password") == "wrong":
            raise ValueError(f"the directory does not take {options['password']!r}")

    def authenticate(self, user: str, password: str) -> Principal | None:
        if password == "raise":
            raise RuntimeError(f"cannot check {password} of {user}")
        if password == "hang":
            time.sleep(3600)
        if password == "wrong-type":
            return "User:root"  # type: ignore[return-value]  # on purpose
        for line in self._file.read_text().splitlines():
            name, secret, principal = line.split(" ")
            if (name, secret) == (user, password):
                return Principal(*principal.split(":"))
        return None


class PrefixAuthorizer:
    """Everything is allowed to topics and groups that begin with the principal's name. A thread watches `file`.

    While the file says `closed`, nobody may do anything; while it says `broken`, every question is an exception.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._file = Path(options["file"])
        self._listeners: list[Callable[[], None]] = []
        self._state = self._file.read_text()
        self._version = 1
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            time.sleep(0.05)
            state = self._file.read_text()
            if state != self._state:
                self._state = state
                self._version += 1
                for listener in self._listeners:
                    listener()

    @property
    def version(self) -> int:
        return self._version

    def subscribe(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def allows(self, session: Session, operation: Operation, kind: ResourceType, name: str) -> bool:
        if self._state == "broken":
            raise RuntimeError("the rules cannot be read")
        if self._state == "async":
            return self._later()  # type: ignore[return-value]  # on purpose: it is true
        is_own = kind in (ResourceType.TOPIC, ResourceType.GROUP) and name.startswith(session.principal.name)
        return is_own and self._state == "open"

    def _later(self) -> object:
        return object()

    def allows_any(self, session: Session, operation: Operation, kind: ResourceType) -> bool:
        return self.allows(session, operation, kind, session.principal.name)

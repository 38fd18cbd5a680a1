"""`penstock` with two defects of its own, for tests of what a traceback shows: run it as a program with its arguments.

DescribeCluster fails with everything that its handler was given in the text of the error, and the login of the user
`broken` fails where the user is looked up, with the password in the frames below.
"""

from __future__ import annotations

from typing import Any, NoReturn

from penstock.broker.handlers.cluster import describe_cluster
from penstock.cli.main import main
from penstock.security.users.table import UserTable

USER = "broken"
DEFECT = "a planted defect"

_stored = UserTable.stored


def _fail(broker: Any, request: Any) -> NoReturn:
    raise RuntimeError(f"{DEFECT}: {broker.settings!r} {broker.settings} {broker!r} {request!r} {request.session!r}")


def _stored_or_fail(self: UserTable, name: str) -> Any:
    if name == USER:
        raise RuntimeError(f"{DEFECT}: {self!r} {name}")
    return _stored(self, name)


if __name__ == "__main__":
    describe_cluster.handle = _fail
    UserTable.stored = _stored_or_fail  # type: ignore[method-assign]
    main()

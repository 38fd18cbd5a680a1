"""The names that users may have.

Kafka takes any name but the empty one. Here it must be its own SASLprep form, because the SCRAM library reads names so:
a user of another name could never log in.
"""

from __future__ import annotations

from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import USER_NAME_BYTES_MAX


def check_user_name(name: str) -> None:
    """UNACCEPTABLE_CREDENTIAL with the reason, if no user can have the name."""
    if not name:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if len(name.encode()) > USER_NAME_BYTES_MAX:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, f"Username must not exceed {USER_NAME_BYTES_MAX} bytes")
    if not name.isascii() or not name.isprintable():
        _check_prepared(name)


def _check_prepared(name: str) -> None:
    from scramp import ScramException
    from scramp.utils import saslprep

    try:
        prepared: str = saslprep(name)
    except ScramException:
        prepared = ""
    if prepared != name:
        raise KafkaError(
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            "Username must consist of characters that SASLprep (RFC 4013) leaves as they are: no control characters,"
            " no invisible ones, no compatibility forms",
        )

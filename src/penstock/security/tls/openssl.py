"""Settings of OpenSSL's contexts that Python's `ssl` has no names for.

Both bound what a client can make a handshake cost before anything is known of it. OpenSSL offers finite fields for the
key exchange, too: a client that names one, and sends any number, has the server compute two powers modulo 8,192 bits,
0.1 s, and computes nothing itself. And it reads every certificate that a client shows before it looks at any of them.

They are made by `SSL_CTX_ctrl` of the library that Python has loaded. Where that cannot be found, since Python has it
built in, there is one curve, P-256, and the certificates have OpenSSL's own limit.
"""

from __future__ import annotations

import _ssl
import ctypes
import logging
import ssl
from collections.abc import Callable
from functools import cache
from typing import Final

logger = logging.getLogger(__name__)

GROUPS: Final = "X25519:P-256:X448:P-521:P-384"
HYBRID_GROUPS: Final = f"X25519MLKEM768:{GROUPS}"
HYBRID_SINCE: Final = (3, 5)
ONE_CURVE: Final = "prime256v1"
CHAIN_BYTES_MAX: Final = 8 << 10
"""Of the certificates that a client shows: three or four of RSA with 4,096 bits."""
_SET_MAX_CERT_LIST, _SET_GROUPS_LIST = 51, 92  # of <openssl/ssl.h>

Control = Callable[[ssl.SSLContext, int, int, bytes | None], int]


def bound_handshakes(context: ssl.SSLContext) -> None:
    """Let clients choose among elliptic curves only, and show few certificates."""
    control = _control()
    if control is None:
        context.set_ecdh_curve(ONE_CURVE)
        return
    groups = HYBRID_GROUPS if ssl.OPENSSL_VERSION_INFO >= HYBRID_SINCE else GROUPS
    if control(context, _SET_GROUPS_LIST, 0, groups.encode()) != 1:
        raise AssertionError(f"{ssl.OPENSSL_VERSION} does not know the groups {groups}")
    control(context, _SET_MAX_CERT_LIST, CHAIN_BYTES_MAX, None)


@cache
def _control() -> Control | None:
    try:
        function = ctypes.CDLL(_ssl.__file__).SSL_CTX_ctrl
    except (AttributeError, OSError) as error:
        logger.info("OpenSSL is part of Python here (%s): TLS has the curve %s only", error, ONE_CURVE)
        return None
    function.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_long, ctypes.c_char_p)
    function.restype = ctypes.c_long

    def control(context: ssl.SSLContext, command: int, number: int, text: bytes | None) -> int:
        # The first field of a context, behind what all objects of Python have, is its SSL_CTX.
        place = ctypes.c_void_p.from_address(id(context) + object.__basicsize__)
        result: int = function(place, command, number, text)
        return result

    return control

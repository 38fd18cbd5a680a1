"""The lists of revoked certificates of a listener: until when they count.

OpenSSL refuses every client whose authority has only lists that are out of date, at its next handshake and not before.
So the node has to know the day before it comes.
"""

from __future__ import annotations

import re
from typing import Final

from penstock.security.tls.options import TlsOptions, TlsProblem

_LIST: Final = re.compile(rb"-----BEGIN X509 CRL-----.+?-----END X509 CRL-----", re.DOTALL)


def end_of_lists(options: TlsOptions) -> float | None:
    """When the first authority has no list any more that counts, in seconds since 1970.

    None if no list is asked, or none of them ends. TlsProblem if a file cannot be read.
    """
    from cryptography import x509

    if not options.asks_clients or options.crl_file is None:
        return None
    # OpenSSL takes lists from both files, and of several that an authority has the one that counts.
    ends: dict[x509.Name, float] = {}
    for path in dict.fromkeys((options.crl_file, options.client_ca_file)):
        if path is None:
            continue
        try:
            lists = [x509.load_pem_x509_crl(text) for text in _LIST.findall(path.read_bytes())]
        except (OSError, ValueError) as error:
            raise TlsProblem(f"{path}: {error}") from None
        for each in lists:
            end = each.next_update_utc
            ends[each.issuer] = max(ends.get(each.issuer, 0.0), float("inf") if end is None else end.timestamp())
    first = min(ends.values(), default=float("inf"))
    return None if first == float("inf") else first

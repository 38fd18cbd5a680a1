"""The names of a broker that is set up by flags: --port, --metrics-port, --enable-tls … on `penstock serve`.

In a file they are top-level names with underscores. A user who asks for TLS or ACLs has a reason: a node that cannot
provide them does not start, and never falls back to plain text or to open access.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.config.references.entry import TEXT, YES_OR_NO, Becomes, Entry, NoEffect, Refused

_NO_TLS = (
    "there is no TLS yet, and a node that is to have it does not start in plain text;"
    " remove the TLS settings, and put a proxy that speaks TLS in front of it"
)
_NO_ACLS = (
    "there are no ACLs yet, and a node that should have them does not start open to all;"
    " remove the ACL settings, and let only clients that may do everything reach its ports"
)

KEYS: Mapping[str, Entry] = {
    "host": Becomes(("kafka.host", "http.host")),
    "port": Becomes(("kafka.port",)),
    "metrics_port": Becomes(("http.port",)),
    "data_dir": Becomes(("node.data_dir",)),
    "log_level": Becomes(("logging.level",), note="on the command line levels of modules, too"),
    "enable_consumer_groups": NoEffect(YES_OR_NO, "consumer groups cannot be switched off", usual=True),
    "enable_tls": Refused(YES_OR_NO, _NO_TLS),
    "tls_cert": Refused(TEXT, _NO_TLS),
    "tls_key": Refused(TEXT, _NO_TLS),
    "enable_acl": Refused(YES_OR_NO, _NO_ACLS),
    "acl_config": Refused(TEXT, _NO_ACLS),
}

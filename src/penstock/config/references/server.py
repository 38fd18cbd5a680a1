"""The names of a broker that is set up by flags: --port, --metrics-port, --enable-tls … on `penstock serve`.

In a file they are top-level names with underscores.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.config.references.entry import YES_OR_NO, Becomes, Entry, NoEffect, truth


def _protocol(value: object) -> object:
    """SSL if TLS is asked for. The type check refuses what is neither yes nor no."""
    return {True: "SSL", False: "PLAINTEXT", None: value}[truth(value)]


KEYS: Mapping[str, Entry] = {
    "host": Becomes(("kafka.host", "http.host")),
    "port": Becomes(("kafka.port",)),
    "metrics_port": Becomes(("http.port",)),
    "data_dir": Becomes(("node.data_dir",)),
    "log_level": Becomes(("logging.level",), note="on the command line levels of modules, too"),
    "enable_consumer_groups": NoEffect(YES_OR_NO, "consumer groups cannot be switched off", usual=True),
    "enable_tls": Becomes(("security.protocol",), _protocol, "`true` is `SSL`"),
    "tls_cert": Becomes(("tls.certificate_file",)),
    "tls_key": Becomes(("tls.key_file",)),
    "enable_acl": Becomes(("acl.enabled",)),
    "acl_config": Becomes(("acl.policy_file",)),
}

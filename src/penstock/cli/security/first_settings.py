"""The settings that `penstock security init` makes: those of the node, and those of its clients.

Names and paths are whatever the user has, so they are quoted, and what is read from the texts is compared with what was
meant: a data directory that is read as another one would have no administrator.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from penstock.cli.terminal.errors import CommandError, ExitCode

HINT = "choose another name, or another directory with --directory and --data-dir"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstSettings:
    """Paths are absolute. `advertised` is None where clients stay with the address on which they come in."""

    directory: Path
    data_dir: Path
    listen: str
    advertised: str | None
    names: list[str]
    admin: str

    def of_node(self) -> bytes:
        """The text of penstock.yml."""
        from penstock.net.endpoint import bracketed
        from penstock.net.http.allowed_hosts import is_always_allowed

        allowed = [name for name in self.names if "*" not in name and not is_always_allowed(name)]
        advertised = f"\n  advertised: {_quoted(bracketed(self.advertised))}" if self.advertised else ""
        return _encoded(f"""# A secured node: TLS and logins at every door, and rights by rules (docs/security.md).
node:
  data_dir: {_quoted(self.data_dir)}
kafka:
  host: {_quoted(self.listen)}{advertised}
http:
  host: {_quoted(self.listen)}
  allowed_hosts: {allowed}
security:
  protocol: SASL_SSL
tls:
  certificate_file: {_quoted(self.directory / "server.pem")}
  key_file: {_quoted(self.directory / "server.key")}
  client_ca_file: {_quoted(self.directory / "ca.pem")}
  # client_auth: requested    # takes certificates of `penstock security certificate` as logins over HTTP, too
  # crl_file: {_quoted(self.directory / "revoked.pem")}    # with it: those that `penstock security revoke` has revoked
acl:
  enabled: true
  super_users: [{_quoted(f"User:{self.admin}")}]
""")

    def of_clients(self) -> bytes:
        """The text of client.properties. CommandError if clients would read something else in it."""
        from penstock.client.security.properties import SecurityProblem
        from penstock.client.security.property_file import parse_properties

        text = f"""# For --command-config, librdkafka and, with Java's names, Kafka's own tools.
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.username={self.admin}
# sasl.password=
ssl.ca.location={self.directory / "ca.pem"}
"""
        try:
            found = parse_properties(text)
        except SecurityProblem as problem:
            raise _misread("client.properties", str(problem)) from None
        meant = {"sasl.username": self.admin, "ssl.ca.location": str(self.directory / "ca.pem")}
        for key, value in meant.items():
            if found.get(key) != value:
                raise _misread("client.properties", f"{key} as {found.get(key)!r}, not as {value!r}")
        return _encoded(text)

    def check(self, path: Path) -> None:
        """CommandError if the node would read something else in the file."""
        from penstock.config.loading import ConfigError, load_settings

        try:
            read = load_settings(config_file=path, environ={})
        except ConfigError as error:
            raise _misread(path.name, str(error)) from None
        pairs = (
            (read.node.data_dir, self.data_dir),
            (read.tls.certificate_file, self.directory / "server.pem"),
            (read.tls.key_file, self.directory / "server.key"),
            (read.tls.client_ca_file, self.directory / "ca.pem"),
            (read.acl.super_users, (f"User:{self.admin}",)),
        )
        for found, meant in pairs:
            if found != meant:
                raise _misread(path.name, f"{found} and not {meant}")


def _quoted(text: str | Path) -> str:
    """A text as YAML, on one line."""
    import yaml

    return str(yaml.safe_dump(str(text), default_style='"', allow_unicode=True, width=sys.maxsize)).rstrip("\n")


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        problem = "a name or a path is not text in UTF-8, and nothing was changed"
        raise CommandError(problem, ExitCode.USAGE, hint=HINT) from None


def _misread(file: str, problem: str) -> CommandError:
    return CommandError(f"{file} would be misread, and nothing was changed: {problem}", ExitCode.USAGE, hint=HINT)

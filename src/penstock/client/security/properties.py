"""Security of a client from properties: the names of Java's client and of librdkafka mean the same here.

Names that have nothing to do with security are left to others. Host names are verified unless the user says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS: Final = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")
_JAAS: Final = re.compile(r"""\s*([\w.]+)\s+required\s+(.*?)\s*;\s*""", re.DOTALL)
_JAAS_OPTION: Final = re.compile(r"""(\w+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^\s"';]+))\s*""")
_JAAS_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)  # as in Java's StreamTokenizer
_JAAS_LETTERS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_MODULES: Final = {"PlainLoginModule": "PLAIN", "ScramLoginModule": "SCRAM"}

# By the attribute of ClientSecurity: Java's names, then those of librdkafka.
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "protocol": ("security.protocol",),
    "authorities_file": ("ssl.truststore.location", "ssl.ca.location"),
    "authorities": ("ssl.truststore.certificates", "ssl.ca.pem"),
    "certificate_file": ("ssl.keystore.location", "ssl.certificate.location"),
    "certificate": ("ssl.keystore.certificate.chain", "ssl.certificate.pem"),
    "key_file": ("ssl.key.location",),
    "key": ("ssl.keystore.key", "ssl.key.pem"),
    "key_password": ("ssl.key.password",),
    "mechanism": ("sasl.mechanism", "sasl.mechanisms"),
    "username": ("sasl.username",),
    "password": ("sasl.password",),
}
_CHECKED: Final = (
    "ssl.endpoint.identification.algorithm",
    "enable.ssl.certificate.verification",
    "sasl.jaas.config",
    "ssl.keystore.type",
    "ssl.truststore.type",
)
NAMES: Final = frozenset((*_CHECKED, *(name for names in _NAMES.values() for name in names)))
"""All properties that are about security."""
SECRETS: Final = frozenset({"sasl.password", "sasl.jaas.config", "ssl.key.password", "ssl.keystore.key", "ssl.key.pem"})


class SecurityProblem(ValueError):
    """Properties that cannot be used; the message names the property, and never its value if that is a secret."""


@dataclass(frozen=True, kw_only=True)
class ClientSecurity:
    """Everything is optional but the protocol. Texts are PEM; a key may be in the file of its certificate."""

    protocol: str = "PLAINTEXT"
    authorities_file: str | None = None
    authorities: str | None = None
    certificate_file: str | None = None
    certificate: str | None = None
    key_file: str | None = None
    key: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    verifies_certificates: bool = True
    verifies_names: bool = True
    mechanism: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def has_tls(self) -> bool:
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def has_sasl(self) -> bool:
        return self.protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    @property
    def has_certificate(self) -> bool:
        return self.certificate_file is not None or self.certificate is not None

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> ClientSecurity:
        """SecurityProblem if they do not fit together."""
        values = {attribute: _one(properties, names) for attribute, names in _NAMES.items()}
        values.update(_jaas(properties.get("sasl.jaas.config"), values))
        values["protocol"] = (values["protocol"] or "PLAINTEXT").upper()
        for store in ("ssl.keystore.type", "ssl.truststore.type"):
            if properties.get(store, "PEM").upper() != "PEM":
                raise SecurityProblem(f"{store} is {properties[store]}, but only PEM can be read; convert the store")
        known = {name: value for name, value in values.items() if value is not None}
        security = cls(
            **known,
            verifies_certificates=_is_true(properties, "enable.ssl.certificate.verification"),
            verifies_names=_verifies_names(properties),
        )
        security._check()
        return security

    def for_librdkafka(self) -> dict[str, str]:
        """The same under librdkafka's names."""
        found = {
            "security.protocol": self.protocol,
            "ssl.ca.location": self.authorities_file,
            "ssl.ca.pem": self.authorities,
            "ssl.certificate.location": self.certificate_file,
            "ssl.certificate.pem": self.certificate,
            "ssl.key.location": self.key_file or self.certificate_file,
            "ssl.key.pem": self.key,
            "ssl.key.password": self.key_password,
            "sasl.mechanism": self.mechanism,
            "sasl.username": self.username,
            "sasl.password": self.password,
            "enable.ssl.certificate.verification": None if self.verifies_certificates else "false",
            "ssl.endpoint.identification.algorithm": None if self.verifies_names else "none",
        }
        return {name: value for name, value in found.items() if value is not None}

    def _check(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise SecurityProblem(f"security.protocol is one of {', '.join(PROTOCOLS)}, not {self.protocol}")
        if not self.has_sasl:
            return
        if self.mechanism not in MECHANISMS:
            raise SecurityProblem(f"sasl.mechanism is one of {', '.join(MECHANISMS)}, not {self.mechanism}")
        if not self.username or not self.password:
            raise SecurityProblem("sasl.username and sasl.password, or sasl.jaas.config, are missing")


PLAINTEXT: Final = ClientSecurity()


def is_ours(properties: Mapping[str, str]) -> bool:
    """Whether these are properties of security that `ClientSecurity` knows: librdkafka has more of them."""
    mechanism = properties.get("sasl.mechanism") or properties.get("sasl.mechanisms") or MECHANISMS[0]
    is_archive = "ssl.keystore.location" in properties and "ssl.keystore.type" not in properties  # PKCS#12
    return bool(properties.keys() & NAMES) and mechanism in MECHANISMS and not is_archive


def for_librdkafka(properties: Mapping[str, str]) -> dict[str, str]:
    """The same properties under names that librdkafka knows. SecurityProblem if they do not fit together."""
    if not is_ours(properties):
        return dict(properties)
    others = {name: value for name, value in properties.items() if name not in NAMES}
    return {**others, **ClientSecurity.of(properties).for_librdkafka()}


def _one(properties: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    given = {name: properties[name] for name in names if properties.get(name)}
    if len(set(given.values())) > 1:
        raise SecurityProblem(f"{' and '.join(given)} mean the same and have different values")
    return next(iter(given.values()), None)


def _is_true(properties: Mapping[str, str], name: str) -> bool:
    value = properties.get(name, "true").lower()
    if value not in ("true", "false"):
        raise SecurityProblem(f"{name} is true or false, not {value!r}")
    return value == "true"


def _verifies_names(properties: Mapping[str, str]) -> bool:
    name = "ssl.endpoint.identification.algorithm"
    value = properties.get(name, "https").lower()
    if value not in ("https", "", "none"):  # a mistake must not take the protection away
        raise SecurityProblem(f"{name} is https, or empty or none for no check of host names, not {value!r}")
    return value == "https"


def _jaas(text: str | None, given: Mapping[str, str | None]) -> dict[str, str]:
    """User and password from Java's login configuration."""
    if not text:
        return {}
    match = _JAAS.fullmatch(text)
    kind = None if match is None else _MODULES.get(match[1].rpartition(".")[2])
    if match is None or kind is None:
        raise SecurityProblem("sasl.jaas.config is not that of a PlainLoginModule or ScramLoginModule")
    if not (given["mechanism"] or "").startswith(kind):
        raise SecurityProblem(f"sasl.jaas.config is for {kind}, but sasl.mechanism is {given['mechanism']}")
    options = {
        found[1]: _JAAS_ESCAPE.sub(_meant, next(part for part in found.groups()[1:] if part is not None))
        for found in _JAAS_OPTION.finditer(match[2])
    }
    return {name: options[name] for name in ("username", "password") if name in options}


def _meant(escape: re.Match[str]) -> str:
    """The character that an escape of a login configuration stands for."""
    text = escape[1]
    return chr(int(text, 8)) if text[0] in "01234567" else _JAAS_LETTERS.get(text, text)

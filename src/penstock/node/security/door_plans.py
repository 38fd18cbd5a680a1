"""The doors that settings ask for: a plan for each, with its address, its protocol and its certificates.

Kafka clients have one listener, or those of `listeners.addresses`; push clients and HTTP have a door each. What one
listener has of its own comes from `listeners.overrides`, the rest from the sections `tls` and `sasl`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeVar

from pydantic import ValidationError

from penstock.config.references import ENTRIES, canonical
from penstock.config.references.entry import Becomes
from penstock.config.settings import Section, Settings, TlsSettings
from penstock.config.settings.secret import is_reference
from penstock.config.settings.security import PROTOCOLS, NamedAddress, named_addresses, named_protocols
from penstock.config.shown_value import is_secret
from penstock.net.endpoint import Endpoint, bracketed
from penstock.net.networks import TCP, network_name
from penstock.node.errors import SettingsError
from penstock.node.security.certificate_use import check_certificate_use, check_own_certificate_use
from penstock.security.listener import ListenerSecurity, SecurityProtocol
from penstock.security.tls.options import ClientAuth, TlsOptions
from penstock.security.tls.principal_rules import PrincipalRules

PUSH: Final = "PUSH"
HTTP: Final = "HTTP"
UNIX: Final = "unix:"
S = TypeVar("S", bound=Section)
_OF_ONE_LISTENER: Final = frozenset(
    {
        *(f"tls.{field}" for field in TlsSettings.model_fields if field != "reload_interval_ms"),
        "sasl.enabled_mechanisms",
        "sasl.reauthentication_ms_max",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorPlan:
    """One door."""

    host: str
    port: int
    security: ListenerSecurity
    network: str = TCP
    tls: TlsOptions | None = None
    handshake_ms_max: int = 0
    advertised: Endpoint | None = None
    """The address that clients are given; None: the one they came in on. A port of 0 is the one they came in on."""

    def __str__(self) -> str:
        return f"{self.security.name} at " + (
            f"{bracketed(self.host)}:{self.port}" if self.network == TCP else self.host
        )


class DoorPlans(NamedTuple):
    kafka: tuple[DoorPlan, ...]
    push: DoorPlan | None
    http: DoorPlan | None

    @property
    def all(self) -> tuple[DoorPlan, ...]:
        return (*self.kafka, *(plan for plan in (self.push, self.http) if plan is not None))


def plan_doors(settings: Settings) -> DoorPlans:
    """SettingsError if the settings of listeners contradict each other; the message names the setting."""
    planner = _Planner(settings)
    push = planner.plan(_push_address(settings)) if settings.push.enabled else None
    http = planner.plan(_http_address(settings)) if settings.http.enabled else None
    kafka = tuple(_on_network(planner.plan(address), settings) for address in _kafka_addresses(settings))
    plans = DoorPlans(kafka, push, http)
    planner.check_names([plan.security.name for plan in plans.all])
    if settings.tls.certificate_file is not None and all(plan.tls is None for plan in plans.all):
        raise SettingsError(
            "tls.certificate_file is set, but no listener has TLS; set security.protocol to SSL or SASL_SSL, or give a"
            " listener one of them with listener.security.protocol.map"
        )
    check_certificate_use(settings.tls, [plan.tls for plan in plans.all])
    return plans


def plan_lone_port(settings: Settings, host: str, port: int) -> DoorPlan:
    """The plan of a process whose only door is HTTP, by the same settings."""
    plan = _Planner(settings).plan(NamedAddress(HTTP, host, port))
    check_certificate_use(settings.tls, [plan.tls])
    return plan


def without_effect(settings: Settings) -> list[str]:
    """Addresses that were given, and that no door has: `listeners.addresses` names others for it."""
    named = {one.name: one for one in _named(settings)}
    kafka = [one for name, one in named.items() if name not in (PUSH, HTTP)]
    doors = (
        ("kafka", "--kafka-port", settings.kafka, kafka),
        ("push", "--push-port", settings.push, [named[PUSH]] if PUSH in named else []),
        ("http", "--http-port", settings.http, [named[HTTP]] if HTTP in named else []),
    )
    return [
        f"{section}.port ({flag}) is {given.port}, but has no effect: listeners.addresses has"
        f" {', '.join(f'{one.name}://{one.host}:{one.port}' for one in addresses)}"
        for section, flag, given, addresses in doors
        if addresses and "port" in given.model_fields_set and given.port not in [one.port for one in addresses]
    ]


def _on_network(plan: DoorPlan, settings: Settings) -> DoorPlan:
    """The plan with its network. An address that names its network wins over the default."""
    host, network = plan.host, settings.network.type
    if network == TCP:
        network = network_name(host, 0) if host.startswith(UNIX) else TCP
    elif network == "unix" and not host.startswith(UNIX):
        host = f"{UNIX}{settings.node.data_dir.absolute()}.sock"  # not in it: the directory is not ours yet
    if network != TCP and plan.tls is not None:
        raise SettingsError(
            f"the listener {plan.security.name} is at {host}, and TLS is for TCP only; leave it out there"
        )
    return replace(plan, host=host, network=network)


def _named(settings: Settings) -> list[NamedAddress]:
    return named_addresses(settings.listeners.addresses) if settings.listeners.addresses else []


def _kafka_addresses(settings: Settings) -> list[NamedAddress]:
    named = _named(settings)
    if not named:
        kafka = settings.kafka
        return [NamedAddress(settings.security.protocol, kafka.host, kafka.port)]
    listeners = [one for one in named if one.name not in (PUSH, HTTP)]
    if not listeners:
        raise SettingsError("listeners.addresses has no listener for Kafka clients; add one, such as PLAINTEXT://:9092")
    return listeners


def _push_address(settings: Settings) -> NamedAddress:
    own = next((one for one in _named(settings) if one.name == PUSH), None)
    return own or NamedAddress(PUSH, settings.push.host or _host_of_kafka(settings), settings.push.port)


def _host_of_kafka(settings: Settings) -> str:
    """The host of a door that has none of its own. It is for TCP: a unix socket of Kafka's is not for other doors."""
    host = settings.kafka.host
    default: str = type(settings.kafka).model_fields["host"].default
    return default if host.startswith(UNIX) else host


def _http_address(settings: Settings) -> NamedAddress:
    own = next((one for one in _named(settings) if one.name == HTTP), None)
    return own or NamedAddress(HTTP, settings.http.host, settings.http.port)


class _Planner:
    """The settings that plans are made of."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        listeners = settings.listeners
        self._protocols = named_protocols(listeners.protocols) if listeners.protocols else {}
        self._advertised = {one.name: one for one in _parsed(listeners.advertised)}
        self._overrides: dict[str, dict[str, str]] = {}
        for key, value in listeners.overrides.items():
            name, _, setting = key.partition(".")
            self._overrides.setdefault(name.upper(), {})[setting] = value

    def plan(self, address: NamedAddress) -> DoorPlan:
        name = address.name
        protocol = SecurityProtocol(self._protocol(name))
        own = self._own_settings(name)
        tls = _with_own(self._settings.tls, "tls", own, name)
        sasl = _with_own(self._settings.sasl, "sasl", own, name)
        options = _tls_options(tls, name) if protocol.has_tls else None
        check_own_certificate_use(name, tls, own, options)
        mechanisms = tuple(sasl.enabled_mechanisms) if protocol.has_sasl else ()
        return DoorPlan(
            host=address.host or "0.0.0.0",
            port=address.port,
            security=ListenerSecurity(name, protocol, mechanisms, sasl.reauthentication_ms_max, _rules(tls, name)),
            tls=options,
            handshake_ms_max=tls.handshake_timeout_ms,
            advertised=self._advertised_address(name),
        )

    def _protocol(self, name: str) -> str:
        if name in self._protocols:
            return self._protocols[name]
        if name in PROTOCOLS:
            return name
        if name in (PUSH, HTTP):
            return self._settings.security.protocol
        raise SettingsError(
            f"the listener {name} has no protocol; name it in listener.security.protocol.map, such as {name}:SASL_SSL"
        )

    def _advertised_address(self, name: str) -> Endpoint | None:
        own = self._advertised.get(name)
        if own is not None:
            if not own.host or not own.port:
                raise SettingsError(f"advertised.listeners: clients of {name} need a host and a port to connect to")
            return Endpoint(own.host, own.port)
        if self._settings.listeners.addresses:
            return None
        address = self._settings.kafka.advertised_address
        return None if address is None else Endpoint(*address)

    def _own_settings(self, name: str) -> dict[str, str]:
        """The overrides of a listener, by the dotted names of our settings."""
        found = {}
        for setting, value in self._overrides.get(name, {}).items():
            entry = ENTRIES.get(canonical(setting))
            keys: Iterable[str] = entry.settings if isinstance(entry, Becomes) else (canonical(setting),)
            for key in keys:
                if key not in _OF_ONE_LISTENER:
                    raise SettingsError(
                        f"listener.name.{name.lower()}.{setting} cannot be set for a single listener; these can:"
                        f" {', '.join(sorted(_OF_ONE_LISTENER))}"
                    )
                if is_secret(key) and not is_reference(value):  # overrides are plain texts, shown with other settings
                    raise SettingsError(
                        f"listener.name.{name.lower()}.{setting}: put the password into a file or a variable, and"
                        " name that: file:PATH or env:NAME"
                    )
                found[key] = str(entry.value(value)) if isinstance(entry, Becomes) else value
        return found

    def check_names(self, names: Iterable[str]) -> None:
        """A name that no listener has is a mistake: the setting would silently have no effect."""
        known = {*names, *PROTOCOLS}
        for setting, given in (
            ("advertised.listeners", self._advertised),
            ("listener.security.protocol.map", self._protocols),
            ("listener.name", self._overrides),
        ):
            for name in given:
                if name not in known:
                    raise SettingsError(f"{setting}: there is no listener {name}; there are {', '.join(sorted(names))}")


def _parsed(text: str | None) -> list[NamedAddress]:
    return named_addresses(text) if text else []


def _with_own(section: S, prefix: str, own: Mapping[str, str], name: str) -> S:
    changes = {key.removeprefix(f"{prefix}."): value for key, value in own.items() if key.startswith(f"{prefix}.")}
    if not changes:
        return section
    try:
        return type(section).model_validate({**dict(section), **changes})
    except ValidationError as error:
        finding = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, finding["loc"]))
        raise SettingsError(f"listener.name.{name.lower()}: {prefix}.{place}: {finding['msg']}") from None


def _rules(tls: TlsSettings, name: str) -> PrincipalRules:
    try:
        return PrincipalRules.parse(tls.principal_mapping_rules)
    except ValueError as error:
        raise SettingsError(f"tls.principal_mapping_rules of {name}: {error}") from None


def _tls_options(tls: TlsSettings, name: str) -> TlsOptions:
    if tls.certificate_file is None:
        raise SettingsError(
            f"the listener {name} is encrypted and has no certificate; set tls.certificate_file and tls.key_file, or"
            " make a set with `penstock security init`"
        )
    return TlsOptions(
        certificate_file=tls.certificate_file,
        key_file=tls.key_file,
        key_password=None if tls.key_password is None else tls.key_password.reveal(),
        client_auth=ClientAuth(tls.client_auth),
        client_ca_file=tls.client_ca_file,
        crl_file=tls.crl_file,
        oldest_version=tls.oldest_version,
        ciphers=tls.ciphers,
    )

"""From settings to doors: names, protocols, what one listener has of its own, and what may not be open to the world."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.config.config_key import ConfigType
from penstock.config.given_value import GivenValue
from penstock.config.loading import load_settings
from penstock.config.security_configs import configs_of_listeners
from penstock.config.settings import Settings
from penstock.net.endpoint import Endpoint
from penstock.node.errors import SettingsError
from penstock.node.security.door_plans import DoorPlan, plan_doors, plan_lone_port, without_effect
from penstock.node.security.exposure import check_exposure, is_local
from penstock.security.listener import SecurityProtocol
from penstock.security.tls.options import ClientAuth

TLS = {"certificate_file": "server.pem", "key_file": "server.key"}
RULES = "RULE:^CN=(.*)$/$1/"


def settings_of(**sections: dict[str, Any]) -> Settings:
    return Settings.model_validate(sections)


def kafka_plans(**sections: dict[str, Any]) -> dict[str, DoorPlan]:
    return {plan.security.name: plan for plan in plan_doors(settings_of(**sections)).kafka}


def test_without_settings_there_are_three_plain_doors() -> None:
    plans = plan_doors(Settings())
    assert plans.push is not None
    assert plans.http is not None
    assert [str(plan) for plan in plans.all] == [
        "PLAINTEXT at 127.0.0.1:9092", "PUSH at 127.0.0.1:9999", "HTTP at 127.0.0.1:8080",
    ]  # fmt: skip
    assert {plan.security.protocol for plan in plans.all} == {SecurityProtocol.PLAINTEXT}
    assert check_exposure(plans, Settings()) == []


def test_a_unix_socket_of_kafka_is_not_the_host_of_push_clients() -> None:
    plans = plan_doors(settings_of(kafka={"host": "unix:/run/kafka.sock"}))
    assert [str(plan) for plan in plans.all] == [
        "PLAINTEXT at unix:/run/kafka.sock", "PUSH at 127.0.0.1:9999", "HTTP at 127.0.0.1:8080",
    ]  # fmt: skip
    named = plan_doors(settings_of(kafka={"host": "unix:/run/kafka.sock"}, push={"host": "localhost"}))
    assert str(named.push) == "PUSH at localhost:9999"


def test_doors_that_are_switched_off_have_no_plan() -> None:
    plans = plan_doors(settings_of(push={"enabled": False}, http={"enabled": False}))
    assert (plans.push, plans.http) == (None, None)


def test_one_protocol_for_all_doors() -> None:
    plans = plan_doors(settings_of(security={"protocol": "sasl_ssl"}, tls=TLS, sasl={"enabled_mechanisms": "PLAIN"}))
    assert [plan.security.name for plan in plans.all] == ["SASL_SSL", "PUSH", "HTTP"]
    for plan in plans.all:
        assert plan.security.protocol is SecurityProtocol.SASL_SSL
        assert plan.security.mechanisms == ("PLAIN",)
        assert plan.tls is not None
        assert plan.tls.certificate_file == Path("server.pem")


def test_ports_beside_named_listeners_are_told() -> None:
    """As `penstock serve --kafka-port 1234` beside a file with listeners: it would silently have no effect."""
    addresses = "A://127.0.0.1:9092,B://127.0.0.1:9093,PUSH://127.0.0.1:7000"

    def told(**flags: str) -> list[str]:
        given = [GivenValue(key.replace("__", "."), value, "a flag") for key, value in flags.items()]
        named = GivenValue("listeners.addresses", addresses, "a file")
        return without_effect(load_settings(None, {}, [named, *given]))

    assert told() == []
    assert told(kafka__port="9093", push__port="7000", http__port="1234") == []
    assert told(kafka__port="1234", push__port="1235") == [
        "kafka.port (--kafka-port) is 1234, but has no effect: listeners.addresses has A://127.0.0.1:9092,"
        " B://127.0.0.1:9093",
        "push.port (--push-port) is 1235, but has no effect: listeners.addresses has PUSH://127.0.0.1:7000",
    ]
    assert without_effect(settings_of(kafka={"port": 1234})) == []


def test_listeners_by_name() -> None:
    plans = kafka_plans(
        listeners={
            "addresses": "INTERNAL://127.0.0.1:9092, EXTERNAL://:9094, SSL://[::1]:9095, PUSH://127.0.0.2:7000",
            "advertised": "EXTERNAL://broker.example:19094",
            "protocols": "INTERNAL:PLAINTEXT,EXTERNAL:SASL_SSL",
            "overrides": {
                "external.ssl.keystore.location": "external.pem",
                "external.sasl.enabled.mechanisms": "SCRAM-SHA-512",
                "external.connections.max.reauth.ms": "5000",
                "ssl.tls.client_auth": "REQUIRED",
            },
        },
        tls={**TLS, "client_ca_file": "ca.pem"},
    )
    assert list(plans) == ["INTERNAL", "EXTERNAL", "SSL"]
    internal, external, tls = plans.values()
    assert (internal.host, internal.port, internal.tls, internal.advertised) == ("127.0.0.1", 9092, None, None)
    assert (external.host, external.port) == ("0.0.0.0", 9094)
    assert external.advertised == Endpoint("broker.example", 19094)
    assert external.security.mechanisms == ("SCRAM-SHA-512",)
    assert external.security.session_ms_max == 5000
    assert external.tls is not None
    assert external.tls.certificate_file == Path("external.pem")
    assert external.tls.client_auth is ClientAuth.NONE
    assert (tls.host, tls.security.protocol, tls.security.mechanisms) == ("::1", SecurityProtocol.SSL, ())
    assert tls.tls is not None
    assert tls.tls.client_auth is ClientAuth.REQUIRED


def test_the_password_of_a_listeners_own_key_is_named(tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("hidden-word\n")
    password.chmod(0o600)
    settings = settings_of(
        listeners={
            "addresses": "SSL://127.0.0.1:9092,OTHER://127.0.0.1:9093",
            "protocols": "OTHER:SSL,PUSH:PLAINTEXT,HTTP:PLAINTEXT",
            "overrides": {"other.ssl.key.password": f"file:{password}"},
        },
        tls={**TLS, "key_password": "of-all-others"},
    )
    kafka = [plan.tls for plan in plan_doors(settings).kafka if plan.tls is not None]
    assert [options.key_password for options in kafka] == ["of-all-others", "hidden-word"]
    (config,) = configs_of_listeners(settings)
    assert (config.name, config.type) == ("listener.name.other.ssl.key.password", ConfigType.PASSWORD)


def test_push_and_http_are_in_the_same_table() -> None:
    addresses = "PLAINTEXT://127.0.0.1:1,PUSH://127.0.0.2:2,HTTP://127.0.0.3:3"
    plans = plan_doors(settings_of(listeners={"addresses": addresses, "protocols": "HTTP:SSL"}, tls=TLS))
    assert [(plan.host, plan.port, plan.tls is not None) for plan in plans.all] == [
        ("127.0.0.1", 1, False), ("127.0.0.2", 2, False), ("127.0.0.3", 3, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({"listeners": {"addresses": "EXTERNAL://:9092"}}, "EXTERNAL has no protocol; name it in listener.security"),
        ({"listeners": {"addresses": "PUSH://:9092"}}, "no listener for Kafka clients"),
        ({"listeners": {"addresses": "SSL://:9092"}}, "SSL is encrypted and has no certificate"),
        ({"listeners": {"advertised": "OTHER://a:1"}}, "advertised.listeners: there is no listener OTHER"),
        ({"listeners": {"protocols": "OTHER:SSL"}}, "protocol.map: there is no listener OTHER"),
        ({"listeners": {"overrides": {"other.ssl.client.auth": "none"}}}, "listener.name: there is no listener OTHER"),
        ({"listeners": {"advertised": "PLAINTEXT://:1"}}, "clients of PLAINTEXT need a host and a port"),
        ({"listeners": {"overrides": {"plaintext.kafka.port": "1"}}}, "cannot be set for a single listener"),
        ({"listeners": {"overrides": {"plaintext.ssl.key.password": "x"}}}, "file:PATH or env:NAME"),
        (
            {"listeners": {"overrides": {"plaintext.ssl.key.password": "file:/nowhere"}}},
            "tls.key_password: Value error, /nowhere cannot be read",
        ),
        ({"listeners": {"overrides": {"plaintext.ssl.client.auth": "so"}}}, "tls.client_auth: Input should be"),
        ({"tls": TLS}, "no listener has TLS; set security.protocol"),
        ({"tls": {"principal_mapping_rules": "RULE:x"}}, "tls.principal_mapping_rules of "),
        ({"security": {"protocol": "SSL"}, "tls": TLS, "kafka": {"host": "unix:/s"}}, "TLS is for TCP only"),
        ({"tls": {"crl_file": "crl.pem"}}, "tls.crl_file is set, but no listener asks clients for certificates"),
        (
            {"security": {"protocol": "SSL"}, "tls": {**TLS, "principal_mapping_rules": RULES}},
            "tls.principal_mapping_rules is set, but no listener asks clients for certificates; set tls.client_auth",
        ),
        (
            {
                "security": {"protocol": "SSL"},
                "tls": {**TLS, "client_auth": "required", "client_ca_file": "ca.pem"},
                "listeners": {"overrides": {"ssl.ssl.client.auth": "none", "ssl.tls.crl_file": "crl.pem"}},
            },
            "listener.name.ssl: tls.crl_file is set, but the listener asks no client for a certificate; set",
        ),
        (
            {"listeners": {"overrides": {"plaintext.ssl.principal.mapping.rules": RULES}}},
            "listener.name.plaintext: tls.principal_mapping_rules is set, but the listener asks no client",
        ),
    ],
)
def test_contradictions_are_named(sections: dict[str, dict[str, Any]], told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        plan_doors(settings_of(**sections))
    assert told in str(caught.value)


@pytest.mark.parametrize("rules", ["DEFAULT", " DEFAULT ", ""])
def test_rules_that_are_the_default_and_authorities_need_no_certificates(rules: str) -> None:
    plan_doors(settings_of(tls={"principal_mapping_rules": rules, "client_ca_file": "ca.pem"}))


def test_settings_of_certificates_are_for_the_listeners_that_ask() -> None:
    """One is enough; of a process with a single port, that one."""
    tls = {**TLS, "client_ca_file": "ca.pem", "crl_file": "crl.pem", "principal_mapping_rules": RULES}
    overrides = {"http.ssl.client.auth": "requested"}
    plan_doors(settings_of(security={"protocol": "SSL"}, tls=tls, listeners={"overrides": overrides}))
    plan_lone_port(settings_of(security={"protocol": "SSL"}, tls={**tls, "client_auth": "requested"}), "127.0.0.1", 1)
    for protocol, client_auth in (("SSL", "none"), ("PLAINTEXT", "required")):
        settings = settings_of(security={"protocol": protocol}, tls={**tls, "client_auth": client_auth})
        with pytest.raises(SettingsError, match=r"tls\.crl_file is set, but"):
            plan_lone_port(settings, "127.0.0.1", 1)


# ------------------------------------------------------------------------------------------------------- safe default

OPEN = "every client that reaches it gets in"
NO_LOGIN = "takes clients without a login, and"
ACL = {"enabled": True}


def test_a_host_that_does_not_exist_is_called_that() -> None:
    settings = settings_of(kafka={"host": "no..host"}, push={"host": "127.0.0.1"})
    with pytest.raises(SettingsError) as caught:
        check_exposure(plan_doors(settings), settings)
    assert str(caught.value) == (
        "the door PLAINTEXT at no..host:9092 cannot be opened: there is no host of that name; correct it, or listen on"
        " 127.0.0.1"
    )


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        (
            {"kafka": {"host": "0.0.0.0"}},
            [f"PLAINTEXT at 0.0.0.0:9092 is PLAINTEXT: {OPEN}", f"PUSH at 0.0.0.0:9999 is PLAINTEXT: {OPEN}"],
        ),
        ({"http": {"host": "::"}}, [f"HTTP at [::]:8080 is PLAINTEXT: {OPEN}"]),
        (
            {"kafka": {"host": "192.0.2.1"}, "push": {"host": "127.0.0.1"}, "acl": ACL},
            [f"PLAINTEXT at 192.0.2.1:9092 is PLAINTEXT: {OPEN}"],
        ),
        ({"listeners": {"addresses": "SSL://:1"}, "tls": TLS}, ["SSL at 0.0.0.0:1 has no rules"]),
        ({"listeners": {"addresses": "SASL_SSL://:1"}, "tls": TLS}, ["SASL_SSL at 0.0.0.0:1 has no rules"]),
        (
            {
                "listeners": {"addresses": "SASL_SSL://:1"},
                "tls": TLS,
                "acl": ACL,
                "sasl": {"enabled_mechanisms": "PLAIN"},
            },
            [],
        ),
        ({"listeners": {"addresses": "SASL_PLAINTEXT://:1"}, "acl": ACL}, []),
        (
            {"listeners": {"addresses": "SASL_PLAINTEXT://:1"}, "acl": ACL, "sasl": {"enabled_mechanisms": "PLAIN"}},
            ["SASL_PLAINTEXT at 0.0.0.0:1 takes passwords in plain text"],
        ),
        (
            {
                "listeners": {"addresses": "PLAINTEXT://localhost:1,HTTP://:2", "protocols": "HTTP:SASL_PLAINTEXT"},
                "acl": ACL,
            },
            ["HTTP at 0.0.0.0:2 takes passwords and tokens in plain text"],
        ),
        (
            {"listeners": {"addresses": "SSL://:1"}, "tls": TLS, "acl": {**ACL, "super_users": "User:admin"}},
            [],
        ),
        (
            {
                "listeners": {"addresses": "SSL://:1,SASL_SSL://:2"},
                "tls": {**TLS, "client_auth": "requested"},
                "acl": {**ACL, "allow_everyone_if_no_acl_found": True},
            },
            [f"SSL at 0.0.0.0:1 {NO_LOGIN} everyone may do everything that no rule is about"],
        ),
        (
            {
                "listeners": {"addresses": "SSL://:1,HTTP://:2", "protocols": "HTTP:SSL"},
                "tls": TLS,
                "acl": {**ACL, "super_users": "User:*;User:ANONYMOUS"},
            },
            [
                f"{door} {NO_LOGIN} {who} is a super user"
                for door in ("SSL at 0.0.0.0:1", "HTTP at 0.0.0.0:2")
                for who in ("User:ANONYMOUS", "User:*")
            ],
        ),
        (
            {
                "listeners": {"addresses": "SSL://:1,PLAINTEXT://127.0.0.1:2"},
                "tls": {**TLS, "client_auth": "required", "client_ca_file": "ca.pem"},
                "acl": {**ACL, "allow_everyone_if_no_acl_found": True, "super_users": "User:ANONYMOUS"},
            },
            [],
        ),
        ({"network": {"type": "unix"}, "kafka": {"host": "0.0.0.0"}, "push": {"host": "localhost"}}, []),
    ],
)
def test_a_door_to_the_world_needs_protection(sections: dict[str, dict[str, Any]], told: list[str]) -> None:
    settings = settings_of(**sections)
    plans = plan_doors(settings)
    if not told:
        assert check_exposure(plans, settings) == []
        return
    with pytest.raises(SettingsError) as caught:
        check_exposure(plans, settings)
    *problems, ways_out = str(caught.value).splitlines()
    assert len(problems) == len(told)
    for problem, expected in zip(problems, told, strict=True):
        assert expected in problem
    for way in ("penstock security init", "127.0.0.1", "--insecure"):
        assert way in ways_out
    accepted = settings_of(**sections, security={"insecure": True})
    assert check_exposure(plan_doors(accepted), accepted) == problems


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("unix:/x", True),
        ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("no-such-name.invalid", False),
    ],
)  # fmt: skip
def test_what_is_local(host: str, local: bool) -> None:
    assert is_local(host) is local

"""Principals of client certificates: names as Java prints them, and Kafka's mapping rules."""

from __future__ import annotations

import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import NameAttribute, RelativeDistinguishedName
from cryptography.x509.oid import NameOID, ObjectIdentifier

from penstock.security.tls.distinguished_name import subject_of
from penstock.security.tls.principal_rules import NoRuleFits, PrincipalRules

# Printed by X500Principal.getName() of Java 17.
NAMES: list[tuple[list[list[tuple[ObjectIdentifier, str]]], str]] = [
    (
        [
            [(NameOID.COUNTRY_NAME, "DE")],
            [(NameOID.STATE_OR_PROVINCE_NAME, "Bayern")],
            [(NameOID.LOCALITY_NAME, "München")],
            [(NameOID.ORGANIZATION_NAME, "A, B + C")],
            [(NameOID.ORGANIZATIONAL_UNIT_NAME, 'x="1";<y>')],
            [(NameOID.COMMON_NAME, "alice")],
        ],
        r"CN=alice,OU=x\=\"1\"\;\<y\>,O=A\, B \+ C,L=München,ST=Bayern,C=DE",
    ),
    ([[(NameOID.COMMON_NAME, " #lead and trail  ")]], r"CN=\ \#lead and trail\ \ "),
    (
        [[(NameOID.COMMON_NAME, "#hash")], [(NameOID.EMAIL_ADDRESS, "a@b.c")]],
        r"1.2.840.113549.1.9.1=#16056140622e63,CN=\#hash",
    ),
    (
        [[(NameOID.COMMON_NAME, "multi"), (NameOID.USER_ID, "u1"), (NameOID.ORGANIZATION_NAME, "o")]],
        "O=o+CN=multi+UID=u1",
    ),
    (
        [
            [(NameOID.DOMAIN_COMPONENT, "example")],
            [(NameOID.DOMAIN_COMPONENT, "org")],
            [(NameOID.STREET_ADDRESS, "a\\b")],
            [(NameOID.SERIAL_NUMBER, "42")],
            [(NameOID.TITLE, "Dr")],
        ],
        r"2.5.4.12=#0c024472,2.5.4.5=#13023432,STREET=a\\b,DC=org,DC=example",
    ),
    (
        [[(NameOID.COMMON_NAME, "tab\tnew é 日本 a=b")], [(ObjectIdentifier("1.2.3.4"), "z" * 200)]],
        rf"1.2.3.4=#0c81c8{'7a' * 200},CN=tab" + "\tnew é 日本 a\\=b",
    ),
]


def _certificate(parts: list[list[tuple[ObjectIdentifier, str]]]) -> bytes:
    name = x509.Name([RelativeDistinguishedName([NameAttribute(*one) for one in part]) for part in parts])
    key = ec.generate_private_key(ec.SECP256R1())
    begin = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(begin).not_valid_after(begin.replace(year=2036))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


@pytest.mark.parametrize(("parts", "printed"), NAMES)
def test_subjects_are_printed_as_java_prints_them(
    parts: list[list[tuple[ObjectIdentifier, str]]], printed: str
) -> None:
    assert subject_of(_certificate(parts)) == printed


SUBJECT = "CN=kafka-0,OU=ServiceUsers,O=Unknown,L=Unknown,ST=Unknown,C=Unknown"


@pytest.mark.parametrize(
    ("rules", "subject", "name"),
    [
        ("", SUBJECT, SUBJECT),
        ("DEFAULT", SUBJECT, SUBJECT),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", SUBJECT, "kafka-0"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/U", SUBJECT, "KAFKA-0"),
        ("RULE:^CN=(.*?),OU=(.*?),.*$/$1@$2/L", SUBJECT, "kafka-0@serviceusers"),
        ("RULE:^CN=nobody$/x/, RULE:^cn=(.*)$/$1/, DEFAULT", SUBJECT, SUBJECT),
        ("RULE:^.*[Cc][Nn]=([a-zA-Z0-9.-]*).*$/$1/L,DEFAULT", SUBJECT, "kafka-0"),
        ("RULE:^CN=(.*)$/$1$2/", "CN=a", "a$2"),
        (r"RULE:^CN=a\/b$/x\/y/", "CN=a/b", "x/y"),
    ],
)
def test_rules(rules: str, subject: str, name: str) -> None:
    assert str(PrincipalRules.parse(rules).principal(subject)) == f"User:{name}"


def test_without_a_fitting_rule_there_is_no_principal() -> None:
    rules = PrincipalRules.parse("RULE:^CN=(.*?),OU=Admins.*$/$1/")
    with pytest.raises(NoRuleFits, match="CN=kafka-0"):
        rules.principal(SUBJECT)
    with pytest.raises(NoRuleFits):
        PrincipalRules.parse("RULE:CN=kafka/$1/").principal(SUBJECT)  # a rule fits the whole subject or not at all


@pytest.mark.parametrize(
    "rules", ["nonsense", "RULE:a/b", "RULE:a/b/X", "DEFAULT/L", "RULE:(/x/", "RULE:a/b/,,DEFAULT"]
)
def test_malformed_rules_are_refused(rules: str) -> None:
    with pytest.raises(ValueError):
        PrincipalRules.parse(rules)

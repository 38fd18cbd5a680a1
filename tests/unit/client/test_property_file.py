"""Files of client properties: Java's notation, and values of librdkafka's users, which have no escapes."""

from __future__ import annotations

import pytest

from penstock.client.security.properties import ClientSecurity, SecurityProblem
from penstock.client.security.property_file import parse_properties

MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a.b=c\n", {"a.b": "c"}),
        ("a.b = c d \t\r\nx=y", {"a.b": "c d", "x": "y"}),
        ("security.protocol: SSL", {"security.protocol": "SSL"}),
        ("security.protocol SSL", {"security.protocol": "SSL"}),
        ("\tsecurity.protocol \t: SSL", {"security.protocol": "SSL"}),
        ("sasl.password=:a = b", {"sasl.password": ":a = b"}),
        ("sasl.password:=a:b", {"sasl.password": "=a:b"}),
        ("sasl.password a=b", {"sasl.password": "a=b"}),
        ("ssl.endpoint.identification.algorithm=", {"ssl.endpoint.identification.algorithm": ""}),
        ("# remark = \\\n ! another: one\n\n \t\na=b", {"a": "b"}),
        ("a=b \\\n   c\\\r\n\td\nx=y", {"a": "b cd", "x": "y"}),
        ("a=b\\\n# no remark\n", {"a": "b# no remark"}),
        ("a=b\\\\\nx=y", {"a": "b\\\\", "x": "y"}),
        ("a=b\u2028c\x0bd\x85e", {"a": "b\u2028c\x0bd\x85e"}),
    ],
)
def test_lines(text: str, found: dict[str, str]) -> None:
    assert parse_properties(text) == found


@pytest.mark.parametrize("name", ["sasl.password", "sasl.username", "ssl.key.password", "ssl.ca.location"])
@pytest.mark.parametrize("value", ["a\\b", "\\u0041", "c:\\temp\\new", 'a\\"b', "two\\\\", "\\ x"])
def test_backslashes_of_values_are_what_they_are(name: str, value: str) -> None:
    assert parse_properties(f"{name}={value}\n") == {name: value}


@pytest.mark.parametrize(
    ("written", "password"),
    [
        (r'"a\\"b\\\\c d;e"', 'a"b\\c d;e'),
        (r'"\u0061\u00e4\ud83d\ude00"', "aä\N{GRINNING FACE}"),
        (r'"a\:b\=c\#"', "a:b=c#"),
        (r'"a\\tb\\101\\50\\8"', "a\tbA(8"),
        (r"'it\\'s'", "it's"),
        ("plain\\\n  -word", "plain-word"),
    ],
)
def test_a_login_configuration_has_the_escapes_of_java(written: str, password: str) -> None:
    login = f"sasl.jaas.config={MODULE} \\\n username=u password={written};"
    text = f"security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-256\n{login}"
    found = ClientSecurity.of(parse_properties(text))
    assert (found.username, found.password) == ("u", password)


def test_certificates_that_only_java_has_as_text_have_line_breaks() -> None:
    text = r"ssl.truststore.certificates=-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n" "\n"
    (value,) = parse_properties(text).values()
    assert value.splitlines() == ["-----BEGIN CERTIFICATE-----", "MII=", "-----END CERTIFICATE-----"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\n\ngeheim\n", "line 3 is not NAME=VALUE"),
        ("geheim  \n", "line 1 is not NAME=VALUE"),
        ("=geheim", "line 1 is not NAME=VALUE"),
        ("a=b\\\n geheim\\", "the last line goes on behind the end of the file"),
        ("sasl.password=geheim\\\n", "the last line goes on behind the end of the file"),
        ("sasl.password=geheim\\\r\n", "the last line goes on behind the end of the file"),
        (r"sasl.jaas.config=geheim\u00g0", "line 1 has a \\u that is no character in Java's notation"),
        (r"sasl.jaas.config=geheim\ud83d", "line 1 has a \\u that is no character in Java's notation"),
    ],
)
def test_mistakes_are_named_by_their_line_and_nothing_else(text: str, told: str) -> None:
    with pytest.raises(SecurityProblem) as caught:
        parse_properties(text)
    assert str(caught.value) == told

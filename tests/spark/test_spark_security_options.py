"""Options of security without a session: where secrets may come from, and that nothing prints them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.client.security.properties import ClientSecurity, SecurityProblem
from penstock.client.security.property_file import parse_properties
from penstock_spark.bulk.archive import ArchiveSettings
from penstock_spark.bulk.pieces import PieceTask
from penstock_spark.errors import BadOption
from penstock_spark.reading.batch_reader import BatchReader
from penstock_spark.reading.options import parse_read
from penstock_spark.writing.options import parse_write

WORD = "xyzzy-plugh"
LOGIN = {
    "kafka.bootstrap.servers": "localhost:9092",
    "kafka.security.protocol": "SASL_SSL",
    "kafka.sasl.mechanism": "SCRAM-SHA-512",
    "kafka.sasl.username": "alice",
}


def security(**options: str) -> ClientSecurity:
    return parse_read({**LOGIN, "subscribe": "t", **options}, streaming=False).broker.security


def secret_file(directory: Path, text: str = WORD, mode: int = 0o600) -> Path:
    path = directory / "secret"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_secret_in_a_file_or_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = secret_file(tmp_path, f"{WORD}\n")
    assert security(**{"kafka.sasl.password": f"file:{path}"}).password == WORD
    monkeypatch.setenv("APP_PASSWORD", WORD)
    assert security(**{"kafka.sasl.password": "env:APP_PASSWORD"}).password == WORD
    jaas = f'org.apache.kafka.common.security.scram.ScramLoginModule required username="bob" password="{WORD}";'
    path.write_text(jaas)
    assert security(**{"kafka.sasl.jaas.config": f"file:{path}", "kafka.sasl.username": ""}).username == "bob"
    named = security(**{"kafka.sasl.username": "env:APP_PASSWORD", "kafka.sasl.password": "p"})
    assert named.username == "env:APP_PASSWORD", "a name is no secret"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("file:{directory}/none", "kafka.sasl.password: .*none cannot be read"),
        ("file:{directory}/secret", r"is open to other users.*chmod 600"),
        ("env:NO_SUCH_VARIABLE", "NO_SUCH_VARIABLE is not set for the driver"),
    ],
)
def test_a_reference_that_cannot_be_used(tmp_path: Path, value: str, told: str) -> None:
    secret_file(tmp_path, mode=0o644)
    assert "NO_SUCH_VARIABLE" not in os.environ
    with pytest.raises(BadOption, match=told) as caught:
        security(**{"kafka.sasl.password": value.format(directory=tmp_path)})
    assert WORD not in str(caught.value)


def test_a_file_with_all_properties(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text(
        "# of a Java client\n\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\ncompression.type=zstd\n"
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\\n"
        f'    username="carol" \\\n    password="{WORD}";\n'
    )
    where = {"kafka.bootstrap.servers": "localhost:9092", "commandConfig": str(path)}
    for found in (
        parse_read({**where, "subscribe": "t"}, streaming=True).broker.security,
        parse_write({**where, "topic": "t"}, streaming=False).broker.security,
    ):
        assert (found.username, found.password, found.protocol) == ("carol", WORD, "SASL_SSL")
    of_option = parse_read({**where, "subscribe": "t", "kafka.security.protocol": "SASL_PLAINTEXT"}, streaming=True)
    assert of_option.broker.security.protocol == "SASL_PLAINTEXT"
    assert parse_read({**where, "commandConfig": "", "subscribe": "t"}, streaming=True).broker.security.protocol == (
        "PLAINTEXT"
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [(f"sasl.password={WORD}\n{WORD}\n", "line 2 is not NAME=VALUE"), (f"a=b\\\n{WORD}\\\n", "goes on behind the end")],
)
def test_a_file_that_is_no_properties(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(SecurityProblem, match=told):
        parse_properties(text)
    path = tmp_path / "client.properties"
    path.write_text(text)
    with pytest.raises(BadOption, match=told) as caught:
        security(commandConfig=str(path))
    assert WORD not in str(caught.value)
    with pytest.raises(BadOption, match="none cannot be read on the driver: No such file"):
        security(commandConfig=str(tmp_path / "none"))


def test_a_mistake_does_not_take_the_check_of_host_names_away() -> None:
    name = "kafka.ssl.endpoint.identification.algorithm"
    with pytest.raises(BadOption, match=f"{name} is https, or empty"):
        security(**{name: "htps", "kafka.sasl.password": WORD})
    assert not security(**{name: "", "kafka.sasl.password": WORD}).verifies_names
    assert security(**{name: "HTTPS", "kafka.sasl.password": WORD}).verifies_names


def test_nothing_prints_a_secret() -> None:
    secrets = {
        "kafka.sasl.password": WORD, "kafka.ssl.key.password": WORD, "kafka.ssl.keystore.key": WORD,
        "kafka.ssl.keystore.certificate.chain": "public",
    }  # fmt: skip
    read = parse_read({**LOGIN, **secrets, "subscribe": "t"}, streaming=False)
    write = parse_write({**LOGIN, **secrets, "topic": "t"}, streaming=True)
    task = PieceTask("localhost:9092", "t", "/tmp", 1, "none", False, security=read.broker.security)
    settings = ArchiveSettings("localhost:9092", security=read.broker.security)
    assert read.broker.security.key == WORD
    for each in (read, write, task, settings, BatchReader(read)):
        assert WORD not in f"{each!r} {each}"


def test_a_key_that_spark_would_show_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    plain = f"-----BEGIN PRIVATE KEY-----\n{WORD}\n-----END PRIVATE KEY-----"
    given = {"kafka.sasl.password": "p", "kafka.ssl.keystore.certificate.chain": "c"}
    security(**given, **{"kafka.ssl.keystore.key": plain.replace("PRIVATE", "ENCRYPTED PRIVATE")})
    assert not caplog.records
    security(**given, **{"kafka.ssl.keystore.key": plain})
    assert "kafka.ssl.keystore.key in plans" in caplog.text
    assert WORD not in caplog.text


def test_options_of_other_stores_and_logins_are_named_without_their_values(caplog: pytest.LogCaptureFixture) -> None:
    given = {"kafka.sasl.password": "p", "kafka.ssl.truststore.password": WORD, "kafka.sasl.login.class": WORD}
    parse_read({**LOGIN, "subscribe": "t", **given}, streaming=False).planner.connect()
    assert "ignores options of this batch read: kafka.sasl.login.class (logins are" in caplog.text
    assert "kafka.ssl.truststore.password (TLS is" in caplog.text
    assert WORD not in caplog.text

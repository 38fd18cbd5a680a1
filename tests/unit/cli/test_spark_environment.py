"""Errors for an unsuitable Java or Python of Spark's workers. Both are small programs made here."""

import sys
from pathlib import Path

import pytest

from penstock.cli.log.tail import telling_line
from penstock.cli.pipeline.spark_environment import check_java, worker_python
from penstock.cli.terminal.errors import CommandError

JAVA_PACKAGE = "openjdk-17-jre-headless"


def program(path: Path, told: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{told}' >&2\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "is Java 11, but Spark needs 17"),
        ('java version "1.8.0_202"', "is Java 8, but Spark needs 17"),
        ("who knows", "does not show a version: who knows"),
    ],
)
def test_a_java_that_will_not_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, expected: str) -> None:
    program(tmp_path / "bin" / "java", told)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(CommandError, match=expected) as refused:
        check_java()
    assert JAVA_PACKAGE in str(refused.value)


def test_java_home_goes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "bin" / "java", 'openjdk version "21.0.1" 2023-10-17')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    check_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(CommandError, match="no Java at JAVA_HOME="):
        check_java()


def test_the_python_of_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert worker_python() == sys.executable
    other = program(tmp_path / "python", "No module named pyspark")
    monkeypatch.setenv("PYSPARK_PYTHON", str(other))
    with pytest.raises(CommandError, match="No module named pyspark; unset it"):
        worker_python()
    program(other, "3 9 4.3.0")
    with pytest.raises(CommandError, match="cannot run Penstock's source with Python"):
        worker_python()
    program(other, f"{sys.version_info[0]} {sys.version_info[1]} 4.3.0")
    assert worker_python() == str(other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "INFO a\nERROR b\nCaused by: java.net.BindException: in use\n\tat x\nINFO c",
            "java.net.BindException: in use",
        ),
        ("INFO a\nException in thread main: b\n\tat x", "Exception in thread main: b"),
        ("just\nlines\n", "lines"),
        ("", "it printed nothing"),
    ],
)
def test_the_line_of_a_log_that_tells_why(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "log").write_text(text)
    assert telling_line(tmp_path / "log") == expected

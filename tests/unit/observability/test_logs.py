"""Log lines and levels by module."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from penstock.observability.logs import configure_logs, logger_name


@pytest.fixture(autouse=True)
def restored_root() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name in ("penstock.storage", "penstock.net"):
        logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.mark.feature("F-08")
def test_a_line_has_time_level_module_message_and_fields() -> None:
    stream = io.StringIO()
    configure_logs("INFO", {}, stream=stream)
    logging.getLogger("penstock.net.listener").info("listening", extra={"host": "::1", "note": "two words"})
    time, level, module, rest = stream.getvalue().split(maxsplit=3)
    assert time.endswith("Z")
    assert (level, module, rest) == ("INFO", "net.listener", 'listening host=::1 note="two words"\n')


@pytest.mark.feature("F-08")
def test_modules_have_levels_of_their_own() -> None:
    stream = io.StringIO()
    configure_logs("WARNING", {"storage": "DEBUG", "net": "ERROR"}, stream=stream)
    for name in ("penstock.storage.log.log", "penstock.net.listener", "penstock.broker"):
        logging.getLogger(name).debug("debug")
        logging.getLogger(name).warning("warning")
    lines = [tuple(line.split()[1:3]) for line in stream.getvalue().splitlines()]
    assert lines == [("DEBUG", "storage.log.log"), ("WARNING", "storage.log.log"), ("WARNING", "broker")]


def test_control_characters_of_strangers_do_not_reach_a_terminal() -> None:
    hostile = "\x00\x1b[2J\x7f\x85\x9b31m\u2028\u2029\u202e\ud800\r\n"
    for as_json in (False, True):
        stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
        configure_logs("INFO", {}, as_json=as_json, stream=stream)
        logging.getLogger("penstock.net").warning("group %s", hostile, extra={"client": hostile})
        stream.flush()
        assert isinstance(stream.buffer, io.BytesIO)
        line = stream.buffer.getvalue().decode()
        assert line.endswith("\n")
        assert line[:-1].isprintable()
        assert len(line.splitlines()) == 1
        if as_json:
            assert json.loads(line)["client"] == hostile


def test_an_event_is_one_line_even_with_a_traceback() -> None:
    for as_json in (False, True):
        stream = io.StringIO()
        configure_logs("INFO", {}, as_json=as_json, stream=stream)
        try:
            raise OSError("first\nsecond")
        except OSError:
            logging.getLogger("penstock.storage").exception("it\nfailed", extra={"path": "/a b"})
        assert stream.getvalue().count("\n") == 1
        assert "first\\nsecond" in stream.getvalue()
        if as_json:
            event = json.loads(stream.getvalue())
            assert (event["message"], event["path"], event["level"]) == ("it\nfailed", "/a b", "ERROR")


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("storage", "penstock.storage"),
        ("penstock.net", "penstock.net"),
        ("observability.metrics", "penstock.observability.metrics"),
        ("uvicorn.error", "uvicorn.error"),
    ],
)
def test_modules_are_named_from_the_package_down(module: str, name: str) -> None:
    assert logger_name(module) == name


@pytest.mark.parametrize(
    ("module", "hint"),
    [("storge", "did you mean storage?"), ("observability.metric", "did you mean observability.metrics?")],
)
def test_an_unknown_module_is_an_error_with_a_suggestion(module: str, hint: str) -> None:
    with pytest.raises(ValueError, match=r"unknown module") as caught:
        logger_name(module)
    assert hint in str(caught.value)

"""Texts that give levels to everything and to modules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config.log_levels import LogLevel, parse_log_levels

pytestmark = pytest.mark.feature("F-08", "F-11")


@pytest.mark.parametrize(
    ("text", "level", "modules"),
    [
        (None, None, {}),
        ("", None, {}),
        ("INFO", "INFO", {}),
        ("debug", "DEBUG", {}),
        ("trace", "DEBUG", {}),
        ("warn", "WARNING", {}),
        ("fatal", "CRITICAL", {}),
        ("storage=DEBUG", None, {"storage": "DEBUG"}),
        ("warning,storage=debug , net.listener = error", "WARNING", {"storage": "DEBUG", "net.listener": "ERROR"}),
        ("net=warn,INFO", "INFO", {"net": "WARNING"}),
        ("INFO,info,net=trace,net=DEBUG,", "INFO", {"net": "DEBUG"}),
    ],
)
def test_a_level_for_everything_and_levels_of_modules(
    text: str | None, level: str | None, modules: dict[str, str]
) -> None:
    assert parse_log_levels(text) == (level, modules)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("loud", "'LOUD' is not a level; levels are DEBUG, INFO, WARNING, ERROR, CRITICAL"),
        ("net=", "'' is not a level"),
        ("net=loud", "'LOUD' is not a level"),
        ("=DEBUG", "names no module; write it as storage=DEBUG"),
        ("a=b=c", "'C' is not a level"),
        ("INFO,DEBUG", "two levels for everything, INFO and DEBUG; give one of them"),
        ("net=INFO,net=DEBUG", "net has two levels, INFO and DEBUG; give one of them"),
        ("INFO DEBUG", "is not a level"),
    ],
)
def test_a_mistake_is_told_with_the_remedy(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=r"level|module") as caught:
        parse_log_levels(text)
    assert told in str(caught.value)


@given(st.text(alphabet="aINFO=,. debug", max_size=30))
def test_whatever_is_written_is_levels_or_a_sentence(text: str) -> None:
    try:
        level, modules = parse_log_levels(text)
    except ValueError as error:
        told = str(error)
    else:
        told = "nothing wrong"
        assert level is None or level in LogLevel
        assert all(name and each in LogLevel for name, each in modules.items())
    assert told

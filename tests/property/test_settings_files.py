"""Any file of settings gives settings, or sentences that name the file, and never anything else."""

from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.config.loading import ConfigError, load
from penstock.config.references import NAMES
from penstock.config.settings import keys

WORDS = sorted({word for name in (*keys(), *NAMES.values()) for word in name.split(".")})
NAMES_IN_FILES = st.one_of(st.sampled_from([*keys(), *NAMES.values()]), st.sampled_from(WORDS), st.text(max_size=5))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 70_000),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["${A}", "${A:1}", "a=1,b", "DEBUG", "disk", "host:1", "http://h:1/"]),
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(NAMES_IN_FILES, inner, max_size=4)),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files") / "settings.yaml"


def check(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    try:
        explained = set(load(path, {}).origins)
    except ConfigError as error:
        told = error.problems
    else:
        told = ("nothing wrong",)
        assert explained == set(keys())
    assert told
    assert all(problem.strip() for problem in told)


@given(tree=st.dictionaries(NAMES_IN_FILES, TREES, max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
def test_any_tree_is_settings_or_a_list_of_mistakes(path: Path, tree: dict[str, object]) -> None:
    check(path, yaml.safe_dump(tree, allow_unicode=True))


@given(lines=st.lists(st.tuples(NAMES_IN_FILES, st.text(alphabet="a1'\"[]{}:#= \t", max_size=8)), max_size=5))
@settings(deadline=None)
def test_any_assignments_are_settings_or_a_list_of_mistakes(path: Path, lines: list[tuple[str, str]]) -> None:
    check(path, "\n".join(f"{name} = {value}" for name, value in lines))

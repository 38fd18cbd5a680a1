"""docs/configuration.md is what the settings model says: every setting, its bounds, and its variables."""

from pathlib import Path

import pytest

from penstock.config.environment import variable_name
from penstock.config.references import TABLES, VARIABLES
from penstock.config.settings import Settings, keys
from tools import doc_tables

pytestmark = pytest.mark.feature("P-25")

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"


def text() -> str:
    return PAGE.read_text(encoding="utf-8")


def section(title: str) -> str:
    return text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_page_is_the_one_the_model_makes() -> None:
    made = text()
    for name, (file, make) in doc_tables.TABLES.items():
        if file == PAGE.name:
            made = doc_tables.with_table(made, name, make())
    assert text() == made, "run .venv/bin/python tools/doc_tables.py"


def test_every_setting_has_a_row_with_its_variable_and_meaning() -> None:
    lines = section("Every setting").splitlines()
    rows = {line.split("`")[1]: line for line in lines if line.startswith("| `")}
    assert set(rows) == set(keys())
    for key, row in rows.items():
        _, default, values, variable, meaning = row.strip("| ").split(" | ", 4)
        assert f"`{variable_name(key)}`" in variable
        assert default.strip()
        assert values.strip()
        assert meaning.strip(), f"{key} is not explained"


def test_shorter_variables_are_there() -> None:
    assert all(f"`{variable}`" in section("Every setting") for variable in VARIABLES)


def test_every_section_has_a_heading() -> None:
    assert all(f"\n### {section}\n" in text() for section in Settings.model_fields)


@pytest.mark.feature("P-25", "Q-08", "F-11")
def test_every_name_of_another_system_is_there_with_what_it_becomes() -> None:
    names = section("Names of other systems")
    for table in TABLES.values():
        for name in table:
            assert any(f"`{name}` |" in line for line in names.splitlines())
    assert all(f"`{variable}`" in names for variable in VARIABLES)

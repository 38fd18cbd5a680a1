"""docs/configuration.md is what the settings model says: every setting, its bounds, and its variables."""

from pathlib import Path

import pytest

from penstock.config.settings import Settings, keys
from penstock.config.sources import REFERENCE_VARIABLES, variable_name
from tools.doc_tables import settings_sections, with_table

pytestmark = pytest.mark.feature("P-25")

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"


def text() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_the_page_is_the_one_the_model_makes() -> None:
    assert text() == with_table(text(), "settings", settings_sections()), "run .venv/bin/python tools/doc_tables.py"


def test_every_setting_has_a_row_with_its_variable_and_meaning() -> None:
    rows = {line.split("`")[1]: line for line in text().splitlines() if line.startswith("| `")}
    assert set(rows) == set(keys())
    for key, row in rows.items():
        _, default, values, variable, meaning = row.strip("| ").split(" | ", 4)
        assert f"`{variable_name(key)}`" in variable
        assert default.strip()
        assert values.strip()
        assert meaning.strip(), f"{key} is not explained"


def test_shorter_variables_are_there() -> None:
    assert all(f"`{variable}`" in text() for variable in REFERENCE_VARIABLES)


def test_every_section_has_a_heading() -> None:
    assert all(f"\n### {section}\n" in text() for section in Settings.model_fields)

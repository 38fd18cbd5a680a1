"""docs/compatibility.md lists exactly the APIs of the broker, with the versions they have."""

import re
from pathlib import Path

import pytest

from penstock.protocol.kafka.apis import APIS, Api
from tools.doc_tables import api_table, with_table

PAGE = Path(__file__).parents[3] / "docs" / "compatibility.md"
ROW = re.compile(r"^\| (\d+) \| (\w+) \| (\d+)(?:–(\d+))?(?:, advertised (\d+)–(\d+))? \|", re.MULTILINE)


def rows() -> dict[int, re.Match[str]]:
    return {int(row[1]): row for row in ROW.finditer(PAGE.read_text(encoding="utf-8"))}


def test_the_table_is_the_one_the_code_makes() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == with_table(text, "apis", api_table()), "run .venv/bin/python tools/doc_tables.py"


def test_no_api_is_missing_or_invented() -> None:
    assert set(rows()) == set(APIS)


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_versions(api: Api) -> None:
    row = rows()[api.key]
    oldest, newest = int(row[3]), int(row[4] or row[3])
    assert (row[2], oldest, newest) == (api.name, api.oldest, api.newest)
    advertised = (int(row[5]), int(row[6])) if row[5] else (oldest, newest)
    assert advertised == (api.advertised_oldest, api.newest)

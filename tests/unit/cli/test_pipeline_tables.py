"""Tables that are read from definitions without running them."""

from pathlib import Path

import pytest

from penstock.cli.pipeline.project import Project
from penstock.cli.pipeline.tables import DefinedTables, defined_tables
from penstock.cli.terminal.errors import CommandError, ExitCode


def project(directory: Path, **definitions: str) -> DefinedTables:
    folder = directory / "transformations"
    folder.mkdir()
    for name, text in definitions.items():
        (folder / name.replace("_", ".")).write_text(text)
    spec = directory / "spark-pipeline.yml"
    found = Project(spec=spec, name="x", storage="file:///x", configuration={}, libraries=("transformations/**",))
    return defined_tables(found)


SQL = "CREATE OR REFRESH STREAMING TABLE a AS SELECT 1;\ncreate materialized view if not exists `b` AS SELECT 2"


@pytest.mark.parametrize(
    ("definition", "names"),
    [
        ("@dp.table\ndef c(): ...", {"c"}),
        ("@table(comment='x')\ndef c(): ...", {"c"}),
        ("@dp.materialized_view(name='d')\ndef c(): ...", {"d"}),
        ("dp.create_streaming_table('e')\ndp.create_streaming_table(name='f')", {"e", "f"}),
        ("@dp.temporary_view\ndef c(): ...\nspark.table('g')", set()),
    ],
)
def test_names_are_read(tmp_path: Path, definition: str, names: set[str]) -> None:
    found = project(tmp_path, a_sql=SQL, b_py=definition)
    assert found.names == {"a", "b"} | names
    assert found.complete


@pytest.mark.parametrize(
    "definition",
    [
        "@dp.table(name=f'{x}')\ndef c(): ...",
        "@dp.table(**options)\ndef c(): ...",
        "dp.create_streaming_table(name)",
        "dp.table(name='c')(query)",
        "from other import tables",
        "from . import tables",
        "def :",
    ],
)
def test_names_that_are_computed_are_left_to_spark(tmp_path: Path, definition: str) -> None:
    (tmp_path / "other.py").touch()
    found = project(tmp_path, a_sql=SQL, b_py=definition)
    assert not found.complete
    found.check("--show", ("nosuch",))


def test_an_unknown_table_is_refused_with_those_that_exist() -> None:
    tables = DefinedTables({"orders", "totals"})
    tables.check("--show", ("Orders", "elsewhere.nosuch"))
    with pytest.raises(CommandError, match=r"does not exist; the tables are orders, totals$") as refused:
        tables.check("--show", ("nosuch",))
    assert refused.value.code is ExitCode.NOT_FOUND
    with pytest.raises(CommandError, match=r"did you mean orders\? \(the tables are orders, totals\)"):
        tables.check("--show", ("order",))
    with pytest.raises(CommandError, match="defines no tables"):
        DefinedTables().check("--show", ("order",))

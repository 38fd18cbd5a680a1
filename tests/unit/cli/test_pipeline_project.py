"""Spec files, right and wrong, and where a pipeline may run."""

import tomllib
from pathlib import Path

import pytest

from penstock.cli.pipeline.project import LOGS_KEPT, SPEC_NAMES, find_projects, open_project
from penstock.cli.pipeline.update import parse_where
from penstock.cli.terminal.errors import CommandError, ExitCode

SPEC = "name: shop\nstorage: state\nlibraries:\n  - glob:\n      include: transformations/**\n"


def make(directory: Path, text: str = SPEC) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / SPEC_NAMES[0]).write_text(text)
    return directory


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: [", "cannot be read"),
        ("just words", "is not a spec"),
        ("storage: state", "missing name, libraries"),
        (SPEC + "colour: red\n", "unknown field colour"),
        (SPEC + "configuration:\n  spark.sql.shuffle.partitions: 4\n", 'write "4" with quotation marks'),
        (SPEC + "configuration: 4\n", "configuration must be a mapping"),
        (SPEC + "configuration:\n  shop.sasl.password: xyzzy\n", "shop.sasl.password is a secret.*--command-config"),
    ],
)
def test_a_spec_with_a_mistake(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(CommandError, match=told) as refused:
        open_project(make(tmp_path, text))
    assert refused.value.code is ExitCode.USAGE
    assert "xyzzy" not in str(refused.value)


def test_the_file_with_a_login_is_relative_to_the_project(tmp_path: Path) -> None:
    named = SPEC + 'configuration:\n  penstock.command.config: "{}"\n  shop.sasl.password: "file:/etc/password"\n'
    assert open_project(make(tmp_path)).command_config is None
    assert open_project(make(tmp_path, named.format(""))).command_config is None
    assert open_project(make(tmp_path, named.format("c.properties"))).command_config == tmp_path / "c.properties"
    assert open_project(make(tmp_path, named.format("/etc/c.properties"))).command_config == Path("/etc/c.properties")


def test_storage_is_relative_to_the_project(tmp_path: Path) -> None:
    assert open_project(make(tmp_path)).storage == f"file://{tmp_path}/state"
    far = SPEC.replace("storage: state", "storage: s3a://bucket/shop")
    assert open_project(make(tmp_path, far)).storage == "s3a://bucket/shop"


def test_two_specs(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / SPEC_NAMES[1]).write_text(SPEC)
    with pytest.raises(CommandError, match="two spec files"):
        open_project(tmp_path)
    assert open_project(tmp_path / SPEC_NAMES[1]).name == "shop"


def test_projects_are_found_below_a_directory(tmp_path: Path) -> None:
    make(tmp_path / "b")
    make(tmp_path / "a" / "inner")
    make(tmp_path / "b" / "state" / "copy")
    make(tmp_path / ".hidden")
    assert [str(spec.parent.relative_to(tmp_path)) for spec in find_projects(tmp_path)] == ["a/inner", "b"]


def test_old_logs_make_room(tmp_path: Path) -> None:
    project = open_project(make(tmp_path))
    for number in range(LOGS_KEPT + 5):
        project.new_log(f"2026-{number:02}").touch()
    names = sorted(path.stem for path in (project.state / "logs").iterdir())
    assert names == [f"2026-{number:02}" for number in range(5, LOGS_KEPT + 5)]


def test_where_a_pipeline_runs() -> None:
    assert parse_where(None, None).is_local
    assert not parse_where("spark://a:7077", None).is_local
    assert parse_where(None, "sc://a:15002").name == "sc://a:15002"
    for master, remote, told in (
        ("spark://a:1", "sc://a:1", "cannot be used together"),
        ("http://a", None, "not the address of a cluster"),
        (None, "a:15002", "sc://localhost:15002"),
    ):
        with pytest.raises(CommandError, match=told):
            parse_where(master, remote)


def test_the_package_has_the_whole_example() -> None:
    root = Path(__file__).parents[3]
    packed = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    paths = [path.relative_to(root) for path in (root / "examples" / "prices").rglob("*") if path.is_file()]
    names = [str(path) for path in paths if not {"state", "__pycache__"} & set(path.parts)]
    files = {name: f"penstock/cli/pipeline/{name}" for name in names}
    assert {name: place for name, place in packed["force-include"].items() if name in files} == files

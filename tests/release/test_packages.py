"""The wheel has what it needs and nothing else, and the sdist makes the same one. (`test_smoke` installs it.)"""

import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from penstock import __version__
from tests.support.made_once import made_once
from tools.packages import PackageError, differences, main, make, only, wheel_problems

pytestmark = pytest.mark.feature("K-21")

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "dist", make)  # which also builds the sdist's wheel and compares


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_has_code_types_templates_and_the_demo(dist: Path) -> None:
    wheel = only(dist, "penstock-*.whl")
    assert wheel.name == f"penstock-{__version__}-py3-none-any.whl"
    assert wheel_problems(wheel) == []
    found = names(wheel)
    assert {
        "penstock/py.typed",
        "penstock/__init__.pyi",
        "penstock/cli/bench/scenarios/mixed.yaml",
        "penstock/cli/pipeline/template/spark-pipeline.yml.txt",
        "penstock/cli/pipeline/template/.gitignore.txt",
        "penstock/cli/pipeline/examples/prices/transformations/bars.sql",
        "penstock_spark/source.py",
        "penstock_spark/jars/penstock-spark.jar",
        "pyspark_penstock.py",
    } <= found
    assert not any(name.startswith(("tests/", "tools/", "docs/", "bench/")) or "__pycache__" in name for name in found)


def test_the_second_wheel_has_the_jar_where_pyspark_finds_it(dist: Path) -> None:
    wheel, whole = only(dist, "penstock_spark-*.whl"), only(dist, "penstock-*.whl")
    with zipfile.ZipFile(wheel) as archive, zipfile.ZipFile(whole) as other:
        code = [name for name in archive.namelist() if ".dist-info/" not in name]
        assert code == ["pyspark/jars/penstock-spark.jar"]
        assert archive.read(code[0]) == other.read("penstock_spark/jars/penstock-spark.jar")
        metadata = archive.read(f"penstock_spark-{__version__}.dist-info/METADATA").decode()
    assert f"Requires-Dist: penstock[spark]=={__version__}" in metadata


def test_the_sdist_has_what_a_packager_needs(dist: Path) -> None:
    with tarfile.open(only(dist, "*.tar.gz")) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "Makefile",
        "README.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "requirements/dev.txt",
        "deploy/penstock.yml",
    } <= found
    assert {"tests/conftest.py", "tools/packages.py", "docs/diagrams/architecture.svg", "bench/__main__.py"} <= found
    assert not any(name.startswith(("data/", ".venv")) or "node_modules" in name or ".cache" in name for name in found)


def changed(wheel: Path, target: Path, *, without: str = "", more: str = "") -> Path:
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            if name != without:
                new.writestr(name, old.read(name))
        if more:
            new.writestr(more, "x")
    return target


@pytest.mark.parametrize(
    ("without", "more", "complaint"),
    [
        ("penstock/py.typed", "", "penstock/py.typed is missing: name it in pyproject.toml"),
        ("penstock/cli/bench/scenarios/mixed.yaml", "", "penstock/cli/bench/scenarios/mixed.yaml is missing"),
        (f"penstock-{__version__}.dist-info/entry_points.txt", "", "its metadata has no entry_points.txt"),
        ("", "tests/conftest.py", "tests/conftest.py does not belong into the wheel"),
    ],
)
def test_what_is_missing_or_too_much_is_named(
    dist: Path, tmp_path: Path, without: str, more: str, complaint: str
) -> None:
    wheel = only(dist, "penstock-*.whl")
    spoilt = changed(wheel, tmp_path / wheel.name, without=without, more=more)
    (problem,) = wheel_problems(spoilt)
    assert complaint in problem
    assert differences(wheel, spoilt) == [without or more]


def test_an_odd_file_is_not_shipped(tmp_path: Path, dist: Path) -> None:
    for package in ("penstock", "penstock_spark"):
        (tmp_path / "src" / package).mkdir(parents=True)
    (tmp_path / "src/penstock/core.dump").write_text("")
    wheel = changed(only(dist, "penstock-*.whl"), tmp_path / "some.whl", more="penstock/core.dump")
    assert "penstock/core.dump is no file to ship: move it out of src" in wheel_problems(wheel, tmp_path)


def test_a_project_that_does_not_build_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[build-system]\nrequires = []\n[project]\nname = "broken"\n')
    with pytest.raises(PackageError, match="hatchling failed"):
        make(tmp_path / "dist", tmp_path)
    assert not (tmp_path / "dist").exists()


def test_an_output_that_cannot_be_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["--output", str(tmp_path / "file" / "dist")]) == 1
    assert "file is no directory: give another one with --output" in capsys.readouterr().err


def test_the_targets_are_there() -> None:
    told = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = {line.split()[1] for line in told.splitlines()}
    assert {"all", "setup", "build", "smoke", "docs", "run", "test", "clean"} <= targets
    planned = subprocess.run(["make", "-n", "all"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    linted = ["ruff check", "tools/features.py --check", "mypy --strict", "lint-imports"]
    tested = ["pytest -n", 'pytest -n 4 --dist worksteal -m "full and']
    for steps in (linted, tested):  # which run beside each other
        places = [planned.index(step) for step in (*steps, "tools.packages", "tools.smoke", "tools.website")]
        assert places == sorted(places)

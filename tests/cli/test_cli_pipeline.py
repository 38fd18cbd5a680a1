"""`penstock pipeline` without Spark: projects, and everything that is refused before Spark would start."""

import fcntl
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import CommandLine

REPOSITORY = Path(__file__).parents[2]
JAVA_PACKAGE = "openjdk-17-jre-headless"
SPEC = "name: shop\nstorage: state\nlibraries:\n  - glob:\n      include: transformations/**\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "shop"
    directory.mkdir()
    (directory / "spark-pipeline.yml").write_text(SPEC)
    return directory


@pytest.mark.feature("S-03")
def test_init_writes_a_project(alone: CommandLine, tmp_path: Path) -> None:
    directory = tmp_path / "shop"
    told = alone("pipeline", "init", directory, "--topic", "shop-orders", "--bootstrap-server", "broker:9092")
    assert f"penstock pipeline run {directory}" in told.err
    names = sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())
    transformations = ["transformations/by_minute.sql", "transformations/table.py"]
    assert names == [".gitignore", "README.md", "spark-pipeline.yml", *transformations]
    text = "".join((directory / name).read_text() for name in names)
    assert "@" not in text.replace("@dp.table", "")
    assert 'penstock.bootstrap.servers: "broker:9092"' in text
    assert "def shop_orders()" in text
    assert '"subscribe", "shop-orders"' in text
    assert alone("pipeline", "list", tmp_path, "-o", "json").json == [
        {"project": "shop", "directory": str(directory), "last_run": None}
    ]


def test_init_copies_the_example(alone: CommandLine, tmp_path: Path) -> None:
    alone("pipeline", "init", tmp_path / "mine", "--example", "prices", "-b", "elsewhere:1")
    for name in ("README.md", "transformations/prices.py", "transformations/latest_price.sql"):
        assert (tmp_path / "mine" / name).read_text() == (REPOSITORY / "examples/prices" / name).read_text()
    assert 'penstock.bootstrap.servers: "elsewhere:1"' in (tmp_path / "mine" / "spark-pipeline.yml").read_text()


def test_init_refuses(alone: CommandLine, tmp_path: Path) -> None:
    assert "already exists" in alone("pipeline", "init", tmp_path, code=2).err
    assert "cannot be the name of a project" in alone("pipeline", "init", tmp_path / "a b", code=2).err
    told = alone("pipeline", "init", tmp_path / "x", "--example", "price", code=4).err
    assert "did you mean prices?" in told


def test_only_pipelines_are_offered_as_examples(alone: CommandLine, tmp_path: Path) -> None:
    """The directory of examples has other programs, too, which would make projects that cannot run."""
    for name in ("edge", "exactly-once", "fastapi-events", "simple-consumer", "simple-producer"):
        assert (REPOSITORY / "examples" / name).is_dir()
        refused = alone("pipeline", "init", tmp_path / "mine", "--example", name, code=4).err
        assert refused == f"penstock: example {name} does not exist; choose from: prices\n"
        assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("command", ["run", "validate", "status"])
def test_a_directory_without_a_spec_is_no_project(alone: CommandLine, tmp_path: Path, command: str) -> None:
    for path, problem in ((tmp_path, "it has no spark-pipeline.yml"), (tmp_path / "nowhere", "does not exist")):
        told = alone("pipeline", command, path, code=4).err
        assert problem in told
        assert "penstock pipeline init NAME" in told


@pytest.mark.parametrize("command", ["run", "validate", "status"])
def test_projects_nearby_are_named(alone: CommandLine, project: Path, command: str) -> None:
    parent = project.parent
    assert f"there are projects in {project}" in alone("pipeline", command, parent / "nosuch", code=4).err
    assert f"there are projects in {project}" in alone("pipeline", command, parent, code=4).err
    assert f"did you mean {project}?" in alone("pipeline", command, parent / "shopp", code=4).err


@pytest.mark.parametrize("option", ["--show", "--table"])
def test_a_table_that_is_not_defined_is_refused_at_once(alone: CommandLine, tmp_path: Path, option: str) -> None:
    """Before Spark starts, and before the broker is asked: it took over a minute and ended with 0."""
    alone("pipeline", "init", tmp_path / "mine", "--example", "prices", "-b", "127.0.0.1:1")
    told = alone("pipeline", "run", tmp_path / "mine", option, "nosuch", code=4, JAVA_HOME="/nowhere").err
    assert f"{option} nosuch: table nosuch does not exist" in told
    assert "the tables are bars, latest_price, prices, quarantine" in told
    assert "did you mean bars?" in alone("pipeline", "run", tmp_path / "mine", option, "bar", code=4).err
    alone("pipeline", "run", tmp_path / "mine", option, "bars", code=3)


def test_a_spec_with_a_mistake(alone: CommandLine, project: Path) -> None:
    (project / "spark-pipeline.yml").write_text(SPEC + "colour: red\n")
    assert "unknown field colour" in alone("pipeline", "run", project, code=2).err
    assert "unknown field colour" in alone("pipeline", "list", project.parent).out


def test_options_that_make_no_sense(alone: CommandLine, project: Path) -> None:
    both = alone("pipeline", "run", project, "--master", "spark://a:1", "--remote", "sc://a:1", code=2)
    assert "cannot be used together" in both.err
    assert "--every 'soon'" in alone("pipeline", "run", project, "--watch", "--every", "soon", code=2).err
    assert "start from scratch" in alone("pipeline", "run", project, "--watch", "--full-refresh", code=2).err


def test_no_java(alone: CommandLine, project: Path, tmp_path: Path) -> None:
    told = alone("pipeline", "validate", project, code=1, JAVA_HOME="", PATH=str(tmp_path)).err
    assert "needs Java" in told
    assert JAVA_PACKAGE in told


def test_a_python_that_will_not_do(alone: CommandLine, project: Path) -> None:
    told = alone("pipeline", "run", project, code=2, PYSPARK_PYTHON="/no/python").err
    assert "PYSPARK_PYTHON=/no/python is not a program" in told


def test_without_the_extra(project: Path) -> None:
    argv = ["penstock", "pipeline", "run", str(project)]
    hidden = f"import sys; sys.modules['pyarrow'] = None; sys.argv = {argv!r}"
    script = f"{hidden}; from penstock.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "not installed: pyarrow; install them with: pip install 'penstock[spark]'" in done.stderr


def test_a_broker_that_is_down_is_found_before_spark_starts(alone: CommandLine, project: Path, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        told = alone("pipeline", "run", project, "-b", address, code=3, JAVA_HOME=str(tmp_path)).err
    assert f"no broker at {address}" in told


def test_one_run_at_a_time(alone: CommandLine, project: Path) -> None:
    (project / "state").mkdir()
    with (project / "state" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        assert f"already running, as process {os.getpid()}" in alone("pipeline", "run", project, code=1).err


def test_status_of_a_project_that_never_ran(alone: CommandLine, project: Path) -> None:
    assert "has not run yet" in alone("pipeline", "status", project).err
    assert alone("pipeline", "status", project, "-o", "json").json["run"] is None


def test_a_run_that_was_killed_is_interrupted(alone: CommandLine, project: Path) -> None:
    """Its record still says that it runs, but it holds no lock."""
    (project / "state").mkdir()
    record = {"version": 1, "kind": "incremental", "master": "local[*]", "started": 0.0, "log": "x.log"}
    (project / "state" / "run.json").write_text(json.dumps(record))
    (project / "state" / "lock").write_text("1\n")
    assert alone("pipeline", "status", project, "-o", "json").json["run"]["state"] == "interrupted"
    with (project / "state" / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert alone("pipeline", "status", project, "-o", "json").json["run"]["state"] == "running"


def test_a_failed_start_is_recorded(alone: CommandLine, project: Path, tmp_path: Path) -> None:
    alone("pipeline", "run", project, code=1, JAVA_HOME=str(tmp_path))
    found = alone("pipeline", "status", project, "-o", "json").json
    assert found["run"]["state"] == "failed"
    assert JAVA_PACKAGE in found["run"]["error"]
    assert "failed, " in alone("pipeline", "list", project).out


@pytest.mark.feature("S-06")
def test_status_shows_the_lag_of_the_groups(penstock: CommandLine, project: Path, name: str) -> None:
    penstock("topic", "create", name)
    penstock("produce", name, stdin="a\nb\nc\n")
    penstock("consume", name, "--group", f"{name}-group", "--count", 1)
    flow = {"flow": "orders", "state": "completed", "rows": 1, "batches": 1, "groups": [f"{name}-group"]}
    record = {"version": 1, "kind": "incremental", "master": "local[*]", "started": 0.0, "log": "x.log"}
    record |= {"state": "completed", "seconds": 2.5, "flows": [flow], "tables": {"orders": 1}}
    (project / "state").mkdir()
    (project / "state" / "run.json").write_text(json.dumps(record))
    found = penstock("pipeline", "status", project, "-o", "json").json
    assert found["groups"] == [{"group": f"{name}-group", "lag": 2}]
    shown = penstock("pipeline", "status", project)
    assert [line.split() for line in shown.lines if line.split()[:1] == [f"{name}-group"]] == [[f"{name}-group", "2"]]
    assert "orders" in shown.out
    down = penstock("pipeline", "status", project, "-b", "127.0.0.1:1")
    assert "no broker at 127.0.0.1:1" in down.err


def test_list_finds_nothing(alone: CommandLine, tmp_path: Path) -> None:
    assert "no projects below" in alone("pipeline", "list", tmp_path).err
    assert alone("pipeline", "list", tmp_path / "nowhere", code=4).err

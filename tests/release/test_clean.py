"""`make clean` removes what can be made again, and data only when it is told so. Always in a copy, never here."""

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.clean import KEPT, MADE_AGAIN

pytestmark = pytest.mark.feature("K-21")

ROOT = Path(__file__).parents[2]
DATA = [pattern.replace("*", "prices") for pattern, _ in KEPT]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A tree with the Makefile, its script, and one file in everything that clean knows."""
    tree = tmp_path / "clone"
    (tree / "tools").mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", tree)
    shutil.copy(ROOT / "tools" / "clean.py", tree / "tools")
    for name in (*MADE_AGAIN, *DATA, "src/penstock/__pycache__", "tests/unit/__pycache__", "docs"):
        (tree / name).mkdir(parents=True)
        (tree / name / "file").write_text("something")
    (tree / "src/penstock/node.py").write_text("")
    return tree


def clean(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--no-print-directory", "clean", *arguments]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)


def there(tree: Path, names: list[str]) -> list[str]:
    return [name for name in names if (tree / name).exists()]


@pytest.mark.parametrize("arguments", [[], ["CONFIRM="], ["CONFIRM=0"]], ids=["plain", "empty", "0"])
def test_data_results_and_fetched_clients_stay(copy: Path, arguments: list[str]) -> None:
    done = clean(copy, *arguments)
    assert done.returncode == 0, done.stderr
    assert there(copy, [*MADE_AGAIN, "src/penstock/__pycache__", "tests/unit/__pycache__"]) == []
    assert there(copy, DATA) == DATA
    assert there(copy, ["src/penstock/node.py", "docs/file", "Makefile"]) == [
        "src/penstock/node.py",
        "docs/file",
        "Makefile",
    ]
    for name in DATA:
        assert f"left alone: {name} (9 B): " in done.stdout
    assert done.stdout.splitlines()[-1] == "make clean CONFIRM=1 removes that, too"


def test_with_confirm_everything_goes_but_the_sources(copy: Path) -> None:
    done = clean(copy, "CONFIRM=1")
    assert done.returncode == 0, done.stderr
    assert there(copy, [*MADE_AGAIN, *DATA]) == []
    assert there(copy, ["src/penstock/node.py", "docs/file", "tools/clean.py"]) == [
        "src/penstock/node.py",
        "docs/file",
        "tools/clean.py",
    ]
    assert "removed: data (9 B): messages of `make run`" in done.stdout


def test_nothing_to_clean_is_no_error(copy: Path) -> None:
    assert clean(copy, "CONFIRM=1").returncode == 0
    again = clean(copy)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def test_another_word_is_refused_and_changes_nothing(copy: Path) -> None:
    done = clean(copy, "CONFIRM=yes")
    assert done.returncode == 2
    assert "CONFIRM=yes is not understood: CONFIRM=1 removes data, too; nothing was removed" in done.stderr
    assert there(copy, [*MADE_AGAIN, *DATA]) == [*MADE_AGAIN, *DATA]


@pytest.mark.parametrize("place", ["data", "data/broker-1"])
def test_what_a_broker_uses_is_not_removed(copy: Path, place: str) -> None:
    (copy / place).mkdir(exist_ok=True)
    lock = copy / place / "penstock.lock"
    lock.write_text("4711\n")
    with lock.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = clean(copy, "CONFIRM=1")
        assert done.returncode == 2
        assert "data is in use by process 4711: stop it first; nothing was removed" in done.stderr
        assert there(copy, [*MADE_AGAIN, *DATA]) == [*MADE_AGAIN, *DATA]
    assert clean(copy, "CONFIRM=1").returncode == 0
    assert there(copy, DATA) == []


def test_of_a_link_only_the_link_goes(copy: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "messages").write_text("precious")
    for name in ("data", ".venv"):
        shutil.rmtree(copy / name)
        (copy / name).symlink_to(disk)
    done = clean(copy, "CONFIRM=1")
    assert "removed: data (a link)" in done.stdout
    assert not (copy / "data").is_symlink()
    assert (disk / "messages").read_text() == "precious"

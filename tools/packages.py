"""The wheels and the sdist: built without a network, checked, and the wheel built again from the sdist.

    python -m tools.packages                build into dist/ and check
    python -m tools.packages --output DIR

The wheel has every file of the two packages, the pipeline that `penstock demo` runs, the jar for Spark and nothing
else; the sdist makes the same wheel. The wheel penstock-spark has the jar alone. The files are moved to the output
directory only if all of that holds.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from tools import spark_jar, spark_package

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("penstock", "penstock_spark")
TOP_LEVEL = "pyspark_penstock.py"
JAR = "penstock_spark/jars/penstock-spark.jar"
DEMO = "examples/prices"
DEMO_INSIDE = "penstock/cli/pipeline/examples/prices"
SHIPPED = (".py", ".pyi", ".typed", ".yaml", ".yml", ".sql", ".txt", ".md", ".jar")
"""Suffixes of files that belong in a wheel; anything else below src is a mistake."""
METADATA = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")


class PackageError(Exception):
    """A problem with a package; the message names the fix."""


def expected_files(root: Path = ROOT) -> set[str]:
    """The files that the wheel must have, besides its metadata."""
    names = {TOP_LEVEL, JAR}
    for package in PACKAGES:
        names |= {path.relative_to(root / "src").as_posix() for path in _files(root / "src" / package)}
    names |= {f"{DEMO_INSIDE}/{path.relative_to(root / DEMO).as_posix()}" for path in _files(root / DEMO, "state")}
    return names


def _files(directory: Path, *left_out: str) -> Iterator[Path]:
    for path in directory.rglob("*"):
        if path.is_file() and not {"__pycache__", *left_out} & set(path.relative_to(directory).parts):
            yield path


def wheel_problems(wheel: Path, root: Path = ROOT) -> list[str]:
    """The problems of a wheel, one line each."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    metadata = {name for name in names if PurePosixPath(name).parts[0].endswith(".dist-info")}
    inside = {name.partition("/")[2] for name in metadata}
    expected, code = expected_files(root), names - metadata
    problems = [f"{name} is missing: name it in pyproject.toml" for name in sorted(expected - code)]
    problems += [f"{name} does not belong into the wheel" for name in sorted(code - expected)]
    problems += [f"{name} is no file to ship: move it out of src" for name in sorted(code) if _is_odd(name)]
    problems += [f"its metadata has no {name}" for name in METADATA if name not in inside]
    return problems


def _is_odd(name: str) -> bool:
    path = PurePosixPath(name)
    return not (path.suffix in SHIPPED or path.name == "py.typed")


def build(root: Path, directory: Path, *targets: str) -> None:
    """Build with the installed backend: nothing is downloaded."""
    arguments = [argument for target in targets for argument in ("--target", target)]
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(directory), *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PackageError(f"hatchling failed:\n{done.stdout}{done.stderr}")


def only(directory: Path, pattern: str) -> Path:
    found = sorted(directory.glob(pattern))
    if len(found) != 1:
        raise PackageError(f"{directory} has {len(found)} files {pattern}, not one")
    return found[0]


def wheel_of_sdist(sdist: Path, directory: Path) -> Path:
    """The wheel that pip would build: from the files of the sdist alone."""
    with tarfile.open(sdist) as archive:
        archive.extractall(directory, filter="data")
    tree = only(directory, "penstock-*")
    build(tree, directory / "again", "wheel")
    return only(directory / "again", "*.whl")


def differences(wheel: Path, other: Path) -> list[str]:
    """Files that only one of two wheels has, or whose bytes differ."""
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(other) as two:
        names = sorted({*one.namelist(), *two.namelist()})
        both = {*one.namelist()} & {*two.namelist()}
        return [name for name in names if name not in both or one.read(name) != two.read(name)]


def make(output: Path, root: Path = ROOT) -> list[Path]:
    """Make the sdist and the wheels in `output`."""
    there = next(path for path in (output, *output.absolute().parents) if path.exists())
    if not there.is_dir():
        raise PackageError(f"{there} is no directory: give another one with --output")
    with tempfile.TemporaryDirectory(prefix="penstock-build-") as directory:
        built = Path(directory) / "built"
        build(root, built, "sdist", "wheel")
        sdist, wheel = only(built, "*.tar.gz"), only(built, "*.whl")
        if problems := wheel_problems(wheel, root):
            raise PackageError("\n".join([f"{wheel.name} is not as it should be:", *problems]))
        if changed := differences(wheel, wheel_of_sdist(sdist, Path(directory) / "sdist")):
            raise PackageError(f"the sdist makes another wheel; different are: {', '.join(changed[:10])}")
        for_spark = _spark_wheel(root, wheel.name.split("-")[1], Path(directory))
        output.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.copy2(path, output)) for path in (sdist, wheel, for_spark)]


def _spark_wheel(root: Path, version: str, directory: Path) -> Path:
    jar = root / "src" / JAR
    build(spark_package.prepare(root, jar, version, directory), directory / "spark", "wheel")
    wheel = only(directory / "spark", "*.whl")
    if problems := spark_package.problems(wheel, jar, version):
        raise PackageError("\n".join([f"{wheel.name} is not as it should be:", *problems]))
    return wheel


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.packages", description="The wheels and the sdist.")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="directory (default dist)")
    output: Path = parser.parse_args(arguments).output
    if spark_jar.main(["--required"]):  # a wheel without the jar would be a smaller one that nobody notices
        return 1
    try:
        made = make(output)
    except (PackageError, OSError) as error:
        print(f"no packages: {error}", file=sys.stderr)
        return 1
    for path in made:
        print(f"{path} ({path.stat().st_size / 1024:.0f} KiB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())

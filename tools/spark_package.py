"""The wheel penstock-spark: the jar in PySpark's own directory of jars, and the dependency on the same penstock.

It has no code. A session loads every jar of that directory, so nothing needs to be configured; executors do not need
the jar. `packages/penstock-spark` has its metadata.
"""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

INSIDE = "pyspark/jars/penstock-spark.jar"
_PLACEHOLDER = "VERSION"


def prepare(root: Path, jar: Path, version: str, directory: Path) -> Path:
    """A tree from which the wheel can be built."""
    tree = directory / "penstock-spark"
    shutil.copytree(root / "packages" / "penstock-spark", tree)
    project = tree / "pyproject.toml"
    project.write_text(project.read_text(encoding="utf-8").replace(f'"{_PLACEHOLDER}"', f'"{version}"').replace(
        f"=={_PLACEHOLDER}", f"=={version}"), encoding="utf-8")  # fmt: skip
    shutil.copy2(jar, tree)
    return tree


def problems(wheel: Path, jar: Path, version: str) -> list[str]:
    """The problems of the wheel, one line each."""
    with zipfile.ZipFile(wheel) as archive:
        code = [name for name in archive.namelist() if ".dist-info/" not in name]
        metadata = archive.read(next(name for name in archive.namelist() if name.endswith("/METADATA"))).decode()
        found = [f"{name} does not belong into the wheel" for name in code if name != INSIDE]
        if INSIDE not in code or archive.read(INSIDE) != jar.read_bytes():
            found.append(f"{INSIDE} is not the jar of this tree")
    if f"Requires-Dist: penstock[spark]=={version}\n" not in metadata:
        found.append(f"it does not ask for penstock[spark] {version}")
    return found

"""Packages, fetched with the package manager of their language and checked against a pinned checksum.

No addresses here: each package manager knows where its packages come from.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import sys
import tarfile
from pathlib import Path

from tests.suites.suite import build


def _unpack(archive: Path, into: Path) -> None:
    """Unpack without the one directory that everything in a source package is in."""
    with tarfile.open(archive) as tar:
        tar.extractall(into, filter="data")
    archive.unlink()
    (root,) = [path for path in into.iterdir() if path.is_dir()]
    for path in root.iterdir():
        shutil.move(path, into / path.name)
    root.rmdir()


def pypi_source(name: str, version: str, sha256: str, into: Path) -> None:
    """A source package of PyPI; pip itself checks the hash."""
    into.mkdir(parents=True)
    wanted = into / "requirements.txt"
    wanted.write_text(f"{name}=={version} --hash=sha256:{sha256}\n")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    build([*pip, "--no-binary", name, "--require-hashes", "--requirement", str(wanted)], into)
    wanted.unlink()
    (archive,) = into.glob("*.tar.gz")
    _unpack(archive, into)


def virtual_environment(directory: Path, requirements: Path) -> Path:
    """A virtual environment with the pinned requirements; returns its Python."""
    build([sys.executable, "-m", "venv", str(directory)], directory.parent)
    python = directory / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    build([*pip, "--requirement", str(requirements)], directory)
    return python


def npm_package(name: str, version: str, sha512: str, into: Path) -> None:
    """A package of npm, unpacked and not installed."""
    into.mkdir(parents=True)
    (packed,) = json.loads(build(["npm", "pack", "--json", "--ignore-scripts", f"{name}@{version}"], into))
    archive = into / packed["filename"].replace("@", "").replace("/", "-")
    found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != sha512:
        raise RuntimeError(f"{name} {version} is not the pinned package: sha512-{found}")
    _unpack(archive, into)


def go_module(path: str, version: str, checksum: str, into: Path) -> None:
    """A Go module, copied out of Go's read-only cache so that its tests can write beside themselves."""
    into.parent.mkdir(parents=True, exist_ok=True)
    found = json.loads(build(["go", "mod", "download", "-json", f"{path}@{version}"], into.parent))
    if found["Sum"] != checksum:
        raise RuntimeError(f"{path} {version} is not the pinned module: {found['Sum']}")
    shutil.copytree(found["Dir"], into)
    for part in (into, *into.rglob("*")):
        part.chmod(part.stat().st_mode | 0o200)

"""`make clean`: remove generated files. Data, results and downloads, which cannot be regenerated quickly, are listed.

    python3 tools/clean.py                .venv, caches, packages, the site
    python3 tools/clean.py --confirm 1    and data, results and fetched clients; refused while a broker uses them

It needs only the standard library, since it removes the environment.
"""

from __future__ import annotations

import argparse
import fcntl
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MADE_AGAIN = (
    ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".import_linter_cache", ".features.json",
    ".features-parts", ".coverage", "htmlcov", "build", "dist", "src/penstock_spark/jars",
)  # fmt: skip
CODE = ("src", "tests", "tools", "bench", "examples")
"""Directories in which Python leaves __pycache__."""
KEPT = (
    ("data", "messages of `make run`"),
    ("consumer-data", "messages of `penstock edge`"),
    ("registry-data", "nodes of `penstock registry serve`"),
    ("demo", "pictures of `make demo`"),
    ("examples/*/state", "tables and checkpoints of pipelines"),
    ("tests/soak/results", "results of `make soak`"),
    ("tests/suites/results", "results of `make compat-suites`"),
    ("tests/fuzz/.cache", "what `make fuzz` has learnt"),
    ("tests/compat/.cache", "fetched clients"),
    ("tests/compat/node_modules", "fetched clients"),
    ("tests/suites/.cache", "fetched test suites"),
)
"""Paths that only `--confirm 1` removes, with descriptions."""


class InUse(Exception):
    """A process uses a path that is to be removed."""


def kept(root: Path) -> Iterator[tuple[Path, str]]:
    """The paths of `KEPT` that exist."""
    for pattern, meaning in KEPT:
        for path in sorted(root.glob(pattern)):
            yield path, meaning


def made_again(root: Path) -> Iterator[Path]:
    for name in MADE_AGAIN:
        path = root / name
        if path.exists() or path.is_symlink():
            yield path
    for name in CODE:
        for path in (root / name).rglob("__pycache__"):
            if not any(path.is_relative_to(other) for other, _ in kept(root)):
                yield path


def check_unused(paths: Iterable[Path]) -> None:
    """Check that no process uses the paths: brokers, registries and pipelines hold a lock in their directories."""
    for path in paths:
        for lock in (*path.glob("*.lock"), *path.glob("*/*.lock")):
            with lock.open("rb") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    holder = file.read(32).decode(errors="replace").strip()
                    who = f"process {holder}" if holder.isdigit() else "a process"
                    raise InUse(f"{path} is in use by {who}: stop it first; nothing was removed") from None


def remove(path: Path) -> None:
    """Remove a path; of a link only the link itself."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def size(path: Path) -> str:
    if path.is_symlink():
        return "a link"
    total: float = sum(file.lstat().st_size for file in path.rglob("*") if not file.is_dir())
    for unit in ("B", "KiB", "MiB"):
        if total < 1024:
            return f"{total:.0f} {unit}"
        total /= 1024
    return f"{total:.1f} GiB"


def clean(root: Path, *, confirmed: bool) -> None:
    found = list(kept(root))
    if confirmed:
        check_unused(path for path, _ in found)
    for path in list(made_again(root)):
        remove(path)
    for path, meaning in found:
        name, how_much = path.relative_to(root), size(path)
        if confirmed:
            remove(path)
        print(f"{'removed' if confirmed else 'left alone'}: {name} ({how_much}): {meaning}")
    if found and not confirmed:
        print("make clean CONFIRM=1 removes that, too")


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description="Remove what can be made again.")
    parser.add_argument("--confirm", default="", metavar="1", help="1: data, results and fetched clients, too")
    confirm = parser.parse_args(arguments).confirm
    if confirm not in ("", "0", "1"):
        print(f"CONFIRM={confirm} is not understood: CONFIRM=1 removes data, too; nothing was removed", file=sys.stderr)
        return 2
    try:
        clean(root, confirmed=confirm == "1")
    except (InUse, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

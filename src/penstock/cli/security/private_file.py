"""Files that only their user can read, such as private keys."""

from __future__ import annotations

import os
from pathlib import Path


def write_private(path: Path, content: bytes) -> None:
    """Make a file for its user only, whatever the umask."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            path.unlink(missing_ok=True)
            raise


def replace_private(path: Path, content: bytes) -> None:
    """Put such a file in the place of another, at once."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    write_private(new, content)
    new.replace(path)

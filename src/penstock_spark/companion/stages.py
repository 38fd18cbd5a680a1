"""Directories for the large outputs of writes (`writing.stage_files`): one for each write, until its end."""

from __future__ import annotations

import itertools
import logging
import shutil
import tempfile
import threading
from pathlib import Path
from uuid import uuid4

from penstock_spark.writing.stage_files import MARK, StageDirectory

logger = logging.getLogger(__name__)


class Stages:
    """Made below a directory of Spark's own, which Spark removes should this process be killed."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._root: Path | None = None
        self._mark = uuid4().hex

    def open(self, below: str) -> tuple[int, StageDirectory | None]:
        """The directory of a new write, and its number; none if there can be none."""
        number = next(self._numbers)
        try:
            with self._lock:
                root = self._root = self._root or self._made(below)
            directory = StageDirectory(str(root), self._mark, f"write-{number}")
            directory.path.mkdir(mode=0o700)
        except OSError as error:
            logger.warning("no directory for large outputs in %s, so they go through a topic: %s", below, error)
            return number, None
        return number, directory

    def _made(self, below: str) -> Path:
        root = Path(tempfile.mkdtemp(prefix="penstock-stage-", dir=below))
        (root / MARK).write_text(self._mark)
        return root

    def remove(self, number: int) -> None:
        """Remove what tasks of a write have left: it is committed, or will never be. Tasks may still be running."""
        if self._root is None:
            return
        gone = self._root / f"gone-{number}"  # under another name nothing is added any more
        try:
            (self._root / f"write-{number}").rename(gone)
        except FileNotFoundError:
            return
        shutil.rmtree(gone, ignore_errors=True)

    def close(self) -> None:
        if self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)

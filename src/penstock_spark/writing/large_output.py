"""Output of a task that is too large for a commit message: in a file that the driver sees, or in the staging topic."""

from __future__ import annotations

import logging

from penstock.client.cluster import Cluster
from penstock.model.topic_partition import TopicPartition
from penstock_spark.writing.stage_files import StageDirectory, StageFile, filed
from penstock_spark.writing.staging import Stage
from penstock_spark.writing.task_output import TaskOutput

logger = logging.getLogger(__name__)


class LargeOutput:
    """A disk that takes no more is no failure: everything goes to the topic then."""

    def __init__(self, cluster: Cluster, task: int, directory: StageDirectory | None) -> None:
        self._cluster, self._task = cluster, task
        self._file = _file(directory)
        self._stage = None if self._file is not None else Stage(cluster, task)

    def put(self, place: TopicPartition, batch: bytearray) -> None:
        if self._file is not None:
            try:
                self._file.put(place, batch)
                return
            except OSError as error:
                logger.warning("large output goes through a topic: %s: %s", self._file.path, error)
                self._move(self._file)
        assert self._stage is not None
        self._stage.put(place, batch)

    def _move(self, file: StageFile) -> None:
        """Stage what the file has."""
        self._file, self._stage = None, Stage(self._cluster, self._task)
        file.close()
        for place, batch in filed(file.path, file.size):
            self._stage.put(place, batch)
        file.remove()

    def finish(self, output: TaskOutput) -> None:
        """Wait until everything is stored, and note where."""
        if self._file is not None:
            self._file.close()
            output.file, output.file_size = self._file.path, self._file.size
        if self._stage is not None:
            self._stage.flush()
            output.stage, output.staged = self._stage.place, self._stage.offsets


def _file(directory: StageDirectory | None) -> StageFile | None:
    if directory is None or not directory.is_here:
        return None
    try:
        return StageFile(directory)
    except OSError as error:
        logger.warning("large output goes through a topic: %s: %s", directory.path, error)
        return None

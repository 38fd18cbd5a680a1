"""Directories of deleted topics on their way out, and directories of no known topic, which are left alone.

A deletion is recorded in the metadata store together with the end of the topic, and the record stays until the
directory is gone from the disk for good. So at a start every directory has an owner, or a record that says it is to go;
one that has neither (an old or foreign `meta.db`, a directory copied in by hand) is reported and never touched: it may
hold the only copy of its records.

    discard (loop)        renamed into DATA/trash, which takes the same time for one file or a million
    sort_out (any thread) at the start: what was recorded as deleted and is still there
    empty (thread)        remove what is in the trash, then forget the records of deletion
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from penstock.model.ids import PartitionId, TopicId
from penstock.storage.data_directory import DataDirectory
from penstock.storage.metadata.topics import StoredTopics


class Trash:
    """Owned by the log engine."""

    def __init__(self, data: DataDirectory, topics: StoredTopics) -> None:
        self._files = data.files
        self._data = data
        self._topics = topics
        self._leaving: dict[TopicId, Path] = {}  # recorded as deleted; where the directory was
        self.is_full = True  # what a crash left

    def discard(self, topic: str, topic_id: TopicId) -> None:
        """Move the directory of a topic that is recorded as deleted into the trash, if there is one.

        No sync: if a power cut brings the directory back, the record is still there.
        """
        directory = self._data.topic(topic, topic_id)
        self._leaving[topic_id] = directory
        self.is_full = True
        if self._files.exists(directory):
            self._files.rename(directory, self._data.new_trash())

    def is_leaving(self, topic_id: TopicId) -> bool:
        """Whether the record of its deletion is still there."""
        return topic_id in self._leaving

    def sort_out(self, known: Collection[PartitionId]) -> list[Path]:
        """Discard what was recorded as deleted; returns the directories that nothing explains."""
        deleted = self._topics.deleted()
        for topic_id, name in deleted.items():
            self.discard(name, topic_id)
        expected = {partition.topic_id.hex for partition in known}
        return [directory for directory in self._data.topic_directories() if directory.name not in expected]

    def empty(self) -> None:
        """Delete the files; may take long. Records of deletion go last, when nothing can come back. Any thread."""
        leaving = dict(self._leaving)
        for name in self._files.list_names(self._data.trash):
            self._files.remove_tree(self._data.trash / name)
        gone = {topic_id: path for topic_id, path in leaving.items() if not self._files.exists(path)}
        for parent in {path.parent for path in gone.values()}:
            if self._files.exists(parent):
                self._files.sync_directory(parent)
        if gone:
            self._topics.forget_deleted(list(gone))
        for topic_id in gone:
            self._leaving.pop(topic_id, None)

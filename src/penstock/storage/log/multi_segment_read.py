"""Reading a log across segments, until a limit is reached.

`Log.read` ends with its segment. Where segments are small that is much less than a reader has asked for, so reading
goes on with the next one here. The slices stay apart: each lies in a file, or a piece of memory, of its own.
"""

from __future__ import annotations

from penstock.model.batch import HEADER_BYTES
from penstock.model.errors import KafkaError
from penstock.storage.interface import Log, ReadSlice


def read_stretch(
    log: Log, offset: int, max_bytes: int, *, end: int, one_batch_at_least: bool, wait: bool, slices_max: int
) -> list[ReadSlice]:
    """Read as `Log.read` does, over up to `slices_max` segments. No slice is empty; without data there is none.

    An error in a later segment, or a wait for the disk, ends the reading there: the next read begins with that segment
    and meets it first. The last slice's `has_next` says that there is more.
    """
    found = log.read(offset, max_bytes, end=end, one_batch_at_least=one_batch_at_least, wait=wait)
    slices: list[ReadSlice] = []
    while len(found.records):
        slices.append(found)
        max_bytes -= len(found.records)
        if not found.has_next or max_bytes < HEADER_BYTES or len(slices) == slices_max:
            break
        try:
            found = log.read(found.next_offset, max_bytes, end=end, one_batch_at_least=False, wait=wait)
        except (KafkaError, BlockingIOError):
            break
    return slices

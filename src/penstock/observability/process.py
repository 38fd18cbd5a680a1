"""The process and its disk, as the kernel sees them: memory, bytes to and from the device, free space.

Read at scrape time from /proc/self and statvfs; where there is no /proc the figures are left out. The `process_`
names are those of every Prometheus client. prometheus-client's own collector is not used because it lists
/proc/self/fd, which takes milliseconds with thousands of connections; the kernel (6.2 and up) knows the number.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

_STATUS = Path("/proc/self/status")
_IO = Path("/proc/self/io")
_DESCRIPTORS = Path("/proc/self/fd")
_MEMORY = {"RssAnon": "anonymous", "RssFile": "file", "RssShmem": "shared"}


class FileCalls(Protocol):
    """How often the file layer read, wrote and synced. The kernel's own counts are of sockets, too."""

    read: int
    write: int
    sync: int


class ProcessProbe:
    """`data_dir` is the directory whose file system is watched; None for a node that stores nothing."""

    def __init__(self, data_dir: Path | None, file_calls: FileCalls | None = None) -> None:
        self._data_dir = data_dir
        self._file_calls = file_calls
        self._started = time.time()

    def families(self) -> Iterator[Metric]:
        yield from _process(self._started)
        yield from _memory()
        yield from _disk_traffic()
        if self._file_calls is not None:
            yield _disk_operations(self._file_calls)
        if self._data_dir is not None:
            yield from _disk_space(self._data_dir)


def _fields(path: Path) -> dict[str, int]:
    """`name: number …` lines; anything else is skipped."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    fields = {}
    for line in lines:
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdecimal():
            fields[name] = int(words[0])
    return fields


def _process(started: float) -> Iterator[Metric]:
    used = os.times()
    yield CounterMetricFamily("process_cpu_seconds", "User and system CPU time", value=used.user + used.system)
    yield GaugeMetricFamily("process_start_time_seconds", "Start time since 1970", value=started)
    yield GaugeMetricFamily("process_open_fds", "Open file descriptors", value=_open_files())
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield GaugeMetricFamily("process_max_fds", "Most open file descriptors", value=limit)


def _open_files() -> int:
    try:
        return _DESCRIPTORS.stat().st_size or sum(1 for _ in _DESCRIPTORS.iterdir())
    except OSError:
        return 0


def _memory() -> Iterator[Metric]:
    status = _fields(_STATUS)
    if not status:
        return
    resident = GaugeMetricFamily(
        "penstock_memory_resident_bytes", "Memory in use; 'file' is mapped segments and code", labels=["kind"]
    )
    for field, kind in _MEMORY.items():
        resident.add_metric([kind], status.get(field, 0) * 1024)
    yield resident
    yield GaugeMetricFamily("process_resident_memory_bytes", "Resident memory", value=status.get("VmRSS", 0) * 1024)
    yield GaugeMetricFamily(
        "penstock_memory_mapped_bytes", "Address space mapped, used or not", value=status.get("VmSize", 0) * 1024
    )


def _disk_traffic() -> Iterator[Metric]:
    io = _fields(_IO)
    if not io:
        return
    bytes_moved = CounterMetricFamily("penstock_disk_bytes", "Bytes to and from the device", labels=["direction"])
    bytes_moved.add_metric(["read"], io.get("read_bytes", 0))
    bytes_moved.add_metric(["write"], io.get("write_bytes", 0))
    yield bytes_moved


def _disk_operations(calls: FileCalls) -> Metric:
    family = CounterMetricFamily(
        "penstock_disk_operations",
        "Calls that read, write or sync log files, page cache included",
        labels=["operation"],
    )
    family.add_metric(["read"], calls.read)
    family.add_metric(["write"], calls.write)
    family.add_metric(["sync"], calls.sync)
    return family


def _disk_space(data_dir: Path) -> Iterator[Metric]:
    try:
        space = os.statvfs(data_dir)
    except OSError:
        return
    yield GaugeMetricFamily(
        "penstock_disk_free_bytes", "Free space of the data directory", value=space.f_bavail * space.f_frsize
    )
    yield GaugeMetricFamily(
        "penstock_disk_total_bytes", "Size of the data directory's disk", value=space.f_blocks * space.f_frsize
    )

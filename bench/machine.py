"""The machine that a result is from."""

from __future__ import annotations

import mmap
import os
import platform
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psutil

LEFT_BYTES = 2 << 30


def machine() -> dict[str, Any]:
    names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {
        "cores": os.cpu_count(),
        "processor": names[0].partition(":")[2].strip() if names else platform.machine(),
        "memory_gib": round(psutil.virtual_memory().total / (1 << 30)),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def use_memory_once() -> None:
    """Write to all memory that is free, and let go of it.

    A virtual machine that has started lately gets its memory from its host when it first uses it, a page at a time, at
    a third of a gigabyte a second. Whoever is measured first would pay for that: page caches grow with every segment.
    """
    started = time.perf_counter()
    child = get_context("spawn").Process(target=_use, args=(psutil.virtual_memory().available - LEFT_BYTES,))
    child.start()
    child.join()
    print(f"all memory was used once, in {time.perf_counter() - started:.0f} s", flush=True)


def _use(size: int) -> None:
    block = b"\1" * (1 << 20)
    with mmap.mmap(-1, max(size, len(block))) as memory:
        for _ in range(len(memory) // len(block)):
            memory.write(block)

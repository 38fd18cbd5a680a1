"""The cost of this package for sessions with a Python source: Spark imports `pyspark_penstock` in each of them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from numba.core.caching import CacheImpl

from penstock_spark.compiled import compiled

MODULES = "import sys; before = set(sys.modules); import pyspark_penstock; print(*(set(sys.modules) - before))"


@pytest.mark.feature("S-01")
def test_finding_the_source_imports_nothing_heavy() -> None:
    command = f"import pyspark.sql.datasource; {MODULES}"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    light = {"penstock_spark", "penstock_spark.source", "penstock_spark.plain_errors"}
    assert set(done.stdout.split()) == {"pyspark_penstock", *light}


_PLAIN_ROWS = """
import sys
import pyarrow as pa
from penstock_spark.precompile import records
from penstock_spark.reading.rows import read_rows
from penstock_spark.writing.encoding.encoder import Encoder
from penstock_spark.writing.encoding.outgoing import outgoing
from penstock_spark.writing.tasks import task_number

def column(kind, *buffers):
    return pa.Array.from_buffers(kind, 2, [pa.py_buffer(each) for each in buffers])

def numbers(size, *each):
    return b"".join(number.to_bytes(size, "little") for number in each)

records()
words = column(pa.string(), b"\\3", numbers(4, 0, 1, 2), b"tt")
rows = {"key": column(pa.binary(), b"\\1", numbers(4, 0, 1, 1), b"k"), "value": words, "topic": words}
rows["partition"] = column(pa.int32(), b"\\1", numbers(4, 1, 7))
rows["timestamp"] = column(pa.timestamp("us", tz="UTC"), b"\\3", numbers(8, 1, 2))
assert list(Encoder(lambda _: {"t": 2}, 0, 0).encode(outgoing(rows, 2, None)))
print(*({"pandas", "hypothesis", "confluent_kafka"} & set(sys.modules)))
"""


def test_tasks_of_plain_rows_import_nothing_heavy_that_they_do_not_need() -> None:
    """pandas alone takes half a second of each process's first task."""
    done = subprocess.run([sys.executable, "-c", _PLAIN_ROWS], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_where_machine_code_cannot_be_kept(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """A package that belongs to root, a user without a home: slow at first, but no failure."""

    def twice(number: int) -> int:
        return 2 * number

    monkeypatch.setattr(CacheImpl, "_locator_classes", [])
    assert compiled(twice)(21) == 42
    assert "set NUMBA_CACHE_DIR" in caplog.text

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
    assert set(done.stdout.split()) == {"pyspark_penstock", "penstock_spark", "penstock_spark.source"}


def test_where_machine_code_cannot_be_kept(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """A package that belongs to root, a user without a home: slow at first, but no failure."""

    def twice(number: int) -> int:
        return 2 * number

    monkeypatch.setattr(CacheImpl, "_locator_classes", [])
    assert compiled(twice)(21) == 42
    assert "set NUMBA_CACHE_DIR" in caplog.text

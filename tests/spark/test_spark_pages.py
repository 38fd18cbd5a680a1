"""Pages that need Spark, followed one after the other on one broker; tests/docs follows the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import SPARK_PAGES
from tests.docs.test_pages import broker, follow
from tests.support.penstock_process import PenstockProcess

__all__ = ["broker"]


@pytest.mark.spark
@pytest.mark.feature("S-03", "X-04")
@pytest.mark.timeout(1800)
def test_pages_one_after_the_other(broker: PenstockProcess, tmp_path: Path) -> None:
    follow(SPARK_PAGES, broker, tmp_path)

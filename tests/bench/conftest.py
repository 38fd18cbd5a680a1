"""A Penstock for the measuring functions to work on."""

from collections.abc import Iterator

import pytest

from bench.rivals import Penstock


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Penstock]:
    penstock = Penstock(tmp_path_factory.mktemp("bench"))
    penstock.start()
    yield penstock
    penstock.stop()

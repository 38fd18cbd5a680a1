"""A registry process that the tests of a module share."""

from collections.abc import Iterator

import pytest

from tests.support.registry_process import RegistryProcess, all_running


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    process = RegistryProcess(tmp_path_factory.mktemp("registry"))
    with all_running(process):
        yield process

"""The command line as users meet it: real processes against a real broker process."""

import uuid
from collections.abc import Iterator

import pytest

from tests.support.command_line import CommandLine
from tests.support.fixtures import running
from tests.support.penstock_process import PenstockProcess

__all__ = ["CommandLine", "alone", "name", "node", "penstock"]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    process = PenstockProcess(tmp_path_factory.mktemp("node"), "groups:\n  initial_rebalance_delay_ms: 0\n")
    for _ in running(process):
        yield process


@pytest.fixture
def penstock(node: PenstockProcess) -> CommandLine:
    """The command, with a running broker as its default."""
    return CommandLine(node.bootstrap)


@pytest.fixture
def alone() -> CommandLine:
    """The command without any broker."""
    return CommandLine(None)


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return f"t-{uuid.uuid4().hex[:12]}"

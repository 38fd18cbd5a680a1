"""How the descriptors that the system allows are divided between connections and files."""

import logging
import resource
import subprocess
import sys

import pytest

from penstock.config.settings import Settings
from penstock.node.admission import with_descriptors
from penstock.runtime.descriptors import SHARE_MIN, SPARE, divided, left

pytestmark = pytest.mark.feature("F-06")


@pytest.mark.parametrize(
    ("limit", "connections", "files"),
    [
        (20_000, 16_000, 1_500),  # enough for both
        (17_600, 16_000, 1_500),
        (17_599, 15_999, 1_500),  # connections give way first
        (4_000, 2_400, 1_500),
        (3_100, 1_500, 1_500),
        (600, 250, 250),  # then they share
        (100, SHARE_MIN, SHARE_MIN),
    ],
)
def test_storage_keeps_its_files(limit: int, connections: int, files: int) -> None:
    assert divided(limit, 16_000, 1_500) == (limit, connections, files)


def test_few_connections_leave_the_rest_to_storage() -> None:
    assert divided(1_000, 100, 1_500) == (1_000, 100, 800)


def test_a_node_has_as_many_connections_as_the_system_allows(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (600, 600))
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    with caplog.at_level(logging.WARNING):
        fitted = with_descriptors(Settings())
    assert (fitted.limits.connections_max, fitted.storage.open_files_max) == (250, 250)
    assert fitted.limits.connections_max + fitted.storage.open_files_max + SPARE <= 600
    assert "250 connections" in caplog.text
    assert with_descriptors(fitted) is fitted


def test_what_is_left_is_known() -> None:
    before = left()
    if before is None:
        pytest.skip("this system does not tell")
    with open(__file__, "rb"):
        after = left()
    assert after is not None
    assert after < before


_TABLE = """
import sys
from penstock.runtime.descriptors import make_room
make_room(int(sys.argv[1]))
with open("/proc/self/status") as lines:
    print(next(line.split()[1] for line in lines if line.startswith("FDSize")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how large the table is")
@pytest.mark.parametrize(("count", "is_allowed"), [(3_000, True), (1 << 30, False)])
def test_the_table_of_descriptors_is_made_at_once(count: int, is_allowed: bool) -> None:
    """When it grows later, in a process with threads, the event loop waits for tens of milliseconds."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if is_allowed and soft < count:
        pytest.skip("so many files are not allowed here")
    told = subprocess.run([sys.executable, "-c", _TABLE, str(count)], capture_output=True, text=True, check=True)
    assert (int(told.stdout) >= count) is is_allowed

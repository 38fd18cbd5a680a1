"""The implementations under test: those that come with Penstock, and those of a package that brings one of each."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGES = Path(__file__).parents[1] / "support" / "packages"


@pytest.fixture(scope="session", autouse=True)
def sample_package() -> Iterator[None]:
    """As if it were installed, for this process and for those that it starts."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = f"{PACKAGES}{os.pathsep}{before}" if before else str(PACKAGES)
    sys.path.insert(0, str(PACKAGES))
    yield
    sys.path.remove(str(PACKAGES))
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before

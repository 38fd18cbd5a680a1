"""`import penstock` costs nothing, and what it exports is what it says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import penstock


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys, penstock; print([name for name in sys.modules if name.startswith('penstock.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_names_and_types_agree() -> None:
    stub = Path(penstock.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    declared = set(re.findall(r" as (\w+)$", stub, re.MULTILINE))
    assert declared == set(penstock._LOADED_LATER)  # type: ignore[attr-defined]
    for name in declared:
        assert getattr(penstock, name) is not None
        assert name in dir(penstock)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        penstock.nothing  # type: ignore[attr-defined]  # noqa: B018

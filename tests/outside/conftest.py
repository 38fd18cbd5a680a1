"""Chromium, started once, without a word to anybody but this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

NAME = "evil.example"
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", f"--host-resolver-rules=MAP {NAME} 127.0.0.1",
)  # fmt: skip


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    library = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: `make security` does it")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium here: `make security` installs it")
    with library.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, headless=True, args=list(FLAGS))
        yield started
        started.close()

"""docs/openapi.json: the admin API as a node serves it.

.venv/bin/python tools/openapi.py            write it
.venv/bin/python tools/openapi.py --check    fail if it is out of date
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.config.settings import Settings
from penstock.node.node import Node

FILE = Path(__file__).parents[1] / "docs" / "openapi.json"


async def _served(directory: str) -> Any:
    ports = {"kafka": {"port": 0}, "push": {"port": 0}, "http": {"port": 0}}
    node = Node(Settings.model_validate({"node": {"data_dir": directory}, "storage": {"engine": "memory"}, **ports}))
    await node.start()
    try:
        url = f"http://127.0.0.1:{node.http_port}/api/v1/openapi.json"
        return await asyncio.to_thread(lambda: json.load(urllib.request.urlopen(url, timeout=60)))
    finally:
        await node.stop()


def document() -> str:
    """The text of the file as it should be."""
    with tempfile.TemporaryDirectory() as directory:
        return json.dumps(asyncio.run(_served(directory)), indent=1, ensure_ascii=False) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The OpenAPI file of the admin API.")
    parser.add_argument("--check", action="store_true", help="change nothing, fail if it is out of date")
    wanted = document()
    if not parser.parse_args(arguments).check:
        FILE.write_text(wanted, encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != wanted:
        print("docs/openapi.json is out of date: run .venv/bin/python tools/openapi.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

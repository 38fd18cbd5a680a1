"""CONTRIBUTING.md speaks of targets, files and commands that exist, and so do the other pages of targets."""

import re
from pathlib import Path

import pytest

from penstock.cli.main import COMMANDS

pytestmark = pytest.mark.feature("F-21")

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "CONTRIBUTING.md"
PAGES = [GUIDE, ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def code(page: Path) -> list[str]:
    """Texts between backticks, and the lines of code blocks."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```.*?\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [*re.findall(r"`([^`\n]+)`", text), *(line for block in blocks for line in block.splitlines())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_targets_that_pages_name_exist(page: Path) -> None:
    named = {found[1] for piece in code(page) if (found := re.match(r"make ([a-z-]+)", piece))}
    assert named <= TARGETS


def test_every_target_but_those_of_benchmarks_is_in_the_guide_or_in_help() -> None:
    guide = GUIDE.read_text(encoding="utf-8")
    assert {
        name for name in ("all", "setup", "lint", "test", "build", "docs", "nightly") if f"`make {name}`" not in guide
    } == set()


def test_files_that_the_guide_names_exist() -> None:
    paths = [piece for piece in code(GUIDE) if re.fullmatch(r"(?:src|tests|tools|docs|deploy|bench)/[\w./-]+", piece)]
    assert len(paths) > 15
    assert [path for path in paths if "NAME" not in path and not (ROOT / path).exists()] == []


def test_commands_that_pages_name_exist() -> None:
    named = {
        (page.name, found[1])
        for page in PAGES
        for piece in code(page)
        if (found := re.match(r"(?:\$ )?penstock ([a-z][a-z-]*)\b", piece))
    }
    assert {where for where in named if where[1] not in COMMANDS} == set()


def test_each_kind_of_change_has_its_way() -> None:
    headings = re.findall(r"^## (.+)$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {"Add a Kafka API", "Add a setting", "Add a command", "Claim a feature", "Style"} <= set(headings)

"""The diagrams are what their sources say, need nothing but a browser, and show the states that the code has."""

import re
import xml.etree.ElementTree as Xml
from pathlib import Path

import pytest

from penstock.broker.transactions.states import STEPS
from penstock.protocol.push.frames import FrameType
from penstock.protocol.push.states import TABLE, LastStep, Side
from tools.diagrams.__main__ import DIRECTORY, main, sources
from tools.diagrams.drawing import svg
from tools.diagrams.source import DiagramError, Source
from tools.doc_tables import transaction_states, with_table

pytestmark = pytest.mark.feature("P-19")

DOCS = DIRECTORY.parent
SMALL = """
title = "Two boxes"
size = [40, 12]

[[box]]
id = "a"
at = [1, 1]
size = [12, 6]
title = "a & b"

[[box]]
id = "b"
at = [25, 1]
size = [12, 6]

[[arrow]]
from = "a"
to = "b"
label = "to"
"""
BETWEEN = """
[[box]]
id = "c"
at = [16, 2]
size = [4, 4]

[[arrow]]
"""


def small(tmp_path: Path, *changes: tuple[str, str]) -> Source:
    text = SMALL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "small.toml"
    path.write_text(text)
    return Source(path)


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.path.stem)
def test_the_picture_is_the_one_its_source_makes(source: Source) -> None:
    wanted = svg(source.read())
    assert source.picture.read_text(encoding="utf-8") == wanted, "run .venv/bin/python -m tools.diagrams"
    root = Xml.fromstring(wanted)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root[0].text, "a title, for those who cannot see it"
    assert not re.search(r"<script|<image|@import|href|url\((?!#)", wanted), "it would load something"


def test_every_diagram_is_shown_on_a_page() -> None:
    shown = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    assert [source.picture.name for source in sources() if f"diagrams/{source.picture.name})" not in shown] == []
    assert "```mermaid" not in shown, "a browser without a network would show its source"


def test_the_states_of_transactions_are_those_of_the_code() -> None:
    diagram = Source(DIRECTORY / "transaction-states.toml").read()
    drawn = {(arrow.origin, arrow.target): arrow.label for arrow in diagram.arrow if arrow.target != "end"}
    known = {(one.shown_name, other.shown_name): why for one, steps in STEPS.items() for other, why in steps.items()}
    assert drawn == {**known, ("start", "Empty"): "InitProducerId"}
    page = (DOCS / "transactions.md").read_text(encoding="utf-8")
    assert page == with_table(page, "transaction states", transaction_states()), "run tools/doc_tables.py"


def test_the_states_of_push_connections_are_those_of_the_code() -> None:
    diagram = Source(DIRECTORY / "push-states.toml").read()
    drawn = {(arrow.origin, arrow.target): arrow.label for arrow in diagram.arrow if arrow.origin != "start"}
    known: dict[tuple[str, str], list[str]] = {("Closing", "end"): ["connection closed"]}
    for (before, (side, what)), after in TABLE.items():
        if before is not after and (side is Side.CLIENT or isinstance(what, LastStep)):
            name = what.name if isinstance(what, FrameType) else what.value
            known.setdefault((before.value, after.value), []).append(name)
    assert drawn == {steps: ", ".join(names) for steps, names in known.items()}


def test_text_is_escaped(tmp_path: Path) -> None:
    assert "a &amp; b</text>" in svg(small(tmp_path).read())


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('id = "b"', 'id = "a"', "box a is there twice"),
        ('to = "b"', 'to = "c"', "an arrow names c; there are: a, b"),
        ("at = [25, 1]", "at = [9, 1]", "boxes a and b overlap: move one of them"),
        ("at = [25, 1]", "at = [35, 1]", "box b is not within the picture (40 × 12)"),
        ('title = "a & b"', 'title = "more than fits into it"', "box a: its text needs 19 units, the box has 12"),
        ('title = "a & b"', 'lines = ["1", "2", "3", "4"]', "box a: its text needs 7 units of height, the box has 6"),
        ('title = "a & b"', 'kind = "cloud"', "box a is of the kind 'cloud'"),
        ('label = "to"', 'colour = "red"', "arrow.0.colour: Extra inputs are not permitted"),
        ("size = [40, 12]", "size = [40", "Unclosed array"),
    ],
)
def test_a_source_that_is_wrong_is_refused(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    with pytest.raises(DiagramError, match=r"^small\.toml: ") as refused:
        small(tmp_path, (old, new)).read()
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("at = [25, 1]\nsize = [12, 6]", "at = [25, 8]\nsize = [12, 3]"), "the boxes do not face each other"),
        (('label = "to"', "via = [[15, 9]]"), "is neither level with box a nor above or below it"),
        (("[[arrow]]", BETWEEN), "arrow a → b runs through box c: lead it around"),
        (('label = "to"', 'label = "to"\nlabel_at = [13, 4]'), "the label of arrow a → b lies over box a: move it"),
    ],
)
def test_an_arrow_that_cannot_be_drawn_is_refused(tmp_path: Path, change: tuple[str, str], complaint: str) -> None:
    with pytest.raises(DiagramError, match=complaint):
        svg(small(tmp_path, change).read())


def test_check_changes_nothing_and_names_what_is_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = small(tmp_path)
    assert main(["--check"], tmp_path) == 1
    assert "small.svg is out of date: run .venv/bin/python -m tools.diagrams" in capsys.readouterr().err
    assert not source.picture.exists()
    assert main([], tmp_path) == 0
    assert main(["--check"], tmp_path) == 0
    small(tmp_path, ('to = "b"', 'to = "c"'))
    assert main([], tmp_path) == 1
    assert "small.toml: an arrow names c" in capsys.readouterr().err

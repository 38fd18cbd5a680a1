"""The parts of the site's tool: links, anchors, the look through a finished site, and what is refused."""

from pathlib import Path, PurePosixPath

import pytest

from tools.website.__main__ import main
from tools.website.build import MARKER, build
from tools.website.links import problems, references
from tools.website.markdown import anchor, rendered
from tools.website.tree import SiteError, navigation, relative, resolved, site_path

pytestmark = pytest.mark.feature("F-21")

PAGE = PurePosixPath("docs/page.md")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("docs/README.md", "docs/page.md", "docs/formats/log.md", "README.md", "tests/test_log.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("# A title\n")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "page"),
    [
        ("docs/README.md", "index.html"),
        ("README.md", "README.html"),
        ("docs/formats/log.md", "docs/formats/log.html"),
        ("docs/openapi.json", "docs/openapi.json"),
        ("tests/unit/test_log.py", "tests/unit/test_log.py.html"),
    ],
)
def test_where_files_are_on_the_site(file: str, page: str) -> None:
    assert site_path(PurePosixPath(file)) == PurePosixPath(page)


def test_paths_between_pages() -> None:
    assert resolved(PAGE, "../README.md") == PurePosixPath("README.md")
    assert relative(PurePosixPath("docs/formats/log.html"), PurePosixPath("index.html")) == "../../index.html"


def test_links_become_those_of_the_site(project: Path) -> None:
    text = (
        "[a](formats/log.md#heads) [b](../tests/test_log.py) [c](https://example.org/x.md) [d](#title) [e](README.md)"
    )
    shown = rendered(PAGE, text, root=project)
    assert 'href="formats/log.html#heads"' in shown.html
    assert 'href="../tests/test_log.py.html"' in shown.html
    assert 'href="https://example.org/x.md"' in shown.html
    assert 'href="#title"' in shown.html
    assert 'href="../index.html"' in shown.html
    assert shown.files == {
        PurePosixPath(name) for name in ("docs/formats/log.md", "tests/test_log.py", "docs/README.md")
    }


@pytest.mark.parametrize("target", ["missing.md", "../../outside.md", "../tests"])
def test_a_link_that_leads_nowhere_is_refused(project: Path, target: str) -> None:
    with pytest.raises(SiteError, match=r"docs/page\.md links to .*, which is no file of the project"):
        rendered(PAGE, f"[a]({target})", root=project)


def test_headings_have_the_anchors_of_a_forge(project: Path) -> None:
    shown = rendered(PAGE, "# `penstock serve`: how?\n## Ports & more\n## Ports & more\n", root=project)
    assert shown.title == "penstock serve: how?"
    assert [heading.anchor for heading in shown.headings] == ["penstock-serve-how", "ports--more", "ports--more-1"]
    assert '<h2 id="ports--more-1">' in shown.html
    assert anchor("Ä b", {"ä-b"}) == "ä-b-1"


def test_code_is_escaped_and_an_unknown_language_is_text(project: Path) -> None:
    shown = rendered(PAGE, "```nolang\n<script>x</script>\n```\n", root=project)
    assert "&lt;script&gt;" in shown.html
    assert "<script>" not in shown.html


def test_tables_and_comments(project: Path) -> None:
    shown = rendered(PAGE, "<!-- made -->\n| a | b |\n|---|---|\n| 1 | ARRAY<STRUCT<key: STRING>> |\n", root=project)
    assert "<td>1</td>" in shown.html
    assert "ARRAY&lt;STRUCT&lt;key" in shown.html


def test_a_page_that_the_index_does_not_list_is_refused(project: Path) -> None:
    (project / "docs/README.md").write_text("## Begin\n- [Over](../README.md): x\n- [Page](page.md): x\n")
    with pytest.raises(SiteError, match=r"docs/README\.md does not list docs/formats/log\.md: add a line"):
        navigation(project)
    (project / "docs/README.md").write_text("## Begin\n- [Gone](gone.md): x\n")
    (project / "README.md").unlink()
    (project / "docs/page.md").unlink()
    (project / "docs/formats/log.md").unlink()
    with pytest.raises(SiteError, match=r"lists docs/gone\.md, which does not exist"):
        navigation(project)


@pytest.mark.parametrize(
    ("html", "complaint"),
    [
        (
            '<script src="https://cdn.example.org/x.js"></script>',
            "loads https://cdn.example.org/x.js from another host",
        ),
        ('<link rel="stylesheet" href="//cdn.example.org/x.css">', "loads //cdn.example.org/x.css from another host"),
        ('<img src="http://example.org/x.png">', "loads http://example.org/x.png from another host"),
        ("<style>@import 'https://example.org/x.css';</style>", "loads https://example.org/x.css from another host"),
        (
            "<style>a { background: url(https://example.org/x) }</style>",
            "loads https://example.org/x from another host",
        ),
        ('<p style="background: url(http://example.org/y)">', "loads http://example.org/y from another host"),
        ('<a href="gone.html">x</a>', "refers to gone.html: there is no such file"),
        ('<a href="#gone">x</a>', "refers to #gone: there is no such place on that page"),
        ('<a href="../outside.html">x</a>', "refers to ../outside.html: it leads out of the site"),
        ('<img src="gone.svg">', "refers to gone.svg: there is no such file"),
    ],
)
def test_a_look_through_the_site_finds(tmp_path: Path, html: str, complaint: str) -> None:
    (tmp_path / "index.html").write_text(html)
    assert f"index.html {complaint}" in list(problems(tmp_path))


def test_what_is_right_is_not_reported(tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text('<h1 id="top">x</h1><a href="https://example.org">somewhere else</a>')
    (tmp_path / "x.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><path marker-end="url(#head)"/></svg>')
    (tmp_path / "a.html").write_text(
        '<a href="b.html#top">b</a><img src="x.svg"><img src="data:image/png;base64,AA==">'
    )
    assert list(problems(tmp_path)) == []
    assert references(tmp_path / "b.html").ids == {"top"}


def test_a_directory_of_others_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    precious = tmp_path / "home"
    precious.mkdir()
    (precious / "letters").write_text("dear")
    assert main(["--output", str(precious)]) == 1
    assert "has files that are not of a site: give an empty or a new directory" in capsys.readouterr().err
    assert [path.name for path in precious.iterdir()] == ["letters"]
    assert main(["--output", str(precious / "letters")]) == 1
    assert "is no directory" in capsys.readouterr().err


def test_a_failed_build_leaves_the_old_site(project: Path, tmp_path: Path) -> None:
    output = tmp_path / "site"
    output.mkdir()
    (output / MARKER).write_text("")
    (output / "index.html").write_text("old")
    with pytest.raises(SiteError, match=r"docs/README\.md does not list"):
        build(output, project)
    assert (output / "index.html").read_text() == "old"
    assert [path.name for path in tmp_path.glob(".site-*")] == []

"""The documentation as a site: every page is there, every link leads somewhere, nothing comes from another host, and
the API reference has every public name, with what it is.
"""

import importlib
import inspect
import re
import socket
from html import unescape
from pathlib import Path, PurePosixPath

import pdoc.doc
import pytest

import penstock
import penstock.sdk
from penstock_spark.options.catalogue import OPTIONS
from tests.support.made_once import made_once
from tools.website.api import MODULES, documented
from tools.website.build import build
from tools.website.links import problems, references
from tools.website.pages import api_page
from tools.website.tree import ROOT, page_paths, site_path

pytestmark = pytest.mark.feature("F-21", "P-19")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make docs` does it, with no network to reach."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", no_network)
        return made_once(tmp_path_factory, "site", build)


def no_network(*_: object) -> None:
    raise AssertionError("the site is made without a network")


def text(page: Path) -> str:
    """The visible text of a page, roughly."""
    return unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))


def test_every_page_is_there(site: Path) -> None:
    assert (site / "index.html").is_file()
    assert [page for page in page_paths() if not (site / site_path(page)).is_file()] == []
    assert {"docs/deployment.html", "CONTRIBUTING.html", "docs/sdk.html", "examples/edge/README.html"} <= {
        path.relative_to(site).as_posix() for path in site.rglob("*.html")
    }


def test_links_resolve_nothing_is_loaded_from_elsewhere_and_every_page_is_reached(site: Path) -> None:
    assert list(problems(site)) == []
    seen, ahead = set[Path](), [site / "index.html"]
    while ahead:
        page = ahead.pop()
        if page in seen or page.suffix != ".html":
            continue
        seen.add(page)
        here = PurePosixPath(page.relative_to(site).as_posix())
        for url in references(page).links:
            if "://" not in url and (path := url.partition("#")[0]):
                ahead.append((site / here.parent / path).resolve())
    assert {path.resolve() for path in site.rglob("*.html")} - seen == set()


def test_pictures_and_the_openapi_file_come_along(site: Path) -> None:
    for name in ("docs/diagrams/architecture.svg", "docs/images/demo-bars.svg", "docs/openapi.json"):
        assert (site / name).read_bytes() == (ROOT / name).read_bytes()


def test_sources_that_pages_name_are_shown(site: Path) -> None:
    shown = text(site / "deploy/systemd/penstock.service.html")
    assert "ExecStart=/opt/penstock/bin/penstock serve" in shown


def ids(site: Path, module: str) -> set[str]:
    return references(site / api_page(module)).ids


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    assert set(penstock.__all__) <= ids(site, "penstock")
    assert set(penstock.sdk.__all__) - set(penstock.__all__) <= ids(site, "penstock.sdk")
    for module in ("penstock.client.push.errors", "penstock.consumers.errors"):
        found = importlib.import_module(module)
        errors = {name for name, value in vars(found).items() if inspect.isclass(value) and value.__module__ == module}
        assert errors
        assert errors <= ids(site, module)


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (
            "penstock",
            ["Producer.send", "Consumer.poll", "Admin.create_topic", "AsyncProducer.send", "BrokerClient.subscribe"],
        ),
        ("penstock.sdk", ["ProducerOptions.linger_ms", "Delivery.offset", "TransactionAborted", "Avro"]),
    ],
)
def test_methods_and_settings_are_in_it(site: Path, module: str, names: list[str]) -> None:
    assert set(names) <= ids(site, module)


def test_every_option_of_spark_is_in_it(site: Path) -> None:
    shown = text(site / api_page("penstock_spark"))
    assert [
        name
        for name in (option.name for option in OPTIONS)
        if not re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", shown)
    ] == []


def undocumented(doc: pdoc.doc.Doc[object]) -> list[str]:
    """The public names below one, itself included, that say nothing about themselves."""
    found = [] if doc.docstring.strip() else [doc.fullname]
    if isinstance(doc, pdoc.doc.Class):
        members = [each for each in doc.own_members if not each.name.startswith("_") and not _is_value(each)]
        found += [name for each in members for name in undocumented(each)]
    return found


def _is_value(doc: pdoc.doc.Doc[object]) -> bool:
    """A member of an enum, or a field of a dataclass whose name says it."""
    return isinstance(doc, pdoc.doc.Variable) and not isinstance(doc.obj, property)


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_a_docstring(module: str) -> None:
    shown = documented()[module]
    assert shown.docstring
    assert [name for doc in shown.own_members if not doc.name.startswith("_") for name in undocumented(doc)] == []


@pytest.mark.parametrize("options", [penstock.sdk.ProducerOptions, penstock.sdk.ConsumerOptions])
def test_every_setting_of_the_sdk_is_explained(options: type) -> None:
    shown = documented()["penstock.sdk"].get(options.__name__)
    assert isinstance(shown, pdoc.doc.Class)
    assert [doc.name for doc in shown.own_members if not doc.name.startswith("_") and not doc.docstring] == []

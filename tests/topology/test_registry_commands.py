"""`penstock registry list|show|set-parent|remove`, and what they say when there is nothing to work with."""

from pathlib import Path

import pytest

from tests.support.broker_process import free_port
from tests.support.command_line import CommandLine
from tests.support.registry_process import RegistryProcess

pytestmark = pytest.mark.feature("P-11")


@pytest.fixture
def penstock(registry: RegistryProcess) -> CommandLine:
    command = CommandLine(None)
    command.environ["REGISTRY_URL"] = registry.url
    return command


def test_what_people_do_with_it(registry: RegistryProcess, penstock: CommandLine) -> None:
    for node_id in ("root-1", "l2-a", "l2-b", "local-1"):
        registry.register(node_id, url=f"http://{node_id}", site="eu")
    listed = penstock("registry", "list", "-o", "json").json
    assert [(node["nodeId"], node["parentId"]) for node in listed] == [
        ("root-1", None),
        ("l2-a", "root-1"),
        ("l2-b", "root-1"),
        ("local-1", "l2-a"),
    ]
    assert "by hand" not in penstock("registry", "list").out
    assert "set by hand" in penstock("registry", "set-parent", "local-1", "l2-b").err
    assert "l2-b (by hand)" in penstock("registry", "list").out
    assert penstock("registry", "show", "local-1", "-o", "json").json["setByHand"] == "l2-b"
    assert "l2-b" in penstock("registry", "show", "local-1").out
    refused = penstock("registry", "set-parent", "l2-b", "local-1", code=1)
    assert "l2-b → local-1 → l2-b" in refused.err
    assert "by the rules" in penstock("registry", "set-parent", "local-1", "--auto").err
    penstock("registry", "remove", "l2-b")
    assert registry.node("l2-b") is None
    assert registry.node("local-1")["parentId"] == "l2-a"


def test_mistakes_and_their_remedies(registry: RegistryProcess, penstock: CommandLine) -> None:
    registry.register("root-9", url="http://r")
    missing = penstock("registry", "show", "root-8", code=4)
    assert missing.err == "penstock: node root-8 does not exist; did you mean root-9?\n"
    assert "root-7" in penstock("registry", "set-parent", "root-9", "root-7", code=4).err
    assert "is a ROOT" in penstock("registry", "set-parent", "root-9", "root-9", code=1).err
    penstock("registry", "set-parent", "root-9", code=2)
    penstock("registry", "set-parent", "root-9", "root-9", "--auto", code=2)
    assert "nodeId" in penstock("registry", "remove", "a b", code=2).err
    down = penstock("registry", "list", "--registry", f"http://localhost:{free_port()}", code=3)
    assert "penstock registry serve" in down.err
    assert "REGISTRY_URL" in penstock("registry", "list", "--registry", "localhost:8080", code=2).err


def test_a_start_that_fails_says_why(registry: RegistryProcess, tmp_path: Path) -> None:
    penstock = CommandLine(None)
    used = penstock("registry", "serve", "--data-dir", tmp_path / "d", "--port", registry.port, code=1)
    assert str(registry.port) in used.err
    locked = penstock("registry", "serve", "--data-dir", registry.directory / "registry", "--port", 0, code=1)
    assert "in use by process" in locked.err
    (tmp_path / "file").write_text("x")
    nowhere = penstock("registry", "serve", "--data-dir", tmp_path / "file", "--port", 0, code=1)
    assert "--data-dir" in nowhere.err
    penstock("registry", "serve", "--cloud-test", "--port", 0, code=2)

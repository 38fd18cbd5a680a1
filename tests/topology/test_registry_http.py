"""The registry over HTTP: what it answers, and what it refuses without harm."""

import contextlib
import http.client
import socket

import pytest

from tests.support.registry_process import RegistryProcess

pytestmark = pytest.mark.feature("P-11")


def test_the_answer_and_304_while_it_stays(registry: RegistryProcess) -> None:
    registry.register("root-h", url="http://root:1/")
    told = registry.register("local-h", role="local", httpPort=1234)
    assert told.status == 200
    assert told.json == {
        "nodeId": "local-h",
        "role": "LOCAL",
        "parentUrl": "http://root:1",
        "version": told.json["version"],
        "parents": [],
    }
    etag = told.headers["ETag"]
    assert registry.node("local-h")["url"] == "http://127.0.0.1:1234"  # the address that the registry sees
    same = registry.poll("local-h", If_None_Match=etag)
    assert (same.status, same.body, same.headers["ETag"]) == (304, b"", etag)
    assert registry.poll("local-h", If_None_Match=f'"other", W/{etag}').status == 304
    assert registry.poll("local-h", If_None_Match='"other"').json == told.json
    assert registry.poll("local-h").json == told.json
    registry.register("l2-h", url="http://l2:1")
    moved = registry.poll("local-h", If_None_Match=etag)
    assert (moved.status, moved.json["parentUrl"], moved.json["parents"]) == (200, "http://l2:1", ["http://root:1"])
    assert moved.json["version"] > told.json["version"]


def test_by_hand_and_a_cycle(registry: RegistryProcess) -> None:
    for node_id in ("root-c", "l2-c", "pos-c"):
        registry.register(node_id, url=f"http://{node_id}", site="c")
    path = "/registry/nodes/l2-c/parent"
    assert registry.ask("PUT", "/registry/nodes/pos-c/parent", {"parentId": "l2-c"}).json["setByHand"] == "l2-c"
    refused = registry.ask("PUT", path, {"parentId": "pos-c"})
    assert refused.status == 409
    assert refused.is_problem
    assert refused.json["cycle"] == ["l2-c", "pos-c", "l2-c"]
    assert "l2-c → pos-c → l2-c" in refused.json["detail"]
    assert registry.node("l2-c")["parentId"] == "root-c"
    assert registry.ask("PUT", "/registry/nodes/pos-c/parent", {"parentId": None}).json["setByHand"] is None
    for node_id in ("root-c", "l2-c", "pos-c"):
        assert registry.ask("DELETE", f"/registry/nodes/{node_id}").status == 204
    assert registry.ask("DELETE", "/registry/nodes/pos-c").status == 404


def test_two_nodes_with_one_id(registry: RegistryProcess) -> None:
    assert registry.register("twin", instanceId="one", url="http://one").status == 200
    refused = registry.register("twin", instanceId="two", url="http://two")
    assert (refused.status, refused.is_problem, refused.json["type"]) == (409, True, "id-in-use")
    assert "http://one" in refused.json["detail"]
    assert "NODE_ID" in refused.json["detail"]
    assert registry.ask("GET", "/registry/nodes/twin/topology?instanceId=two").status == 409
    assert registry.ask("GET", "/registry/nodes/twin/topology?instanceId=one").status == 200
    nameless = registry.register("twin", role="ROOT", url="http://two")
    assert (nameless.status, nameless.is_problem, nameless.json["type"]) == (409, True, "instance-wanted")
    assert "registry remove twin" in nameless.json["detail"]
    assert registry.poll("twin").status == 409
    assert registry.node("twin")["url"] == "http://one"
    assert registry.node("twin")["role"] == "LOCAL"


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"nodeId": "x", "role": "KING"}, "role: should be 'ROOT', 'L2', 'L3', 'POS' or 'LOCAL'"),
        ({"nodeId": ""}, "nodeId"),
        ({"nodeId": "a b"}, "nodeId"),
        ({"nodeId": "../x"}, "nodeId"),
        ({"nodeId": "x" * 200}, "nodeId"),
        ({"nodeId": 5}, "nodeId"),
        ({}, "nodeId"),
        ({"nodeId": "x", "url": "ftp://x"}, "url"),
        ({"nodeId": "x", "url": "http://user:secret@x"}, "url"),
        ({"nodeId": "x", "url": "http://x\r\nA: b"}, "url"),
        ({"nodeId": "x", "url": "http://x:0"}, "url"),
        ({"nodeId": "x", "url": "http://x:70000"}, "url"),
        ({"nodeId": "x", "url": "http://:8080"}, "url"),
        ({"nodeId": "x", "url": "http://0.0.0.0:8080"}, "url"),
        ({"nodeId": "x", "url": "http://169.254.169.254/latest"}, "url"),
        ({"nodeId": "x", "url": "http://2852039166/latest"}, "url"),
        ({"nodeId": "x", "httpPort": 70_000}, "httpPort"),
        ({"nodeId": "x", "site": "a//b"}, "site"),
        ({"nodeId": "x", "pollIntervalMs": 1}, "pollIntervalMs"),
        ({"nodeId": "x", "pollIntervalMs": 10**30}, "pollIntervalMs"),
        ({"nodeId": "x", "rol": "ROOT"}, "rol"),
        ([], "body"),
        ("x", "body"),
    ],
)
def test_a_registration_that_is_wrong_says_where(registry: RegistryProcess, document: object, told: str) -> None:
    before = len(registry.ask("GET", "/registry/nodes").json["nodes"])
    answer = registry.ask("POST", "/registry/nodes", document)
    assert (answer.status, answer.is_problem) == (422, True)
    assert told in answer.json["detail"]
    assert len(registry.ask("GET", "/registry/nodes").json["nodes"]) == before


@pytest.mark.parametrize("body", [b"{", b"", b"\xff\xfe", b"[" * 60_000, b'{"nodeId": ' + b"9" * 6_000 + b"}", b"\0"])
def test_what_is_no_json_is_refused(registry: RegistryProcess, body: bytes) -> None:
    answer = registry.ask("POST", "/registry/nodes", body=body)
    assert answer.status in (400, 422)
    assert answer.is_problem
    assert answer.status == 422 or "send JSON" in answer.json["detail"]


def test_a_huge_body_is_not_read(registry: RegistryProcess) -> None:
    announced = http.client.HTTPConnection(registry.host, registry.port, timeout=10)
    announced.putrequest("POST", "/registry/nodes")
    announced.putheader("Content-Length", str(10**12))
    announced.endheaders()
    assert announced.getresponse().status == 413
    announced.close()
    chunked = http.client.HTTPConnection(registry.host, registry.port, timeout=10)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        chunked.request("POST", "/registry/nodes", (b"x" * 10_000 for _ in range(1_000)), encode_chunked=True)
    with contextlib.suppress(ConnectionResetError):
        assert chunked.getresponse().status == 413
    chunked.close()
    assert registry.ask("GET", "/health").status == 200


def test_half_a_request_holds_nobody_up(registry: RegistryProcess) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(50):
            half = stack.enter_context(socket.create_connection((registry.host, registry.port), 5))
            half.sendall(b"POST /registry/nodes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{")
        assert registry.register("beside").status == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/registry/nodes/nobody", 404),
        ("GET", "/registry/nodes/nobody/topology", 404),
        ("DELETE", "/registry/nodes/nobody", 404),
        ("GET", "/registry/nodes/a%2Fb", 404),
        ("GET", "/registry/nodes/%00", 422),
        ("PATCH", "/registry/nodes", 405),
        ("GET", "/registry/nothing", 404),
        ("GET", "/nothing", 404),
    ],
)
def test_every_refusal_is_a_problem(registry: RegistryProcess, method: str, path: str, status: int) -> None:
    answer = registry.ask(method, path)
    assert (answer.status, answer.is_problem) == (status, True)
    assert answer.json["detail"]


def test_openapi_health_and_metrics(registry: RegistryProcess) -> None:
    assert b"<code>/registry/nodes</code>" in registry.ask("GET", "/registry/docs").body
    document = registry.ask("GET", "/registry/openapi.json").json
    assert set(document["paths"]) == {
        "/nodes",
        "/nodes/{nodeId}",
        "/nodes/{nodeId}/topology",
        "/nodes/{nodeId}/parent",
    }
    assert set(document["components"]["schemas"]["RegistrationBody"]["properties"]) >= {"nodeId", "role", "httpPort"}
    assert "304" in document["paths"]["/nodes/{nodeId}/topology"]["get"]["responses"]
    registry.register("root-m", url="http://m")
    assert registry.ask("GET", "/health").json["status"] == "ready"
    page = registry.ask("GET", "/metrics").body.decode()
    assert 'penstock_registry_nodes{role="ROOT",state="live"}' in page
    assert 'penstock_registry_requests_total{result="ok",what="register"}' in page


def test_no_more_nodes_than_it_is_told(tmp_path_factory: pytest.TempPathFactory) -> None:
    small = RegistryProcess(tmp_path_factory.mktemp("small"), "--nodes-max", "1")
    small.start()
    try:
        assert small.register("a").status == 200
        refused = small.register("b")
        assert (refused.status, refused.json["type"]) == (507, "full")
    finally:
        small.stop()

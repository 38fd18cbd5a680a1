"""The registry over HTTP, with OpenAPI: below /registry on any server that mounts it.

    POST   /registry/nodes                     a node registers; answers its topology
    GET    /registry/nodes/{nodeId}/topology   a node polls; 304 while If-None-Match still fits
    GET    /registry/nodes                     all nodes
    GET    /registry/nodes/{nodeId}            one of them
    PUT    /registry/nodes/{nodeId}/parent     set a parent by hand, or null to return to the rules
    DELETE /registry/nodes/{nodeId}            forget a node

An ETag names the registry's database and the version, so that nodes notice a registry that lost its database.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Request, Response

from penstock import __version__
from penstock.model.errors import KafkaError
from penstock.net.http.problem import PROBLEM_TYPE
from penstock.net.http.server import WebApplication
from penstock.net.http.session_gate import denied_by_file, on_cluster, session_of
from penstock.security.access import Access
from penstock.security.principal import ANONYMOUS
from penstock.security.resources import Operation
from penstock.topology.model import Topology
from penstock.topology.registry.bodies import (
    NODE_ID_PATTERN,
    InstanceId,
    NodeBody,
    NodesBody,
    ParentBody,
    ProblemBody,
    RegistrationBody,
    TopologyBody,
)
from penstock.topology.registry.member import Asker, Member, Registration
from penstock.topology.registry.problems import add_handlers
from penstock.topology.registry.service import RegistryService

PREFIX = "/registry"
Named = Annotated[str, Path(alias="nodeId", pattern=NODE_ID_PATTERN)]


def _problems(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    schema = {"schema": ProblemBody.model_json_schema()}
    return {int(status): {"description": status.phrase, "content": {PROBLEM_TYPE: schema}} for status in statuses}


UNKNOWN = _problems(HTTPStatus.NOT_FOUND)
CONFLICT = _problems(HTTPStatus.CONFLICT)
FORBIDDEN = _problems(HTTPStatus.FORBIDDEN)
NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "As it was."}}


def registry_app(service: RegistryService, access: Access) -> FastAPI:
    """The application of the registry, to be mounted at PREFIX."""
    app = WebApplication(
        title="Penstock registry",
        version=__version__,
        description="The nodes of a hierarchy and their parents.",
        responses=_problems(HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.SERVICE_UNAVAILABLE),
    )
    add_handlers(app)
    app.add_exception_handler(KafkaError, denied_by_file)
    app.include_router(_Routes(service, access).router)
    return app


class _Routes:
    """The handlers; each is a method, so that FastAPI sees its types."""

    def __init__(self, service: RegistryService, access: Access) -> None:
        self._service = service
        self._access = access
        by_node = [Depends(on_cluster(access, Operation.CLUSTER_ACTION))]
        to_see = [Depends(on_cluster(access, Operation.DESCRIBE))]
        to_change = [Depends(on_cluster(access, Operation.ALTER))]
        self.router = router = APIRouter()
        router.post("/nodes", dependencies=by_node, responses=CONFLICT | FORBIDDEN, tags=["nodes"])(self.register)
        router.get(
            "/nodes/{nodeId}/topology",
            dependencies=by_node,
            responses=UNKNOWN | CONFLICT | FORBIDDEN | NOT_MODIFIED,
            tags=["nodes"],
        )(self.poll)
        router.get("/nodes", dependencies=to_see, tags=["people"])(self.nodes)
        router.get("/nodes/{nodeId}", dependencies=to_see, responses=UNKNOWN, tags=["people"])(self.node)
        router.put("/nodes/{nodeId}/parent", dependencies=to_change, responses=UNKNOWN | CONFLICT, tags=["people"])(
            self.set_parent
        )
        router.delete("/nodes/{nodeId}", dependencies=to_change, status_code=204, responses=UNKNOWN, tags=["people"])(
            self.remove
        )

    async def register(self, body: RegistrationBody, request: Request, response: Response) -> TopologyBody:
        """Register a node, when it starts and after a 404."""
        url = body.url
        if url is None and body.http_port is not None and request.client is not None:
            host = f"[{request.client.host}]" if ":" in request.client.host else request.client.host
            url = f"{'https' if body.tls else 'http'}://{host}:{body.http_port}"
        topology = await self._service.register(
            Registration(
                node_id=body.node_id,
                instance_id=body.instance_id,
                role=body.role,
                url=url.rstrip("/") if url is not None else None,
                site=body.site,
                poll_interval_ms=body.poll_interval_ms,
            ),
            self._asker(request),
        )
        response.headers["ETag"] = self._etag(topology)
        return TopologyBody.of(topology)

    async def poll(
        self,
        node_id: Named,
        request: Request,
        response: Response,
        instance_id: Annotated[InstanceId | None, Query(alias="instanceId")] = None,
        if_none_match: Annotated[str | None, Header()] = None,
    ) -> Any:
        """Get a node's place; each poll also shows that the node is live."""
        topology = await self._service.poll(node_id, instance_id, self._asker(request))
        etag = self._etag(topology)
        if if_none_match is not None and _matches(if_none_match, etag):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers={"ETag": etag})
        response.headers["ETag"] = etag
        return TopologyBody.of(topology)

    async def nodes(self) -> NodesBody:
        members = self._service.hierarchy.members.values()
        ordered = sorted(members, key=lambda member: (member.role.level, member.node_id))
        return NodesBody(nodes=[self._body(member) for member in ordered])

    async def node(self, node_id: Named) -> NodeBody:
        return self._body(self._service.hierarchy.find(node_id))

    async def set_parent(self, node_id: Named, body: ParentBody) -> NodeBody:
        """Set a parent by hand. The node learns of it at its next poll."""
        return self._body(await self._service.set_parent(node_id, body.parent_id))

    async def remove(self, node_id: Named) -> None:
        """Forget a node. If it is still live, it registers again at its next poll."""
        await self._service.remove(node_id)

    def _asker(self, request: Request) -> Asker:
        """Who sends a request. Where there is no login everybody is ANONYMOUS, to whom nothing can belong."""
        session = session_of(request)
        principal = None if session.principal == ANONYMOUS else str(session.principal)
        return Asker(principal, lambda: self._access.allows_cluster(session, Operation.ALTER))

    def _etag(self, topology: Topology) -> str:
        return f'"{self._service.registry_id}-{topology.version}"'

    def _body(self, member: Member) -> NodeBody:
        return NodeBody(
            node_id=member.node_id,
            role=member.role,
            url=member.url,
            site=member.site,
            live=member.live,
            principal=member.principal,
            parent_id=member.parent,
            set_by_hand=member.pinned,
            children=self._service.hierarchy.children(member.node_id),
            version=member.answer.version if member.answer is not None else 0,
            poll_interval_ms=member.poll_interval_ms,
            silent_ms=self._service.silent_ms(member),
        )


def _matches(header: str, etag: str) -> bool:
    """If-None-Match compares weakly (RFC 9110)."""
    return header.strip() == "*" or etag in (tag.strip().removeprefix("W/") for tag in header.split(","))

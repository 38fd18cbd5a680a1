"""JSON bodies of the registry's HTTP API, with bounds on everything; their names are nodeId, parentUrl, …"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from penstock.model.role import Role
from penstock.model.text.http_url import URL_CHARACTERS_MAX, check_node_url
from penstock.topology.model import Topology

NODE_ID_PATTERN = r"^[A-Za-z0-9._-]{1,128}$"
URL_PATTERN = r"^https?://[^\s/?#@]+(/[^\s?#]*)?$"
SITE_PATTERN = r"^[^/\s]+(/[^/\s]+)*$"

NodeId = Annotated[str, Field(pattern=NODE_ID_PATTERN, examples=["local-001"])]
NodeUrl = Annotated[str, Field(pattern=URL_PATTERN, max_length=URL_CHARACTERS_MAX), AfterValidator(check_node_url)]
"""The HTTP port of a node: others connect to it because the registry says so."""
InstanceId = Annotated[str, Field(min_length=1, max_length=64)]


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


class _Body(BaseModel):
    """An answer; a node of an older version ignores fields that it does not know."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class _Question(_Body):
    """A request; unknown names are refused, so that a misspelt one is noticed."""

    model_config = ConfigDict(extra="forbid")


class RegistrationBody(_Question):
    """The registration of a node at its start.

    Without `url`, `httpPort` and the address that the registry sees are its URL; without either it cannot
    be a parent.
    """

    node_id: NodeId
    instance_id: InstanceId | None = Field(
        None,
        description="Kept by the node; tells two nodes with the same id apart. A node that has sent one must send it.",
    )
    role: Annotated[Role, BeforeValidator(_upper)] | None = Field(
        None, description="Without one: as before, else by the name (local-001 is LOCAL), else LOCAL."
    )
    url: NodeUrl | None = Field(
        None, description="The node's HTTP port for its children.", examples=["http://10.0.0.7:8080"]
    )
    http_port: Annotated[int, Field(ge=1, le=65_535)] | None = None
    tls: bool | None = Field(None, description="Whether httpPort has TLS, so that its URL begins with https.")
    site: Annotated[str, Field(pattern=SITE_PATTERN, max_length=256)] | None = Field(
        None,
        description="Widest part first; candidates that share more of it are preferred.",
        examples=["eu/berlin/shop-7"],
    )
    poll_interval_ms: Annotated[int, Field(ge=100, le=86_400_000)] = 30_000


class TopologyBody(_Body):
    """A node's place. `parents` are further parents, to be tried in this order when the parent does not answer."""

    node_id: str
    role: Role
    parent_url: NodeUrl | None
    version: int
    parents: list[NodeUrl]

    @classmethod
    def of(cls, topology: Topology) -> TopologyBody:
        return cls(
            node_id=topology.node_id,
            role=topology.role,
            parent_url=topology.parent_url,
            version=topology.version,
            parents=list(topology.fallbacks),
        )

    def topology(self) -> Topology:
        return Topology(
            node_id=self.node_id,
            role=self.role,
            parent_url=self.parent_url,
            version=self.version,
            fallbacks=tuple(self.parents),
        )


class NodeBody(_Body):
    """Everything that the registry knows of a node."""

    node_id: str
    role: Role
    url: str | None
    site: str | None
    principal: str | None = Field(description="Who registered it, where there are logins: its id is bound to that.")
    live: bool
    parent_id: str | None
    set_by_hand: str | None = Field(description="Id of the parent that was set by hand.")
    children: int = Field(description="Live ones.")
    version: int
    poll_interval_ms: int
    silent_ms: int = Field(description="Since it last asked, or since the registry started.")


class NodesBody(_Body):
    nodes: list[NodeBody]


class ParentBody(_Question):
    """`parentId` null gives the node back to the rules."""

    parent_id: NodeId | None


class ProblemBody(BaseModel):
    """RFC 9457, as application/problem+json."""

    type: str
    title: str
    status: int
    detail: str
    instance: str

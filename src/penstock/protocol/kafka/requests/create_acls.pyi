"""CreateAcls, requests. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import TypedDict

class AclCreation:
    resource_type: int
    resource_name: str
    resource_pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

class CreateAclsRequest:
    creations: tuple[AclCreation, ...]

class AclCreationValues(TypedDict, total=False):
    resource_type: int
    resource_name: str
    resource_pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

class CreateAclsRequestValues(TypedDict, total=False):
    creations: Sequence[AclCreationValues]

"""ElectLeaders, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class PartitionResult:
    partition_id: int
    error_code: ErrorCode
    error_message: str | None

class ReplicaElectionResult:
    topic: str
    partition_result: tuple[PartitionResult, ...]

class ElectLeadersResponse:
    throttle_time: timedelta
    replica_election_results: tuple[ReplicaElectionResult, ...]
    error_code: ErrorCode  # v1+

_PartitionResult = PartitionResult
_ReplicaElectionResult = ReplicaElectionResult
_ElectLeadersResponse = ElectLeadersResponse

class ElectLeadersBuilders:
    version: int
    def has(self, name: Literal["PartitionResult", "ReplicaElectionResult", "ElectLeadersResponse"]) -> bool: ...
    def PartitionResult(
        self,
        *,
        partition_id: int,
        error_code: ErrorCode | int,
        error_message: str | None,
    ) -> _PartitionResult: ...
    def ReplicaElectionResult(
        self,
        *,
        topic: str,
        partition_result: Sequence[_PartitionResult],
    ) -> _ReplicaElectionResult: ...
    def ElectLeadersResponse(
        self,
        *,
        throttle_time: timedelta | int = ...,
        replica_election_results: Sequence[_ReplicaElectionResult],
        error_code: ErrorCode | int = ...,
    ) -> _ElectLeadersResponse: ...
